package collate

import "github.com/settee-db/settee/compat/ejson"

// keyEnd ends strings, arrays and objects. A string of an object's names begins with rankString as
// others do, so that an empty one differs from the end.
const keyEnd = 0

// AppendKey appends to dst bytes that compare as v does: see the package's first invariant. Bytes
// from 0x20 on never begin a key, so a single one of them is a bound above all values; 1 is one
// below all. It is safe for concurrent use.
func AppendKey(dst []byte, v ejson.Value) []byte { return appendTree(dst, v, appendHead) }

// appendTree appends the key of a value and of all that it contains; head appends what each of them
// begins with.
func appendTree(dst []byte, v ejson.Value, head func([]byte, ejson.Value) []byte) []byte {
	var buf [8]ejson.Cursor
	open := buf[:0]
	for {
		dst = head(dst, v)
		if kind := v.Kind(); kind == ejson.Array || kind == ejson.Object {
			open = append(open, v.Children())
		}
		for more := false; !more; {
			if len(open) == 0 {
				return dst
			}
			if v, more = open[len(open)-1].Next(); !more {
				dst = append(dst, keyEnd)
				open = open[:len(open)-1]
			}
		}
	}
}

// appendHead appends the key of a scalar, or the rank of a container.
func appendHead(dst []byte, v ejson.Value) []byte {
	switch r := rank(v); r {
	case rankZero:
		return appendNumberKey(dst, v)
	case rankString:
		var buf [64]byte
		return append(AppendStringKey(append(dst, r), v.TextBytes(buf[:0])), keyEnd)
	default:
		return append(dst, r)
	}
}
