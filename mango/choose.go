package mango

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
)

// Which JSON index a query reads follows from its request alone, as in CouchDB (plan.go). Where an index over all
// fields can answer the query too, what each way would read decides: entries and documents count alike.
//
// Without a sort the order of the answer is that of the way, so the bookmark holds it and all pages go the same way.
// With a sort the order is that of its fields, and of the ids, whatever is read: each page may go the way that is the
// best one for it.

// course is the way that a query goes: in whose order the documents come, and what is read.
type course struct {
	index *Index // whose order it is; the bookmark names it
	// access is what is read of an index over all fields, in the order of its entries.
	access *access
	way    string // what bookmarks have of it
	// sorted: the index is one over all fields, and the order that of the request's sort. Without ranges in access
	// there is no way in this order.
	sorted bool
	// filter finds documents to be sorted, where these are few beside those that the order passes on the way. They are
	// read when budget documents have been read in the order; nil: never.
	filter *access
	budget int64
	ways   []way
	ready  bool   // the index over all fields is
	number uint64 // its number
	others int64  // documents that it does not know
}

const (
	// A JSON index is left for another way only where it would read twice as much and favour rows more.
	favour = 64
	// mostOthers is how many documents that the index does not know are merged into its order.
	mostOthers = 100
	// fewToSort is how many documents are always sorted rather than sought in their order.
	fewToSort = 64
)

// errNotReady is for an index over all fields that is still being built, or gone.
var errNotReady = errors.New("mango: the index is not ready")

// openAuto finds an index over all fields in a snapshot.
func (src *Source) openAllFields(s *storage.Snapshot, want *Index) (*allfields.Index, error) {
	if src.AllFields == nil {
		return nil, errNotReady
	}
	list, err := src.AllFields.Open(s)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(ix *allfields.Index) bool { return ix.Same(want.allFields) })
	if i < 0 {
		return nil, errNotReady
	}
	return list[i], nil
}

// course decides. With explain all ways are estimated.
func (p *Plan) course(ctx context.Context, src *Source, explain bool) (c course, err error) {
	if p.text != nil {
		return course{index: p.index, way: p.text.way()}, nil
	}
	allFields := p.best(KindAllFields)
	if p.index.Kind == KindAllFields {
		allFields = p.index
	} else if src.Shown != nil {
		allFields = nil // what the index finds is more than the user may see
	}
	c = course{index: p.index}
	if allFields == nil || p.index.Kind != KindAllFields && p.from != nil && len(p.req.Sort.Fields) == 0 {
		return c, nil
	}
	err = src.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
		c = course{index: p.index}
		v := estimator{ctx: ctx, p: p, src: src}
		v.ix, err = src.openAllFields(s, allFields)
		if c.ready = err == nil; c.ready {
			c.number = v.ix.Number()
		}
		switch {
		case err != nil && !errors.Is(err, errNotReady):
			return err
		case len(p.req.Sort.Fields) > 0:
			return c.chooseSorted(&v, allFields, explain)
		case p.from != nil:
			return c.goOn(&v)
		case !c.ready && p.index.Kind == KindAllFields:
			c.index = p.allDocs()
			return nil
		case !c.ready:
			return nil
		}
		return c.chooseUnsorted(&v, allFields, explain)
	})
	return c, err
}

// goOn takes the way of the bookmark. Entries have an order as long as the index that they are of is there.
func (c *course) goOn(v *estimator) error {
	p := v.p
	if c.ready {
		name, ok := strings.CutPrefix(p.from.way(), numbered(v.ix, ""))
		a, offered := named(p.req.Selector.accesses(p.index.allFields), name)
		if ok && offered && p.from.isEntry(len(a.ranges)) {
			c.access = &a
			c.way = p.from.way()
			return nil
		}
	}
	return errBookmark(p.req.Bookmark)
}

// numbered is the name of a way as bookmarks have it.
func numbered(ix *allfields.Index, name string) string {
	return strconv.FormatUint(ix.Number(), 36) + "." + name
}

// isEntry reports whether a bookmark is a position among the entries of some ranges.
func (b *bookmark) isEntry(ranges int) bool {
	at, _, ok := parseEntryPosition(b.key)
	return ok && at <= ranges
}

// chooseUnsorted takes the way that reads least.
func (c *course) chooseUnsorted(v *estimator, allFields *Index, explain bool) error {
	accesses := v.p.req.Selector.accesses(allFields.allFields)
	for i := range accesses {
		c.ways = append(c.ways, way{index: allFields, access: &accesses[i]})
	}
	rows, ids := v.p.best(KindJSON), v.p.best(KindAllDocs)
	if len(accesses) == 1 && accesses[0].class == accessPoint && rows == nil && !v.p.hasIDs() && !explain {
		c.index, c.access, c.way, c.ways = allFields, &accesses[0], numbered(v.ix, accesses[0].name), nil
		return nil
	}
	if rows != nil {
		c.ways = append(c.ways, way{index: rows})
	}
	if ids != nil && v.p.req.Partition == "" {
		c.ways = append(c.ways, way{index: ids})
	}
	cheapest := func() *way {
		return slices.MinFunc(pointers(c.ways),
			func(a, b *way) int { return cmp.Compare(v.p.cost(a, rows != nil), v.p.cost(b, rows != nil)) })
	}
	err := v.estimate(c.ways, func() bool { return !explain && cheapest().known })
	if err != nil {
		return err
	}
	taken := cheapest()
	taken.chosen = true
	c.index = taken.index
	if taken.access != nil {
		a, _ := taken.access.fix(v.least)
		c.access, c.way = &a, numbered(v.ix, a.name)
	}
	return nil
}

func pointers(ways []way) []*way {
	list := make([]*way, len(ways))
	for i := range ways {
		list[i] = &ways[i]
	}
	return list
}

// hasIDs reports whether the selector has a range of ids.
func (p *Plan) hasIDs() bool {
	list := p.ranked[KindAllDocs]
	return len(list) > 0 && len(list[0].prefix) > 0
}

// cost is what a way reads. Beside a JSON index others count more.
func (p *Plan) cost(w *way, beside bool) int64 {
	cost := 2 * w.n
	switch {
	case w.index.Kind == KindAllDocs:
		cost = w.n
	case w.index.Kind == KindJSON:
		if w.index.covers(p.req.Fields, p.req.Selector.fields()) {
			cost = w.n
		}
		return cost
	}
	if beside {
		cost = 2*cost + favour
	}
	return cost
}

// chooseSorted finds out what is read for an answer in the order of the sort: an index in this order, or a few
// documents that are sorted.
func (c *course) chooseSorted(v *estimator, allFields *Index, explain bool) error {
	p := v.p
	if c.sorted = p.index.Kind == KindAllFields; c.sorted {
		if p.from != nil && (p.from.way() != p.req.Sort.sortWay() || p.from.key.Len() != len(p.req.Sort.Fields)) {
			return errBookmark(p.req.Bookmark)
		}
		if c.ready {
			var err error
			if c.others, err = v.ix.CountOthers(); err != nil {
				return err
			}
		}
		if c.access = sortAccess(p.req.Selector, allFields.allFields, p.req.Sort.Fields); c.others > mostOthers {
			c.access = nil
		}
		if c.access != nil {
			c.ways = append(c.ways, way{index: allFields, access: c.access, sorted: true})
		}
	} else {
		c.ways = append(c.ways, way{index: p.index, sorted: true})
	}
	if !c.ready {
		c.ways = nil
		return nil
	}
	var ordered *way
	if len(c.ways) > 0 {
		ordered = &c.ways[0]
	}
	accesses := p.req.Selector.accesses(allFields.allFields)
	filters := make([]way, 0, len(accesses))
	for i := range accesses {
		if c.access == nil || accesses[i].name != c.access.name {
			filters = append(filters, way{index: allFields, access: &accesses[i]})
		}
	}
	if len(filters) == 0 && !explain {
		c.ways = nil
		return nil
	}
	c.ways = append(c.ways, filters...)
	if filters = c.ways; ordered != nil {
		ordered, filters = &c.ways[0], c.ways[1:]
		ordered.chosen = true
	}
	least := func() *way {
		return slices.MinFunc(pointers(filters), func(a, b *way) int { return cmp.Compare(a.n, b.n) })
	}
	err := v.estimate(c.ways, func() bool { return !explain && len(filters) > 0 && least().known })
	if err != nil || len(filters) == 0 {
		return err
	}
	best := least()
	if ordered != nil && ordered.known && ordered.n <= best.n {
		return nil
	}
	a, _ := best.access.fix(v.least)
	c.filter = &a
	if c.budget = best.n; ordered == nil || best.n <= 2*p.req.wanted()+fewToSort {
		c.budget, best.chosen = 0, true
		if ordered != nil {
			ordered.chosen = false
		}
	}
	return nil
}

// wanted is how many documents have to pass before the answer is complete.
func (r *Request) wanted() int64 {
	const most = 1 << 40
	return min(r.limit.n, most) + min(r.skip.n, most)
}

// sortAccess is the way that finds the documents in the order of the sort's first field, nil if there is none.
func sortAccess(s *Selector, d *allfields.Definition, sort []string) *access {
	for _, a := range s.accesses(d) {
		if a.fields[0] == sort[0] && a.branches == nil && !a.repeats() {
			return &a
		}
	}
	field := newField(sort[0], nil) // documents without it are left out, as by a JSON index on it
	path, ok := field.indexedPath(array{}, d)
	if !ok {
		return nil
	}
	return &access{fields: sort[:1], ranges: []allfields.Range{{Path: path}}, class: accessPath}
}

// appendEntryPosition appends the key of a row that is an entry: the number of its range, and the key of the entry.
func appendEntryPosition(dst []byte, at int, key []byte) []byte {
	dst = append(strconv.AppendInt(append(dst, '['), int64(at), 10), `,"`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, key)
	return append(dst, `"]`...)
}

func parseEntryPosition(key ejson.Value) (at int, entryKey []byte, ok bool) {
	if key.Kind() != ejson.Array || key.Len() != 2 {
		return 0, nil, false
	}
	children := key.Children()
	number, _ := children.Next()
	text, _ := children.Next()
	n, isInt := number.Int()
	if !isInt || n < 0 || n > math.MaxInt32 || text.Kind() != ejson.String {
		return 0, nil, false
	}
	entryKey, err := base64.RawURLEncoding.DecodeString(text.Text())
	return int(n), entryKey, err == nil
}
