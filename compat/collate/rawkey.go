package collate

import "github.com/settee-db/settee/compat/ejson"

// The first bytes of raw keys; numbers have the same as in other keys, which come first here.
const (
	rawFalse byte = rankPositive + 1 + iota
	rawNull
	rawTrue
	rawObject
	rawArray
	rawString
)

// In the bytes of a raw string 0 and 1 are escaped, so that 0 ends it.
const rawEscape = 1

// AppendRawKey appends to dst bytes that compare as CompareRaw does. As with AppendKey no key is a
// proper prefix of another one's, and bytes from 0x20 on begin none. It is safe for concurrent use.
func AppendRawKey(dst []byte, v ejson.Value) []byte { return appendTree(dst, v, appendRawHead) }

// appendRawHead appends the key of a scalar, or the first byte of a container.
func appendRawHead(dst []byte, v ejson.Value) []byte {
	switch v.Kind() {
	case ejson.Int, ejson.Double:
		return appendNumberKey(dst, v)
	case ejson.Bool:
		if b, _ := v.Bool(); b {
			return append(dst, rawTrue)
		}
		return append(dst, rawFalse)
	case ejson.Null:
		return append(dst, rawNull)
	case ejson.Object:
		return append(dst, rawObject)
	case ejson.Array:
		return append(dst, rawArray)
	}
	dst = append(dst, rawString)
	var buf [64]byte
	for _, c := range v.TextBytes(buf[:0]) {
		if c <= rawEscape {
			dst = append(dst, rawEscape, c+1)
			continue
		}
		dst = append(dst, c)
	}
	return append(dst, keyEnd)
}
