package wire

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// secureConn is a connection of HTTP/1 over TLS.
type secureConn struct {
	*Conn
	state tls.ConnectionState
}

// ConnectionState tells net/http what was agreed on, for Request.TLS.
func (c *secureConn) ConnectionState() tls.ConnectionState { return c.state }

// connOf is the connection as the package knows it; nil for one of HTTP/2, which net/http speaks
// alone.
func connOf(c net.Conn) *Conn {
	switch c := c.(type) {
	case *Conn:
		return c
	case *secureConn:
		return c.Conn
	}
	return nil
}

// tlsListener shakes hands, each connection in a goroutine of its own, before net/http gets the
// connection: what Conn looks at is inside of TLS.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration // of a handshake
	ready   chan accepted
	done    <-chan struct{}
	stop    context.CancelFunc
}

type accepted struct {
	conn net.Conn
	err  error
}

// ListenTLS is Listen for a listener whose connections speak TLS. Those that agree on HTTP/2, and
// those whose handshake fails, come as net/http expects them, which knows what to do.
func ListenTLS(l net.Listener, config *tls.Config, handshake time.Duration) net.Listener {
	ctx, stop := context.WithCancel(context.Background()) // ends with Close
	t := &tlsListener{
		Listener: l, config: config, timeout: handshake, ready: make(chan accepted), done: ctx.Done(), stop: stop,
	}
	go t.work(ctx)
	return t
}

// work accepts connections and shakes hands with each in a goroutine of its own: a client that is
// slow about it holds up nobody else.
func (l *tlsListener) work(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.hand(accepted{err: err}) // and waits until net/http asks for the next one
			continue
		}
		go func() { l.hand(accepted{conn: l.shake(ctx, conn)}) }()
	}
}

// hand gives what has come to Accept, or closes it where nobody accepts any more.
func (l *tlsListener) hand(a accepted) {
	select {
	case l.ready <- a:
	case <-l.done:
		if a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

// shake is the connection after its handshake, however that went: net/http sees the same error
// again.
func (l *tlsListener) shake(ctx context.Context, conn net.Conn) net.Conn {
	_ = conn.SetDeadline(time.Now().Add(l.timeout))
	secure := tls.Server(conn, l.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return secure
	}
	_ = conn.SetDeadline(time.Time{})
	state := secure.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		return secure
	}
	return &secureConn{newConn(secure), state}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; handshakes end with it.
func (l *tlsListener) Close() error {
	l.stop()
	return l.Listener.Close()
}
