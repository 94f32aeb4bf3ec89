package server

import (
	"context"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
)

// Bodies of requests are held in memory while they are parsed and stored. What all of them take together has a bound: a request that
// would go over it waits for others to end, and is refused with 503 when that takes too long.

const (
	// freeBody is what every request may read without asking: small requests never wait for large ones.
	freeBody = 16 << 10
	// bodyCopies is about how many times a body is in memory until it is stored: as text, as canonical text of its documents, in the
	// form that revision ids are made of, and once more while it is read.
	bodyCopies = 4
	// bodyWait is how long a request waits for memory.
	bodyWait = 10 * time.Second
	// leastBudget keeps documents of CouchDB's default limit possible on the smallest machine.
	leastBudget = 64 << 20
)

var errBodiesBusy = compat.Busy("Too many large requests at the same time, try again later.")

// bodyBudget is the memory that request bodies share. Who fits goes first: a large request that waits holds up no smaller one. Of the
// requests that have memory already one may wait for more; another one gives up at once, so that they do not wait for each other.
// It is safe for concurrent use; nil is a budget without bound.
type bodyBudget struct {
	total int64
	wait  time.Duration

	mu       sync.Mutex
	free     int64         // of total
	nobodys  int64         // free for requests of nobody, who take half of the budget at most
	released chan struct{} // closed when something becomes free
	growing  *bodyShare    // the one that has memory and waits for more
}

// newBodyBudget shares half of the server's memory; memory <= 0: no bound.
func newBodyBudget(memory int64) *bodyBudget {
	if memory <= 0 {
		return nil
	}
	total := max(memory/2, leastBudget)
	return &bodyBudget{total: total, wait: bodyWait, free: total, nobodys: total / 2, released: make(chan struct{})}
}

// try adds n bytes to a share. If they do not fit, wait is closed at the next change; it is nil for a share that must not wait.
func (b *bodyBudget) try(s *bodyShare, n int64) (ok bool, wait <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n <= b.free && (!s.nobody || n <= b.nobodys) {
		b.move(s, n)
		return true, nil
	}
	if s.held > 0 {
		if b.growing != nil && b.growing != s {
			return false, nil
		}
		b.growing = s
	}
	return false, b.released
}

// settle ends the waiting of a share.
func (b *bodyBudget) settle(s *bodyShare) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.growing == s {
		b.growing = nil
	}
}

// move takes n bytes of what is free, or gives them back.
func (b *bodyBudget) move(s *bodyShare, n int64) {
	b.free -= n
	if s.nobody {
		b.nobodys -= n
	}
	s.held += n
	if n < 0 {
		close(b.released)
		b.released = make(chan struct{})
	}
}

// bodyShare is what one request holds of the budget.
type bodyShare struct {
	budget *bodyBudget
	nobody bool // the request is nobody's
	held   int64
}

// take adds n bytes to the share. The error is ErrRequestTooLarge for what never fits, errBodiesBusy, or ctx's.
func (s *bodyShare) take(ctx context.Context, n int64) error {
	b := s.budget
	if b == nil || n <= 0 {
		return nil
	}
	most := b.total
	if s.nobody {
		most /= 2
	}
	if s.held+n > most {
		return compat.ErrRequestTooLarge
	}
	var late <-chan time.Time
	for {
		ok, wait := b.try(s, n)
		if ok {
			return nil
		}
		if wait == nil {
			return errBodiesBusy
		}
		if late == nil {
			late = time.After(b.wait)
			defer b.settle(s)
		}
		select {
		case <-wait:
		case <-late:
			return errBodiesBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release gives the share back.
func (s *bodyShare) release() {
	if s.held > 0 {
		s.budget.mu.Lock()
		defer s.budget.mu.Unlock()
		s.budget.move(s, -s.held)
	}
}
