package coalesce

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat/cache"
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
	lines  *cache.Cache[string, *Line[T, R]]
}

// NewLines returns lines of which so many are remembered, at least 1.
func NewLines[T, R any](remembered int, l Limits) *Lines[T, R] {
	return &Lines[T, R]{limits: l, lines: cache.New[string, *Line[T, R]](remembered)}
}

// Line is the line of a key.
func (l *Lines[T, R]) Line(key string) *Line[T, R] {
	if line, ok := l.lines.Get(key); ok {
		return line
	}
	return l.lines.GetOrAdd(key, &Line[T, R]{limits: l.limits})
}

// Line is where items of one kind wait, while others are under way. Safe for concurrent use.
type Line[T, R any] struct {
	limits  Limits
	mu      sync.Mutex
	running int
	waiting []*place[T, R]
	apart   time.Time // until when nobody waits
}

// place is an item that waits for its turn.
type place[T, R any] struct {
	id   string
	item T
	turn chan turn[T, R] // has room for the only one
}

// turn is what becomes of an item that waited: it leads the work of some, itself the first, or has the result of its
// own.
type turn[T, R any] struct {
	lead   []*place[T, R]
	result Result[R]
}

// Result is what was done for an item together with others. Where nothing was done it is worked on alone.
type Result[R any] struct {
	Done  bool
	Value R
	Err   error
}

// Work is how items of a line are worked on.
type Work[T, R any] struct {
	// Alone works on the caller's item.
	Alone func() (R, error)
	// Together works on the items of several callers, each of which gets its own of the results. ctx does not end with
	// the caller's.
	Together func(ctx context.Context, items []T) []Result[R]
}

// Do works on an item: alone if few are under way, else together with those that wait as well when it is their turn. No
// two items with the same id are worked on together; "" is like no other. Do fails when ctx ends while the item waits,
// but not once somebody else works on it.
func (l *Line[T, R]) Do(ctx context.Context, id string, item T, now time.Time, w Work[T, R]) (R, error) {
	t, err := l.join(ctx, id, item, now)
	if err != nil {
		var none R
		return none, err
	}
	if n := len(t.lead); n > 0 {
		defer l.done(n)
	}
	if len(t.lead) > 1 {
		t.result = lead(ctx, t.lead, w.Together)
	}
	if t.result.Done {
		return t.result.Value, t.result.Err
	}
	return w.Alone()
}

// lead works on the items of batch, tells all but the first what was done, and returns what was done for the first.
func lead[T, R any](
	ctx context.Context,
	batch []*place[T, R],
	together func(context.Context, []T) []Result[R],
) Result[R] {
	results := make([]Result[R], len(batch))
	defer func() { // also when together panics: the others are not to wait for ever
		for i, p := range batch[1:] {
			p.turn <- turn[T, R]{result: results[i+1]}
		}
	}()
	items := make([]T, len(batch))
	for i, p := range batch {
		items[i] = p.item
	}
	copy(results, together(context.WithoutCancel(ctx), items))
	return results[0]
}

// join takes a place among those under way, where the item leads itself, or waits until it is its turn.
func (l *Line[T, R]) join(ctx context.Context, id string, item T, now time.Time) (turn[T, R], error) {
	p := &place[T, R]{id: id, item: item}
	l.mu.Lock()
	switch {
	case now.Before(l.apart):
		l.mu.Unlock()
		return turn[T, R]{}, nil
	case l.running < l.limits.Running:
		l.running++
		l.mu.Unlock()
		return turn[T, R]{lead: []*place[T, R]{p}}, nil
	}
	p.turn = make(chan turn[T, R], 1)
	l.waiting = append(l.waiting, p)
	l.mu.Unlock()

	timer := time.NewTimer(l.limits.Wait)
	defer timer.Stop()
	var err error
	select {
	case t := <-p.turn:
		return t, nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if l.leave(p) {
		return turn[T, R]{}, err
	}
	return <-p.turn, nil
}

// leave takes a place out of the line; false if it is not there any more.
func (l *Line[T, R]) leave(p *place[T, R]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, p)
	if at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	}
	return at >= 0
}

// done gives back the places of items. Those that wait go on if few are under way then.
func (l *Line[T, R]) done(items int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running -= items; l.running >= l.limits.Running || len(l.waiting) == 0 {
		return
	}
	batch := l.take()
	l.running += len(batch)
	batch[0].turn <- turn[T, R]{lead: batch}
}

// take takes items of different ids out of the line.
func (l *Line[T, R]) take() (batch []*place[T, R]) {
	ids := map[string]bool{}
	rest := l.waiting[:0]
	for _, p := range l.waiting {
		if len(batch) == l.limits.Batch || ids[p.id] {
			rest = append(rest, p)
			continue
		}
		if p.id != "" {
			ids[p.id] = true
		}
		batch = append(batch, p)
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
	return batch
}

// Disperse sends all that wait on alone, and those that come until a time.
func (l *Line[T, R]) Disperse(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apart = until
	for _, p := range l.waiting {
		p.turn <- turn[T, R]{}
	}
	l.waiting = nil
}

// Len is how many items are under way or wait.
func (l *Line[T, R]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running + len(l.waiting)
}
