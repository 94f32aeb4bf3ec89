package wire

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
)

// Conn is one client connection below net/http.
type Conn struct {
	net.Conn
	awaitsHead atomic.Bool
	handled    atomic.Bool // the request in flight has reached a handler
	badTarget  atomic.Bool
	ambiguous  atomic.Bool // the body of the request in flight has a length and is chunked, too
	unseen     atomic.Bool // the head of the request in flight came, in part, with the request before
	head       head        // touched by reads only, and between requests
	after      after       // likewise
	notFound   atomic.Bool
}

// newConn wraps a connection, whose first bytes are the head of a request.
func newConn(c net.Conn) *Conn {
	wc := &Conn{Conn: c}
	wc.awaitsHead.Store(true)
	return wc
}

// NetConn is the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

type listener struct{ net.Listener }

// Listen wraps a listener so that its connections follow the package's rules. The server must be
// given Configure too.
func Listen(l net.Listener) net.Listener { return listener{l} }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

type contextKey struct{}

// Configure sets the hooks of srv that the wrapped connections need, and switches off what net/http
// would answer itself.
func Configure(srv *http.Server) {
	srv.DisableGeneralOptionsHandler = true
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if wc := connOf(c); wc != nil {
			waits := state == http.StateIdle || state == http.StateNew
			wc.awaitsHead.Store(waits)
			if waits {
				wc.handled.Store(false)
				wc.ambiguous.Store(false)
				wc.unseen.Store(wc.unseen.Load() || wc.after.upcoming) // from then on nobody knows where heads begin
				wc.head, wc.after = head{}, after{}
			}
		}
	}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, contextKey{}, connOf(c))
	}
}

// FromContext returns the connection of a request's context; nil when the request did not come
// through Listen.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(contextKey{}).(*Conn)
	return c
}

// Begin says that a request has reached its handler. What is written from now on comes from the
// handler and passes unchanged.
func (c *Conn) Begin() {
	if c != nil {
		c.handled.Store(true)
	}
}

// TakeBadTarget reports, once for each request, whether its target had a percent sign that begins
// no escape.
func (c *Conn) TakeBadTarget() bool {
	return c != nil && c.badTarget.Load() && c.badTarget.Swap(false)
}

// Ambiguous reports whether the request said in two ways where its body ends, or may have: what
// came in chunks, and with its head after the request before, is not known. net/http takes the
// chunks; another server on the way may have taken the length, and what follows for another
// request: the connection must not be used again (RFC 9112, 6.1).
func (c *Conn) Ambiguous(r *http.Request) bool {
	return c != nil && (c.ambiguous.Load() || c.unseen.Load() && len(r.TransferEncoding) > 0)
}

// NotFound announces that the next answer's status is 404, whose reason phrase differs. Call it
// before WriteHeader.
func (c *Conn) NotFound() {
	if c != nil {
		c.notFound.Store(true)
	}
}

// Read looks at request heads as they pass.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	rest := p[:n]
	if n > 0 && c.awaitsHead.Load() {
		bad, used, ended := c.head.fix(rest)
		rest = rest[used:]
		if bad {
			c.badTarget.Store(true)
		}
		if c.head.length && c.head.chunked {
			c.ambiguous.Store(true)
		}
		if ended {
			c.awaitsHead.Store(false)
			c.after.begin(&c.head)
		}
	}
	c.after.pass(rest)
	return n, err
}

var (
	goNotFound     = []byte("HTTP/1.1 404 Not Found\r\n")
	erlangNotFound = []byte(" 404 Object Not Found\r\n")
	// What net/http answers by itself has just these headers, whatever the status.
	goRefusal = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	malformed = []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n" +
		"Server: MochiWeb/1.0 (Any of you quaids got a smint?)\r\n\r\n")
)

// Write passes answers on, with the status line of announced 404s and of net/http's own refusals
// replaced.
func (c *Conn) Write(p []byte) (int, error) {
	if c.notFound.Load() && c.notFound.Swap(false) && len(p) > len(goNotFound) &&
		bytes.Equal(p[8:len(goNotFound)], goNotFound[8:]) {
		_, err := c.Conn.Write(slices.Concat(p[:8], erlangNotFound, p[len(goNotFound):]))
		return len(p), err
	}
	if !c.handled.Load() && isRefusal(p) {
		_, err := c.Conn.Write(malformed)
		return len(p), err
	}
	return c.Conn.Write(p)
}

// isRefusal recognises the answers that net/http itself gives to requests that reach no handler.
func isRefusal(p []byte) bool {
	line := bytes.IndexByte(p, '\r')
	return line > 0 && bytes.HasPrefix(p, []byte("HTTP/1.1 ")) && bytes.HasPrefix(p[line:], goRefusal)
}
