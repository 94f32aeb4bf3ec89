package kv_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
)

// Nothing lies between a key and the key after it, and the end of a prefix parts what has the
// prefix from what follows.
func TestKeySuccessors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff}), 0, 4)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		after := kv.AppendKeyAfter(nil, a)
		if bytes.Compare(a, b) < 0 && bytes.Compare(b, after) < 0 {
			t.Fatalf("%x is between %x and %x", b, a, after)
		}
		end := kv.AppendPrefixEnd(nil, a)
		inside := bytes.Compare(a, b) <= 0 && (end == nil || bytes.Compare(b, end) < 0)
		if inside != bytes.HasPrefix(b, a) {
			t.Fatalf("%x: prefix %x ends at %x", b, a, end)
		}
	})
}
