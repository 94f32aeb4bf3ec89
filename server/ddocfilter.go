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
	docs   int // how many leaves the function sees: change.Revs
}

// filterScan is one scan of the feed.
type filterScan struct {
	*functionFilter
	row   func(*storage.Change) error
	none  bool  // no row is wanted: the scan only looks at the first
	left  int64 // rows still wanted, negative: any number
	rows  []filteredRow
	docs  [][]byte
	size  int
	batch int                // documents in a crossing
	ended *storage.UpdateSeq // where the feed ends if a limit ended it
	spare int64              // rows behind it that were read
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
	if err == nil && s.ended == nil {
		err = s.flush()
	}
	switch {
	case errors.Is(err, errBeforeFirst):
		opts.Limit = 0
		return f.c.db.Changes(f.c.Context(), opts, s.take)
	case errors.Is(err, storage.ErrStop):
		err = nil
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
		s.addDoc(&r, ch.Doc)
	} else if err := s.addLeaves(&r, ch); err != nil {
		return err
	}
	if s.o.IncludeDocs {
		r.change.Doc = keepDocument(ch.Doc)
		if s.o.Style == compat.StyleAllDocs && s.o.Conflicts && ch.Doc.Conflicts == nil {
			r.change.Doc.Conflicts = []compat.Rev{} // CouchDB prints an empty list here
		}
	}
	s.rows = append(s.rows, r)
	if len(s.docs) >= s.batch || s.size >= filterBytes {
		return s.flush()
	}
	return nil
}

func (s *filterScan) addLeaves(r *filteredRow, ch *storage.Change) error {
	leaves, err := s.c.db.OpenRevs(s.c.Context(), ch.ID, storage.OpenRevsOptions{Revs: slices.Clone(ch.Revs)})
	if err != nil {
		return err
	}
	for _, rev := range ch.Revs {
		i := slices.IndexFunc(leaves, func(l storage.RevResult) bool { return l.Rev == rev })
		if i >= 0 && leaves[i].Doc != nil { // else purged in the meantime
			s.addDoc(r, leaves[i].Doc)
		}
	}
	return nil
}

func (s *filterScan) addDoc(r *filteredRow, doc *storage.Document) {
	shown := *doc
	shown.Revs = compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}}
	if s.o.Style == compat.StyleAllDocs {
		shown.Conflicts = nil
	}
	text := appendFunctionDoc(nil, &shown, s.c.set.functionRevs)
	s.docs, s.size = append(s.docs, text), s.size+len(text)
	r.change.Revs = append(r.change.Revs, doc.Rev)
	r.docs++
}

// keepDocument copies what belongs to the scan's callback.
func keepDocument(d *storage.Document) *storage.Document {
	kept := *d
	kept.Body = bytes.Clone(d.Body)
	kept.Attachments = slices.Clone(d.Attachments)
	kept.Conflicts = slices.Clone(d.Conflicts)
	return &kept
}

// flush asks the function about the rows gathered and hands on those that pass; storage.ErrStop when the limit is reached.
func (s *filterScan) flush() error {
	rows, docs := s.rows, s.docs
	s.rows, s.docs, s.size = nil, nil, 0
	if len(docs) == 0 {
		return nil
	}
	passes, failure := s.ask(docs)
	for i := range rows {
		ch := &rows[i].change
		if rows[i].docs > len(passes) {
			break // the function failed before
		}
		passing := ch.Revs[:0]
		for n, rev := range ch.Revs {
			if passes[n] {
				passing = append(passing, rev)
			}
		}
		passes = passes[rows[i].docs:]
		if ch.Revs = passing; len(passing) > 0 {
			if s.none {
				return errBeforeFirst
			}
			if err := s.row(ch); err != nil {
				return err
			}
			if s.left--; s.left == 0 {
				s.ended, s.spare = &ch.Seq, int64(len(rows)-1-i)
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
