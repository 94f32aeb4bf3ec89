package mango

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/fieldindex"
)

// A query on an index over all fields reads the ranges of one condition of the selector, and looks at the documents found. Which
// condition is cheapest is known when it is read (readauto.go).

// access is a way to find all documents that pass a selector: those in one of the ranges.
type access struct {
	field  string // that the ranges are of, "" for several
	ranges []fieldindex.Range
	class  accessClass
	exact  bool // a document whose value is in the range passes the whole selector
}

// accessClass orders ways by how much they are likely to find, where nothing is known yet.
type accessClass uint8

const (
	accessPoint accessClass = iota
	accessPoints
	accessRange
	accessPath // all that have the field
)

// accesses are the ways that a selector offers to an index, the most promising first.
func (s *Selector) accesses(d *fieldindex.Definition) []access {
	if s.root == nil {
		return nil
	}
	list := s.root.accesses(d)
	slices.SortStableFunc(list, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(len(a.ranges), len(b.ranges)), cmp.Compare(a.field, b.field))
	})
	return list
}

func (n *node) accesses(d *fieldindex.Definition) []access {
	switch n.op {
	case opAnd:
		return accessesOfAll(n.kids, nil, false, d)
	case opField:
		list := accessesOfAll([]*node{n}, nil, false, d)
		for i := range list {
			list[i].exact = n.kids[0].isExact() && !list[i].ranges[0].Element
		}
		return list
	case opOr:
		return accessOfAny(n.kids, d)
	}
	return nil
}

// isExact tells whether the ranges of a condition say all that it says.
func (n *node) isExact() bool {
	switch n.op {
	case opLt, opLte, opEq, opGt, opGte, opExists:
		return true
	}
	return false
}

// accessOfAny joins the best way of each branch; without one for some branch there is none.
func accessOfAny(kids []*node, d *fieldindex.Definition) []access {
	joined := access{class: accessPoints}
	for _, kid := range kids {
		list := (&Selector{root: kid}).accesses(d)
		if len(list) == 0 {
			return nil
		}
		joined.ranges = append(joined.ranges, list[0].ranges...)
		joined.class = max(joined.class, list[0].class)
	}
	if len(joined.ranges) == 0 || len(joined.ranges) > maxRanges {
		return nil
	}
	return []access{joined}
}

// maxRanges is how many ranges a way may have.
const maxRanges = 1000

// accessesOfAll are the ways that conditions offer which all have to hold. Below $elemMatch base is the path of the array.
func accessesOfAll(kids []*node, base []string, element bool, d *fieldindex.Definition) []access {
	var list []access
	var seen []string
	for _, kid := range flatten(kids, nil) {
		switch {
		case kid.op == opOr && base == nil:
			list = append(list, accessOfAny(kid.kids, d)...)
		case kid.op == opField && !slices.Contains(seen, kid.name):
			parts, ok := kid.indexedPath(base, d)
			if !ok {
				continue
			}
			seen = append(seen, kid.name)
			list = append(list, fieldAccesses(kids, kid.name, parts, element, d)...)
		}
	}
	return list
}

// flatten sees through $and.
func flatten(kids, list []*node) []*node {
	for _, kid := range kids {
		if kid.op == opAnd {
			list = flatten(kid.kids, list)
		} else {
			list = append(list, kid)
		}
	}
	return list
}

// indexedPath is the path of the field's entries. A part that is a number may mean an element, which has no path of its own.
func (n *node) indexedPath(base []string, d *fieldindex.Definition) ([]string, bool) {
	path := slices.Clone(base)
	if n.name != "" {
		if !n.path.valid || base == nil && n.path.parts[0] != "" && n.path.parts[0][0] == '_' {
			return nil, false
		}
		path = append(path, n.path.parts...)
		for _, part := range n.path.parts {
			if looksLikeNumber(part) {
				return nil, false
			}
		}
	}
	return path, d.Covers(path)
}

func looksLikeNumber(part string) bool {
	digits := bytes.TrimLeft([]byte(part), "+-")
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

// fieldAccesses are the ways that the conditions on one field offer.
func fieldAccesses(kids []*node, name string, path []string, element bool, d *fieldindex.Definition) []access {
	r := fieldRange{field: name, lowOp: opGt, highOp: opLt}
	required := false
	var list []access
	for _, kid := range flatten(kids, nil) {
		if kid.op != opField || kid.name != name {
			continue
		}
		condition := kid.kids[0]
		required = required || condition.op != opExists || condition.exists
		switch condition.op {
		case opBeginsWith:
			if isASCII(condition.text) { // elsewhere a string need not lie between its beginning and what follows
				r.narrow(condition)
			}
		case opIn, opAll:
			if !element {
				list = append(list, condition.listAccess(name, path)...)
			}
		case opElemMatch:
			if !element {
				list = append(list, accessesOfAll([]*node{condition.kids[0]}, path, true, d)...)
			}
		default:
			if !r.empty {
				r.narrow(condition)
			}
		}
	}
	if !required {
		return list
	}
	a := access{field: name, ranges: []fieldindex.Range{{Path: path, Element: element}}, class: accessPath}
	a.ranges[0].Start, a.ranges[0].End = r.keys()
	switch {
	case r.lowOp == opEq || r.empty:
		a.class = accessPoint
	case r.low.Kind() != ejson.Invalid || r.high.Kind() != ejson.Invalid:
		a.class = accessRange
	}
	return append(list, a)
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
			start = fieldindex.AppendBehind(nil, start)
		}
	}
	if r.high.Kind() != ejson.Invalid {
		if end = collate.AppendKey(nil, r.high); r.includesHigh() {
			end = fieldindex.AppendBehind(nil, end)
		}
	}
	return start, end
}

// listAccess is the way of $in: the value, or an element, is in the list; or of $all: one element is the first of the list.
func (n *node) listAccess(name string, path []string) []access {
	var points [][]byte
	for arg := range n.arg.Elements() {
		points = append(points, collate.AppendKey(nil, arg))
		if n.op == opAll {
			break
		}
	}
	slices.SortFunc(points, bytes.Compare)
	points = slices.CompactFunc(points, bytes.Equal)
	if len(points) == 0 || 2*len(points) > maxRanges {
		return nil
	}
	a := access{field: name, class: accessPoints}
	for _, element := range []bool{false, true} {
		for _, p := range points {
			a.ranges = append(a.ranges, fieldindex.Range{Path: path, Element: element, Start: p, End: fieldindex.AppendBehind(nil, p)})
		}
	}
	return []access{a}
}

// repeats tells whether a scan may come to a document more than once.
func (a *access) repeats() bool { return len(a.ranges) > 1 || a.ranges[0].Element }

// autoIndexes are the indexes over all fields that a design document defines.
func autoIndexes(id string, body ejson.Value) []*Index {
	var list []*Index
	for _, d := range fieldindex.ParseDefinitions(id, body, SplitField) {
		ix := &Index{DDoc: id, Name: d.Name, Kind: KindAuto, auto: &d}
		member, _ := body.Get(fieldindex.Member)
		definition, _ := member.Get(d.Name)
		ix.def = definition.AppendJSON(nil)
		list = append(list, ix)
	}
	return list
}

// SplitField gives the parts of a field's name; false if it is none.
func SplitField(name string) ([]string, bool) {
	p := parsePath(name)
	return p.parts, p.valid && name != ""
}

// unusableAuto is unusable for an index over all fields: it serves one condition at least, and a sort by one field that has one.
func (ix *Index) unusableAuto(s *Selector, sort []string) string {
	switch {
	case s.root != nil && s.root.isTextSearch():
		return reasonTextSearch
	case len(sort) > 0 && sortAccess(s, ix.auto, sort) == nil:
		return reasonSort
	case len(sort) == 0 && len(s.accesses(ix.auto)) == 0:
		return reasonFields
	}
	return ""
}

// sortAccess is the way that finds the documents in the order of the sort, nil if there is none.
func sortAccess(s *Selector, d *fieldindex.Definition, sort []string) *access {
	if len(sort) != 1 {
		return nil
	}
	for _, a := range s.accesses(d) {
		if a.field == sort[0] && !a.repeats() {
			return &a
		}
	}
	field := newField(sort[0], nil) // documents without it are left out, as by a JSON index on it
	path, ok := field.indexedPath(nil, d)
	if !ok {
		return nil
	}
	return &access{field: sort[0], ranges: []fieldindex.Range{{Path: path}}, class: accessPath}
}

// checkAuto reads {"exclude": [field, …], "depth": n, "max_values": n}, what `index` of POST /db/_index is for the type "auto".
func checkAuto(given ejson.Value) error {
	bad := compat.Named(compat.KindBadRequest, "invalid_index", "Indexes of type auto must be an object with `exclude`, a list of fields, `depth` and `max_values` at most.")
	if given.Kind() != ejson.Object {
		return bad
	}
	for name, v := range given.Members() {
		switch {
		case name.TextIs(fieldindex.MemberExclude) && v.Kind() == ejson.Array:
		case name.TextIs(fieldindex.MemberDepth) && within(v, fieldindex.MaxDepth), name.TextIs(fieldindex.MemberValues) && within(v, fieldindex.MaxValues):
			continue
		default:
			return bad
		}
		for field := range v.Elements() {
			if _, ok := SplitField(field.Text()); !ok {
				return bad
			}
		}
	}
	return nil
}

func within(v ejson.Value, most int64) bool {
	n, ok := v.Int()
	return ok && n > 0 && n <= most
}
