package collate

import (
	"bytes"
	"cmp"

	"github.com/settee-db/settee/compat/ejson"
)

// CompareRaw orders JSON values as Erlang orders the terms CouchDB makes of them (`"collation":
// "raw"`, mango_json:cmp_raw): numbers, false, null, true, objects, arrays, strings by their bytes.
func CompareRaw(a, b ejson.Value) int { return walk(a, b, compareRawHeads) }

// compareRawHeads compares values without looking into arrays and objects, in the order of raw
// collation: types first, strings by their bytes.
func compareRawHeads(a, b ejson.Value) int {
	rankA, rankB := rawRank(a), rawRank(b)
	if rankA != rankB {
		return cmp.Compare(rankA, rankB)
	}
	switch a.Kind() {
	case ejson.String:
		var bufA, bufB [64]byte
		return bytes.Compare(a.TextBytes(bufA[:0]), b.TextBytes(bufB[:0]))
	case ejson.Int, ejson.Double:
		return compareNumbers(a, b)
	}
	return 0
}

// rawRank is the order of types in raw collation, which is that of Erlang's terms: numbers, then
// the atoms false, null and true, then tuples (objects), lists and binaries.
func rawRank(v ejson.Value) int {
	switch v.Kind() {
	case ejson.Int, ejson.Double:
		return 1
	case ejson.Bool:
		if b, _ := v.Bool(); b {
			return 4
		}
		return 2
	case ejson.Null:
		return 3
	case ejson.Object:
		return 5
	case ejson.Array:
		return 6
	case ejson.String:
		return 7
	}
	return 0
}

// Identical reports whether two values are the same Erlang term (=:=): 1 and 1.0 are not, nor are
// two spellings of a character, nor objects whose members are in another order.
func Identical(a, b ejson.Value) bool {
	return walk(a, b, func(a, b ejson.Value) int {
		if a.Kind() != b.Kind() {
			return 1
		}
		return compareRawHeads(a, b)
	}) == 0
}
