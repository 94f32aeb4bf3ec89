package files

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Comparer orders stored keys by their bytes, and tells Pebble which of them belong together. Keys
// that go on after two integers and a text, such as the leaves of a document, share these three as
// their prefix; any other key is its own (docs/adr/0058). The filters of tables know prefixes: a
// read of all keys of one passes over the tables that have none of them, as a read of one key does.
var Comparer = func() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Name = "settee.prefixes"
	c.Split = func(key []byte) int {
		n, _ := split(key)
		return n
	}
	c.ImmediateSuccessor = func(dst, key []byte) []byte {
		dst = append(dst, key...)
		if _, text := split(key); text { // a zero byte would be the first of many with the prefix
			return append(dst, escape)
		}
		return append(dst, 0)
	}
	return &c
}()

// The codes of package tuple.
const (
	codeText  = 0x02
	codeZero  = 0x14 // an integer; one more or less for each byte that it has
	mostBytes = 8
	escape    = 0xff // after a zero byte that belongs to a text
)

// split is the length of a stored key's prefix; text tells that it ends with a text, and can go on.
func split(key []byte) (n int, text bool) {
	i := 1 // after the byte that tells whose key it is
	for range 2 {
		if i >= len(key) || key[i] < codeZero-mostBytes || key[i] > codeZero+mostBytes {
			return len(key), false
		}
		size := int(key[i]) - codeZero
		i += 1 + max(size, -size)
	}
	if i >= len(key) || key[i] != codeText {
		return len(key), false
	}
	for i++; ; i++ {
		end := bytes.IndexByte(key[i:], 0)
		if end < 0 {
			return len(key), false
		}
		if i += end + 1; i == len(key) || key[i] != escape {
			return i, true
		}
	}
}

// IsPrefix reports whether lower <= key < upper are all keys of a prefix.
func IsPrefix(lower, upper []byte) bool {
	if len(upper) != len(lower)+1 || upper[len(lower)] != escape || !bytes.HasPrefix(upper, lower) {
		return false
	}
	n, text := split(lower)
	return text && n == len(lower)
}
