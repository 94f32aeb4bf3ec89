package coalesce

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/storage/kv"
)

// Limits bound a batcher.
type Limits struct {
	Running int           // items under way, from which on others wait
	Batch   int           // items that are worked on together, at most
	Wait    time.Duration // an item that has waited for this long is worked on alone
}

// Batchers has a batcher for each key, the last used of them: one that is forgotten too early is a
// second one of its key. Safe for concurrent use.
type Batchers[T, R any] struct {
	limits   Limits
	batchers *cache.Cache[string, *Batcher[T, R]]
}

// NewBatchers returns batchers of which so many are remembered, at least 1.
func NewBatchers[T, R any](remembered int, l Limits) *Batchers[T, R] {
	return &Batchers[T, R]{limits: l, batchers: cache.New[string, *Batcher[T, R]](remembered)}
}

// Batcher is the batcher of a key.
func (b *Batchers[T, R]) Batcher(key string) *Batcher[T, R] {
	if earlier, ok := b.batchers.Get(key); ok {
		return earlier
	}
	return b.batchers.GetOrAdd(key, &Batcher[T, R]{limits: b.limits})
}

// Batcher has items of one kind wait while others are under way, and go on together. Safe for
// concurrent use.
type Batcher[T, R any] struct {
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

// turn is how the wait of an item ends: its goroutine has to work on a batch, whose first item it
// is, or another one has worked on it and this is its result.
type turn[T, R any] struct {
	lead   []*place[T, R]
	result Result[R]
}

// Result is what was done for an item together with others. Without Done the caller works on it
// alone.
type Result[R any] struct {
	Done  bool
	Value R
	Err   error
}

// Work is how items are worked on.
type Work[T, R any] struct {
	// Alone works on the caller's item.
	Alone func() (R, error)
	// Together works on the items of several callers, each of which gets its own of the results.
	// ctx does not end with the caller's.
	Together func(ctx context.Context, items []T) []Result[R]
}

// Do works on an item: alone if few are under way, else together with those that wait as well when
// it is their turn. No two items with the same id are worked on together; "" is like no other. Do
// fails when ctx ends while the item waits, but not once somebody else works on it. What an item
// that is worked on alone after all has waited for counts as its request's wait for the store
// (kv.WithOneWait).
func (b *Batcher[T, R]) Do(ctx context.Context, id string, item T, now time.Time, w Work[T, R]) (R, error) {
	began := time.Now() // now is the caller's clock
	t, err := b.join(ctx, id, item, now)
	if err != nil {
		var none R
		return none, err
	}
	if n := len(t.lead); n > 0 {
		defer b.done(n)
	}
	if len(t.lead) > 1 {
		t.result = lead(ctx, t.lead, w.Together)
	}
	if t.result.Done {
		return t.result.Value, t.result.Err
	}
	kv.Queued(ctx, began)
	return w.Alone()
}

// lead works on the items of batch, tells all but the first what was done, and returns what was
// done for the first.
func lead[T, R any](
	ctx context.Context,
	batch []*place[T, R],
	together func(context.Context, []T) []Result[R],
) Result[R] {
	results := make([]Result[R], len(batch))
	defer func() { // also when Together panics: the others must not wait for ever
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

// join takes a place among those under way, where the item leads itself, or waits until it is its
// turn.
func (b *Batcher[T, R]) join(ctx context.Context, id string, item T, now time.Time) (turn[T, R], error) {
	p := &place[T, R]{id: id, item: item}
	b.mu.Lock()
	switch {
	case now.Before(b.apart):
		b.mu.Unlock()
		return turn[T, R]{}, nil
	case b.running < b.limits.Running:
		b.running++
		b.mu.Unlock()
		return turn[T, R]{lead: []*place[T, R]{p}}, nil
	}
	p.turn = make(chan turn[T, R], 1)
	b.waiting = append(b.waiting, p)
	b.mu.Unlock()

	timer := time.NewTimer(b.limits.Wait)
	defer timer.Stop()
	var err error
	select {
	case t := <-p.turn:
		return t, nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if b.leave(p) {
		return turn[T, R]{}, err
	}
	return <-p.turn, nil
}

// leave takes a waiting place out; false if it does not wait any more.
func (b *Batcher[T, R]) leave(p *place[T, R]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiting, p)
	if at >= 0 {
		b.waiting = slices.Delete(b.waiting, at, at+1)
	}
	return at >= 0
}

// done gives back the places of items. Those that wait go on if few are under way then.
func (b *Batcher[T, R]) done(items int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running -= items; b.running >= b.limits.Running || len(b.waiting) == 0 {
		return
	}
	batch := b.take()
	b.running += len(batch)
	batch[0].turn <- turn[T, R]{lead: batch}
}

// take takes waiting items of different ids out.
func (b *Batcher[T, R]) take() (batch []*place[T, R]) {
	ids := map[string]bool{}
	rest := b.waiting[:0]
	for _, p := range b.waiting {
		if len(batch) == b.limits.Batch || ids[p.id] {
			rest = append(rest, p)
			continue
		}
		if p.id != "" {
			ids[p.id] = true
		}
		batch = append(batch, p)
	}
	clear(b.waiting[len(rest):])
	b.waiting = rest
	return batch
}

// Disperse sends all that wait on alone, and those that come until a time.
func (b *Batcher[T, R]) Disperse(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.apart = until
	for _, p := range b.waiting {
		p.turn <- turn[T, R]{}
	}
	b.waiting = nil
}

// Len is how many items are under way or wait.
func (b *Batcher[T, R]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running + len(b.waiting)
}
