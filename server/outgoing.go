package server

import (
	"net/http"
	"sync"
	"time"
)

// Clients that do not take what they asked for. CouchDB waits for them as long as their connection lives. Here a client that takes nothing
// for chttpd/send_timeout is cut off, and together they hold a bounded amount of memory: beyond that those are cut off that have
// taken nothing for the longest time. One that reads slowly but steadily gets all of its answer, however long it takes.

const (
	// sendPiece is what a client must take within chttpd/send_timeout.
	sendPiece = 64 << 10
	// sendBuffer is what net/http takes of a body without waiting for the client.
	sendBuffer = 2 << 10
	// stalledAfter is how long a client must have taken nothing to be cut off for the memory that it holds.
	stalledAfter = 2 * time.Second
	// leastOutgoing is the bound on the smallest machine.
	leastOutgoing = 32 << 20
)

// outgoing are the bodies of answers on their way to clients. It is safe for concurrent use.
type outgoing struct {
	bound int64 // of held, 0 for none

	mu    sync.Mutex
	held  int64
	sends map[*send]struct{}
}

// send is a piece of an answer whose writing may wait for the client.
type send struct {
	size  int64     // what is left of it
	moved time.Time // when the client last took something

	mu   sync.Mutex // guards what follows, and the deadline of the writer
	w    http.ResponseWriter
	over bool // the client was cut off, or has taken all
}

// newOutgoing lets clients that do not read hold an eighth of the server's memory, since what waits to be sent is in memory several times;
// memory <= 0: no bound.
func newOutgoing(memory int64) *outgoing {
	o := &outgoing{sends: make(map[*send]struct{})}
	if memory > 0 {
		o.bound = max(memory/8, leastOutgoing)
	}
	return o
}

// begin notes that size bytes wait for the client of w.
func (o *outgoing) begin(w http.ResponseWriter, size int) *send {
	s := &send{size: int64(size), moved: time.Now(), w: w}
	o.mu.Lock()
	o.sends[s] = struct{}{}
	o.held += s.size
	cut := o.excess(s)
	o.mu.Unlock()
	for _, s := range cut {
		s.cut()
	}
	return s
}

// excess gives those to cut off, the longest stalled first, so that what is held gets below the bound. The new one is not among them.
func (o *outgoing) excess(latest *send) (cut []*send) {
	held := o.held
	for o.bound > 0 && held > o.bound {
		var worst *send
		for s := range o.sends {
			if s != latest && (worst == nil || s.moved.Before(worst.moved)) {
				worst = s
			}
		}
		if worst == nil || latest.moved.Sub(worst.moved) < stalledAfter {
			break
		}
		held -= worst.size
		o.forget(worst)
		cut = append(cut, worst)
	}
	return cut
}

func (o *outgoing) forget(s *send) {
	if _, ok := o.sends[s]; ok {
		delete(o.sends, s)
		o.held -= s.size
	}
}

// took notes that the client has taken n bytes.
func (o *outgoing) took(s *send, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.sends[s]; ok {
		o.held -= int64(n)
		s.size -= int64(n)
		s.moved = time.Now()
	}
}

// end notes that nothing waits any more.
func (o *outgoing) end(s *send) {
	o.mu.Lock()
	o.forget(s)
	o.mu.Unlock()
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
}

// cut breaks the connection off, from another goroutine than the one that writes.
func (s *send) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		_ = http.NewResponseController(s.w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// extend gives the client time for the next piece; false if it was cut off.
func (s *send) extend(timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		allow(s.w, timeout)
	}
	return !s.over
}

// allow gives the client of w so long to take what is written next; 0 is for ever.
func allow(w http.ResponseWriter, timeout time.Duration) {
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
}

// deliver sends a part of the body. All bodies go through it.
func (c *Call) deliver(p []byte) (n int, err error) {
	if c.sent == 0 && len(p) <= sendBuffer {
		n, err = c.w.Write(p)
		c.sent += int64(n)
		return n, err
	}
	s := c.srv.outgoing.begin(c.w, len(p))
	defer c.srv.outgoing.end(s)
	for err == nil && n < len(p) {
		if !s.extend(c.set.sendTimeout) {
			return n, errClientGone
		}
		var m int
		m, err = c.w.Write(p[n:min(len(p), n+sendPiece)])
		n += m
		c.sent += int64(m)
		c.srv.outgoing.took(s, m)
	}
	c.rest()
	return n, err
}

// flush sends what net/http holds of the answer.
func (c *Call) flush() error {
	allow(c.w, c.set.sendTimeout)
	err := http.NewResponseController(c.w).Flush()
	c.rest()
	return err
}

// rest ends the time for the client while there is nothing to take: HTTP/2 would end the stream after it.
func (c *Call) rest() {
	if c.r.ProtoMajor == 2 {
		allow(c.w, 0)
	}
}

// finish bounds the sending of what net/http still holds when the handler returns.
func (c *Call) finish() { allow(c.w, c.set.sendTimeout) }
