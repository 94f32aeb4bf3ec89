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
//
// A batch is done when the target has answered for all of its rows; checkpoints go from the end of
// one batch to the end of another.
type batch struct {
	// The number of the batch in the order of the feed, from 0: batches end in any order, and
	// Session.done brings them back into this one.
	n    int
	rows []ChangeRow
	end  Sequence // of the last row, or of the silence after it
	// Bytes that its rows take of maxQueued, by rowSize.
	size int
}

// batcher makes batches of the rows of a feed.
type batcher struct {
	// Rows in the order of the feed. A row without ID only moves the end forward: it stands for the
	// last_seq of a feed that was silent.
	rows chan ChangeRow
	// It has no room of its own: a batch that is ready waits for a worker, and the feed waits
	// behind it.
	batches chan *batch
	most    int

	// Guards queued, bytes of rows that were put and whose batch is not done.
	mu     sync.Mutex
	queued int
	// Holds a signal that bytes were given back. One is enough, because only the reader of the feed
	// puts rows.
	freed chan struct{}
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
		// A row larger than all of the room passes alone.
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
	// About what the structs and the headers of strings take beside the texts.
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
		// The first row of a batch is waited for as long as it takes.
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
