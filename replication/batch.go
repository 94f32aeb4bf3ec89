package replication

import (
	"context"
	"sync"
	"time"
)

// Bounds of what waits between the feed and the workers.
const (
	// linger is how long a batch that is not full waits for more rows.
	linger = 5 * time.Millisecond
	// maxQueued is how many bytes of rows may wait or be worked on.
	maxQueued = 8 << 20
)

// batch are rows that a worker takes at once.
type batch struct {
	n    int
	rows []ChangeRow
	end  Sequence // of the last row, or of the silence after it
	size int
}

// batcher makes batches of the rows of a feed.
type batcher struct {
	rows    chan ChangeRow // a row without ID only moves the end forward
	batches chan *batch
	most    int

	mu     sync.Mutex
	queued int
	freed  chan struct{}
}

func newBatcher(most int) *batcher {
	return &batcher{
		rows:    make(chan ChangeRow, 256),
		batches: make(chan *batch),
		most:    max(most, 1),
		freed:   make(chan struct{}, 1),
	}
}

// put queues a row, when there is room for it.
func (b *batcher) put(ctx context.Context, row ChangeRow) error {
	size := rowSize(&row)
	for {
		b.mu.Lock()
		if b.queued == 0 || b.queued+size <= maxQueued {
			b.queued += size
			b.mu.Unlock()
			break
		}
		b.mu.Unlock()
		select {
		case <-b.freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case b.rows <- row:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func rowSize(row *ChangeRow) int {
	size := 64 + len(row.ID) + len(row.Seq)
	for _, rev := range row.Revs {
		size += 32 + len(rev.Hash)
	}
	return size
}

// release makes room after a batch was worked on.
func (b *batcher) release(size int) {
	b.mu.Lock()
	b.queued -= size
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// run makes batches until rows is closed; then it closes batches.
func (b *batcher) run(ctx context.Context) {
	defer close(b.batches)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for n := 0; ; n++ {
		current, open := b.collect(ctx, timer, n)
		if current == nil {
			return
		}
		select {
		case b.batches <- current:
		case <-ctx.Done():
			return
		}
		if !open {
			return
		}
	}
}

// collect takes rows until there are enough, or none has come for a while.
func (b *batcher) collect(ctx context.Context, timer *time.Timer, n int) (current *batch, open bool) {
	current = &batch{n: n}
	timer.Stop()
	for count := 0; count < b.most; count++ {
		var idle <-chan time.Time
		if count > 0 {
			timer.Reset(linger)
			idle = timer.C
		}
		select {
		case row, ok := <-b.rows:
			if !ok {
				if count == 0 {
					return nil, false
				}
				return current, false
			}
			current.size += rowSize(&row)
			current.end = row.Seq
			if row.ID != "" {
				current.rows = append(current.rows, row)
			}
		case <-idle:
			return current, true
		case <-ctx.Done():
			return nil, false
		}
	}
	return current, true
}
