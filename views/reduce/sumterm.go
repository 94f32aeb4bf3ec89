package reduce

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// term is a value that _sum works on.
type term struct {
	kind    termKind
	n       number
	items   []term   // the elements of a list
	members []member // the members of an object
	other   []byte   // JSON of anything else
}

type termKind uint8

const (
	termNumber termKind = iota
	termList
	termObject
	termOther
)

type member struct {
	name  []byte // characters
	value term
}

// maxDepth bounds the nesting of values that _sum takes apart.
const maxDepth = 2000

// termOf takes a value apart for _sum, which adds the elements of lists by their places and the
// members of objects by their names. Other values are kept as they are: whether they are an error
// depends on what they are added to. A value nested deeper than maxDepth is an error, because
// adding recurses.
func termOf(v ejson.Value, depth int) (term, error) {
	if depth > maxDepth {
		return term{}, compat.NewError(compat.KindUnknown, "value of _sum is too deep")
	}
	switch v.Kind() {
	case ejson.Int, ejson.Double:
		if n, ok := numberOf(v); ok {
			return term{n: n}, nil
		}
	case ejson.Array:
		t := term{kind: termList, items: make([]term, 0, v.Len())}
		for e := range v.Elements() {
			item, err := termOf(e, depth+1)
			if err != nil {
				return term{}, err
			}
			t.items = append(t.items, item)
		}
		return t, nil
	case ejson.Object:
		t := term{kind: termObject}
		for name, value := range v.Members() {
			m, err := termOf(value, depth+1)
			if err != nil {
				return term{}, err
			}
			t.members = append(t.members, member{name.AppendText(nil), m})
		}
		return t, nil
	}
	return term{kind: termOther, other: v.AppendJSON(nil)}, nil
}

// sorted gives the members in order of their names' bytes.
func (t term) sorted() []member {
	byName := func(a, b member) int { return bytes.Compare(a.name, b.name) }
	if slices.IsSortedFunc(t.members, byName) {
		return t.members
	}
	return slices.SortedFunc(slices.Values(t.members), byName)
}

// appendJSON appends the term as CouchDB prints it. Members keep the order that they have in the
// term.
func (t term) appendJSON(dst []byte) []byte {
	switch t.kind {
	case termNumber:
		return t.n.appendJSON(dst)
	case termList:
		return appendList(dst, t.items)
	case termObject:
		dst = append(dst, '{')
		for i, m := range t.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(ejson.AppendString(dst, m.name), ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, t.other...)
}

func appendList(dst []byte, items []term) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.appendJSON(dst)
	}
	return append(dst, ']')
}

// sumValues is couch_query_servers:sum_values: what value adds to acc. An errBadSum ends the sum.
func sumValues(value, acc term) (term, error) {
	switch {
	case value.kind == termNumber && acc.kind == termNumber:
		n, err := add(acc.n, value.n)
		return term{n: n}, err
	case value.kind == termList && acc.kind == termList:
		return sumLists(acc.items, value.items)
	case value.kind == termNumber && acc.kind == termList:
		return sumLists(acc.items, []term{value})
	case value.kind == termList && acc.kind == termNumber:
		return sumLists([]term{acc}, value.items)
	case value.kind != termObject:
		return term{}, errBadSum{value.appendJSON(nil)}
	}
	for _, m := range value.members {
		if string(m.name) != "error" {
			continue
		}
		if string(m.value.other) == `"builtin_reduce_error"` {
			return term{}, errFailedSum{value.appendJSON(nil)}
		}
		return term{}, caseClause(m.value.appendJSON(nil), `{<<"error">>,`, "}")
	}
	switch {
	case acc.kind == termObject:
		members, err := sumMembers(value.sorted(), acc.sorted())
		return term{kind: termObject, members: members}, err
	case acc.kind == termNumber && !acc.n.float && acc.n.big == nil && acc.n.i == 0:
		return value, nil
	}
	return term{}, caseClause(acc.appendJSON(nil), "", "")
}

// sumLists is couch_query_servers:sum_arrays.
func sumLists(acc, value []term) (term, error) {
	out := make([]term, 0, max(len(acc), len(value)))
	for i := range max(len(acc), len(value)) {
		switch {
		case i >= len(value):
			return term{kind: termList, items: append(out, acc[i:]...)}, nil
		case i >= len(acc):
			return term{kind: termList, items: append(out, value[i:]...)}, nil
		case acc[i].kind != termNumber || value[i].kind != termNumber:
			return term{}, errBadSum{appendList(nil, acc[i:])}
		}
		n, err := add(acc[i].n, value[i].n)
		if err != nil {
			return term{}, err
		}
		out = append(out, term{n: n})
	}
	return term{kind: termList, items: out}, nil
}

// sumMembers is couch_query_servers:sum_objects.
func sumMembers(value, acc []member) ([]member, error) {
	out := make([]member, 0, len(value)+len(acc))
	for len(value) > 0 && len(acc) > 0 {
		switch bytes.Compare(value[0].name, acc[0].name) {
		case -1:
			out, value = append(out, value[0]), value[1:]
		case 1:
			out, acc = append(out, acc[0]), acc[1:]
		default:
			t, err := sumValues(value[0].value, acc[0].value)
			if err != nil {
				return nil, err
			}
			out = append(out, member{value[0].name, t})
			value, acc = value[1:], acc[1:]
		}
	}
	return append(append(out, value...), acc...), nil
}
