package n1ql

import (
	"github.com/settee-db/settee/compat/ejson"
)

// kind is the kind of a value. The order of the kinds is N1QL's order of values of different kinds.
type kind uint8

const (
	kindMissing kind = iota
	kindNull
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// kindNames are what TYPE() calls the kinds.
var kindNames = [...]string{"missing", "null", "boolean", "boolean", "number", "string", "array", "object"}

// value is a value of N1QL: one of JSON, or MISSING, which is the zero value. It is immutable. An
// array or an object of a document stays a part of the document's text until somebody looks into
// it; such a value is valid as long as the document is.
type value struct {
	kind    kind
	num     number
	text    string
	list    []value
	members []member
	doc     ejson.Value // in place of list or members
}

// member is a name with its value in an object.
type member struct {
	name  string
	value value
}

var null = value{kind: kindNull}

func boolean(b bool) value {
	if b {
		return value{kind: kindTrue}
	}
	return value{kind: kindFalse}
}

func text(s string) value { return value{kind: kindString, text: s} }

func array(list []value) value { return value{kind: kindArray, list: list} }

func object(members ...member) value { return value{kind: kindObject, members: members} }

// fromJSON makes a value of a part of a document.
func fromJSON(v ejson.Value) value {
	switch v.Kind() {
	case ejson.Null:
		return null
	case ejson.Bool:
		b, _ := v.Bool()
		return boolean(b)
	case ejson.Int, ejson.Double:
		return value{kind: kindNumber, num: numberOf(v)}
	case ejson.String:
		return text(v.Text())
	case ejson.Array:
		return value{kind: kindArray, doc: v}
	case ejson.Object:
		return value{kind: kindObject, doc: v}
	}
	return value{}
}

// unpacked reports whether an array or an object is not a part of a document.
func (v *value) unpacked() bool { return v.doc.Kind() == ejson.Invalid }

// length is the number of elements or members.
func (v *value) length() int {
	if v.unpacked() {
		return len(v.list) + len(v.members)
	}
	return v.doc.Len()
}

// elements are those of an array, none of another value.
func (v *value) elements() []value {
	if v.kind != kindArray || v.unpacked() {
		return v.list
	}
	list := make([]value, 0, v.doc.Len())
	for e := range v.doc.Elements() {
		list = append(list, fromJSON(e))
	}
	return list
}

// fields are the members of an object, none of another value.
func (v *value) fields() []member {
	if v.kind != kindObject || v.unpacked() {
		return v.members
	}
	list := make([]member, 0, v.doc.Len())
	for name, e := range v.doc.Members() {
		list = append(list, member{name: name.Text(), value: fromJSON(e)})
	}
	return list
}

// field is a member of an object by name: MISSING if there is none, or if this is no object.
func (v *value) field(name string) value {
	if v.kind != kindObject {
		return value{}
	}
	if !v.unpacked() {
		m, _ := v.doc.Get(name)
		return fromJSON(m)
	}
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return value{}
}

// element is an element of an array by its number, from the end if that is negative: MISSING if
// there is none.
func (v *value) element(i int64) value {
	if v.kind != kindArray {
		return value{}
	}
	n := int64(v.length())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return value{}
	}
	if v.unpacked() {
		return v.list[i]
	}
	children := v.doc.Children()
	for range i {
		children.Next()
	}
	e, _ := children.Next()
	return fromJSON(e)
}

// truth reports whether a condition with this value holds: numbers but 0 do, and strings, arrays
// and objects that are not empty.
func (v *value) truth() bool {
	switch v.kind {
	case kindTrue:
		return true
	case kindNumber:
		return v.num.sign() != 0
	case kindString:
		return v.text != ""
	case kindArray, kindObject:
		return v.length() > 0
	}
	return false
}

// unknown reports whether this is MISSING or NULL.
func (v *value) unknown() bool { return v.kind <= kindNull }

// appendJSON appends the value as JSON, at most up to some bytes more than the limit: what is
// larger is an error. MISSING is null, as it is in arrays; objects have no such members.
func (v *value) appendJSON(dst []byte, limit int) ([]byte, error) {
	if len(dst) > limit {
		return dst, limitf("a value of the statement is larger than %d bytes", limit)
	}
	var err error
	switch v.kind {
	case kindMissing, kindNull:
		return append(dst, "null"...), nil
	case kindFalse:
		return append(dst, "false"...), nil
	case kindTrue:
		return append(dst, "true"...), nil
	case kindNumber:
		return v.num.appendJSON(dst), nil
	case kindString:
		return ejson.AppendString(dst, v.text), nil
	}
	if !v.unpacked() {
		return v.doc.AppendJSON(dst), nil
	}
	if v.kind == kindArray {
		dst = append(dst, '[')
		for i := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = v.list[i].appendJSON(dst, limit); err != nil {
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
		dst = append(ejson.AppendString(dst, v.members[i].name), ':')
		if dst, err = v.members[i].value.appendJSON(dst, limit); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// detach makes a value that is valid without the document that it is from, and its size in bytes.
func (v *value) detach() (value, int, error) {
	if v.kind < kindArray {
		return *v, len(v.text) + valueSize, nil
	}
	own, err := v.appendJSON(nil, maxValueSize)
	if err != nil {
		return value{}, 0, err
	}
	parsed, err := ejson.Parse(own)
	return fromJSON(parsed), len(own) + int(ejson.TapeSize(own)) + valueSize, err
}

// cost is about what a value takes in memory besides itself: the parts of a document take nothing.
func (v *value) cost() int {
	if v.kind < kindArray {
		return len(v.text)
	}
	if !v.unpacked() {
		return 0
	}
	size := v.length() * valueSize
	for i := range v.list {
		size += v.list[i].cost()
	}
	for i := range v.members {
		size += len(v.members[i].name) + v.members[i].value.cost()
	}
	return size
}

// valueSize is about what a value takes besides its text.
const valueSize = 200

// maxValueSize is the size from which on a value is refused: strings and arrays that are built from
// others, rows, documents that are written.
const maxValueSize = 16 << 20
