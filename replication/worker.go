package replication

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// worker copies batches: it asks the target which revisions it lacks, reads them at the source and
// writes them (couch_replicator_worker).
type worker struct {
	session  *Session
	bulkGet  ratio // of documents that _bulk_get cannot give
	revsDiff ratio // of revisions that the target lacks

	// Guards what several goroutines of fetchAll add.
	mu   sync.Mutex
	out  [][]byte // documents without attachments, to be written together
	size int      // of their memory, in bytes
}

// ratio is a moving average of failures, which reports whether a request is worth while
// (couch_replicator_worker:attempt_fetch).
//
// average is of the share of failures, from 0 to 1; each update moves it by decay towards the
// latest one. A request is worth while as long as average is at most limit.
type ratio struct {
	average, limit, decay float64
	last                  time.Time
}

// ratioRetry is how often a request is made although it does not seem worth while.
const ratioRetry = 37 * time.Second

func (r *ratio) worthwhile() bool { return r.average <= r.limit || time.Since(r.last) > ratioRetry }

func (r *ratio) update(successes, attempts int) {
	share := 0.0
	if attempts > 0 {
		share = float64(attempts-successes) / float64(attempts)
	}
	r.average += r.decay * (share - r.average)
	r.last = time.Now()
}

const (
	// maxBulk is the memory from which on documents are written, in bytes.
	maxBulk = 512 << 10
	// documentOverhead is about what a document takes beside its text, here and where it is parsed
	// to be stored. A source may send any number of tiny ones; those of a batch that keeps to
	// worker_batch_size are written together.
	documentOverhead = 256
)

func newWorker(r *Session) *worker {
	now := time.Now()
	return &worker{
		session: r,
		// Limits and decays are couch_replicator_worker's. _bulk_get is given up sooner than
		// _revs_diff: a failed one has cost an answer with documents, the other one only names.
		bulkGet:  ratio{limit: 0.5, decay: 0.25, last: now},
		revsDiff: ratio{limit: 0.95, decay: 0.4, last: now},
	}
}

// work copies batches until there are no more.
func (w *worker) work(ctx context.Context, b *batcher) error {
	for {
		select {
		case next, open := <-b.batches:
			if !open {
				return nil
			}
			if err := w.process(ctx, next); err != nil {
				return err
			}
			// The room is given back only now: what a worker holds counts too.
			w.session.done(next.n, next.end)
			b.release(next.size)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// process copies the revisions of one batch that the target lacks. Design documents go first, one
// by one, because they may hold the validation functions of the others; then what _bulk_get can
// give, and what it cannot is fetched document by document.
func (w *worker) process(ctx context.Context, b *batch) (err error) {
	ctx, span := w.session.set.Tracer.Root(ctx, "replication batch")
	span.Int("settee.changes", int64(len(b.rows)))
	defer func() { span.End(err) }()
	wanted, err := w.missing(ctx, b.rows)
	if err != nil || len(wanted) == 0 {
		return err
	}
	// Equal batches make equal requests, in the order of the ids.
	sort.Slice(wanted, func(i, j int) bool {
		if c := strings.Compare(wanted[i].ID, wanted[j].ID); c != 0 {
			return c < 0
		}
		return wanted[i].Rev.Compare(wanted[j].Rev) < 0
	})
	var designs []Wanted
	bulk := wanted[:0]
	for _, v := range wanted {
		if compat.IsDesignID(v.ID) {
			designs = append(designs, v)
		} else {
			bulk = append(bulk, v)
		}
	}
	if err := w.fetchAll(ctx, designs); err != nil {
		return err
	}
	rest, err := w.getBulk(ctx, bulk)
	if err != nil {
		return err
	}
	if err := w.fetchAll(ctx, rest); err != nil {
		return err
	}
	return w.flush(ctx)
}

// missing asks the target which revisions it lacks (_revs_diff). A target that has lacked nearly
// everything of late is not asked, and gets all of them: that is cheaper than to ask, and changes
// nothing twice (couch_replicator_worker:find_missing). A document may be in several rows of a
// batch.
func (w *worker) missing(ctx context.Context, rows []ChangeRow) ([]Wanted, error) {
	asked := make([]IDRevs, 0, len(rows))
	place := make(map[string]int, len(rows))
	count := 0
	for i := range rows {
		row := &rows[i]
		if len(row.Revs) == 0 {
			continue
		}
		count += len(row.Revs)
		if at, again := place[row.ID]; again {
			for _, rev := range row.Revs {
				if !slices.Contains(asked[at].Revs, rev) {
					asked[at].Revs = append(asked[at].Revs, rev)
				}
			}
			continue
		}
		place[row.ID] = len(asked)
		asked = append(asked, IDRevs{row.ID, row.Revs})
	}
	if len(asked) == 0 {
		return nil, nil
	}
	var wanted []Wanted
	if w.revsDiff.worthwhile() {
		missing, err := w.session.target.RevsDiff(ctx, asked)
		if err != nil {
			return nil, err
		}
		unrelated := 0
		for _, m := range missing {
			for _, rev := range m.Revs {
				wanted = append(wanted, Wanted{m.ID, rev, m.Ancestors})
				if len(m.Ancestors) == 0 {
					unrelated++
				}
			}
		}
		// What counts as a success is a revision that the target has, or has an ancestor of: for
		// those the question has saved something.
		w.revsDiff.update(count-unrelated, count)
	} else {
		for _, a := range asked {
			for _, rev := range a.Revs {
				wanted = append(wanted, Wanted{a.ID, rev, nil})
			}
		}
	}
	w.session.counters.checked.Add(int64(count))
	w.session.counters.found.Add(int64(len(wanted)))
	return wanted, nil
}

// getBulk reads documents without attachments together, and returns those that have to be fetched
// one by one.
func (w *worker) getBulk(ctx context.Context, wanted []Wanted) (rest []Wanted, err error) {
	if len(wanted) == 0 || !w.session.spec.Options.UseBulkGet || !w.bulkGet.worthwhile() {
		return wanted, nil
	}
	got := make([]bool, len(wanted))
	successes := 0
	err = w.session.source.BulkGet(ctx, wanted, func(i int, doc []byte) error {
		got[i] = true
		successes++
		// The text is the stream's, valid until this returns.
		return w.add(ctx, slices.Clone(doc))
	})
	if err != nil && !errors.Is(err, errBulkGet) {
		return nil, err
	}
	w.session.counters.bulkDocs.Add(int64(successes))
	w.session.counters.bulkAttempts.Add(int64(len(wanted)))
	w.bulkGet.update(successes, len(wanted))
	for i := range wanted {
		if !got[i] {
			rest = append(rest, wanted[i])
		}
	}
	return rest, nil
}

// fetchAll reads documents one by one, several at once.
func (w *worker) fetchAll(parent context.Context, wanted []Wanted) error {
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var group sync.WaitGroup
	next := make(chan Wanted)
	for range min(len(wanted), max(w.session.spec.Options.Connections, 1)) {
		group.Go(func() {
			for v := range next {
				if err := w.fetch(ctx, v); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, v := range wanted {
		select {
		case next <- v:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// hasStubs reports whether a document names attachments that do not come with it.
func hasStubs(json []byte) bool {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(json)
	if err != nil || v.Kind() != ejson.Object {
		return false
	}
	atts, ok := v.Get("_attachments")
	return ok && atts.Len() > 0
}

// fetch copies one revision. It is read again, as often as requests are made again, when the target
// did not answer: attachments come from a stream, so that Put by itself cannot send them twice.
func (w *worker) fetch(ctx context.Context, v Wanted) error {
	left, wait, began := w.session.spec.Options.Retries, firstWait, time.Now()
	for {
		err := w.fetchOnce(ctx, v)
		var away *putFailure
		left--
		if !errors.As(err, &away) || left < 0 || time.Since(began) > w.session.set.HealthThreshold/2 {
			return err
		}
		// It was counted when it was read, and will be read again.
		w.session.counters.read.Add(-1)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

// putFailure is a request to the target that failed but may not when it is made again.
type putFailure struct{ error }

// Unwrap gives the failure itself.
func (f *putFailure) Unwrap() error { return f.error }

// fetchOnce copies one revision. What was announced but is missing is asked for once more.
func (w *worker) fetchOnce(ctx context.Context, v Wanted) error {
	take := func(d *Document) error { return w.take(ctx, d) }
	err := w.session.source.Fetch(ctx, v, take)
	if errors.Is(err, ErrMissingDoc) || errors.Is(err, ErrMissingStub) {
		w.session.log("document is fetched again", "replication", w.session.spec.ID.String(), "document", v.ID,
			"reason", err)
		if err := retryMissing(ctx, w.session.set); err != nil {
			return err
		}
		// With all attachments this time: the target lacks one that the source had left out.
		v.Ancestors = nil
		if err = w.session.source.Fetch(ctx, v, take); errors.Is(err, ErrMissingDoc) {
			return termFailure("worker_died", "missing_doc")
		}
		if errors.Is(err, ErrMissingStub) {
			return termFailure("worker_died", "missing_stub")
		}
	}
	return err
}

// take writes a document that came by itself: at once if it has attachments or is a design
// document.
func (w *worker) take(ctx context.Context, d *Document) error {
	if len(d.Attachments) == 0 && !compat.IsDesignID(d.ID) && !hasStubs(d.JSON) {
		return w.add(ctx, d.JSON)
	}
	w.session.counters.read.Add(1)
	err := w.session.target.Put(ctx, d)
	var refused *Refusal
	var failed *httpFailure
	switch {
	case err == nil:
		w.session.counters.written.Add(1)
		return nil
	case errors.As(err, &refused):
		w.refused(refused)
		return nil
	case errors.Is(err, ErrMissingStub):
		w.session.counters.read.Add(-1)
	case errors.As(err, &failed) && !isAddressError(err):
		return &putFailure{err}
	}
	return err
}

func (w *worker) refused(r *Refusal) {
	w.session.counters.failures.Add(1)
	w.session.log("document is not replicated: the target refuses it", "replication", w.session.spec.ID.String(),
		"document", r.ID, "revision", r.Rev, "error", r.Word, "reason", r.Reason)
}

// add puts a document with the others that are written together.
func (w *worker) add(ctx context.Context, doc []byte) error {
	w.session.counters.read.Add(1)
	w.mu.Lock()
	w.out = append(w.out, doc)
	w.size += cap(doc) + documentOverhead
	var full [][]byte
	if w.size > maxBulk {
		full, w.out, w.size = w.out, nil, 0
	}
	w.mu.Unlock()
	return w.write(ctx, full)
}

func (w *worker) flush(ctx context.Context) error {
	w.mu.Lock()
	rest := w.out
	w.out, w.size = nil, 0
	w.mu.Unlock()
	return w.write(ctx, rest)
}

// write writes documents together, the last first as CouchDB does; what is too large is halved.
func (w *worker) write(ctx context.Context, docs [][]byte) error {
	if len(docs) == 0 {
		return nil
	}
	slices.Reverse(docs)
	refused, err := w.session.target.BulkWrite(ctx, docs)
	switch {
	case errors.Is(err, ErrTooLarge) && len(docs) == 1:
		w.session.counters.failures.Add(1)
		w.session.log("document is not replicated: it is too large for the target", "replication",
			w.session.spec.ID.String(), "bytes", len(docs[0]))
		return nil
	case errors.Is(err, ErrTooLarge):
		// Back in order, for the halves to be reversed again.
		slices.Reverse(docs)
		half := len(docs) / 2
		if err := w.write(ctx, docs[:half]); err != nil {
			return err
		}
		return w.write(ctx, docs[half:])
	case err != nil:
		return err
	}
	for i := range refused {
		w.refused(&refused[i])
	}
	w.session.counters.written.Add(int64(len(docs) - len(refused)))
	return nil
}
