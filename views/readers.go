package views

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/keyrange"
	"github.com/settee-db/settee/views/viewquery"
)

// In a database with access for each document, a design document that is for all users and has the
// option `access` has two indexes for a map function: that of administrators, as anywhere, and one
// by principal, with a row of a document's winner for each principal who may read it. Users are
// answered from rows of their own principals. The two are built apart, so that no function that
// fails on documents of others, as a reduce function may, fails for a user.

// databaseKind is what of a database changes what its design documents define.
type databaseKind struct{ partitioned, access bool }

func kindOf(s *storage.Snapshot) databaseKind { return databaseKind{s.Partitioned(), s.PerDocument()} }

// isForUsers reports whether a design document is for everybody who has signed in.
func isForUsers(body ejson.Value) bool {
	list, _ := body.Get("_access")
	return list.Kind() == ejson.Array && string(list.AppendJSON(nil)) == `["_users"]`
}

// byPrincipal is a design document with its views by principal.
func (d *design) byPrincipal() *design {
	own := *d
	own.definitions = slices.Clone(d.definitions)
	for i := range own.definitions {
		own.definitions[i].byPrincipal = true
		own.definitions[i].finish()
	}
	own.sign()
	return &own
}

// with gives the one that has a signature, of a design document and that of its views by principal;
// nil if neither has.
func (d *design) with(signature Signature) *design {
	switch {
	case d.signature == signature:
		return d
	case d.own != nil && d.own.signature == signature:
		return d.own
	}
	return nil
}

// each gives both.
func (d *design) each() []*design {
	if d.own == nil {
		return []*design{d}
	}
	return []*design{d, d.own}
}

// ErrNotByPrincipal refuses a query by principal of a view that is not kept so.
var ErrNotByPrincipal = compat.NewError(compat.KindForbidden,
	"The view is not for users: its design document needs options.access and _access [\"_users\"].")

// ByPrincipal reports whether there are rows by principal (viewquery.Query.Principals).
func (w *View) ByPrincipal() bool { return w.design.own != nil }

// of is the view that a query reads: where it asks for principals, the one by principal.
func (w *View) of(asked *viewquery.Query) (*View, error) {
	if asked.Principals == nil {
		return w, nil
	}
	if w.design.own == nil {
		return nil, ErrNotByPrincipal
	}
	own := *w
	own.design = w.design.own
	return &own, nil
}

// ownSource is a document as the map functions of an index by principal see it, with who may read
// it: of its conflicts those only that all of them see, so that all have the same rows of it.
func ownSource(doc *docread.Document) (shared *docread.Document, readers []string) {
	readers, _, err := access.Parse(doc.Body)
	if err != nil {
		readers = nil // administrators alone see it
	}
	if len(doc.Unshared) == 0 {
		return doc, readers
	}
	d := *doc
	hidden := func(rev compat.Rev) bool { return slices.Contains(doc.Unshared, rev) }
	d.Conflicts = slices.DeleteFunc(slices.Clone(doc.Conflicts), hidden)
	d.DeletedConflicts = slices.DeleteFunc(slices.Clone(doc.DeletedConflicts), hidden)
	return &d, readers
}

// findOwn finds, before the head of the answer, which of the principals asked for have rows. With
// one the ranges become ranges of its rows, as if there were no others; the ranges of several are
// merged as they are read.
func (q *query) findOwn(s *storage.Snapshot, ix *index) error {
	if q.asked.Principals == nil || q.placed || ix == nil {
		return nil
	}
	q.own = nil
	for _, principal := range q.asked.Principals {
		q.own = append(q.own, keyrange.AppendPrincipal(nil, principal))
	}
	if len(q.own) > 1 {
		var err error
		if q.own, err = ix.withRows(s, q.own); err != nil {
			return err
		}
	}
	q.placed = true
	if len(q.own) == 0 {
		q.more = false
	}
	if len(q.own) != 1 || q.next == nil { // a reduce query places its ranges itself
		return nil
	}
	q.span = q.place(q.span)
	next := q.next
	q.next = func() (span, bool) {
		sp, more := next()
		return q.place(sp), more
	}
	return nil
}

// withRows are those of some prefixes that rows begin with, in one round trip.
func (ix *index) withRows(s *storage.Snapshot, prefixes [][]byte) (found [][]byte, err error) {
	opened := make([]kv.Iterator, len(prefixes))
	for i, prefix := range prefixes {
		opened[i] = ix.rows(s.KV(), span{}.Within(prefix), kv.RangeOptions{Limit: 1})
		defer opened[i].Close()
	}
	for i, it := range opened {
		if it.Next() {
			found = append(found, prefixes[i])
		} else if err := it.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// place makes a range one of the rows of the only principal that has some.
func (q *query) place(sp span) span {
	if len(q.own) != 1 {
		return sp
	}
	return sp.Within(q.own[0])
}

// rows iterates over the stored rows of one of the query's ranges.
func (q *query) rows(r kv.ReadTx, ix *index, sp span) kv.Iterator {
	o := q.rangeOptions()
	if len(q.own) < 2 {
		return ix.rows(r, sp, o)
	}
	ranges := make([]kv.Iterator, len(q.own))
	for i, prefix := range q.own {
		ranges[i] = ix.rows(r, sp.Within(prefix), o)
	}
	return keyrange.Merge(ranges, len(ix.keys.rows), q.asked.Descending)
}

// bare is a row key as the ranges of the query have it.
func (q *query) bare(rowKey []byte) []byte {
	if len(q.own) < 2 {
		return rowKey
	}
	return rowKey[keyrange.PrincipalLength(rowKey):]
}

// ownHead fills in what the head of an answer by principal tells: the number of rows where one
// principal has all of them, and how many come before where that is known; else -1.
func (q *query) ownHead(s *storage.Snapshot, ix *index, h *Head) (err error) {
	switch len(q.own) {
	case 0:
		return nil
	case 1:
		if h.TotalRows, err = q.w.v.aggregates.count(s.KV(), ix, span{}.Within(q.own[0])); err != nil {
			return err
		}
	default:
		h.TotalRows = -1
	}
	first := q.asked.StartKey.Kind() == ejson.Invalid && q.asked.Keys.Kind() == ejson.Invalid && q.asked.Skip == 0
	if !first {
		h.Offset = -1
	}
	return nil
}
