package ejson

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf8"
)

// Value is a JSON value on the tape of a Parser; see there how long it is valid. The zero Value is
// no value, of kind Invalid. Accessors that do not fit the kind return zero values.
type Value struct {
	p *Parser
	i uint32
}

func (v Value) node() *node { return &v.p.nodes[v.i] }

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	if v.p == nil {
		return Invalid
	}
	return v.node().kind
}

// Len is the number of members of an object or of elements of an array.
func (v Value) Len() int {
	if v.p == nil {
		return 0
	}
	return int(v.node().count)
}

// Count is how many values v has in it, itself included, and how many of them are members of
// objects.
func (v Value) Count() (values, members int) {
	if v.p == nil {
		return 0, 0
	}
	span := v.node().span
	for i := range v.p.nodes[v.i : v.i+span] {
		if n := &v.p.nodes[v.i+uint32(i)]; n.kind == Object {
			members += int(n.count)
		}
	}
	return int(span), members
}

// Raw returns the source bytes of v. They must not be modified.
func (v Value) Raw() []byte {
	if v.p == nil {
		return nil
	}
	n := v.node()
	return v.p.src[n.start:n.end:n.end]
}

// Canonical tells that Raw is what AppendJSON would append. It may be false for such a text, too.
func (v Value) Canonical() bool { return v.p != nil && v.node().flags&flagCanonical != 0 }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Bool returns the truth value of a Bool; ok is false for other kinds.
func (v Value) Bool() (b, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.p.src[v.node().start] == 't', true
}

// Int returns the value of an Int that fits; ok is false for other kinds and greater integers.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != Int {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}

// Float returns the double nearest to an Int or Double; ok is false for other kinds and for
// integers beyond the doubles.
func (v Value) Float() (f float64, ok bool) {
	switch v.Kind() {
	case Int:
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		return f, err == nil
	case Double:
		return parseDouble(v.Raw())
	}
	return 0, false
}

// Text returns the characters of a String, "" for other kinds.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	var buf [128]byte
	return string(v.TextBytes(buf[:0]))
}

// TextBytes returns the characters of a String: a part of the source, or, if it has escapes,
// appended to scratch[:0].
func (v Value) TextBytes(scratch []byte) []byte {
	if v.Kind() != String {
		return nil
	}
	n := v.node()
	inner := v.p.src[n.start+1 : n.end-1 : n.end-1]
	if n.flags&flagEscaped == 0 {
		return inner
	}
	return appendUnescaped(scratch[:0], inner)
}

// AppendText appends the characters of a String to dst.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind() != String {
		return dst
	}
	n := v.node()
	inner := v.p.src[n.start+1 : n.end-1]
	if n.flags&flagEscaped == 0 {
		return append(dst, inner...)
	}
	return appendUnescaped(dst, inner)
}

// TextIs reports whether v is the string s.
func (v Value) TextIs(s string) bool {
	if v.Kind() != String {
		return false
	}
	n := v.node()
	inner := v.p.src[n.start+1 : n.end-1]
	if n.flags&flagEscaped == 0 {
		return string(inner) == s
	}
	return len(inner) > len(s) && v.Text() == s
}

// Get returns the member of an object by name.
func (v Value) Get(name string) (member Value, ok bool) {
	for key, value := range v.Members() {
		if key.TextIs(name) {
			return value, true
		}
	}
	return Value{}, false
}

// Members iterates over the members of an object in order: name, value.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != Object {
			return
		}
		end := v.i + v.node().span
		for i := v.i + 1; i < end; {
			value := Value{v.p, i + 1}
			if !yield(Value{v.p, i}, value) {
				return
			}
			i += 1 + value.node().span
		}
	}
}

// Elements iterates over the elements of an array in order.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		end := v.i + v.node().span
		for i := v.i + 1; i < end; {
			element := Value{v.p, i}
			if !yield(element) {
				return
			}
			i += element.node().span
		}
	}
}

// MembersIn iterates over the members of an object in the order that a list of their numbers gives.
// It takes four bytes for each member.
func (v Value) MembersIn(order []uint32) iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		at := make([]uint32, 0, v.Len())
		for key := range v.Members() {
			at = append(at, key.i)
		}
		for _, n := range order {
			if !yield(Value{v.p, at[n]}, Value{v.p, at[n] + 1}) {
				return
			}
		}
	}
}

// ElementsBackward iterates over the elements of an array in reverse order. It takes four bytes for
// each element.
func (v Value) ElementsBackward() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		at := make([]uint32, 0, v.Len())
		for element := range v.Elements() {
			at = append(at, element.i)
		}
		for n := len(at) - 1; n >= 0; n-- {
			if !yield(Value{v.p, at[n]}) {
				return
			}
		}
	}
}

// appendUnescaped appends the characters of a valid string's inside.
func appendUnescaped(dst, inner []byte) []byte {
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:i]...)
		r, size, _ := scanEscape(inner[i:])
		dst = utf8.AppendRune(dst, r)
		inner = inner[i+size:]
	}
}
