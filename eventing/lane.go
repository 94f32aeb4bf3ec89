package eventing

import (
	"context"
	"errors"
)

const (
	// batchItems and batchBytes bound the events of one batch.
	batchItems = 100
	batchBytes = 1 << 20
)

// work runs the lane's events until ctx ends. hard ends handlers that run then.
func (l *lane) work(ctx, hard context.Context) error {
	hard, drop := context.WithCancel(hard)
	defer drop()
	for {
		items, err := l.gather(ctx)
		if err != nil {
			return errors.Join(l.turn(), err)
		}
		b := l.r.f.newBatch(items, new(curlMemo))
		b.before = l.storing
		b.run(hard)
		if err := l.turn(); err != nil {
			return err // the batch has had no effect
		}
		b = l.catchUp(hard, b)
		store := func() error {
			err := l.r.f.complete(hard, b, l)
			if err != nil {
				drop()
				return err
			}
			l.r.settled(b.items)
			return nil
		}
		if !b.whole() || !b.changes() { // handlers have to run again first, or nothing takes time
			if err := store(); err != nil {
				return err
			}
			continue
		}
		over := make(chan struct{})
		l.storing, l.over = b, over
		go func() {
			defer close(over)
			l.failed = store()
		}()
	}
}

// turn waits until the batch before is done. The error is that of the lane.
func (l *lane) turn() error {
	if l.over != nil {
		<-l.over
		l.storing, l.over = nil, nil
	}
	return l.failed
}

// catchUp makes a batch whose turn has come what it would be if it had begun now: with the events that have come since,
// and over what the batch before has left.
func (l *lane) catchUp(ctx context.Context, b *batch) *batch {
	if b.isVoid() {
		for _, it := range b.items {
			it.attempt, it.failure = 0, nil
		}
		b = l.r.f.newBatch(l.fill(b.items), b.curls)
	} else if b.before = nil; b.whole() {
		b.items = l.fill(b.items)
	} else {
		return b
	}
	if !b.whole() {
		b.run(ctx)
	}
	return b
}

// gather waits for an event, and takes those that are there with it.
func (l *lane) gather(ctx context.Context) ([]*item, error) {
	for ctx.Err() == nil {
		select {
		case it := <-l.queue:
			return l.fill([]*item{it}), nil
		case <-l.over: // nothing of the batch is kept until an event comes
			if err := l.turn(); err != nil {
				return nil, err
			}
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// fill adds the events that are there to those of a batch, as many as it may have.
func (l *lane) fill(items []*item) []*item {
	size := 0
	for _, it := range items {
		size += it.size
	}
	for len(items) < batchItems && size < batchBytes {
		select {
		case it := <-l.queue:
			items = append(items, it)
			size += it.size
		default:
			return items
		}
	}
	return items
}
