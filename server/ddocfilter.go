package server

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views/js"
)

// functionFilter is a filter of a changes feed that is a function of a design document: one of its filters, or the map function of a
// view, which lets pass what it emits for (couch_changes:filter). Rows are gathered, so that many documents cross to a worker at once.
type functionFilter struct {
	c      *Call
	o      *compat.ChangesOptions
	design *js.Design
	path   []string
	req    []byte
	// feed is the feed whose heart beats while the function runs; nil: it does not.
	feed     *changesFeed
	examined bool // a document was looked at
}

// functionFilter finds the function.
func (c *Call) functionFilter(o *compat.ChangesOptions, filter compat.ChangesFilter, body ejson.Value) (*functionFilter, error) {
	d, err := c.openFunctions(filter.Design)
	if err != nil {
		return nil, err
	}
	f := &functionFilter{c: c, o: o, path: []string{"filters", filter.Function}}
	if filter.Builtin == "_view" {
		f.path = []string{"views", filter.Function, "map"}
	}
	if _, err := d.member(f.path[:2]...); err != nil {
		return nil, err
	}
	if f.design, err = c.functions(d); err != nil {
		return nil, crashed(err)
	}
	if filter.Builtin == "" {
		request := designRequest{}
		if body.Kind() != ejson.Invalid {
			request.body = body.AppendJSON(nil)
		}
		f.req, err = c.requestObject(request)
	}
	return f, err
}

// The bounds of a batch. Its size follows the time that the function takes, so that rows are not held back for long.
const (
	filterBatch     = 100
	filterBytes     = 1 << 20
	filterBatchTime = time.Second
)

// filteredRow is a row that waits for the function.
type filteredRow struct {
	change storage.Change
	docs   [][]byte     // what the function sees: the leaves change.Revs
	leaves []compat.Rev // still to be read
}

// filterScan is one scan of the feed.
type filterScan struct {
	*functionFilter
	row   func(*storage.Change) error
	none  bool  // no row is wanted: the scan only looks at the first
	left  int64 // rows still wanted, negative: any number
	rows  []filteredRow
	docs  int                // of the rows, with leaves that are still to be read
	size  int                // of the documents that were read
	batch int                // documents in a crossing
	ended *storage.UpdateSeq // where the feed ends if a limit ended it
	spare int64              // rows behind it that were read
	// broken is what reading leaves ended with. storage must not take it for an error of its own scan, and go on.
	broken error
}

// scan is the scanFunc of the filter.
func (f *functionFilter) scan(since storage.Seq, limit int64, row func(*storage.Change) error) (storage.ChangesEnd, error) {
	s := &filterScan{functionFilter: f, row: row, none: limit == 0, left: limit, batch: filterBatch}
	opts := f.c.storageOptions(f.o, since, -1)
	opts.IncludeDocs = true
	if s.none {
		opts.Limit = 1
	}
	end, err := f.c.db.Changes(f.c.Context(), opts, s.take)
	if err == nil && s.ended == nil && s.broken == nil {
		err = s.flush()
	}
	switch {
	case errors.Is(err, errBeforeFirst):
		opts.Limit = 0
		return f.c.db.Changes(f.c.Context(), opts, s.take)
	case errors.Is(err, storage.ErrStop):
		err = nil
	}
	if err == nil {
		err = s.broken
	}
	if s.ended != nil {
		end.Last, end.Pending = *s.ended, end.Pending+s.spare
	}
	return end, err
}

// errBeforeFirst ends a scan for no rows before the first one: it passes. One that does not pass counts as seen, as in CouchDB.
var errBeforeFirst = errors.New("the first row passes")

// take gathers a row with the documents that the function is asked about: the winner, with style=all_docs every leaf. They show no other
// revision than their own.
func (s *filterScan) take(ch *storage.Change) error {
	r := filteredRow{change: *ch}
	r.change.Revs, r.change.Doc = nil, nil
	if s.o.Style != compat.StyleAllDocs || len(ch.Revs) == 1 {
		s.size += s.addDoc(&r, ch.Doc)
		s.docs++
	} else {
		r.leaves = slices.Clone(ch.Revs)
		s.docs += len(r.leaves)
	}
	if s.o.IncludeDocs {
		r.change.Doc = keepDocument(ch.Doc)
		if s.o.Style == compat.StyleAllDocs && s.o.Conflicts && ch.Doc.Conflicts == nil {
			r.change.Doc.Conflicts = []compat.Rev{} // CouchDB prints an empty list here
		}
	}
	s.rows = append(s.rows, r)
	if s.docs >= s.batch || s.size >= filterBytes {
		return s.flush()
	}
	return nil
}

// addDoc adds a document, and returns its size.
func (s *filterScan) addDoc(r *filteredRow, doc *storage.Document) int {
	shown := *doc
	shown.Revs = compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}}
	if s.o.Style == compat.StyleAllDocs {
		shown.Conflicts = nil
	}
	text := appendFunctionDoc(nil, &shown, s.c.set.functionRevs)
	r.docs, r.change.Revs = append(r.docs, text), append(r.change.Revs, doc.Rev)
	return len(text)
}

// keepDocument copies what belongs to the scan's callback.
func keepDocument(d *storage.Document) *storage.Document {
	kept := *d
	kept.Body = bytes.Clone(d.Body)
	kept.Attachments = slices.Clone(d.Attachments)
	kept.Conflicts = slices.Clone(d.Conflicts)
	return &kept
}

// flush reads the leaves that the rows gathered wait for, together, asks the function and hands on the rows that pass;
// storage.ErrStop when the limit is reached or s.broken is set.
func (s *filterScan) flush() error {
	rows, size := s.rows, s.size
	s.rows, s.docs, s.size = nil, 0, 0
	var requests []storage.OpenRevsRequest
	var at []int
	for i := range rows {
		if len(rows[i].leaves) > 0 {
			o := storage.OpenRevsOptions{Revs: rows[i].leaves}
			requests, at = append(requests, storage.OpenRevsRequest{ID: rows[i].change.ID, OpenRevsOptions: o}), append(at, i)
		}
	}
	asked := 0 // rows that the function was asked about
	var ended error
	if len(requests) > 0 {
		err := s.c.db.BulkGet(s.c.Context(), requests, func(i int, found []storage.RevResult) error {
			size += s.addLeaves(&rows[at[i]], found)
			if size >= filterBytes {
				first := asked
				size, asked = 0, at[i]+1
				ended = s.pass(rows[first:asked], len(rows)-first)
			}
			return ended
		})
		if ended == nil && err != nil {
			s.broken = err
			return storage.ErrStop
		}
	}
	if ended == nil {
		ended = s.pass(rows[asked:], len(rows)-asked)
	}
	return ended
}

// addLeaves adds the documents of a row's leaves, and returns their size.
func (s *filterScan) addLeaves(r *filteredRow, found []storage.RevResult) (size int) {
	for _, rev := range r.leaves {
		i := slices.IndexFunc(found, func(l storage.RevResult) bool { return l.Rev == rev })
		if i >= 0 && found[i].Doc != nil { // else purged in the meantime
			size += s.addDoc(r, found[i].Doc)
		}
	}
	return size
}

// pass asks the function about rows whose documents are there; gathered is the number of them and of those behind.
func (s *filterScan) pass(rows []filteredRow, gathered int) error {
	var docs [][]byte
	for i := range rows {
		docs = append(docs, rows[i].docs...)
	}
	if len(docs) == 0 {
		return nil
	}
	passes, failure := s.ask(docs)
	for i := range rows {
		ch, n := &rows[i].change, len(rows[i].docs)
		if n > len(passes) {
			break // the function failed before
		}
		passing := ch.Revs[:0]
		for n, rev := range ch.Revs {
			if passes[n] {
				passing = append(passing, rev)
			}
		}
		passes = passes[n:]
		if ch.Revs = passing; len(passing) > 0 {
			if s.none {
				return errBeforeFirst
			}
			if err := s.row(ch); err != nil {
				return err
			}
			if s.left--; s.left == 0 {
				s.ended, s.spare = &ch.Seq, int64(gathered-1-i)
				return storage.ErrStop
			}
		}
	}
	return failure
}

// ask runs the function; the passes are those of the documents before a failure.
func (s *filterScan) ask(docs [][]byte) ([]bool, error) {
	begin := time.Now()
	var passes []bool
	var err error
	beatErr := s.feed.beating(func() {
		passes, err = s.design.Filter(s.c.Context(), s.path, docs, s.req)
	})
	perDoc := time.Since(begin) / time.Duration(len(docs))
	s.batch = int(max(1, min(filterBatch, int64(filterBatchTime)/max(1, int64(perDoc)))))
	if err != nil {
		err = s.failed(err, len(passes))
	}
	s.examined = true
	if err == nil {
		err = beatErr
	}
	return passes, err
}

// failed is the error of a feed whose function threw. At the very first document the real server's worker crashes; later on its error is
// handed on.
func (s *filterScan) failed(err error, passed int) error {
	err = functionError(err)
	if s.examined || passed > 0 {
		return err
	}
	return crashed(err)
}

// crashed is an error as the end of a worker tells it, without CouchDB's stack.
func crashed(err error) error {
	e, wire := compat.AsError(err)
	if !wire {
		return err
	}
	return compat.NewError(compat.KindError, "{"+e.Word()+","+compat.ErlangBinary(e.Reason)+"}")
}

// beating runs something slow in another goroutine, while the heart of the feed goes on beating here.
func (f *changesFeed) beating(slow func()) error {
	if f == nil || !f.heartbeat || f.s == nil {
		slow()
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		slow()
	}()
	tick := time.NewTicker(f.wait)
	defer tick.Stop()
	var err error
	for {
		select {
		case <-done:
			return err
		case <-tick.C:
			if err == nil {
				err = f.wakeUp(true)
			}
		}
	}
}
