package mango

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/settee-db/settee/storage"
)

// A scan of all documents matches on several processors: one goroutine reads, others match, and this one takes the
// documents in their order.
const (
	// aheadAfter is how many documents are read one after the other first: many queries need no more.
	aheadAfter = 256
	aheadDocs  = 128
	aheadBytes = 256 << 10
)

// aheadBatch is some documents, copied out of the snapshot.
type aheadBatch struct {
	docs   []storage.Document
	bytes  []byte
	passes []bool
	errs   []error
	judged chan struct{} // closed when passes and errs are there
	taken  chan struct{} // closed when the documents are not needed any more
}

func newAheadBatch() *aheadBatch {
	return &aheadBatch{judged: make(chan struct{}), taken: make(chan struct{})}
}

// add copies a document; it reports whether the batch is full.
func (b *aheadBatch) add(d *storage.Document) (full bool) {
	start := len(b.bytes)
	b.bytes = append(b.bytes, d.Body...)
	doc := *d
	doc.Body = b.bytes[start:len(b.bytes):len(b.bytes)]
	doc.Attachments = slices.Clone(d.Attachments)
	b.docs = append(b.docs, doc)
	return len(b.docs) >= aheadDocs || len(b.bytes) >= aheadBytes
}

func (b *aheadBatch) judge(s *Selector, p *picker, scratch *mapScratch) {
	defer close(b.judged)
	for i := range b.docs {
		passes, err := true, error(nil)
		if !s.Empty() {
			passes, err = scratch.match(s, p, &b.docs[i])
		}
		b.passes, b.errs = append(b.passes, passes), append(b.errs, err)
	}
}

// scanAhead reads the documents in a range of ids and takes them.
func (f *finder) scanAhead(o storage.RangeOptions) error {
	ctx, cancel := context.WithCancel(f.ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	workers := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	inOrder, toJudge := make(chan *aheadBatch, 2*workers), make(chan *aheadBatch, 2*workers)
	var scanErr error // set before inOrder is closed
	helpers.Go(func() {
		defer close(inOrder)
		defer close(toJudge)
		scanErr = f.readAhead(ctx, o, inOrder, toJudge)
	})
	for range workers {
		helpers.Go(func() {
			scratch := mapScratches.Get().(*mapScratch)
			defer mapScratches.Put(scratch)
			for b := range toJudge {
				b.judge(f.plan.req.Selector, &f.picker, scratch)
			}
		})
	}
	for b := range inOrder {
		<-b.judged
		for i := range b.docs {
			verdict := judged{b.passes[i], b.errs[i]}
			if err := f.take(&found{id: []byte(b.docs[i].ID), doc: &b.docs[i], judged: &verdict}); err != nil {
				return err
			}
		}
		close(b.taken)
	}
	return scanErr
}

// readAhead makes batches until the range or ctx ends. It reads on after a large document when that was taken: then it
// need not be copied, and there is one at a time.
func (f *finder) readAhead(ctx context.Context, o storage.RangeOptions, inOrder, toJudge chan<- *aheadBatch) error {
	b := newAheadBatch()
	send := func() error {
		for _, to := range []chan<- *aheadBatch{toJudge, inOrder} {
			select {
			case to <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b = newAheadBatch()
		return nil
	}
	err := f.scanDocs(ctx, o, func(d *storage.Document) error {
		if len(d.Body) < aheadBytes {
			if b.add(d) {
				return send()
			}
			return nil
		}
		if err := send(); err != nil {
			return err
		}
		large := b
		large.docs = append(large.docs, *d)
		if err := send(); err != nil {
			return err
		}
		select {
		case <-large.taken:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return err
	}
	return send()
}
