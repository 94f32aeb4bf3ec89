package queries

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/viewquery"
)

// This file is an extension: pages of views. With `bookmark=` an answer ends with the bookmark of
// the next page, null on the last one; a query with that bookmark and otherwise the same options
// goes on after the last row, whatever was written meanwhile.

// viewPage cuts the rows of a query to a page. A bookmark is base64url of a JSON array:
//
//	[n, key, id]  map rows: after the n-th row of that key and document
//	[n, key]      reduced rows: after the row of that key; n is 1
//	[n]           after n rows, where neither says it
type viewPage struct {
	kind    pageKind
	limit   int64     // rows of the page
	skip    int64     // rows the query leaves out
	drop    int64     // rows of the first place that belong to the page before
	rows    int64     // written
	place   pagePlace // of the last row
	partial bool      // place.n does not count rows of the place that were skipped
}

// pageKind is how many values a bookmark has besides n.
type pageKind int

const (
	pageCount pageKind = iota // [n]
	pageKeys                  // [n, key]
	pageMap                   // [n, key, id]
)

// pagePlace is where a row stands: it is the n-th one of its key and document.
type pagePlace struct {
	n   int64
	key []byte // JSON
	id  []byte
}

var errBadBookmark = compat.NewError(compat.KindQueryParse, "Invalid value for `bookmark`.")

// openPage turns a bookmark into the first place of a query, whose skip counts on the first page
// only.
func openPage(bookmark string, q *viewquery.Query, reduced bool) (*viewPage, error) {
	if q.Keys.Kind() == ejson.Array {
		return nil, compat.NewError(compat.KindQueryParse, "`bookmark` is incompatible with `keys`")
	}
	p := &viewPage{limit: q.Limit}
	switch {
	case !reduced:
		p.kind = pageMap
	// the shown key is the first place of its group
	case q.GroupLevel == viewquery.GroupExact, q.GroupLevel > 0 && !q.Descending:
		p.kind = pageKeys
	}
	if bookmark != "" && bookmark != "nil" {
		if err := p.resume(bookmark, q); err != nil {
			return nil, err
		}
	}
	p.skip, p.partial = q.Skip, q.Skip > 0
	return p, nil
}

// resume makes the query begin where the page before ended.
func (p *viewPage) resume(bookmark string, q *viewquery.Query) error {
	text, err := base64.RawURLEncoding.DecodeString(bookmark)
	if err != nil {
		return errBadBookmark
	}
	value, err := ejson.Parse(text)
	if err != nil || value.Kind() != ejson.Array || value.Len() > 3 {
		return errBadBookmark
	}
	parts := append(slices.AppendSeq(make([]ejson.Value, 0, 4), value.Elements()), ejson.Value{})
	n, ok := parts[0].Int()
	kind := pageKind(value.Len() - 1)
	if !ok || n < 1 || kind != pageCount && kind != p.kind || kind == pageMap && parts[2].Kind() != ejson.String {
		return errBadBookmark
	}
	if kind == pageCount {
		q.Skip = n
		return nil
	}
	q.Skip, q.StartKey, q.StartDocID = 0, parts[1], nil
	p.drop, p.place.key = n, parts[1].AppendJSON(nil)
	if kind == pageMap {
		id := parts[2].Text()
		q.StartDocID, p.place.id = &id, []byte(id)
	}
	if q.Limit < params.MaxLimit-n {
		q.Limit += n
	}
	return nil
}

// takes reports whether a row belongs to the page, and remembers where that is.
func (p *viewPage) takes(r *views.Row) bool {
	same := p.place.key != nil && bytes.Equal(r.ID, p.place.id) && sameKey(r.Key, p.place.key)
	if p.drop > 0 {
		if same && p.place.n < p.drop {
			p.place.n++
			return false
		}
		p.drop = 0
	}
	if p.rows == p.limit {
		return false
	}
	if !same {
		p.place.n = 0
		p.partial = p.partial && p.rows == 0
	}
	p.rows++
	p.place.n++
	p.place.key = append(p.place.key[:0], r.Key...)
	p.place.id = append(p.place.id[:0], r.ID...)
	return true
}

// sameKey reports whether two keys sort alike.
func sameKey(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := ejson.Parse(a)
	if err != nil {
		return false
	}
	y, err := ejson.Parse(b)
	return err == nil && collate.Compare(x, y) == 0
}

// appendBookmark appends the bookmark of the next page; null if this one was not filled.
func (p *viewPage) appendBookmark(b []byte) []byte {
	if p.rows < p.limit || p.rows == 0 {
		return append(b, "null"...)
	}
	kind, n := p.kind, p.place.n
	if kind == pageMap && p.partial || len(p.place.key) == 0 { // rows of errors have no key
		kind = pageCount
	}
	if kind == pageCount {
		n = p.skip + p.rows
	}
	text := strconv.AppendInt([]byte{'['}, n, 10)
	if kind != pageCount {
		text = append(append(text, ','), p.place.key...)
	}
	if kind == pageMap {
		text = ejson.AppendString(append(text, ','), p.place.id)
	}
	b = append(b, '"')
	b = base64.RawURLEncoding.AppendEncode(b, append(text, ']'))
	return append(b, '"')
}
