package aggregate

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

const (
	// maxGroups and maxKept bound the groups that a request keeps, and their bytes.
	maxGroups = 100_000
	maxKept   = 64 << 20
	// freeKept is how many bytes it keeps without asking mango.Source.Keep, and leastKept the least
	// that it asks for.
	freeKept  = 64 << 10
	leastKept = 1 << 20
	// groupSize and accumulatorSize are roughly the memory of a group and an accumulator, without
	// the bytes of values.
	groupSize, accumulatorSize = 250, 150
)

// errFull says that the groups do not fit into memory.
var errFull = errors.New("aggregate: too many groups")

// errTooManyGroups is the client's error for errFull: it names the index with which groups are not
// kept.
func (r *Request) errTooManyGroups() error {
	var fields []string
	whole := true
	for i := range r.groups {
		fields = append(fields, r.groups[i].name)
		whole = whole && r.groups[i].whole()
	}
	reason := "The groups do not fit into memory (" + strconv.Itoa(maxGroups) + " groups, " +
		strconv.Itoa(maxKept>>20) + " MB). "
	if whole {
		reason += "With an index of the fields " + string(ejson.AppendStrings(nil, fields)) +
			", a selector by which they exist, and no sort, they are not kept."
	} else {
		reason += "No index helps where groups are by a prefix or a floor."
	}
	return compat.Named(compat.KindBadRequest, "too_many_groups", reason)
}

// group is one group of the answer.
type group struct {
	keyOf

	rows   int64
	values []accumulator // of Request.values; nil for those that count
	size   int           // about how many bytes it takes
}

// table has groups in memory.
type table struct {
	r             *Request
	groups        map[string]*group
	keep          func(bytes int) error // nil: all is granted
	kept, granted int
	key           keyOf // memory of one
	order         []byte
	ordered       bool // some value looks at the order of the documents
	ungrouped     int64
	// fromEnd: groups come in the reverse order of the answer. The last ones are kept, latest are
	// their keys, and dropped tells that there were others.
	fromEnd bool
	latest  []string
	dropped bool
}

func (r *Request) newTable(keep func(int) error) *table {
	t := &table{r: r, groups: make(map[string]*group), keep: keep, granted: freeKept}
	t.ordered = slices.ContainsFunc(r.values, func(a accumulation) bool { return ordered(a.op) })
	return t
}

// find gives the group of a document with some values, which may be new; nil if it has none.
func (t *table) find(values []ejson.Value) (*group, error) {
	if !t.r.appendGroup(&t.key, values) {
		return nil, nil
	}
	if g := t.groups[string(t.key.sortable)]; g != nil {
		return g, nil
	}
	if t.fromEnd {
		t.dropFirst()
	}
	if len(t.groups) == maxGroups {
		return nil, errFull
	}
	g := t.r.newGroup(&t.key)
	g.size = groupSize + len(t.r.values)*accumulatorSize + 2*len(g.sortable) + len(g.json)
	t.groups[string(t.key.sortable)] = g
	return g, t.grow(g.size)
}

// dropFirst makes room for a group that comes in the reverse order of the answer: of those before it
// as many are kept as a page has.
func (t *table) dropFirst() {
	for most := max(int(t.r.page()), 1); len(t.latest) >= most; t.dropped = true {
		t.kept -= t.groups[t.latest[0]].size
		delete(t.groups, t.latest[0])
		t.latest = t.latest[1:]
	}
	t.latest = append(t.latest, string(t.key.sortable))
}

// behind reports, of groups that come in the reverse order of the answer, whether that of a document
// with some values is on a page before, as all that follow are.
func (t *table) behind(values []ejson.Value) bool {
	return t.fromEnd && t.r.after != nil && t.r.appendGroup(&t.key, values) &&
		bytes.Compare(t.key.sortable, t.r.after.key.sortable) >= 0
}

// ahead reports, of groups that come in the order of their keys, whether that of a document with some
// values is on the page; full tells that it is behind it.
func (t *table) ahead(values []ejson.Value, full *bool) bool {
	if !t.r.appendGroup(&t.key, values) {
		return false
	}
	if after := t.r.after; after != nil && bytes.Compare(t.key.sortable, after.key.sortable) <= 0 {
		return false
	}
	*full = int64(len(t.groups)) >= t.r.page() && t.groups[string(t.key.sortable)] == nil
	return !*full
}

// newGroup makes a group with empty accumulators. The key is copied, since its memory is used again
// for the next document.
func (r *Request) newGroup(key *keyOf) *group {
	g := &group{
		keyOf:  keyOf{sortable: bytes.Clone(key.sortable), json: bytes.Clone(key.json)},
		values: make([]accumulator, len(r.values)),
	}
	for i, a := range r.values {
		if begin := operators[a.op]; begin != nil {
			g.values[i] = begin()
		}
	}
	return g
}

// grow accounts for bytes that are kept from now on, and asks for them where it has to.
func (t *table) grow(bytes int) error {
	t.kept += bytes
	switch {
	case t.kept > maxKept:
		return errFull
	case t.kept <= t.granted || t.keep == nil:
		return nil
	}
	var err error
	for _, n := range [...]int{max(2*t.kept, leastKept), t.kept} {
		if err = t.keep(n); err == nil {
			t.granted = n
			return nil
		}
	}
	return err
}

// add takes a document.
func (t *table) add(ctx context.Context, id []byte, values []ejson.Value) error {
	g, err := t.find(values)
	if err != nil {
		return err
	}
	if g == nil {
		t.ungrouped++
		return nil
	}
	grown, err := g.add(ctx, t.r, t.orderOf(id, values), values)
	if err != nil {
		return err
	}
	return t.grow(grown)
}

// orderOf is where a document stands in the order of the groups, nil where nothing looks at it.
func (t *table) orderOf(id []byte, values []ejson.Value) []byte {
	if !t.ordered {
		return nil
	}
	t.order = t.order[:0]
	for i := range t.r.groups {
		t.order = collate.AppendKey(t.order, values[t.r.groups[i].field])
	}
	t.order = append(t.order, id...)
	return t.order
}

// add adds a document to the group; grown is how many bytes it has come to keep.
func (g *group) add(ctx context.Context, r *Request, order []byte, values []ejson.Value) (grown int, err error) {
	g.rows++
	for i, acc := range g.values {
		if acc == nil {
			continue
		}
		v := values[r.values[i].field]
		if v.Kind() == ejson.Invalid {
			continue
		}
		n, err := acc.add(ctx, v, order)
		if err != nil {
			return grown, err
		}
		grown += n
	}
	return grown, nil
}

// finished is a group as the answer shows it, with its place in the order.
type finished struct {
	place

	row []byte
}

// finish computes the values of a group.
func (r *Request) finish(ctx context.Context, g *group) (f finished, err error) {
	f.place = place{key: g.keyOf, terms: make([]keyOf, len(r.order))}
	f.row = append(append(f.row, `{"key":`...), g.json...)
	estimated := false
	for i, acc := range g.values {
		f.row = append(ejson.AppendString(append(f.row, ','), r.values[i].name), ':')
		begin, approximate := len(f.row), false
		if acc == nil {
			f.row = strconv.AppendInt(f.row, g.rows, 10)
		} else if f.row, approximate, err = acc.appendResult(ctx, f.row); err != nil {
			return f, err
		}
		estimated = estimated || approximate
		for n, term := range r.order {
			if term.value != i {
				continue
			}
			v, err := ejson.Parse(f.row[begin:])
			if err != nil {
				return f, err
			}
			f.terms[n] = keyOf{sortable: collate.AppendKey(nil, v), json: v.AppendJSON(nil)}
		}
	}
	if estimated {
		f.row = append(f.row, `,"approximate":true`...)
	}
	f.row = append(f.row, '}')
	return f, nil
}

// page gives the groups after the place where the page begins, in their order, up to the limit; the
// bookmark is empty where none follow, of which more says that they are not in the table.
func (t *table) page(ctx context.Context, more bool, row func(json []byte) error) (bookmark string, err error) {
	var list []finished
	for _, g := range t.groups {
		f, err := t.r.finish(ctx, g)
		if err != nil {
			return "", err
		}
		if t.r.after == nil || t.r.compare(&f.place, t.r.after) > 0 {
			list = append(list, f)
			if err := t.grow(len(f.row)); err != nil {
				return "", err
			}
		}
	}
	slices.SortFunc(list, func(a, b finished) int { return t.r.compare(&a.place, &b.place) })
	shown := list[:min(int64(len(list)), t.r.limit)]
	for i := range shown {
		if err := row(shown[i].row); err != nil {
			return "", err
		}
	}
	if n := len(shown); n > 0 && (more || t.dropped || n < len(list)) {
		bookmark = t.r.bookmark(&shown[n-1].place)
	}
	return bookmark, nil
}
