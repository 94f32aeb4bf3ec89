package views

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/storage"
)

// A pass feeds changes to the indexes of one design document that lack them: read, map, commit.
// Several batches are on their way at a time; they are committed in order.
type pass struct {
	*builder
	indexes []*index    // the indexes that take part
	piece   *piece      // as it was committed last; nil: what the indexes lack up to the end of the feed
	until   storage.Seq // where the piece ends; zero without one
	again   bool        // what the indexes have seen before is mapped anew
	program *program

	size    atomic.Int64 // documents of the next batch
	most    atomic.Int64 // the bound of size
	claims  *memory.Batches
	largest int    // setting: documents of a transaction at most
	part    int    // and as it turned out
	scratch []byte // of the reader
}

const (
	firstBatch = 100
	firstWide  = 500 // across a network, where a commit takes as long as reading so many
	largeBatch = 2000
	smallBatch = 10
	// A commit should take about that long: long enough to be worth its synchronisation, short
	// enough for a store that limits the age of transactions.
	commitShort = 100 * time.Millisecond
	commitLong  = 600 * time.Millisecond
	// A read should not take longer than that.
	readLong = time.Second
	// commitRuns is how often the transaction of several documents is run before fewer are tried:
	// writers of some of them come in between again and again.
	commitRuns = 3
)

// bring brings the indexes to the end of the feed, or the piece to its own.
func (p *pass) bring(ctx context.Context) error {
	p.largest = p.v.opts.batchSize()
	p.size.Store(int64(min(p.v.opts.firstBatch(), p.largest)))
	p.most.Store(int64(p.largest))
	p.part = p.largest
	p.claims = p.v.builds.Batches()
	for {
		if err := p.some(ctx); !errors.Is(err, errCut) {
			return err
		}
	}
}

// some is bring, up to the end of a batch of which only the first documents were mapped: errCut.
func (p *pass) some(ctx context.Context) error {
	since := p.since()
	first, err := p.claim(ctx, since)
	if err != nil {
		return err
	}
	first.first = since == storage.Seq{}
	first.ready <- first.run(ctx, p.program)
	if first.last || first.cut {
		return p.finish(ctx, first)
	}
	return p.pipeline(ctx, first)
}

// commitBefore commits what is left of a batch that failed, and gives its error.
func (p *pass) commitBefore(ctx context.Context, b *batch, failed error) error {
	if _, told := compat.AsError(failed); !told || len(b.docs) == 0 {
		return failed
	}
	return cmp.Or(p.commit(ctx, b), failed)
}

// since is where the pass begins.
func (p *pass) since() storage.Seq {
	if p.piece != nil {
		return p.piece.at
	}
	since := p.indexes[0].rec.seq
	for _, ix := range p.indexes {
		if ix.rec.seq.Before(since) {
			since = ix.rec.seq
		}
	}
	return since
}

// pipeline reads and maps ahead of the commits.
func (p *pass) pipeline(ctx context.Context, first *batch) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	queue := make(chan *batch, p.v.opts.workers()) // bounds what is in memory, as the claims do
	defer func() {
		cancel()
		running.Wait()
		for b := range queue {
			b.part.GiveBack()
		}
	}()
	var readError error
	running.Go(func() {
		defer close(queue)
		readError = p.readAhead(ctx, first.end, queue, &running)
	})
	if err := p.finish(ctx, first); err != nil {
		return err
	}
	for b := range queue {
		if err := p.finish(ctx, b); err != nil {
			return err
		}
	}
	return readError
}

// finish commits a batch when it is mapped, and gives its part of the memory back.
func (p *pass) finish(ctx context.Context, b *batch) error {
	defer b.part.GiveBack()
	select {
	case err := <-b.ready:
		if err != nil {
			return p.commitBefore(ctx, b, err)
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.commit(ctx, b); err != nil || !b.cut {
		return err
	}
	p.size.Store(int64(len(b.docs)))
	return errCut
}

// readAhead reads batches and has them mapped.
func (p *pass) readAhead(ctx context.Context, since storage.Seq, queue chan<- *batch, running *sync.WaitGroup) error {
	for {
		b, err := p.claim(ctx, since)
		if err != nil {
			return err
		}
		last := b.last
		since = b.end
		select {
		case queue <- b:
		case <-ctx.Done():
			b.part.GiveBack()
			return ctx.Err()
		}
		running.Go(func() { b.ready <- b.run(ctx, p.program) })
		if last {
			return nil
		}
	}
}

// commit writes a batch in one transaction, or in several if it is too large for one.
func (p *pass) commit(ctx context.Context, b *batch) error {
	for n, ix := range p.indexes {
		if err := ix.checkValues(b.docs, n); err != nil {
			return err
		}
	}
	began := p.v.opts.now()
	parts := 0
	for from := 0; parts == 0 || from < len(b.docs); parts++ {
		to, err := p.commitPart(ctx, b, from)
		if err != nil {
			return err
		}
		from = to
	}
	p.adapt(p.v.opts.now().Sub(began), parts, len(b.docs))
	p.task.Advance(int64(len(b.docs)))
	return nil
}

// adapt chooses the size of later batches.
func (p *pass) adapt(took time.Duration, parts, docs int) {
	size := p.size.Load()
	switch {
	case parts > 1 || took > commitLong:
		p.size.Store(max(size/2, min(size, smallBatch)))
	case took < commitShort && int64(docs) >= size:
		p.size.Store(min(size*2, p.most.Load()))
	}
	if parts == 1 {
		p.part = min(2*p.part, p.largest)
	}
}

// limitSize sets the size of later batches for good, since reading more takes too long.
func (p *pass) limitSize(size int) {
	p.most.Store(int64(max(size, 1)))
	p.size.Store(int64(max(size, 1)))
}
