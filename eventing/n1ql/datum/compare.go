package datum

import (
	"cmp"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// maxCompared is the number of levels that are compared value by value; what is nested deeper is
// compared as text, so that no document overflows the stack.
const maxCompared = 2000

// Compare orders two values as N1QL does: by kind, numbers by value, strings by their bytes, arrays
// by their elements, objects by their size, then by their sorted names with the values.
func Compare(a, b *Value) int { return compareAt(a, b, 0) }

// compareAt is compare at a depth of nesting. Where documents are nested deeper than maxCompared
// the order is that of their texts: still a total order, so that sorting and grouping stay sound,
// but not by value.
func compareAt(a, b *Value, depth int) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind, b.Kind)
	}
	switch a.Kind {
	case KindNumber:
		return a.Num.compare(&b.Num)
	case KindString:
		return strings.Compare(a.Text, b.Text)
	case KindArray, KindObject:
		if depth >= maxCompared {
			return strings.Compare(a.rawText(), b.rawText())
		}
		if a.Kind == KindArray {
			return slices.CompareFunc(a.Elements(), b.Elements(), func(a, b Value) int {
				return compareAt(&a, &b, depth+1)
			})
		}
		return compareObjects(a, b, depth+1)
	}
	return 0
}

// rawText is the text of an array or an object so deep that it is a part of a document or of a
// parameter.
func (v *Value) rawText() string {
	text, _ := v.AppendJSON(nil, MaxValueSize)
	return string(text)
}

func compareObjects(a, b *Value, depth int) int {
	if n := cmp.Compare(a.Length(), b.Length()); n != 0 {
		return n
	}
	first, second := SortedFields(a), SortedFields(b)
	for i := range first {
		// Who has a name that the other one has not, and that comes first, is the lesser.
		if n := strings.Compare(first[i].Name, second[i].Name); n != 0 {
			return n
		}
		if n := compareAt(&first[i].Value, &second[i].Value, depth); n != 0 {
			return n
		}
	}
	return 0
}

// SortedFields are the members of an object in the order of their names.
func SortedFields(v *Value) []Member {
	fields := slices.Clone(v.Fields())
	slices.SortFunc(fields, ByName)
	return fields
}

// ByName orders members by the bytes of their names.
func ByName(a, b Member) int { return strings.Compare(a.Name, b.Name) }

// Key is equal for equal values only.
func (v *Value) Key() string { return string(AppendKey(nil, v, 0)) }

// AppendKey appends bytes that are equal for equal values only; depth is 0 for a whole value.
func AppendKey(dst []byte, v *Value, depth int) []byte {
	switch v.Kind {
	case KindNumber:
		return append(append(dst, 'n'), v.Num.key()...)
	case KindString:
		return ejson.AppendString(dst, v.Text)
	case KindArray, KindObject:
		if depth >= maxCompared {
			return append(dst, v.rawText()...)
		}
		if v.Kind == KindArray {
			dst = append(dst, '[')
			for _, e := range v.Elements() {
				dst = append(AppendKey(dst, &e, depth+1), ',')
			}
			return append(dst, ']')
		}
		dst = append(dst, '{')
		for _, m := range SortedFields(v) {
			dst = append(ejson.AppendString(dst, m.Name), ':')
			dst = append(AppendKey(dst, &m.Value, depth+1), ',')
		}
		return append(dst, '}')
	}
	return append(dst, '0'+byte(v.Kind))
}

// Distinct are the values of a list without those that come again.
func Distinct(list []Value) []Value {
	seen := make(map[string]bool, len(list))
	var once []Value
	for i := range list {
		key := list[i].Key()
		if !seen[key] {
			once = append(once, list[i])
		}
		seen[key] = true
	}
	return once
}
