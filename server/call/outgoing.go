package call

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/settee-db/settee/memory"
)

// This file is about clients that do not take the answer that they asked for. CouchDB waits for
// them as long as their connection lives. Here a client that takes nothing for chttpd/send_timeout
// is cut off, and what is held for it belongs to the budget of all answers (memory). One that reads
// slowly but steadily gets all of its answer, however long it takes.

const (
	// sendPiece is what a client must take within chttpd/send_timeout.
	sendPiece = 64 << 10
	// sendBuffer is what net/http takes of a body without waiting for the client.
	sendBuffer = 2 << 10
	// answerCopies is how many times a document is in memory until it is sent: as it is stored, and
	// as it is shown.
	answerCopies = 2
)

// outgoing is the memory that the answer of a request holds while it is made and sent.
type outgoing struct {
	turn    sync.Mutex // held while documents are read for the answer: one goroutine at a time
	share   memory.Share
	sorting *memory.Share // the memory in which the request sorts; nil: it does not

	mu    sync.Mutex // guards what follows, and the deadline of the writer
	w     http.ResponseWriter
	cut   bool // the client was cut off
	ended bool // the request has
}

// newOutgoing begins to count what of an answer waits for its client; nothing is taken from the
// budget yet.
func newOutgoing(w http.ResponseWriter, budget *memory.Budget) *outgoing {
	o := &outgoing{w: w}
	o.share.Budget, o.share.Client = budget, o
	return o
}

// of sets the user whose request this is, unless memory was taken for it already.
func (o *outgoing) of(user string) {
	if o.share.Held == 0 {
		o.share.User = user
	}
}

// Hold implements docread.Memory: from now on the answer holds documents of bytes in total, which
// replaces what an earlier call said. It blocks while the budget is used up.
func (o *outgoing) Hold(ctx context.Context, bytes int) error {
	o.turn.Lock()
	defer o.turn.Unlock()
	o.mu.Lock()
	cut, ended := o.cut, o.ended
	o.mu.Unlock()
	switch {
	case ended: // another goroutine is still reading the database for the request
		return nil
	case cut:
		return ErrClientGone
	}
	return o.share.Hold(ctx, answerCopies*int64(bytes))
}

// Keep takes memory for what the request keeps in order to sort it; bytes is the total so far. It
// does not wait: an error says that there is not enough.
func (a *Answer) Keep(bytes int) error {
	o := a.Outgoing
	if o.sorting == nil {
		o.sorting = &memory.Share{Budget: a.head.Env.Sorting, User: a.head.User.Name, Client: o}
	}
	return o.sorting.Grow(int64(bytes))
}

// waiting starts the wait for the client to take n bytes; sent ends it. Meanwhile others who need
// the memory may cut the client off.
func (o *outgoing) waiting(n int) {
	o.share.Sending(int64(n))
	if o.sorting != nil {
		o.sorting.Waiting()
	}
}

// moved records that the client has taken a part, so that it counts as reading and not as stuck.
func (o *outgoing) moved() {
	now := time.Now().UnixNano()
	o.share.PieceAt.Store(now)
	if o.sorting != nil {
		o.sorting.PieceAt.Store(now)
	}
}

// sent tells that the client takes the answer: both shares count as moving.
func (o *outgoing) sent() {
	o.share.Sent()
	if o.sorting != nil {
		o.sorting.Sent()
	}
}

// end gives back what the answer holds.
func (o *outgoing) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.turn.Lock()
	defer o.turn.Unlock()
	o.share.Release()
	if o.sorting != nil {
		o.sorting.Release()
	}
}

// CutOff breaks the connection off, from another goroutine than the one that writes.
func (o *outgoing) CutOff() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.cut = true
		_ = http.NewResponseController(o.w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// extend gives the client time for the next piece; false if it was cut off.
func (o *outgoing) extend(timeout time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.cut {
		allow(o.w, timeout)
	}
	return !o.cut
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
func (a *Answer) deliver(p []byte) (n int, err error) {
	if a.sent == 0 && len(p) <= sendBuffer {
		n, err = a.Writer.Write(p)
		a.sent += int64(n)
		return n, err
	}
	a.Outgoing.waiting(len(p))
	defer a.Outgoing.sent()
	for err == nil && n < len(p) {
		if !a.Outgoing.extend(a.head.Settings.sendTimeout) {
			return n, ErrClientGone
		}
		var m int
		m, err = a.Writer.Write(p[n:min(len(p), n+sendPiece)])
		n += m
		a.sent += int64(m)
		a.Outgoing.moved()
	}
	a.rest()
	return n, err
}

// flush sends what net/http holds of the answer.
func (a *Answer) flush() error {
	allow(a.Writer, a.head.Settings.sendTimeout)
	err := http.NewResponseController(a.Writer).Flush()
	a.rest()
	return err
}

// rest ends the time for the client while there is nothing to take: HTTP/2 would end the stream
// after it.
func (a *Answer) rest() {
	if a.head.Request.ProtoMajor == 2 {
		allow(a.Writer, 0)
	}
}

// finish bounds the sending of what net/http still holds when the handler returns.
func (a *Answer) finish() { allow(a.Writer, a.head.Settings.sendTimeout) }
