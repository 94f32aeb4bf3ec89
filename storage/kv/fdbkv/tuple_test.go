//go:build fdb

package fdbkv

import (
	"bytes"
	"testing"

	fdbtuple "github.com/apple/foundationdb/bindings/go/src/fdb/tuple"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// Our keys are FoundationDB's tuples: both pack the same values to the same bytes.
func TestTuplesAreFoundationDBs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var packed []byte
		theirs := fdbtuple.Tuple{}
		for range rapid.IntRange(0, 5).Draw(t, "elements") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
				packed, theirs = tuple.AppendBytes(packed, b), append(theirs, b)
			case 1:
				s := rapid.String().Draw(t, "string")
				packed, theirs = tuple.AppendString(packed, s), append(theirs, s)
			case 2:
				n := rapid.Int64().Draw(t, "int")
				packed, theirs = tuple.AppendInt(packed, n), append(theirs, n)
			case 3:
				n := rapid.Uint64().Draw(t, "uint")
				packed, theirs = tuple.AppendUint(packed, n), append(theirs, n)
			case 4:
				b := rapid.Bool().Draw(t, "bool")
				packed, theirs = tuple.AppendBool(packed, b), append(theirs, b)
			}
		}
		if want := theirs.Pack(); !bytes.Equal(packed, want) {
			t.Fatalf("%v: %x, want %x", theirs, packed, want)
		}
	})
}
