package documents

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// functionFilter is a filter of a changes feed that is a function of a design document: one of its
// filters, or the map function of a view, which passes documents that it emits something for
// (couch_changes:filter). Rows are gathered, so that many documents cross to a worker at once.
type functionFilter struct {
	feed   *Feed
	design *js.Design
	// Where the function is in the design document: filters and its name, or views, a name and map.
	path []string
	// The request as functions get it, JSON; it is the same for all documents of the feed.
	req      []byte
	examined bool // a document was looked at
}

// byFunction finds the function.
func (f *Feed) byFunction(ctx context.Context, request func() *Request) error {
	named := &f.o.Filter
	functions, err := f.d.Designs().Functions(ctx, named.Design)
	if err != nil {
		return err
	}
	filter := &functionFilter{feed: f, path: []string{"filters", named.Function}}
	if named.Kind == FilterView {
		filter.path = []string{"views", named.Function, "map"}
	}
	if _, err := functions.Member(filter.path[:2]...); err != nil {
		return err
	}
	if filter.design, err = functions.Compile(); err != nil {
		return crashed(err)
	}
	f.scan = filter.scan
	if named.Kind == FilterFunction {
		filter.req, err = f.d.Designs().AppendRequest(ctx, make([]byte, 0, 2048), request())
	}
	return err
}

// The bounds of a batch. Its size follows the time that the function takes, so that rows are not
// held back for long.
const (
	filterBatch     = 100
	filterBytes     = 1 << 20
	filterBatchTime = time.Second
)

// filteredRow is a row that waits for the function.
type filteredRow struct {
	change storage.Change
	// the texts that the function gets: the leaves change.Revs, those after passed
	docs   [][]byte
	passed []bool       // its verdicts on the first leaves, where they are many or large
	leaves []compat.Rev // still to be read
}

// filterScan is one scan of the feed.
type filterScan struct {
	*functionFilter
	ctx   context.Context // of the scan: its callbacks get no context
	row   func(*storage.Change) error
	none  bool  // no row is wanted: the scan only looks at the first
	left  int64 // rows still wanted, negative: any number
	rows  []filteredRow
	docs  int                // of the rows, with leaves that are still to be read
	size  int                // of the documents that were read
	batch int                // documents in one call of the worker
	ended *storage.UpdateSeq // where the feed ends if a limit ended it
	spare int64              // rows after it that were read
	seen  storage.UpdateSeq  // the last row that the function has judged
	// broken is what reading leaves ended with. storage must not take it for an error of its own
	// scan, and go on.
	broken error
}

// scan is the scanFunc of the filter.
func (f *functionFilter) scan(
	ctx context.Context,
	since storage.Seq,
	limit int64,
	row func(*storage.Change) error,
) (storage.ChangesEnd, error) {
	s := &filterScan{functionFilter: f, ctx: ctx, row: row, none: limit == 0, left: limit, batch: filterBatch}
	opts := f.feed.options(since, -1)
	opts.IncludeDocs, opts.Members = true, nil
	if s.none {
		opts.Limit = 1
	}
	end, err := f.feed.d.db.Feed().Changes(ctx, opts, s.take)
	if err == nil && s.ended == nil && s.broken == nil {
		err = s.flush()
	}
	switch {
	case errors.Is(err, errBeforeFirst):
		opts.Limit = 0
		return f.feed.d.db.Feed().Changes(ctx, opts, s.take)
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

// errBeforeFirst ends a scan for no rows before the first one: it passes. One that does not pass
// counts as seen, as in CouchDB.
var errBeforeFirst = errors.New("the first row passes")

// take gathers a row with the documents that the function is asked about: the winner, with
// style=all_docs every leaf. They show no other revision than their own.
func (s *filterScan) take(ch *storage.Change) error {
	if len(s.rows) == 0 {
		s.feed.passed(ch.Seq.Seq) // before the function takes its time
	}
	r := filteredRow{change: *ch}
	r.change.Revs, r.change.Doc = nil, nil
	if !s.feed.o.AllLeaves || len(ch.Revs) == 1 {
		s.size += s.addDoc(&r, ch.Doc)
		s.docs++
	} else {
		r.leaves = slices.Clone(ch.Revs)
		s.docs += len(r.leaves)
	}
	if s.feed.o.IncludeDocs {
		r.change.Doc = keepDocument(ch.Doc)
		s.size += len(ch.Doc.Body)
		if s.feed.o.AllLeaves && s.feed.o.Conflicts && ch.Doc.Conflicts == nil {
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
func (s *filterScan) addDoc(r *filteredRow, doc *docread.Document) int {
	shown := *doc
	shown.Revs = compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}}
	if s.feed.o.AllLeaves {
		shown.Conflicts = nil
	}
	text := appendForFunction(nil, &shown, s.feed.d.rules.FunctionRevs)
	r.docs, r.change.Revs = append(r.docs, text), append(r.change.Revs, doc.Rev)
	return len(text)
}

// keepDocument copies a document whose memory is valid only during the scan's callback.
func keepDocument(d *docread.Document) *docread.Document {
	kept := *d
	kept.Body = bytes.Clone(d.Body)
	kept.Attachments = slices.Clone(d.Attachments)
	kept.Conflicts = slices.Clone(d.Conflicts)
	return &kept
}

// flush reads the leaves that the rows gathered wait for, together, asks the function and hands on
// the rows that pass; storage.ErrStop when the limit is reached or s.broken is set.
func (s *filterScan) flush() error {
	rows, size := s.rows, s.size
	s.rows, s.docs, s.size = nil, 0, 0
	var requests []docread.OpenRevsRequest
	var at []int
	for i := range rows {
		if len(rows[i].leaves) > 0 {
			o := docread.OpenRevsOptions{Revs: rows[i].leaves}
			requests = append(requests, docread.OpenRevsRequest{ID: rows[i].change.ID, OpenRevsOptions: o})
			at = append(at, i)
		}
	}
	asked := 0 // rows that the function has judged
	var ended error
	if len(requests) > 0 {
		err := s.feed.d.db.BulkGet(
			s.ctx,
			slices.Values(requests),
			func(i int, found []docread.RevResult, more bool) error {
				for _, rev := range found { // in the order of the row
					if rev.Doc != nil { // else purged in the meantime
						size += s.addDoc(&rows[at[i]], rev.Doc)
					}
				}
				if size < filterBytes {
					return nil
				}
				first := asked
				size, asked = 0, at[i]+1
				if more {
					asked--
				}
				if ended = s.pass(rows[first:asked], len(rows)-first); ended == nil && more {
					ended = s.askAhead(&rows[asked])
				}
				return ended
			},
		)
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

// pass asks the function about rows whose documents are there; gathered is the number of them and
// of those after them.
func (s *filterScan) pass(rows []filteredRow, gathered int) error {
	var docs [][]byte
	for i := range rows {
		docs = append(docs, rows[i].docs...)
	}
	var passes []bool
	var failure error
	if len(docs) > 0 {
		passes, failure = s.ask(docs)
	}
	for i := range rows {
		ch, n := &rows[i].change, len(rows[i].docs)
		if n > len(passes) {
			break // the function failed before
		}
		s.feed.passed(ch.Seq.Seq)
		passing := ch.Revs[:0]
		for n, passed := range append(rows[i].passed, passes[:n]...) {
			if rev := ch.Revs[n]; passed {
				passing = append(passing, rev)
			}
		}
		passes = passes[n:]
		if ch.Revs = passing; len(passing) > 0 {
			if s.none {
				return errBeforeFirst
			}
			err := s.row(ch)
			if errors.Is(err, errNextCommit) { // the row before is the last
				s.ended, s.spare = &s.seen, int64(gathered-i)
				return storage.ErrStop
			}
			if err != nil {
				return err
			}
			if s.left--; s.left == 0 {
				s.ended, s.spare = &ch.Seq, int64(gathered-1-i)
				return storage.ErrStop
			}
		}
		s.seen = ch.Seq
	}
	return failure
}

// askAhead asks about the leaves of a row that have been read, so that they need not be held.
func (s *filterScan) askAhead(r *filteredRow) error {
	passes, err := s.ask(r.docs)
	r.docs, r.passed = nil, append(r.passed, passes...)
	return err
}

// ask runs the function; after a failure, the verdicts are those of the documents before it.
func (s *filterScan) ask(docs [][]byte) ([]bool, error) {
	begin := time.Now()
	passes, err := s.design.Filter(s.ctx, s.path, docs, s.req)
	perDoc := time.Since(begin) / time.Duration(len(docs))
	s.batch = int(max(1, min(filterBatch, int64(filterBatchTime)/max(1, int64(perDoc)))))
	if err != nil {
		err = s.failed(err, len(passes))
	}
	s.examined = true
	return passes, err
}

// failed is the error of a feed whose function threw. At the very first document the real server's
// worker crashes; later on its error is handed on.
func (s *filterScan) failed(err error, passed int) error {
	err = FunctionError(err)
	if s.examined || passed > 0 {
		return err
	}
	return crashed(err)
}

// crashed is an error in the form that CouchDB reports of a worker that ended, without the stack.
func crashed(err error) error {
	e, wire := compat.AsError(err)
	if !wire {
		return err
	}
	return compat.NewError(compat.KindError, "{"+e.Word()+","+compat.ErlangBinary(e.Reason)+"}")
}
