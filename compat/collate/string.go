package collate

import (
	"bytes"
	"sync"
)

// AppendStringKey appends to dst bytes that compare as the UTF-8 text s does among strings. They
// have no byte 0.
func AppendStringKey(dst, s []byte) []byte {
	if isASCII(s) {
		return appendASCIIKey(dst, s)
	}
	return appendKey(dst, s)
}

// CompareStrings orders two UTF-8 texts; 0 means that they are the same to the collation, as "a"
// and "a\x01" are. It stands for the comparison of binaries in couch_ejson_compare, ICU's
// ucol_strcollIter.
func CompareStrings(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	if isASCII(a) && isASCII(b) {
		return compareASCII(a, b)
	}
	keys := keyPairs.Get().(*keyPair)
	keys.a, keys.b = AppendStringKey(keys.a[:0], a), AppendStringKey(keys.b[:0], b)
	order := bytes.Compare(keys.a, keys.b)
	keyPairs.Put(keys)
	return order
}

// keyPair is room for the keys of two strings.
type keyPair struct{ a, b []byte }

var keyPairs = sync.Pool{New: func() any { return new(keyPair) }}
