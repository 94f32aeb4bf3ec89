package eventing

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/eventing/feed"
)

const (
	// batchItems is how many events a batch has at first. As long as handlers are done with a full
	// one within quickBatch its successor may have twice as many, up to mostItems; after one that
	// took longer than slowBatch it has half as many, but batchItems.
	batchItems = 100
	mostItems  = feed.SegmentRows
	quickBatch = 50 * time.Millisecond
	slowBatch  = 200 * time.Millisecond
	// batchBytes bounds the events of a batch, too.
	batchBytes = 1 << 20
)

// pipeline runs batches one after the other, and the handlers of a batch while the batch before it
// is being stored. At most two batches are under way at a time.
type pipeline struct {
	f    *function
	at   checkpoint
	size int // items that the next batch may have
	// gather waits for the items of the next batch, and takes memory for what they have apart. It
	// calls turn when over is closed, so that nothing of the batch before is kept until there are
	// some.
	gather func(ctx context.Context, h *holding) ([]*item, error)
	// fill adds the items that have come since to those of a batch, as many as it may have; done is
	// told of items that are done for good. They may be nil.
	fill func([]*item) []*item
	done func([]*item)

	// storing is the batch that is being stored, nil if there is none. When that is over, failed is
	// set where the pipeline cannot go on, and over is closed.
	storing *batch
	over    chan struct{}
	failed  error
}

// work runs batches until ctx ends; then no new one is begun. hard ends handlers that still run.
// The error is why the pipeline cannot go on; whatever a handler does wrong is no error of it.
func (p *pipeline) work(ctx, hard context.Context) error {
	hard, drop := context.WithCancel(hard)
	defer drop()
	for {
		h := p.f.newHolding()
		items, err := p.gather(ctx, h)
		if err != nil {
			h.forget()
			return errors.Join(p.turn(), err)
		}
		b := p.f.newBatch(items, h)
		b.before = p.storing
		traced, span := batchTrace(hard, p.f, len(items))
		p.run(traced, b)
		if err := p.turn(); err != nil {
			h.forget()
			span.End(err)
			return err // the batch has had no effect
		}
		b = p.catchUp(traced, b)
		store := func() error {
			err := p.f.complete(traced, b, p.at)
			span.End(err)
			if err != nil {
				drop()
				return err
			}
			if p.done != nil {
				p.done(b.items)
			}
			return nil
		}
		if !b.whole() || !b.changes() { // handlers have to run again first, or nothing takes time
			if err := store(); err != nil {
				return err
			}
			continue
		}
		over := make(chan struct{})
		p.storing, p.over = b, over
		go func() {
			defer close(over)
			p.failed = store()
		}()
	}
}

// run runs the handlers of a batch and adapts the size of the next one to the time that took: large
// batches save transactions, but the effects of slow handlers shall be seen soon.
func (p *pipeline) run(ctx context.Context, b *batch) {
	began := time.Now()
	b.run(ctx)
	switch took := time.Since(began); {
	case took > slowBatch:
		p.size = max(p.size/2, batchItems)
	case took < quickBatch && len(b.items) >= p.size:
		p.size = min(2*p.size, mostItems)
	}
}

// turn waits until the batch before is stored. The error is that of the pipeline, for good.
func (p *pipeline) turn() error {
	if p.over != nil {
		<-p.over
		p.storing, p.over = nil, nil
	}
	return p.failed
}

// catchUp makes a batch whose turn has come what it would be if it had begun now: with the events
// that have come since, and over what the batch before has left.
func (p *pipeline) catchUp(ctx context.Context, b *batch) *batch {
	fill := func(items []*item) []*item { return items }
	if p.fill != nil {
		fill = p.fill
	}
	if b.isVoid() {
		for _, it := range b.items {
			it.attempt, it.failure = 0, nil
		}
		b = p.f.newBatch(fill(b.items), b.holding)
	} else if b.before = nil; b.whole() {
		b.items = fill(b.items)
	} else {
		return b
	}
	if !b.whole() {
		b.run(ctx)
	}
	return b
}

// gather waits for an event and takes all that have come with it, up to the size of a batch. A
// batch before that is stored in the meantime is let go (turn), so that its memory is not kept
// while nothing happens.
func (w *worker) gather(ctx context.Context, _ *holding) ([]*item, error) {
	for ctx.Err() == nil {
		select {
		case it := <-w.queue:
			return w.fill([]*item{it}), nil
		case <-w.over:
			if err := w.turn(); err != nil {
				return nil, err
			}
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// fill adds the events that have come meanwhile to a batch, up to its bounds, without waiting.
func (w *worker) fill(items []*item) []*item {
	size := 0
	for _, it := range items {
		size += it.size
	}
	for len(items) < w.size && size < batchBytes {
		select {
		case it := <-w.queue:
			items = append(items, it)
			size += it.size
		default:
			return items
		}
	}
	return items
}
