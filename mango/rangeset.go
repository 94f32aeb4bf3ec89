package mango

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
)

// A query on an index over all fields reads the ranges of one condition of the selector, and looks
// at the documents found. Which condition is cheapest is estimated when the query begins
// (optimize.go).

// rangeSet finds all documents that pass a selector: those with an entry in one of its ranges.
type rangeSet struct {
	fields []string // that the ranges are of; of an $or those of all its branches
	ranges []allfields.Range
	class  rangeClass
	exact  bool // a document whose value is in the range passes the whole selector
	// branches are the sets that each branch of an $or offers. Such a set has ranges once one of
	// each is chosen.
	branches [][]rangeSet
	// name tells the set from the selector's others, for bookmarks. That of an $or is followed by
	// those of the sets chosen.
	name string
}

// rangeClass orders sets of ranges by how much they are likely to find, where nothing is known yet.
type rangeClass uint8

const (
	classPoint rangeClass = iota
	classPoints
	classRange
	classField // all that have the field
)

// rangeSets are the sets of ranges that a selector asks of an index, the most promising first.
func (s *Selector) rangeSets(d *allfields.Definition) []rangeSet {
	if s.root == nil {
		return nil
	}
	list := s.root.rangeSets(d)
	for i := range list {
		list[i].sign()
	}
	slices.SortStableFunc(list, func(a, b rangeSet) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(len(a.ranges), len(b.ranges)),
			slices.Compare(a.fields, b.fields))
	})
	return list
}

// sign gives a set its name, a hash of its ranges: a bookmark that has it belongs to a selector
// that offers just this set.
func (a *rangeSet) sign() {
	var text []byte
	add := func(part string) { text = append(binary.AppendUvarint(text, uint64(len(part))), part...) }
	for i := range a.ranges {
		r := &a.ranges[i]
		for _, part := range r.Path {
			add(part)
		}
		text = strconv.AppendBool(text, r.Element)
		add(string(r.Start))
		add(string(r.End))
	}
	for _, branch := range a.branches {
		for i := range branch {
			branch[i].sign()
			add(branch[i].name)
		}
		text = append(text, '|')
	}
	a.name = strconv.FormatUint(xxhash.Sum64(text), 36)
}

// fix chooses one set of each branch of an $or; choose gives the number of one of several, -1 for
// none.
func (a *rangeSet) fix(choose func([]rangeSet) int) (rangeSet, bool) {
	if a.branches == nil {
		return *a, true
	}
	fixed := rangeSet{class: a.class, name: a.name}
	for _, branch := range a.branches {
		n := choose(branch)
		if n < 0 {
			return fixed, false
		}
		one, ok := branch[n].fix(choose)
		if !ok {
			return fixed, false
		}
		fixed.ranges = append(fixed.ranges, one.ranges...)
		fixed.fields = addFields(fixed.fields, one.fields)
		fixed.name += "." + one.name
	}
	return fixed, true
}

// addFields adds the names of fields to a sorted list.
func addFields(list, names []string) []string {
	list = append(list, names...)
	slices.Sort(list)
	return slices.Compact(list)
}

// named finds the set with a name among those of a selector.
func named(list []rangeSet, name string) (rangeSet, bool) {
	names := strings.Split(name, ".")
	next := func(list []rangeSet) int {
		if len(names) == 0 {
			return -1
		}
		first := names[0]
		names = names[1:]
		return slices.IndexFunc(list, func(a rangeSet) bool { return a.name == first })
	}
	n := next(list)
	if n < 0 {
		return rangeSet{}, false
	}
	a, ok := list[n].fix(next)
	return a, ok && len(names) == 0
}

// rangeSets returns the sets of ranges of the index of which each contains all documents that pass
// the condition; none means that no path narrows the search. A set of a single field is exact if
// its ranges say all that the condition says: then documents are counted without reading them.
// Elements of arrays are never exact, because one element may satisfy one bound and another
// element the other.
func (c *condition) rangeSets(d *allfields.Definition) []rangeSet {
	switch c.op {
	case opAnd:
		return rangeSetsOfAll(c.kids, array{}, d)
	case opField:
		list := rangeSetsOfAll([]*condition{c}, array{}, d)
		for i := range list {
			list[i].exact = c.kids[0].isExact() && !list[i].ranges[0].Element
		}
		return list
	case opOr:
		return rangeSetOfAny(c.kids, d)
	}
	return nil
}

// isExact reports whether the ranges of a condition say all that it says.
func (c *condition) isExact() bool {
	switch c.op {
	case opLt, opLte, opEq, opGt, opGte, opExists:
		return true
	}
	return false
}

// rangeSetOfAny is the set of an $or; without one for some branch there is none.
func rangeSetOfAny(kids []*condition, d *allfields.Definition) []rangeSet {
	joined := rangeSet{class: classPoints}
	least := 0
	for _, kid := range kids {
		list := kid.rangeSets(d)
		if len(list) == 0 {
			return nil
		}
		joined.branches = append(joined.branches, list)
		for i := range list {
			joined.fields = addFields(joined.fields, list[i].fields)
		}
		best := slices.MinFunc(list, func(a, b rangeSet) int { return cmp.Compare(a.class, b.class) })
		joined.class = max(joined.class, best.class)
		least += best.width()
	}
	if least == 0 || least > maxRanges {
		return nil
	}
	return []rangeSet{joined}
}

// width is the number of ranges, of an $or the number of its branches at least.
func (a *rangeSet) width() int { return max(len(a.ranges), len(a.branches)) }

// maxRanges is how many ranges a set may have.
const maxRanges = 1000

// array is the array that conditions below $elemMatch are on elements of; elsewhere it is the zero
// value.
type array struct {
	field string
	path  []string
}

func (a *array) none() bool { return a.path == nil }

// name is what is told of a field of the elements, "" for the elements themselves: as text indexes
// name them.
func (a *array) name(field string) string {
	switch {
	case a.none():
		return field
	case field == "":
		return a.field + ".[]"
	}
	return a.field + ".[]." + field
}

// rangeSetsOfAll are the sets of conditions that all have to hold, in the document or for an
// element.
func rangeSetsOfAll(kids []*condition, in array, d *allfields.Definition) []rangeSet {
	var list []rangeSet
	var seen []string
	for _, kid := range flatten(kids, nil) {
		switch {
		case kid.op == opOr && in.none():
			list = append(list, rangeSetOfAny(kid.kids, d)...)
		case kid.op == opField && !slices.Contains(seen, kid.name):
			path, ok := kid.indexedPath(in, d)
			if !ok {
				continue
			}
			seen = append(seen, kid.name)
			list = append(list, fieldRangeSets(kids, kid.name, in, path, d)...)
		}
	}
	return list
}

// flatten sees through $and.
func flatten(kids, list []*condition) []*condition {
	for _, kid := range kids {
		if kid.op == opAnd {
			list = flatten(kid.kids, list)
		} else {
			list = append(list, kid)
		}
	}
	return list
}

// indexedPath is the path of the field's entries. A part that is a number may mean an element,
// which has no path of its own; a field _id is compared in an order that entries are not in, also
// in an element.
func (c *condition) indexedPath(in array, d *allfields.Definition) ([]string, bool) {
	path := slices.Clone(in.path)
	if c.name != "" {
		if !c.path.valid || c.name == "_id" || in.none() && c.path.parts[0] != "" && c.path.parts[0][0] == '_' {
			return nil, false
		}
		path = append(path, c.path.parts...)
		if slices.ContainsFunc(c.path.parts, isElementNumber) {
			return nil, false
		}
	}
	return path, d.Covers(path)
}

// fieldRangeSets are the sets of the conditions on one field. All comparisons together are one
// range; $in, $all and $elemMatch have sets of their own, since any element of an array may fulfil
// them.
func fieldRangeSets(kids []*condition, name string, in array, path []string, d *allfields.Definition) []rangeSet {
	r := fieldRange{field: name, lowOp: opGt, highOp: opLt}
	required := false
	var list []rangeSet
	var before []byte // above all strings that begin as they have to
	for _, kid := range flatten(kids, nil) {
		if kid.op != opField || kid.name != name {
			continue
		}
		inner := kid.kids[0]
		required = required || inner.op != opExists || inner.exists
		switch inner.op {
		case opBeginsWith:
			// Beginnings that are not ASCII have strings elsewhere, too.
			if isASCII(inner.text) && !r.empty {
				r.bound(opGte, inner.arg)
				before = lower(before, collate.AppendPrefixEnd(nil, inner.text))
			}
		case opIn, opAll:
			if in.none() {
				list = append(list, inner.listRangeSet(name, path)...)
			}
		case opElemMatch:
			if in.none() {
				list = append(list, rangeSetsOfAll([]*condition{inner.kids[0]}, array{name, path}, d)...)
			}
		default:
			if !r.empty {
				r.narrow(inner)
			}
		}
	}
	if !required {
		return list
	}
	one := allfields.Range{Path: path, Element: !in.none()}
	one.Start, one.End = r.keys()
	one.End = lower(one.End, before)
	a := rangeSet{fields: []string{in.name(name)}, ranges: []allfields.Range{one}, class: classField}
	switch {
	case r.lowOp == opEq || r.empty:
		a.class = classPoint
	case one.Start != nil || one.End != nil:
		a.class = classRange
	}
	return append(list, a)
}

// lower is the lower one of two upper bounds, nil for none.
func lower(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= 0x80 })
}

// keys are the bounds as an index has them.
func (r *fieldRange) keys() (start, end []byte) {
	if r.impossible() {
		return []byte{highest}, []byte{highest}
	}
	if r.low.Kind() != ejson.Invalid {
		if start = collate.AppendKey(nil, r.low); !r.includesLow() {
			start = allfields.AppendAfter(nil, start)
		}
	}
	if r.high.Kind() != ejson.Invalid {
		if end = collate.AppendKey(nil, r.high); r.includesHigh() {
			end = allfields.AppendAfter(nil, end)
		}
	}
	return start, end
}

// listRangeSet is the set of $in: the value, or an element, is in the list; or of $all: one element
// is the first of the list.
func (c *condition) listRangeSet(name string, path []string) []rangeSet {
	var points [][]byte
	for arg := range c.arg.Elements() {
		points = append(points, collate.AppendKey(nil, arg))
		if c.op == opAll {
			break
		}
	}
	slices.SortFunc(points, bytes.Compare)
	points = slices.CompactFunc(points, bytes.Equal)
	if len(points) == 0 || 2*len(points) > maxRanges {
		return nil
	}
	a := rangeSet{fields: []string{name}, class: classPoints}
	for _, element := range []bool{false, true} {
		for _, p := range points {
			a.ranges = append(a.ranges,
				allfields.Range{Path: path, Element: element, Start: p, End: allfields.AppendAfter(nil, p)})
		}
	}
	return []rangeSet{a}
}

// repeats reports whether a scan may come to a document more than once.
func (a *rangeSet) repeats() bool { return len(a.ranges) > 1 || a.ranges[0].Element }
