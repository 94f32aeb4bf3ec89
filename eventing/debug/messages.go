package debug

import (
	"context"
	"errors"

	"github.com/settee-db/settee/js"
)

// MaxMessage is how many bytes a message of a client may have.
const MaxMessage = js.MaxDebugMessage

// Bounds of what waits in either direction.
const (
	maxWaiting      = 1000    // messages
	maxWaitingBytes = 8 << 20 // of the client, beyond which it waits
)

// queue is what lies between client and worker. Session.mu guards it.
type queue struct {
	in      [][]byte // of the client
	bytes   int
	arrived chan struct{} // has an element when there is something in in
	room    chan struct{} // closed and made anew when in was taken
	client  *Client       // nil: none
}

// Client is a connection to a session. Another one takes its place.
type Client struct {
	s    *Session
	out  chan []byte
	gone chan struct{} // closed when it is the client no more
}

// ErrReplaced is the error of a client whose place another one has.
var ErrReplaced = errors.New("another client has come")

// Connect makes a client that of the session; the one before it is told ErrReplaced.
func (s *Session) Connect() *Client {
	c := &Client{s: s, out: make(chan []byte, 64), gone: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		close(s.client.gone)
	}
	s.client = c
	s.in, s.bytes = [][]byte{{}}, 0 // an empty one: see js.EventDebugger
	s.announce()
	return c
}

// announce tells both sides that in has changed. The mutex is held.
func (s *Session) announce() {
	close(s.room)
	s.room = make(chan struct{})
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Close ends the connection. The session goes on.
func (c *Client) Close() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.client == c {
		c.s.client = nil
		close(c.gone)
	}
}

// Send gives the session a message, as soon as there is room. The error says why that cannot be.
func (c *Client) Send(ctx context.Context, message []byte) error {
	if len(message) == 0 {
		return nil // it would mean something
	}
	for {
		c.s.mu.Lock()
		if c.s.client != c {
			c.s.mu.Unlock()
			return ErrReplaced
		}
		if len(c.s.in) < maxWaiting && c.s.bytes+len(message) <= maxWaitingBytes {
			c.s.in, c.s.bytes = append(c.s.in, message), c.s.bytes+len(message)
			c.s.announce()
			c.s.mu.Unlock()
			return nil
		}
		room := c.s.room
		c.s.mu.Unlock()
		select {
		case <-room:
		case <-c.gone:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.s.ctx.Done():
			return context.Cause(c.s.ctx)
		}
	}
}

// Receive waits for a message to the client. After the end of the session it still gives what was said
// before; then the error is why it ended.
func (c *Client) Receive(ctx context.Context) ([]byte, error) {
	select {
	case m := <-c.out:
		return m, nil
	default:
	}
	select {
	case m := <-c.out:
		return m, nil
	case <-c.gone:
		return nil, ErrReplaced
	case <-ctx.Done():
	case <-c.s.ctx.Done():
		ctx = c.s.ctx
	}
	select {
	case m := <-c.out:
		return m, nil
	default:
		return nil, context.Cause(ctx)
	}
}

// Exchange is the worker's side: it gives messages to the client, if there is one, and takes what the
// client has sent; if wait is set it waits for something. The error is why the session ended.
func (s *Session) Exchange(ctx context.Context, out [][]byte, wait bool) ([][]byte, error) {
	s.mu.Lock()
	c := s.client
	s.mu.Unlock()
	for _, m := range out {
		if c == nil {
			break
		}
		select {
		case c.out <- m:
		case <-c.gone:
			c = nil
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for {
		s.mu.Lock()
		in := s.in
		if len(in) > 0 {
			s.in, s.bytes = nil, 0
			s.announce()
		}
		s.mu.Unlock()
		if len(in) > 0 || !wait {
			return in, s.ctx.Err()
		}
		select {
		case <-s.arrived:
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
