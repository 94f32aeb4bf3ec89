package mango

import (
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
)

// Which JSON index a query reads follows from its request alone, as in CouchDB (plan.go). Where an
// index over all fields can answer the query too, the access path that would read least is taken:
// entries and documents count alike.
//
// Without a sort the order of the answer is that of the access path, so the bookmark holds it and
// all pages take the same one. With a sort the order is that of its fields, and of the ids,
// whatever is read: each page takes the path that is best for it.

// executionPlan says in whose order the documents of a query come, and what is read for them.
//
// It is chosen anew for each page. What has to be the same from page to page is in the bookmark:
// the index and the order's name.
type executionPlan struct {
	index *Index // whose order it is; the bookmark names it
	// entries is what is read of an index over all fields, in their order.
	entries   *rangeSet
	orderName string // what bookmarks have of the order
	// sorted says that the index is one over all fields, and the order that of the request's sort.
	// If entries is nil then no index is in this order.
	sorted bool
	// filter finds documents to be sorted, where these are few beside those that the order passes
	// before them. They are read when budget documents have been read in the order; nil: never.
	filter *rangeSet
	budget int64
	paths  []accessPath
	ready  bool // the index over all fields is
	// Its number in the store, which a new index of the same definition does not share: entries are
	// named by it in bookmarks.
	number uint64
	others int64 // documents that it does not know
}

const (
	// A JSON index is left for another access path only where it would read twice as much and
	// favour rows more.
	favour = 64
	// mostOthers is how many documents that the index does not know are merged into its order.
	mostOthers = 100
	// fewToSort is how many documents are always sorted rather than sought in their order.
	fewToSort = 64
)

// errNotReady is for an index over all fields that is still being built, or gone.
var errNotReady = errors.New("mango: the index is not ready")

// openAllFields finds an index over all fields in a snapshot.
func (src *Source) openAllFields(s *storage.Snapshot, want *Index) (*allfields.Index, error) {
	if src.AllFields == nil {
		return nil, errNotReady
	}
	list, err := src.AllFields.Open(s)
	if err != nil {
		return nil, err
	}
	// Indexes are found by what they are defined to be, not by name: those of several design
	// documents with the same definition are one in the store.
	i := slices.IndexFunc(list, func(ix *allfields.Index) bool { return ix.Same(want.allFields) })
	if i < 0 {
		return nil, errNotReady
	}
	return list[i], nil
}

// ReadyAllFields opens an index over all fields in a snapshot; it is nil where the index is still
// being built, or gone.
func (src *Source) ReadyAllFields(s *storage.Snapshot, ix *Index) (*allfields.Index, error) {
	open, err := src.openAllFields(s, ix)
	return open, ignoreNotReady(err)
}

// optimize chooses the execution plan. With explain all access paths are estimated, even where one
// is known to be the cheapest. It reads nothing where CouchDB's choice stands: without an index
// over all fields, or on a later page that goes on in an order of its own.
func (p *Plan) optimize(ctx context.Context, src *Source, explain bool) (c executionPlan, err error) {
	// A text index is never left for another one: it may say what no selector over documents does.
	if p.text != nil {
		return executionPlan{index: p.index, orderName: p.text.orderName()}, nil
	}
	allFields := p.best(KindAllFields)
	if p.index.Kind == KindAllFields {
		allFields = p.index
	} else if src.Shown != nil {
		allFields = nil // the index finds documents that the user may not see
	}
	c = executionPlan{index: p.index}
	// On a later page of an unsorted query the bookmark has named the index already.
	if allFields == nil || p.index.Kind != KindAllFields && p.from != nil && len(p.req.Sort.Fields) == 0 {
		return c, nil
	}
	// The function may run several times, so that it begins with a fresh plan.
	err = src.DB.ViewAgain(ctx, func(s *storage.Snapshot) error {
		c = executionPlan{index: p.index}
		e := estimator{ctx: ctx, p: p, src: src}
		e.ix, err = src.openAllFields(s, allFields)
		if c.ready = err == nil; c.ready {
			c.number = e.ix.Number()
		}
		switch {
		case err != nil && !errors.Is(err, errNotReady):
			return err
		case len(p.req.Sort.Fields) > 0:
			return c.chooseSorted(&e, allFields, explain)
		case p.from != nil:
			return c.goOn(&e)
		// While the index is being built its queries read all documents, in the order of the ids.
		case !c.ready && p.index.Kind == KindAllFields:
			c.index = AllDocs
			return nil
		case !c.ready:
			return nil
		}
		return c.chooseUnsorted(&e, allFields, explain)
	})
	return c, err
}

// goOn takes the access path of the bookmark. Entries have an order as long as the index that they
// are of is there.
func (c *executionPlan) goOn(e *estimator) error {
	p := e.p
	if c.ready {
		// A bookmark of an index that was built anew since has another number, and the page is
		// refused: what came before could come again.
		name, ok := strings.CutPrefix(p.from.orderName(), numbered(e.ix, ""))
		a, offered := named(rangeSetsOf(p.req.Selector, p.index.allFields), name)
		if ok && offered && p.from.isEntry(len(a.ranges)) {
			c.entries, c.orderName = &a, p.from.orderName()
			return nil
		}
	}
	return errBookmark(p.req.Bookmark)
}

// numbered is the name of a set of ranges as bookmarks have it.
func numbered(ix *allfields.Index, name string) string {
	return strconv.FormatUint(ix.Number(), 36) + "." + name
}

// isEntry reports whether a bookmark is a position among the entries of some ranges.
func (b *bookmark) isEntry(ranges int) bool {
	at, _, ok := parseEntryPosition(b.key)
	return ok && at <= ranges
}

// chooseUnsorted takes the access path that reads least. A condition on one value that has no rival
// is taken without an estimate.
func (c *executionPlan) chooseUnsorted(e *estimator, allFields *Index, explain bool) error {
	sets := rangeSetsOf(e.p.req.Selector, allFields.allFields)
	for i := range sets {
		c.paths = append(c.paths, accessPath{index: allFields, entries: &sets[i]})
	}
	rows, ids := e.p.best(KindJSON), e.p.best(KindAllDocs)
	// There is nothing to choose from, and an estimate would cost reads.
	if len(sets) == 1 && sets[0].class == classPoint && rows == nil && !e.p.hasIDs() && !explain {
		c.index, c.entries, c.orderName, c.paths = allFields, &sets[0], numbered(e.ix, sets[0].name), nil
		return nil
	}
	if rows != nil {
		c.paths = append(c.paths, accessPath{index: rows})
	}
	if ids != nil && e.p.req.Partition == "" {
		c.paths = append(c.paths, accessPath{index: ids})
	}
	cost := func(a *accessPath) int64 { return e.p.cost(a, rows != nil) }
	if err := e.estimate(c.paths, func() bool { return !explain && least(c.paths, cost).known }); err != nil {
		return err
	}
	taken := least(c.paths, cost)
	taken.chosen = true
	c.index = taken.index
	if taken.entries != nil {
		// It cannot fail: least always gives a number, and each branch has a set.
		a, _ := taken.entries.fix(e.least)
		c.entries, c.orderName = &a, numbered(e.ix, a.name)
	}
	return nil
}

// least is the first one of the access paths that cost least.
func least(paths []accessPath, cost func(*accessPath) int64) *accessPath {
	best := &paths[0]
	for i := range paths {
		if cost(&paths[i]) < cost(best) {
			best = &paths[i]
		}
	}
	return best
}

// hasIDs reports whether the selector has a range of ids.
func (p *Plan) hasIDs() bool {
	list := p.ranked[KindAllDocs]
	return len(list) > 0 && len(list[0].prefix) > 0
}

// cost is what an access path reads. Beside a JSON index others count more.
func (p *Plan) cost(a *accessPath, beside bool) int64 {
	// An entry costs two reads, itself and its document; a document by id, or a row that covers the
	// query, costs one.
	cost := 2 * a.n
	switch {
	case a.index.Kind == KindAllDocs:
		cost = a.n
	case a.index.Kind == KindJSON:
		if a.index.covers(p.req.Fields, p.req.Selector.Fields()) {
			cost = a.n
		}
		return cost
	}
	if beside {
		// CouchDB would read the JSON index: another access path has to be clearly better, or users
		// could not foresee which order they get.
		cost = 2*cost + favour
	}
	return cost
}

// chooseSorted finds out what is read for an answer in the order of the sort: an index in this
// order, or documents that are sorted. These are the cheapest condition's. If they are few they are
// sorted at once. Else the order is followed for as many documents as they are, since nobody knows
// how soon documents in the order pass: so the answer costs at most about twice what the better one
// of both does.
func (c *executionPlan) chooseSorted(e *estimator, allFields *Index, explain bool) error {
	p := e.p
	if err := c.openSorted(e, allFields); err != nil || !c.ready {
		return err
	}
	ordered := len(c.paths) // 1 if there is an index in the order
	sets := rangeSetsOf(p.req.Selector, allFields.allFields)
	for i := range sets {
		// The set that is the order is measured as the order, not once more as a filter.
		if c.entries == nil || sets[i].name != c.entries.name {
			c.paths = append(c.paths, accessPath{index: allFields, entries: &sets[i]})
		}
	}
	filters := c.paths[ordered:]
	if len(c.paths) == 0 || len(filters) == 0 && !explain {
		c.paths = nil
		return nil
	}
	size := func(a *accessPath) int64 { return a.n }
	decided := func() bool { return !explain && len(filters) > 0 && least(filters, size).known }
	if err := e.estimate(c.paths, decided); err != nil {
		return err
	}
	first := &c.paths[0]
	first.chosen = true
	if len(filters) == 0 {
		return nil
	}
	// Size alone counts here, not cost: all filters are read and sorted in the same way.
	best := least(filters, size)
	if ordered > 0 && first.known && first.n <= best.n {
		return nil
	}
	a, _ := best.entries.fix(e.least)
	// As many documents may be read in the order as the filter would find: that is what makes the
	// whole cost at most twice the better one.
	c.filter, c.budget = &a, best.n
	// A few more documents than the page needs are sorted at once: to read those in the order could
	// not be much cheaper even if every one passed.
	if ordered == 0 || best.n <= 2*p.req.wanted()+fewToSort {
		c.budget, first.chosen, best.chosen = 0, false, true
	}
	return nil
}

// openSorted finds the index in the order of the sort, and makes it the first access path: a JSON
// index, or the entries of the sort's first field. There is none where too many documents would
// have to be merged into these.
func (c *executionPlan) openSorted(e *estimator, allFields *Index) (err error) {
	p := e.p
	if c.sorted = p.index.Kind == KindAllFields; !c.sorted {
		if c.ready {
			c.paths = append(c.paths, accessPath{index: p.index, sorted: true})
		}
		return nil
	}
	if p.from != nil &&
		(p.from.orderName() != p.req.Sort.sortOrderName() || p.from.key.Len() != len(p.req.Sort.Fields)) {
		return errBookmark(p.req.Bookmark)
	}
	if !c.ready {
		return nil
	}
	// Documents that the index does not know are read and sorted before the first row is given
	// (mostOthers bounds them), then merged into the order of the entries.
	if c.others, err = e.ix.CountOthers(); err != nil || c.others > mostOthers {
		return err
	}
	if c.entries = sortRangeSet(p.req.Selector, allFields.allFields, p.req.Sort.Fields); c.entries != nil {
		c.paths = append(c.paths, accessPath{index: allFields, entries: c.entries, sorted: true})
	}
	return nil
}

// wanted is how many documents have to pass before the answer is complete.
func (r *Request) wanted() int64 {
	const most = 1 << 40
	return min(r.limit.n, most) + min(r.skip.n, most)
}

// sortRangeSet is the range whose entries are in the order of the sort's first field, nil if there
// is none.
func sortRangeSet(s *selector.Selector, d *allfields.Definition, sort []string) *rangeSet {
	for _, a := range rangeSetsOf(s, d) {
		if a.fields[0] == sort[0] && a.branches == nil && !a.repeats() {
			return &a
		}
	}
	field := selector.NewField(sort[0], nil) // documents without it are left out, as by a JSON index on it
	path, ok := indexedPath(field, array{}, d)
	if !ok {
		return nil
	}
	return &rangeSet{fields: sort[:1], ranges: []allfields.Range{{Path: path}}, class: classField}
}

// appendEntryPosition appends the key of a row that is an entry: the number of its range, and the
// key of the entry.
func appendEntryPosition(dst []byte, at int, key []byte) []byte {
	dst = append(strconv.AppendInt(append(dst, '['), int64(at), 10), `,"`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, key)
	return append(dst, `"]`...)
}

// parseEntryPosition reads the position in a bookmark: the number of the range, and the key of the
// entry in it. A bookmark is input, so every part is checked.
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
