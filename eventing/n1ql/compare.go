package n1ql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// maxCompared is the number of levels that are compared value by value; what is nested deeper is
// compared as text, so that no document overflows the stack.
const maxCompared = 2000

// compare orders two values as N1QL does: by kind, numbers by value, strings by their bytes, arrays
// by their elements, objects by their size, then by their sorted names with the values.
func compare(a, b *value) int { return compareAt(a, b, 0) }

// compareAt is compare at a depth of nesting. Where documents are nested deeper than maxCompared
// the order is that of their texts: still a total order, so that sorting and grouping stay sound,
// but not by value.
func compareAt(a, b *value, depth int) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case kindNumber:
		return a.num.compare(&b.num)
	case kindString:
		return strings.Compare(a.text, b.text)
	case kindArray, kindObject:
		if depth >= maxCompared {
			return strings.Compare(a.rawText(), b.rawText())
		}
		if a.kind == kindArray {
			return slices.CompareFunc(a.elements(), b.elements(), func(a, b value) int {
				return compareAt(&a, &b, depth+1)
			})
		}
		return compareObjects(a, b, depth+1)
	}
	return 0
}

// rawText is the text of an array or an object so deep that it is a part of a document or of a
// parameter.
func (v *value) rawText() string {
	text, _ := v.appendJSON(nil, maxValueSize)
	return string(text)
}

func compareObjects(a, b *value, depth int) int {
	if n := cmp.Compare(a.length(), b.length()); n != 0 {
		return n
	}
	first, second := sortedFields(a), sortedFields(b)
	for i := range first {
		// Who has a name that the other one has not, and that comes first, is the lesser.
		if n := strings.Compare(first[i].name, second[i].name); n != 0 {
			return n
		}
		if n := compareAt(&first[i].value, &second[i].value, depth); n != 0 {
			return n
		}
	}
	return 0
}

func sortedFields(v *value) []member {
	fields := slices.Clone(v.fields())
	slices.SortFunc(fields, byName)
	return fields
}

func byName(a, b member) int { return strings.Compare(a.name, b.name) }

// appendKey appends bytes that are equal for equal values only.
func appendKey(dst []byte, v *value, depth int) []byte {
	switch v.kind {
	case kindNumber:
		return append(append(dst, 'n'), v.num.key()...)
	case kindString:
		return ejson.AppendString(dst, v.text)
	case kindArray, kindObject:
		if depth >= maxCompared {
			return append(dst, v.rawText()...)
		}
		if v.kind == kindArray {
			dst = append(dst, '[')
			for _, e := range v.elements() {
				dst = append(appendKey(dst, &e, depth+1), ',')
			}
			return append(dst, ']')
		}
		dst = append(dst, '{')
		for _, m := range sortedFields(v) {
			dst = append(ejson.AppendString(dst, m.name), ':')
			dst = append(appendKey(dst, &m.value, depth+1), ',')
		}
		return append(dst, '}')
	}
	return append(dst, '0'+byte(v.kind))
}
