package patch

import (
	"bytes"
	"math"
	"math/big"

	"github.com/settee-db/settee/compat/ejson"
)

// equal reports whether a node is a value (RFC 6902, section 4.6): numbers by value, objects
// whatever the order of their members. It looks at no more of the node than there is in the value,
// and recurses over the value's depth.
func (n *node) equal(v ejson.Value) bool {
	if !n.changed {
		return equalValues(n.value, v)
	}
	if n.kind() != v.Kind() || n.count != v.Len() {
		return false
	}
	if v.Kind() == ejson.Array {
		number := 0
		for element := range v.Elements() {
			if _, c := n.child(n.element(number)); !c.equal(element) {
				return false
			}
			number++
		}
		return true
	}
	for key, value := range v.Members() {
		at, ok := n.find(key.Text())
		if !ok {
			return false
		}
		if _, c := n.child(at); !c.equal(value) {
			return false
		}
	}
	return true
}

// equalValues compares as the operation test does: numbers by value, objects whatever the order of
// their members.
func equalValues(x, y ejson.Value) bool {
	if isNumber(x) && isNumber(y) {
		return sameNumber(x, y)
	}
	if bytes.Equal(x.Raw(), y.Raw()) {
		return true
	}
	if x.Kind() != y.Kind() || x.Len() != y.Len() || x.Len() == 0 {
		return false
	}
	if x.Kind() == ejson.Object {
		return equalMembers(x, y)
	}
	ours, theirs := x.Children(), y.Children()
	for {
		a, more := ours.Next()
		b, _ := theirs.Next()
		if !more || !equalValues(a, b) {
			return !more
		}
	}
}

// equalMembers compares objects of equally many members.
func equalMembers(x, y ejson.Value) bool {
	names := indexNames(x)
	n := 0
	for key, value := range y.Members() {
		at := n // the same order is usual
		if !bytes.Equal(names.name(n), key.Raw()) {
			at = names.find(key.Raw())
		}
		if at < 0 || !equalValues(names.value(at), value) {
			return false
		}
		n++
	}
	return true
}

// sameNumber compares numbers by value; an integer and a double are compared exactly.
func sameNumber(x, y ejson.Value) bool {
	if x.Kind() == y.Kind() {
		if x.Kind() == ejson.Int {
			return bytes.Equal(x.Raw(), y.Raw())
		}
		f, _ := x.Float()
		g, _ := y.Float()
		return f == g
	}
	if x.Kind() == ejson.Double {
		x, y = y, x
	}
	f, _ := y.Float()
	if len(x.Raw()) > maxDigits || f != math.Trunc(f) {
		return false
	}
	n, _ := big.NewFloat(f).Int(nil)
	return n.Cmp(x.BigInt()) == 0
}
