package collate

import (
	"bytes"
	"cmp"
	"math"
	"math/big"

	"github.com/settee-db/settee/compat/ejson"
)

// compareNumbers compares integers of any size and doubles by their exact values, as Erlang does.
func compareNumbers(a, b ejson.Value) int {
	if a.Kind() == ejson.Int && b.Kind() == ejson.Int {
		return compareIntegers(a, b)
	}
	x, okX := exactFloat(a)
	y, okY := exactFloat(b)
	if okX && okY {
		return cmp.Compare(x, y)
	}
	return exact(a).Cmp(exact(b))
}

// compareIntegers compares by length where one is beyond 64 bits: JSON has no leading zeros.
func compareIntegers(a, b ejson.Value) int {
	x, okX := a.Int()
	y, okY := b.Int()
	if okX && okY {
		return cmp.Compare(x, y)
	}
	textA, textB := a.Raw(), b.Raw()
	negativeA, negativeB := textA[0] == '-', textB[0] == '-'
	switch {
	case negativeA && !negativeB:
		return -1
	case negativeB && !negativeA:
		return 1
	}
	order := cmp.Compare(len(textA), len(textB))
	if order == 0 {
		order = bytes.Compare(textA, textB)
	}
	if negativeA {
		return -order
	}
	return order
}

// maxExactInteger is the size up to which every integer is a double.
const maxExactInteger = 1 << 53

// exactFloat gives the value as a double if it is one.
func exactFloat(v ejson.Value) (float64, bool) {
	if v.Kind() == ejson.Int {
		n, ok := v.Int()
		return float64(n), ok && n >= -maxExactInteger && n <= maxExactInteger
	}
	return v.Float()
}

// exact is the value of a number without loss. Numbers that no double can hold count as 0; the
// parser lets none through.
func exact(v ejson.Value) *big.Float {
	if v.Kind() == ejson.Int {
		return new(big.Float).SetInt(v.BigInt())
	}
	f, ok := v.Float()
	if !ok || math.IsNaN(f) {
		return new(big.Float)
	}
	return big.NewFloat(f)
}
