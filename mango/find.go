package mango

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// Source is where a query reads.
type Source struct {
	DB    *storage.DB
	Views *views.Views // nil: indexes are as if they were not built
	// Fields are the indexes over all fields; nil: as if they were not built.
	Fields *fieldindex.Indexes
	// Shown cuts a document down to what the user may see, or refuses it; nil: all is shown.
	Shown func(*storage.Document) error
	// ScanWarning is the setting mango/index_scan_warning_threshold: documents read for one result; 0 for none.
	ScanWarning int64
}

// Answer is what follows the documents of a query.
type Answer struct {
	Bookmark string
	Stats    Stats
	Warning  string // "" for none
	Count    int64  // with Request.Count: documents that pass the selector, wherever the page is
}

// Find answers a query: it calls row for each document, as the answer shows it; the bytes are valid until row returns. If the
// answer is Nothing it must not be called.
func (p *Plan) Find(ctx context.Context, src *Source, row func(doc []byte) error) (*Answer, error) {
	f := &finder{ctx: ctx, plan: p, src: src, row: row, limit: p.req.limit.n, skip: p.req.skip.n}
	f.picker = p.req.Selector.picker()
	f.shown = newPicker(p.req.Fields.paths)
	f.covering = p.Covering()
	f.quorum = p.req.r.n > 1 && !f.covering
	started := time.Now()
	if p.req.Bookmark != "" {
		var err error
		if f.from, err = parseBookmark(p.req.Bookmark); err != nil {
			return nil, err
		}
	}
	if err := f.read(); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	} else if err == nil { // what was read behind the last row that passed
		f.stats.Keys += f.keys
		f.stats.Docs += f.docs
	}
	f.stats.Time = time.Since(started)
	a := &Answer{Bookmark: f.bookmark(), Stats: f.stats, Warning: p.warning(&f.stats, src.ScanWarning)}
	if !p.req.Count {
		return a, nil
	}
	var err error
	a.Count, err = p.count(ctx, src)
	return a, err
}

// errEnough ends a scan: there are as many rows as were asked for.
var errEnough = errors.New("mango: enough rows")

// errBeyondEnd is for a bookmark of another query, which lies behind the end of this one (couch_mrview_util:check_range/2).
func errBeyondEnd(descending bool) error {
	turn := "true"
	if descending {
		turn = "false"
	}
	return compat.NewError(compat.KindQueryParse,
		"No rows can match your key range, reverse your start_key and end_key or set descending="+turn).WithRef()
}

// finder is one run of a plan. Statistics are CouchDB's: what is read is counted when a row passes, and at the end.
type finder struct {
	ctx         context.Context
	plan        *Plan
	src         *Source
	row         func(doc []byte) error
	from        *bookmark
	picker      picker // what the selector looks at
	shown       picker // what is shown
	covering    bool
	quorum      bool // documents count as read with a quorum
	limit, skip int64
	stats       Stats
	keys, docs  int64 // read since the last row that passed
	autoKeys    int64 // entries read for the next document (readauto.go)
	autoPlace   *bookmark
	lastKey     []byte
	lastID      []byte
	scratch     mapScratch
	out         []byte
}

// read scans the index.
func (f *finder) read() error {
	switch f.plan.index.Kind {
	case KindAllDocs:
		return f.readAllDocs()
	case KindAuto:
		return f.readAuto()
	}
	return f.readView()
}

// bookmark is that of the last row taken, else the one that came.
func (f *finder) bookmark() string {
	switch {
	case f.lastKey != nil:
		return string(appendBookmark(nil, f.lastKey, string(f.lastID)))
	case f.plan.req.Bookmark != "":
		return f.plan.req.Bookmark
	}
	return noBookmark
}

// found is one row of an index. doc is nil where the index covers the query.
type found struct {
	id     []byte
	key    []byte // JSON, nil for that of the id
	doc    *storage.Document
	judged *judged // what matching said, nil: it is still to be matched
}

// judged is the answer of a match.
type judged struct {
	passes bool
	err    error
}

// take looks at the next row (mango_cursor_view:view_cb/2, handle_message/2).
func (f *finder) take(r *found) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	design := f.plan.index.Kind != KindJSON && bytes.HasPrefix(r.id, []byte(compat.DesignPrefix))
	f.keys++
	switch {
	case f.quorum && design:
		f.keys = 0
		return nil
	case f.quorum:
		f.pass()
		f.stats.QuorumDocs++
	case !f.covering:
		f.docs++
	}
	if f.src.Shown != nil && r.doc != nil && !design {
		if err := f.src.Shown(r.doc); err != nil {
			return err
		}
	}
	passes, err := f.matches(r)
	if !passes || err != nil {
		return err
	}
	if design {
		f.keys, f.docs = 0, 0
		return nil
	}
	f.pass()
	return f.give(r)
}

// pass counts what was read until now.
func (f *finder) pass() {
	f.stats.Keys += f.keys
	f.stats.Docs += f.docs
	f.keys, f.docs = 0, 0
}

func (f *finder) matches(r *found) (bool, error) {
	selector := f.plan.req.Selector
	switch {
	case r.judged != nil:
		return r.judged.passes, r.judged.err
	case selector.Empty():
		return true, nil
	case f.covering:
		v, err := f.parseCovered(r)
		if err != nil {
			return false, err
		}
		return selector.Match(v)
	}
	return f.scratch.match(selector, &f.picker, r.doc)
}

// parseCovered makes a document of what the index has of it.
func (f *finder) parseCovered(r *found) (ejson.Value, error) {
	text, err := appendCovered(f.scratch.text[:0], f.plan.index, r)
	if err != nil {
		return ejson.Value{}, err
	}
	f.scratch.text = text
	return f.scratch.parser.Parse(text)
}

// give shows a row that passed, unless it is to be skipped.
func (f *finder) give(r *found) error {
	fields := f.plan.req.Fields
	if err := fields.check(); err != nil {
		return err
	}
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
	var err error
	if f.out, err = f.appendRow(f.out[:0], r); err != nil {
		return err
	}
	return f.row(f.out)
}

func (f *finder) remember(r *found) {
	f.lastID = append(f.lastID[:0], r.id...)
	if r.key != nil {
		f.lastKey = append(f.lastKey[:0], r.key...)
	} else {
		f.lastKey = ejson.AppendString(f.lastKey[:0], r.id)
	}
}

func (f *finder) appendRow(dst []byte, r *found) ([]byte, error) {
	fields := f.plan.req.Fields
	if fields.All() {
		return appendDocument(dst, r.doc), nil
	}
	var v ejson.Value
	var err error
	if f.covering {
		v, err = f.parseCovered(r)
	} else {
		f.scratch.text = f.shown.append(f.scratch.text[:0], r.doc)
		v, err = f.scratch.parser.Parse(f.scratch.text)
	}
	if err != nil {
		return dst, err
	}
	return fields.AppendJSON(dst, v)
}

// appendCovered appends a document with the id and the columns of a row (mango_cursor_view:derive_doc_from_index/2). Columns
// inside others come with them.
func appendCovered(dst []byte, ix *Index, r *found) ([]byte, error) {
	key, err := ejson.Parse(r.key)
	if err != nil || key.Kind() != ejson.Array || key.Len() != len(ix.Columns) {
		return dst, errors.New("mango: a row of an index has another key")
	}
	var root shown
	i := 0
	for value := range key.Elements() {
		root.set(parsePath(ix.Columns[i]).parts, value)
		i++
	}
	id, err := ejson.Parse(ejson.AppendString(nil, r.id))
	if err != nil {
		return dst, err
	}
	root.set([]string{"_id"}, id)
	return root.appendJSON(dst), nil
}
