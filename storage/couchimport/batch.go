package couchimport

import (
	"context"
	"errors"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/couchfile"
)

const (
	maxBatch      = 1000
	maxBatchBytes = 4 << 20
	// writers is how many batches are stored at once: one is prepared while another waits for the
	// disk.
	writers = 2
)

// batcher collects revisions and has them stored. It is for one goroutine.
type batcher struct {
	ctx  context.Context // of the import
	db   *storage.DB
	next []*compat.Document
	size int

	full    chan []*compat.Document
	running sync.WaitGroup
	pending sync.WaitGroup // batches that are handed over and not stored
	stop    context.CancelFunc

	mu      sync.Mutex
	err     error
	refused []*couchfile.Damage
}

// newBatcher starts the writers.
func newBatcher(ctx context.Context, db *storage.DB) *batcher {
	b := &batcher{db: db, full: make(chan []*compat.Document)}
	b.ctx, b.stop = context.WithCancel(ctx)
	for range writers {
		b.running.Go(b.write)
	}
	return b
}

// add takes a revision. The error is that of a batch before.
func (b *batcher) add(doc *compat.Document) error {
	size := len(doc.Body.JSON) + 16*len(doc.Revs.IDs) + 256
	for i := range doc.Attachments {
		size += int(doc.Attachments[i].InMemory())
	}
	if len(b.next) > 0 && b.size+size > maxBatchBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.next, b.size = append(b.next, doc), b.size+size
	if len(b.next) == maxBatch {
		return b.flush()
	}
	return nil
}

// flush hands the batch to a writer, and waits while all are busy. The error is that of a writer.
func (b *batcher) flush() error {
	if len(b.next) == 0 {
		return nil
	}
	b.pending.Add(1)
	select {
	case b.full <- b.next:
	case <-b.ctx.Done():
		b.pending.Done()
		return b.failure()
	}
	b.next, b.size = make([]*compat.Document, 0, maxBatch), 0
	return nil
}

// wait waits until all that was added is stored.
func (b *batcher) wait() error {
	if err := b.flush(); err != nil {
		return err
	}
	b.pending.Wait()
	if b.ctx.Err() != nil {
		return b.failure()
	}
	return nil
}

func (b *batcher) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	return context.Cause(b.ctx)
}

// close waits until everything is stored, and gives what was refused.
func (b *batcher) close() ([]*couchfile.Damage, error) {
	err := b.flush()
	close(b.full)
	b.running.Wait()
	b.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused, errors.Join(err, b.err)
}

// write stores batches as replication does, without asking validation functions.
func (b *batcher) write() {
	for docs := range b.full {
		results, err := b.db.Update(b.ctx, docs, storage.UpdateOptions{Replicated: true, Trusted: true})
		b.mu.Lock()
		for i := range results {
			if r := &results[i]; err == nil && r.Err != nil {
				b.refused = append(b.refused, &couchfile.Damage{ID: docs[i].ID, Err: r.Err})
			}
		}
		if err != nil && b.err == nil {
			b.err = err
			b.stop()
		}
		b.mu.Unlock()
		b.pending.Done()
	}
}
