package coalesce

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Limits bound a line.
type Limits struct {
	Running int           // items under way, from which on others wait
	Batch   int           // items that go on together, at most
	Wait    time.Duration // an item that has waited for so long goes on alone
}

// Lines has a line for each key, the last used of them: a line that is forgotten too early is a second one of its key.
// Safe for concurrent use.
type Lines[T, R any] struct {
	limits Limits
	lines  *lru.Cache[string, *Line[T, R]]
}

// NewLines returns lines of which so many are remembered, at least 1.
func NewLines[T, R any](remembered int, l Limits) *Lines[T, R] {
	lines, err := lru.New[string, *Line[T, R]](remembered)
	if err != nil {
		panic(err) // less than 1, which is the caller's constant
	}
	return &Lines[T, R]{limits: l, lines: lines}
}

// Line is the line of a key.
func (l *Lines[T, R]) Line(key string) *Line[T, R] {
	if line, ok := l.lines.Get(key); ok {
		return line
	}
	line := &Line[T, R]{limits: l.limits}
	if earlier, ok, _ := l.lines.PeekOrAdd(key, line); ok {
		return earlier
	}
	return line
}

// Line is where items of one kind wait, while others are under way. Safe for concurrent use.
type Line[T, R any] struct {
	limits  Limits
	mu      sync.Mutex
	running int
	waiting []*Place[T, R]
	apart   time.Time // until when nobody waits
}

// Place is an item that waits for its turn.
type Place[T, R any] struct {
	ID   string // no two with the same one go on together; "" is like no other
	Item T
	turn chan Turn[T, R] // has room for the only one
}

// Turn is what becomes of an item. It goes on alone if there is neither a result nor an error nor anybody else to lead.
type Turn[T, R any] struct {
	// Lead are those whose work it does, itself the first: it owes a Done of so many, and a Tell to all others.
	Lead   []*Place[T, R]
	Result *R    // of the work that was done for it
	Err    error // likewise
}

// Join lets an item begin if few are under way, or waits until it is its turn; it fails when ctx ends meanwhile, but
// not once somebody else does its work.
func (l *Line[T, R]) Join(ctx context.Context, id string, item T, now time.Time) (Turn[T, R], error) {
	place := &Place[T, R]{ID: id, Item: item}
	l.mu.Lock()
	switch {
	case now.Before(l.apart):
		l.mu.Unlock()
		return Turn[T, R]{}, nil
	case l.running < l.limits.Running:
		l.running++
		l.mu.Unlock()
		return Turn[T, R]{Lead: []*Place[T, R]{place}}, nil
	}
	place.turn = make(chan Turn[T, R], 1)
	l.waiting = append(l.waiting, place)
	l.mu.Unlock()

	timer := time.NewTimer(l.limits.Wait)
	defer timer.Stop()
	var err error
	select {
	case turn := <-place.turn:
		return turn, nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if l.leave(place) {
		return Turn[T, R]{}, err
	}
	return <-place.turn, nil
}

// leave takes a place out of the line; false if it is not there any more.
func (l *Line[T, R]) leave(p *Place[T, R]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, p)
	if at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	}
	return at >= 0
}

// Done ends the work of items. Those that wait go on if few are under way then.
func (l *Line[T, R]) Done(items int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running -= items; l.running >= l.limits.Running || len(l.waiting) == 0 {
		return
	}
	batch := l.take()
	l.running += len(batch)
	batch[0].turn <- Turn[T, R]{Lead: batch}
}

// take takes items of different ids out of the line.
func (l *Line[T, R]) take() (batch []*Place[T, R]) {
	ids := make(map[string]bool, min(len(l.waiting), l.limits.Batch))
	rest := l.waiting[:0]
	for _, p := range l.waiting {
		if len(batch) == l.limits.Batch || ids[p.ID] {
			rest = append(rest, p)
			continue
		}
		if p.ID != "" {
			ids[p.ID] = true
		}
		batch = append(batch, p)
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	return batch
}

// Tell gives an item the result of the work that was done for it. With neither a result nor an error it goes on alone.
func (p *Place[T, R]) Tell(result *R, err error) { p.turn <- Turn[T, R]{Result: result, Err: err} }

// Disperse sends all that wait on alone, and those that come until a time.
func (l *Line[T, R]) Disperse(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apart = until
	for _, p := range l.waiting {
		p.Tell(nil, nil)
	}
	l.waiting = nil
}

// Len is how many items are under way or wait.
func (l *Line[T, R]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running + len(l.waiting)
}
