//go:build fdb

package fdbkv

import (
	"bytes"
	"math"
	"math/big"
	"testing"

	fdbtuple "github.com/apple/foundationdb/bindings/go/src/fdb/tuple"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// Our tuples are FoundationDB's: both pack the same values to the same bytes.
func TestTuplesAreFoundationDBs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours, theirs := randomTuple(t, 2)
		packed, err := ours.Pack(nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := theirs.Pack(); !bytes.Equal(packed, want) {
			t.Fatalf("%v: %x, want %x", ours, packed, want)
		}
	})
}

// randomTuple returns the same tuple in both packages' types.
func randomTuple(t *rapid.T, depth int) (tuple.Tuple, fdbtuple.Tuple) {
	ours, theirs := tuple.Tuple{}, fdbtuple.Tuple{}
	add := func(a, b any) { ours, theirs = append(ours, a), append(theirs, b) }
	for range rapid.IntRange(0, 5).Draw(t, "elements") {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			add(nil, nil)
		case 1:
			b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			add(b, b)
		case 2:
			s := rapid.String().Draw(t, "string")
			add(s, s)
		case 3:
			n := rapid.Int64().Draw(t, "int")
			add(n, n)
		case 4:
			n := new(
				big.Int,
			).Lsh(
				big.NewInt(rapid.Int64().Draw(t, "big")),
				uint(rapid.IntRange(0, 400).Draw(t, "shift")),
			)
			add(n, n)
		case 5:
			f := rapid.OneOf(
				rapid.Float64(),
				rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN()}),
			).Draw(
				t,
				"double",
			)
			add(f, f)
		case 6:
			b := rapid.Bool().Draw(t, "bool")
			add(b, b)
		case 7:
			if depth > 0 {
				a, b := randomTuple(t, depth-1)
				add(a, b)
			}
		}
	}
	return ours, theirs
}
