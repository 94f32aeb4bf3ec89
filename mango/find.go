package mango

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views"
)

// Source is where a query reads.
type Source struct {
	DB *storage.DB
	// Who says that DB shows what they see of it (storage.DB.As); nil: everything. There are no
	// snapshots of such a slice and no ranks; what is read of it are the user's own rows.
	Who *access.Principals
	// nil: indexes are as if they were not built, and their queries read the documents.
	Views *views.Views
	// Fields are the indexes over all fields; nil: as if they were not built.
	AllFields *allfields.Indexes
	Search    *search.Indexes // nil: there is no full-text search
	// SearchTime is how long a text index may be searched at a time; 0: as long as it takes.
	SearchTime time.Duration
	// Shown cuts a document down to what the user may see, refuses the query, or returns ErrHidden;
	// nil: all is shown.
	Shown func(*docread.Document) error
	// Keep asks for memory for what a query keeps, for so many bytes together, and does not wait.
	// Without them documents are read several times, or the query ends with the error. It is called
	// from the goroutine of Find. nil: there is enough.
	Keep func(bytes int) error
	// ScanWarning is the setting mango/index_scan_warning_threshold: documents read for one result;
	// 0 for none.
	ScanWarning int64
}

// Answer is what follows the documents of a query.
type Answer struct {
	Bookmark string
	Stats    Stats
	Warning  string // "" for none
	Count    int64  // with Request.Count: documents that pass the selector, wherever the page is
}

// Find answers a query: it calls row for each document, as the answer shows it; the bytes are valid
// until row returns. If the answer is Nothing it must not be called.
func (p *Plan) Find(ctx context.Context, src *Source, row func(doc []byte) error) (*Answer, error) {
	return p.run(ctx, src, false, func(f *finder, r *found) (err error) {
		if f.out, err = f.appendRow(f.out[:0], r); err != nil {
			return err
		}
		return row(f.out)
	})
}

// run carries out the plan: it calls emit for each row of the page. together: the rows are of one
// snapshot, as long as the store lets it be read.
func (p *Plan) run(
	ctx context.Context, src *Source, together bool, emit func(*finder, *found) error,
) (*Answer, error) {
	c, err := p.optimize(ctx, src, false)
	if err != nil {
		return nil, err
	}
	if c.index != p.index {
		other := *p
		other.use(c.index)
		p = &other
	}
	if p.index.Kind == KindAllFields {
		storage.IndexUsed(src.DB, p.index.DDoc, "auto", p.index.Name)
	}
	f := &finder{
		ctx:      ctx,
		plan:     p,
		src:      src,
		exec:     c,
		emit:     emit,
		together: together,
		memory:   sortMemory{ask: src.Keep},
		position: position{from: p.from},
		page:     page{p.limit.n, p.req.skip.n},
	}
	f.stats.Snapshots = 1
	f.picker = pickerOf(p.req.Selector)
	f.covering = p.Covering()
	// With r above 1 CouchDB reads each document by itself from several copies. There is one copy
	// here; only the statistics differ (total_quorum_docs_examined).
	f.quorum = p.req.r.n > 1 && !f.covering
	f.members = p.readMembers(src)
	if p.looksFirst(&c, src) {
		f.members = p.req.Selector.Members()
	}
	started := time.Now()
	// errEnough is how the page ends a scan: what was read behind the last row stays uncounted
	// then.
	if err := f.read(); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	} else if err == nil { // what was read after the last row that passed
		f.pass()
	}
	if p.index.Kind == KindNouveau {
		f.stats.Keys = 0 // as in CouchDB
	}
	f.stats.Time = time.Since(started)
	a := &Answer{Bookmark: f.bookmark(), Stats: f.stats, Warning: p.warning(&f.stats, src.ScanWarning)}
	if !p.req.Count {
		return a, nil
	}
	a.Count, err = p.count(ctx, src)
	return a, err
}

// readMembers are the members of bodies that are looked at: by the selector, the order, and to be
// shown. What a user may see is found out from whole documents.
func (p *Plan) readMembers(src *Source) docread.Members {
	// nil stands for whole bodies.
	if src.Shown != nil || p.req.Fields.All() {
		return nil
	}
	members := docread.Members(p.req.Selector.Members()).With(p.req.Fields.Members())
	// With a JSON index, or a sort by one over all fields, rows may have to be made from documents:
	// then the fields of the order are read too.
	if kind := p.index.Kind; kind != KindJSON && (kind != KindAllFields || len(p.req.Sort.Fields) == 0) {
		return members
	}
	m, err := p.mapper()
	if err != nil { // a query that needs the order meets the error again
		return members
	}
	return members.With(m.Members())
}

// looksFirst reports whether of whole documents those members are read first that the selector looks
// at, and all of those that pass: where all documents are looked at, most do not.
func (p *Plan) looksFirst(c *executionPlan, src *Source) bool {
	return c.index.Kind == KindAllDocs && c.filter == nil && p.req.Fields.All() && src.Shown == nil &&
		len(p.req.Selector.Members()) > 0
}

// whole reads the document of a row that passed, if that is shown and was read in part. It is nil if
// it has changed since and does not pass any more.
func (f *finder) whole(d *docread.Document) (*docread.Document, error) {
	if d == nil || !d.Partial || !f.plan.req.Fields.All() || f.skip > 0 || f.limit == 0 {
		return d, nil
	}
	now, err := f.src.DB.Open(f.ctx, d.ID, docread.OpenOptions{Conflicts: f.showsConflicts()})
	if errors.Is(err, compat.KindNotFound) {
		return nil, nil
	}
	if err != nil || now.Rev == d.Rev {
		return now, err
	}
	passes, err := f.scratch.match(f.plan.req.Selector, &f.picker, now)
	if !passes || err != nil {
		return nil, err
	}
	return now, nil
}

// errEnough ends a scan: there are as many rows as were asked for.
var errEnough = errors.New("mango: enough rows")

// errBeyondEnd is for a bookmark of another query, which lies after the end of this one
// (couch_mrview_util:check_range/2).
func errBeyondEnd(descending bool) error {
	turn := "true"
	if descending {
		turn = "false"
	}
	return compat.NewError(compat.KindQueryParse,
		"No rows can match your key range, reverse your start_key and end_key or set descending="+turn).WithRef()
}

// page is how many of the rows that pass are still to be given, and to be skipped before them.
type page struct{ limit, skip int64 }

// position is how far a query has come.
type position struct {
	from            *bookmark // where it began; nil: at the first row
	seenKey, seenID []byte    // the row that was looked at last; keys are JSON
	lastKey, lastID []byte    // the row that passed last: the next page goes on after it
}

// counters count what is read. What comes after the last row that passed is apart, because CouchDB
// counts it only where the rows end, not where the page does.
type counters struct {
	stats      Stats
	keys, docs int64
}

// pass counts what was read until now.
func (c *counters) pass() {
	c.stats.Keys += c.keys
	c.stats.Docs += c.docs
	c.keys, c.docs = 0, 0
}

// finder is one run of a plan. Statistics are CouchDB's: what is read is counted when a row passes,
// and at the end.
type finder struct {
	ctx      context.Context // of the call of Find, which is one run
	plan     *Plan
	src      *Source
	exec     executionPlan
	emit     func(*finder, *found) error // takes a row of the page
	picker   picker                      // members that the selector looks at
	members  docread.Members             // members that are read of bodies
	covering bool
	quorum   bool // documents count as read with a quorum
	together bool // rows are of one snapshot
	page
	position
	counters
	// Documents read in the order, where they have a budget (executionPlan.budget).
	spent  int64
	memory sortMemory
	// Memory that is used again for each row: its key, what matching needs, and the document as
	// shown.
	key     []byte
	scratch mapScratch
	out     []byte
}

// errBudget ends the reading in an order: it is time to sort what the filter finds.
var errBudget = errors.New("mango: the order is too long")

// read carries out the execution plan.
func (f *finder) read() error {
	c := &f.exec
	f.noteChosen()
	// With a filter and no budget the order is not tried at all: it counts as used up from the
	// start.
	err := errBudget
	if c.filter == nil || c.budget > 0 {
		err = f.readInOrder()
	}
	// What the order gave before stays given. The filter's documents go on after the last row that
	// was looked at (position.last), in the same order, so that none comes twice.
	if !errors.Is(err, errBudget) {
		return err
	}
	if c.budget > 0 {
		f.stats.note(&accessPath{index: f.plan.allFields(), entries: c.filter}, "sort")
	}
	return f.collectFiltered()
}

// allFields is the index over all fields of the filter.
func (p *Plan) allFields() *Index {
	if p.index.Kind == KindAllFields {
		return p.index
	}
	return p.best(KindAllFields)
}

// readInOrder reads with the access path that the plan has chosen. A sort that the index over all
// fields cannot give, because it is not ready or has no range for the selector, collects what
// passes and sorts it.
func (f *finder) readInOrder() error {
	switch c := &f.exec; {
	case c.index.Kind == KindAllDocs:
		return f.readAllDocs()
	case c.index.Kind == KindJSON:
		return f.readView()
	case c.index.Kind.IsText():
		return f.readText()
	case c.sorted && (!c.ready || c.entries == nil):
		return f.collectAll()
	case c.sorted:
		return f.readSorted()
	}
	return f.readEntries()
}

// bookmark is that of the last row taken, else the one that came.
func (f *finder) bookmark() string {
	switch {
	case f.lastKey != nil:
		return string(appendBookmark(nil, f.lastKey, string(f.lastID), f.origin()))
	case f.plan.req.Bookmark != "":
		return f.plan.req.Bookmark
	}
	return noBookmark
}

// origin is what the bookmark has of the order.
func (f *finder) origin() []string {
	orderName := f.exec.orderName
	if f.exec.sorted {
		orderName = f.plan.req.Sort.sortOrderName()
	}
	return f.exec.index.origin(orderName)
}

// last is the row that was looked at last, as an order has it; nil before the first one.
func (p *position) last(o rowOrder) (*sortedRow, error) {
	switch {
	case len(p.seenKey) > 0:
		key, err := ejson.Parse(p.seenKey)
		return &sortedRow{sortKey: o.sortKey(key), id: string(p.seenID)}, err
	case p.from != nil:
		return &sortedRow{sortKey: o.sortKey(p.from.key), id: p.from.id}, nil
	}
	return nil, nil
}

// see notes the row that is looked at, if it may have to be known later. It tells when the budget
// is used up.
func (f *finder) see(r *found) error {
	// Only an answer that may change from the order to the filter, or from one snapshot to the
	// next, has to know where it was.
	if f.exec.filter == nil && f.exec.entries == nil {
		return nil
	}
	if f.exec.budget > 0 && f.spent >= f.exec.budget {
		return errBudget
	}
	f.spent++
	f.seenID = append(f.seenID[:0], r.id...)
	f.seenKey = r.appendKey(f.seenKey[:0])
	return nil
}

// found is one row of an index. doc is nil where the index covers the query.
type found struct {
	id     []byte
	key    []byte // JSON, nil for that of the id
	doc    *docread.Document
	passed bool // it is known to pass the selector
}

// appendKey appends its key as JSON.
func (r *found) appendKey(dst []byte) []byte {
	if r.key == nil {
		return ejson.AppendString(dst, r.id)
	}
	return append(dst, r.key...)
}

// take looks at the next row (mango_cursor_view:view_cb/2, handle_message/2).
func (f *finder) take(r *found) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if err := f.see(r); err != nil {
		return err
	}
	// Design documents are read by _all_docs but are never an answer; a JSON index has no rows of
	// them.
	design := f.plan.index.Kind != KindJSON && bytes.HasPrefix(r.id, []byte(compat.DesignPrefix))
	if f.src.Shown != nil && r.doc != nil && !design {
		if err := f.src.Shown(r.doc); err != nil {
			return unlessHidden(err)
		}
	}
	f.keys++
	switch {
	// With a quorum design documents are passed over before they are fetched, and the keys counted
	// since the last row are dropped.
	case f.quorum && design:
		f.keys = 0
		return nil
	case f.quorum:
		f.pass()
		f.stats.QuorumDocs++
	case !f.covering:
		f.docs++
	}
	passes, err := f.matches(r)
	if !passes || err != nil {
		return err
	}
	// A design document that passes is left out, and what was read since the last row with it; one
	// that does not pass stays counted.
	if design {
		f.keys, f.docs = 0, 0
		return nil
	}
	doc, err := f.whole(r.doc)
	if err != nil || doc == nil && r.doc != nil {
		return err
	}
	r.doc = doc
	f.pass()
	return f.give(r)
}

// passOver counts documents that do not pass, as take does; those of designs count only without a
// quorum.
func (f *finder) passOver(n int64) {
	f.keys += n
	switch {
	case f.quorum:
		f.pass()
		f.stats.QuorumDocs += n
	case !f.covering:
		f.docs += n
	}
}

// ErrHidden says that there is no such document as far as the user is concerned.
var ErrHidden = errors.New("mango: the document is hidden")

func unlessHidden(err error) error {
	if errors.Is(err, ErrHidden) {
		return nil
	}
	return err
}

// matches reports whether a row passes the selector. Rows that an access path has proved to pass
// are not looked at again, and rows of a covering index need no document.
func (f *finder) matches(r *found) (bool, error) {
	wanted := f.plan.req.Selector
	switch {
	case r.passed || wanted.Empty():
		return true, nil
	case f.covering:
		v, err := f.scratch.parseCovered(f.plan.index, r)
		if err != nil {
			return false, err
		}
		return wanted.Match(v)
	}
	return f.scratch.match(wanted, &f.picker, r.doc)
}

// parseCovered makes a document of what the index has of it.
func (s *mapScratch) parseCovered(ix *Index, r *found) (ejson.Value, error) {
	text, err := appendCovered(s.text[:0], ix, r)
	if err != nil {
		return ejson.Value{}, err
	}
	s.text = text
	return s.parser.Parse(text)
}

// give shows a row that passed, unless it is to be skipped.
func (f *finder) give(r *found) error {
	// Names of fields are checked at the first row that passes, not when the request is read: in
	// CouchDB such a request is fine as long as it finds nothing.
	fields := f.plan.req.Fields
	if err := fields.Check(); err != nil {
		return err
	}
	// Skipped rows move the bookmark too. With a limit of 0 there was no row that the page could
	// end with.
	if f.limit > 0 {
		f.remember(r)
	}
	switch {
	case f.skip > 0:
		f.skip--
		return nil
	case f.limit == 0:
		return errEnough
	}
	f.limit--
	f.stats.Results++
	return f.emit(f, r)
}

// remember makes a row the one that the bookmark of the answer tells.
func (p *position) remember(r *found) {
	p.lastID = append(p.lastID[:0], r.id...)
	p.lastKey = r.appendKey(p.lastKey[:0])
}

// appendRow appends a document as the request shows it.
func (f *finder) appendRow(dst []byte, r *found) ([]byte, error) {
	fields := f.plan.req.Fields
	if fields.All() {
		return appendDocument(dst, r.doc), nil
	}
	if f.covering { // the document is not read at all
		text, err := appendCovered(f.scratch.text[:0], f.plan.index, r)
		if err != nil {
			return dst, err
		}
		f.scratch.text = text
		return fields.AppendJSON(dst, text)
	}
	// What is not in the body is printed as a document without one; AppendJSON of the fields takes
	// members from both texts.
	special := docread.Document{ID: r.doc.ID, Rev: r.doc.Rev, Deleted: r.doc.Deleted, Conflicts: r.doc.Conflicts}
	if len(r.doc.Attachments) > 0 && fields.Wants("_attachments") {
		special.Attachments = r.doc.Attachments
	}
	f.scratch.text = appendDocument(f.scratch.text[:0], &special)
	return fields.AppendJSON(dst, f.scratch.text, r.doc.Body)
}

// appendCovered appends a document with the id and the columns of a row
// (mango_cursor_view:derive_doc_from_index/2). Columns inside others come with them.
func appendCovered(dst []byte, ix *Index, r *found) ([]byte, error) {
	key, err := ejson.Parse(r.key)
	// The key has one element for each column: mapper.Map wrote it.
	if err != nil || key.Kind() != ejson.Array || key.Len() != len(ix.Columns) {
		return dst, errors.New("mango: a row of an index has another key")
	}
	var root selector.Projection
	i := 0
	for value := range key.Elements() {
		root.Set(selector.ParsePath(ix.Columns[i]).Parts, value.AppendJSON(nil))
		i++
	}
	root.Set([]string{"_id"}, ejson.AppendString(nil, r.id))
	return root.AppendJSON(dst), nil
}
