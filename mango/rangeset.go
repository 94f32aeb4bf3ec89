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
	"github.com/settee-db/settee/mango/selector"
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
func rangeSetsOf(s *selector.Selector, d *allfields.Definition) []rangeSet {
	if s.Root == nil {
		return nil
	}
	list := rangeSets(s.Root, d)
	for i := range list {
		list[i].sign()
	}
	// The order decides only ties and what is taken without an estimate; it has to be the same on
	// each page, so that it depends on nothing but the selector.
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
	// Lengths stand before parts, so that different lists never give the same text.
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
//
// An $or needs an index for every branch: a document may pass by any of them. The ranges of the
// chosen sets are read one after the other; a document that lies in several comes once, at the
// first (finder.takeEntry).
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
	// The first name is that of the set, those behind it of the sets chosen in the branches, from
	// left to right: fix asks in the same order.
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
func rangeSets(c *selector.Condition, d *allfields.Definition) []rangeSet {
	switch c.Op {
	case selector.OpAnd:
		return rangeSetsOfAll(c.Kids, array{}, d)
	case selector.OpField:
		list := rangeSetsOfAll([]*selector.Condition{c}, array{}, d)
		for i := range list {
			// OpField has one condition on its field below it. An entry of an element says nothing
			// of the value as a whole.
			list[i].exact = saysAll(c.Kids[0]) && !list[i].ranges[0].Element
		}
		return list
	case selector.OpOr:
		return rangeSetOfAny(c.Kids, d)
	}
	return nil
}

// saysAll reports whether the ranges of a condition say all that it says.
func saysAll(c *selector.Condition) bool {
	switch c.Op {
	case selector.OpLt, selector.OpLte, selector.OpEq, selector.OpGt, selector.OpGte, selector.OpExists:
		return true
	}
	return false
}

// rangeSetOfAny is the set of an $or; without one for some branch there is none.
func rangeSetOfAny(kids []*selector.Condition, d *allfields.Definition) []rangeSet {
	joined := rangeSet{class: classPoints}
	least := 0
	for _, kid := range kids {
		list := rangeSets(kid, d)
		if len(list) == 0 {
			return nil
		}
		joined.branches = append(joined.branches, list)
		for i := range list {
			joined.fields = addFields(joined.fields, list[i].fields)
		}
		// The $or is as good as the worst of its branches is at its best.
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

// name is how a field of the elements is called, "" for the elements themselves: as text indexes
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
func rangeSetsOfAll(kids []*selector.Condition, in array, d *allfields.Definition) []rangeSet {
	var list []rangeSet
	// A field's conditions are taken together at its first one, wherever in the $and the others
	// are.
	var seen []string
	for _, kid := range flatten(kids, nil) {
		switch {
		// An $or within an element is left to the matching of documents.
		case kid.Op == selector.OpOr && in.none():
			list = append(list, rangeSetOfAny(kid.Kids, d)...)
		case kid.Op == selector.OpField && !slices.Contains(seen, kid.Name):
			path, ok := indexedPath(kid, in, d)
			if !ok {
				continue
			}
			seen = append(seen, kid.Name)
			list = append(list, fieldRangeSets(kids, kid.Name, in, path, d)...)
		}
	}
	return list
}

// flatten sees through $and.
func flatten(kids, list []*selector.Condition) []*selector.Condition {
	for _, kid := range kids {
		if kid.Op == selector.OpAnd {
			list = flatten(kid.Kids, list)
		} else {
			list = append(list, kid)
		}
	}
	return list
}

// indexedPath is the path of the field's entries. A part that is a number may mean an element,
// which has no path of its own; a field _id is compared in an order that entries are not in, also
// in an element.
func indexedPath(c *selector.Condition, in array, d *allfields.Definition) ([]string, bool) {
	path := slices.Clone(in.path)
	if c.Name != "" {
		// Fields that begin with an underscore are CouchDB's own (_rev, _attachments), which bodies
		// do not have; inside an element they are ordinary ones.
		if !c.Path.Valid || c.Name == "_id" || in.none() && c.Path.Parts[0] != "" && c.Path.Parts[0][0] == '_' {
			return nil, false
		}
		path = append(path, c.Path.Parts...)
		if slices.ContainsFunc(c.Path.Parts, isElementNumber) {
			return nil, false
		}
	}
	// The definition may exclude the field, or its path may be deeper than the index goes.
	return path, d.Covers(path)
}

// fieldRangeSets are the sets of the conditions on one field. All comparisons together are one
// range; $in, $all and $elemMatch have sets of their own, since any element of an array may fulfil
// them.
func fieldRangeSets(
	kids []*selector.Condition, name string, in array, path []string, d *allfields.Definition,
) []rangeSet {
	r := selector.OpenRange(name)
	required := false
	var list []rangeSet
	var before []byte // above all strings that begin as they have to
	for _, kid := range flatten(kids, nil) {
		if kid.Op != selector.OpField || kid.Name != name {
			continue
		}
		inner := kid.Kids[0]
		// $exists:false also matches documents without the field, which have no entry. Where it is
		// the only condition no range finds all that pass.
		required = required || inner.Op != selector.OpExists || inner.Exists
		switch inner.Op {
		case selector.OpBeginsWith:
			// Beginnings that are not ASCII have strings elsewhere, too.
			if isASCII(inner.Text) && !r.Empty {
				r.Bound(selector.OpGte, inner.Arg)
				// The end of the prefix is a key, not a value, so that it is kept beside the range.
				before = lower(before, collate.AppendPrefixEnd(nil, inner.Text))
			}
		case selector.OpIn, selector.OpAll:
			if in.none() {
				list = append(list, listRangeSet(inner, name, path)...)
			}
		case selector.OpElemMatch:
			if in.none() {
				list = append(list, rangeSetsOfAll([]*selector.Condition{inner.Kids[0]}, array{name, path}, d)...)
			}
		default:
			if !r.Empty {
				r.Narrow(inner)
			}
		}
	}
	if !required {
		return list
	}
	one := allfields.Range{Path: path, Element: !in.none()}
	one.Start, one.End = keysOf(&r)
	one.End = lower(one.End, before)
	a := rangeSet{fields: []string{in.name(name)}, ranges: []allfields.Range{one}, class: classField}
	switch {
	case r.LowOp == selector.OpEq || r.Empty:
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

// keysOf are the bounds of a range as an index has them.
func keysOf(r *selector.FieldRange) (start, end []byte) {
	if r.Impossible() {
		return []byte{highest}, []byte{highest}
	}
	if r.Low.Kind() != ejson.Invalid {
		if start = collate.AppendKey(nil, r.Low); !r.IncludesLow() {
			start = allfields.AppendAfter(nil, start)
		}
	}
	if r.High.Kind() != ejson.Invalid {
		if end = collate.AppendKey(nil, r.High); r.IncludesHigh() {
			end = allfields.AppendAfter(nil, end)
		}
	}
	return start, end
}

// listRangeSet is the set of $in: the value, or an element, is in the list; or of $all: one element
// is the first of the list.
func listRangeSet(c *selector.Condition, name string, path []string) []rangeSet {
	var points [][]byte
	for arg := range c.Arg.Elements() {
		points = append(points, collate.AppendKey(nil, arg))
		if c.Op == selector.OpAll {
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
