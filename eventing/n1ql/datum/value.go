package datum

import (
	"errors"

	"github.com/settee-db/settee/compat/ejson"
)

// Kind is the kind of a value. The order of the kinds is N1QL's order of values of different kinds.
type Kind uint8

// The kinds of values.
const (
	KindMissing Kind = iota
	KindNull
	KindFalse
	KindTrue
	KindNumber
	KindString
	KindArray
	KindObject
)

// KindNames are what TYPE() calls the kinds.
var KindNames = [...]string{"missing", "null", "boolean", "boolean", "number", "string", "array", "object"}

// Value is a value of N1QL: one of JSON, or MISSING, which is the zero value. It is immutable. An
// array or an object of a document stays a part of the document's text until somebody looks into
// it; such a value is valid as long as the document is.
type Value struct {
	Kind    Kind
	Num     Number
	Text    string
	List    []Value // the elements of an array that is no part of a document
	members []Member
	Doc     ejson.Value // in place of list or members
}

// Member is a name with its value in an object.
type Member struct {
	Name  string
	Value Value
}

// Null is NULL.
var Null = Value{Kind: KindNull}

// Boolean is TRUE or FALSE.
func Boolean(b bool) Value {
	if b {
		return Value{Kind: KindTrue}
	}
	return Value{Kind: KindFalse}
}

// Text is a string.
func Text(s string) Value { return Value{Kind: KindString, Text: s} }

// Array is an array of the list, which is not copied.
func Array(list []Value) Value { return Value{Kind: KindArray, List: list} }

// Object is an object of members with different names, which are not copied.
func Object(members ...Member) Value { return Value{Kind: KindObject, members: members} }

// FromJSON makes a value of a part of a document.
func FromJSON(v ejson.Value) Value {
	switch v.Kind() {
	case ejson.Null:
		return Null
	case ejson.Bool:
		b, _ := v.Bool()
		return Boolean(b)
	case ejson.Int, ejson.Double:
		return Value{Kind: KindNumber, Num: numberOf(v)}
	case ejson.String:
		return Text(v.Text())
	case ejson.Array:
		return Value{Kind: KindArray, Doc: v}
	case ejson.Object:
		return Value{Kind: KindObject, Doc: v}
	}
	return Value{}
}

// Unpacked reports whether an array or an object is not a part of a document.
func (v *Value) Unpacked() bool { return v.Doc.Kind() == ejson.Invalid }

// Length is the number of elements or members.
func (v *Value) Length() int {
	if v.Unpacked() {
		return len(v.List) + len(v.members)
	}
	return v.Doc.Len()
}

// Elements are those of an array, none of another value.
func (v *Value) Elements() []Value {
	if v.Kind != KindArray || v.Unpacked() {
		return v.List
	}
	list := make([]Value, 0, v.Doc.Len())
	for e := range v.Doc.Elements() {
		list = append(list, FromJSON(e))
	}
	return list
}

// Fields are the members of an object, none of another value.
func (v *Value) Fields() []Member {
	if v.Kind != KindObject || v.Unpacked() {
		return v.members
	}
	list := make([]Member, 0, v.Doc.Len())
	for name, e := range v.Doc.Members() {
		list = append(list, Member{Name: name.Text(), Value: FromJSON(e)})
	}
	return list
}

// Field is a member of an object by name: MISSING if there is none, or if this is no object.
func (v *Value) Field(name string) Value {
	if v.Kind != KindObject {
		return Value{}
	}
	if !v.Unpacked() {
		m, _ := v.Doc.Get(name)
		return FromJSON(m)
	}
	for i := range v.members {
		if v.members[i].Name == name {
			return v.members[i].Value
		}
	}
	return Value{}
}

// Element is an element of an array by its number, from the end if that is negative: MISSING if
// there is none.
func (v *Value) Element(i int64) Value {
	if v.Kind != KindArray {
		return Value{}
	}
	n := int64(v.Length())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Value{}
	}
	if v.Unpacked() {
		return v.List[i]
	}
	children := v.Doc.Children()
	for range i {
		children.Next()
	}
	e, _ := children.Next()
	return FromJSON(e)
}

// Truth reports whether a condition with this value holds: numbers but 0 do, and strings, arrays
// and objects that are not empty.
func (v *Value) Truth() bool {
	switch v.Kind {
	case KindTrue:
		return true
	case KindNumber:
		return v.Num.Sign() != 0
	case KindString:
		return v.Text != ""
	case KindArray, KindObject:
		return v.Length() > 0
	}
	return false
}

// Unknown reports whether this is MISSING or NULL.
func (v *Value) Unknown() bool { return v.Kind <= KindNull }

// AppendJSON appends the value as JSON, at most up to some bytes more than the limit: what is
// larger is an error. MISSING is null, as it is in arrays; objects have no such members.
func (v *Value) AppendJSON(dst []byte, limit int) ([]byte, error) {
	if len(dst) > limit {
		return dst, ErrTooLarge
	}
	var err error
	switch v.Kind {
	case KindMissing, KindNull:
		return append(dst, "null"...), nil
	case KindFalse:
		return append(dst, "false"...), nil
	case KindTrue:
		return append(dst, "true"...), nil
	case KindNumber:
		return v.Num.AppendJSON(dst), nil
	case KindString:
		return ejson.AppendString(dst, v.Text), nil
	}
	if !v.Unpacked() {
		return v.Doc.AppendJSON(dst), nil
	}
	if v.Kind == KindArray {
		dst = append(dst, '[')
		for i := range v.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = v.List[i].AppendJSON(dst, limit); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	dst = append(dst, '{')
	for i := range v.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ejson.AppendString(dst, v.members[i].Name), ':')
		if dst, err = v.members[i].Value.AppendJSON(dst, limit); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// Detach makes a value that is valid without the document that it is from, and its size in bytes.
func (v *Value) Detach() (Value, int, error) {
	if v.Kind < KindArray {
		return *v, len(v.Text) + ValueSize, nil
	}
	own, err := v.AppendJSON(nil, MaxValueSize)
	if err != nil {
		return Value{}, 0, err
	}
	parsed, err := ejson.Parse(own)
	return FromJSON(parsed), len(own) + int(ejson.TapeSize(own)) + ValueSize, err
}

// Cost is about what a value takes in memory besides itself: the parts of a document take nothing.
func (v *Value) Cost() int {
	if v.Kind < KindArray {
		return len(v.Text)
	}
	if !v.Unpacked() {
		return 0
	}
	size := v.Length() * ValueSize
	for i := range v.List {
		size += v.List[i].Cost()
	}
	for i := range v.members {
		size += len(v.members[i].Name) + v.members[i].Value.Cost()
	}
	return size
}

// ErrTooLarge is for a value from which more would be made than may be.
var ErrTooLarge = errors.New("a value of the statement is too large")

// ValueSize is about what a value takes besides its text.
const ValueSize = 200

// MaxValueSize is the size from which on a value is refused: strings and arrays that are built from
// others, rows, documents that are written.
const MaxValueSize = 16 << 20
