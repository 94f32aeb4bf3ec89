package mango

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// A scan of all documents reads and matches on several processors: the range of ids is cut into
// parts of about a thousand documents, each goroutine reads a part and matches its documents, and
// this one takes those that pass, in the order of their ids. Each part has a snapshot of its own,
// as the rest of a list has that became too old: an id is in one part only, so that a document that
// changes meanwhile is found once, as it was or as it is.
const (
	// parallelAfter is how many documents are read one after the other before a scan becomes
	// parallel: many queries need no more.
	parallelAfter = 256
	// A batch is what goes from a worker to the taker at a time: so many documents, or so many
	// bytes of bodies, whichever comes first.
	batchDocs  = 128
	batchBytes = 256 << 10
	// partsTogether is how many ends of parts are asked for together.
	partsTogether = 64
	// maxScanWorkers bounds the goroutines of one query.
	maxScanWorkers = 8
)

// canScanInParallel reports whether documents may be matched in another order than that in which
// they are taken: only if nothing is counted or shown for documents that do not pass, and nobody adds
// up what is found, which has to be of one snapshot.
func (f *finder) canScanInParallel() bool {
	return !f.together && f.src.Shown == nil && f.exec.filter == nil && f.exec.entries == nil
}

// scanPart is a part of a range of ids.
type scanPart struct {
	ids   storage.RangeOptions
	found chan *foundBatch
	err   error // set before found is closed
}

// foundBatch is documents of a part that pass, copied out of the snapshot.
type foundBatch struct {
	docs  []docread.Document
	bytes []byte
	// Documents that did not pass are only numbers: how many were read before each of docs since
	// the one before, and after the last one. The statistics are as exact as those of a plain scan.
	before []int64 // for each of docs how many others were read before it, since the one before
	after  int64   // and after the last one
	large  bool    // the document was not copied; its worker waits for taken
	taken  chan struct{}
}

// add copies a document; it reports whether the batch is full.
func (b *foundBatch) add(d *docread.Document) (full bool) {
	doc := *d
	doc.Attachments = slices.Clone(d.Attachments)
	// A large body is not copied but lent out of the snapshot, until the taker is done with it.
	if b.large = len(d.Body) >= batchBytes; !b.large {
		start := len(b.bytes)
		b.bytes = append(b.bytes, d.Body...)
		// The capacity is cut so that nobody can append into the next document's bytes. bytes may
		// move when it grows; slices of the old array stay valid.
		doc.Body = b.bytes[start:len(b.bytes):len(b.bytes)]
	}
	b.docs, b.before, b.after = append(b.docs, doc), append(b.before, b.after), 0
	return b.large || len(b.docs) >= batchDocs || len(b.bytes) >= batchBytes
}

func (b *foundBatch) empty() {
	clear(b.docs)
	b.docs, b.bytes, b.before, b.after, b.large = b.docs[:0], b.bytes[:0], b.before[:0], 0, false
}

// scan is a scan on several processors.
type scan struct {
	f    *finder
	ctx  context.Context      // of the scan: it ends its workers
	mu   sync.Mutex           // of what follows: who cuts a part puts it into parts
	rest storage.RangeOptions // what is not in parts yet
	ends []string             // of the next parts, as far as they are known
	cut  bool                 // nothing is left
	// In the order of the ids: next puts each part there under mu, before it is read. So the taker
	// comes to parts in order, though they are read at the same time.
	parts chan *scanPart
	spare chan *foundBatch
}

// parallelScan reads the documents in a range of ids and takes them.
func (f *finder) parallelScan(o storage.RangeOptions) error {
	ctx, cancel := context.WithCancel(f.ctx)
	workers := min(runtime.NumCPU(), runtime.GOMAXPROCS(0), maxScanWorkers)
	s := scan{
		f: f, ctx: ctx, rest: o, parts: make(chan *scanPart, workers), spare: make(chan *foundBatch, 4*workers),
	}
	var helpers sync.WaitGroup
	// Deferred calls run in reverse: cancel first, which ends workers that wait to send, then the
	// wait for them. None reads from the finder's snapshots after parallelScan has returned.
	defer helpers.Wait()
	defer cancel()
	for range workers {
		helpers.Go(s.work)
	}
	// Whoever waits for the next part learns in this way that there is none.
	go func() {
		helpers.Wait()
		close(s.parts)
	}()
	for part := range s.parts {
		for b := range part.found {
			if err := f.takeBatch(b); err != nil {
				return err
			}
			s.giveBack(b)
		}
		if part.err != nil {
			return part.err
		}
	}
	return f.ctx.Err()
}

// takeBatch takes the documents of a batch that pass, in their order, with the counts of those
// between them that do not.
func (f *finder) takeBatch(b *foundBatch) error {
	for i := range b.docs {
		f.passOver(b.before[i])
		if err := f.take(&found{id: []byte(b.docs[i].ID), doc: &b.docs[i], passed: true}); err != nil {
			return err
		}
	}
	f.passOver(b.after)
	return nil
}

// work reads parts until there are no more.
func (s *scan) work() {
	scratch := mapScratches.Get().(*mapScratch)
	defer mapScratches.Put(scratch)
	for part := s.next(); part != nil; part = s.next() {
		part.err = s.read(part, scratch)
		close(part.found)
		if part.err != nil {
			return
		}
	}
}

// next cuts off the next part; nil if there is none.
func (s *scan) next() *scanPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return nil
	}
	part := &scanPart{ids: s.rest, found: make(chan *foundBatch, 1)}
	var err error
	if len(s.ends) == 0 {
		s.ends, err = s.f.src.DB.SplitIDs(s.ctx, s.rest, partsTogether)
	}
	// Without another end the rest is the last part; it has the error of the failed look, if there
	// is one.
	if s.cut = err != nil || len(s.ends) == 0; !s.cut {
		end := s.ends[0]
		s.ends = s.ends[1:]
		part.ids.End = storage.Bound{ID: end, Set: true}
		// Each part includes its end; the next one begins behind it.
		s.rest.Start = storage.Bound{ID: end, Set: true, Exclusive: true}
	}
	// The lock is held while it waits for room: others could only cut the part behind this one,
	// which has to come behind it in parts.
	select {
	case s.parts <- part:
	case <-s.ctx.Done():
		return nil
	}
	if err != nil {
		part.err = err
		close(part.found)
		return nil
	}
	return part
}

// read reads a part and sends what passes. It reads on after a large document when that was taken:
// then it need not be copied, and there is one at a time.
func (s *scan) read(part *scanPart, scratch *mapScratch) error {
	f, b := s.f, s.batch()
	send := func() error {
		// After it is sent a batch belongs to the taker, which may give it back to any worker:
		// nothing of it is looked at then.
		taken := b.taken
		if !b.large {
			taken = nil
		}
		select {
		case part.found <- b: // which may be somebody else's now
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		if taken != nil {
			select {
			case <-taken:
			case <-s.ctx.Done():
				return s.ctx.Err()
			}
		}
		b = s.batch()
		return nil
	}
	wanted := f.plan.req.Selector
	err := f.scanDocs(s.ctx, part.ids, func(d *docread.Document) error {
		passes, err := wanted.Empty(), error(nil)
		if !passes {
			passes, err = scratch.match(wanted, &f.picker, d)
		}
		switch {
		case err != nil:
			return err
		case !passes:
			if !f.quorum || !compat.IsDesignID(d.ID) {
				b.after++
			}
			return nil
		// What came before a large document is sent first, so that the large one is alone in its
		// batch.
		case len(d.Body) >= batchBytes && len(b.docs) > 0:
			if err := send(); err != nil {
				return err
			}
		}
		if b.add(d) {
			return send()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send()
}

// batch gives an empty batch.
func (s *scan) batch() *foundBatch {
	select {
	case b := <-s.spare:
		return b
	default:
		return &foundBatch{taken: make(chan struct{}, 1)}
	}
}

// giveBack tells that a batch was taken.
func (s *scan) giveBack(b *foundBatch) {
	if b.large {
		b.taken <- struct{}{} // its worker still has it
		return
	}
	b.empty()
	select {
	case s.spare <- b:
	default:
	}
}
