package collate

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/settee-db/settee/compat/ejson"
)

// A number other than 0 is ±0.1… · 2^exponent in binary. Its key is the rank that tells the sign,
// the exponent, and the digits in groups of seven, each in a byte whose lowest bit reports whether
// more groups follow; groups of zeros at the end are left out. With negative numbers all bits after
// the rank are inverted.
//
// An exponent from smallestShort to largestShort is one byte, others are a byte below or above
// those and four more.
const (
	exponentBelow = 0x08
	exponentShort = 0x10
	exponentAbove = 0xf8
	smallestShort = -32
	largestShort  = smallestShort + exponentAbove - exponentShort - 1
)

// appendNumberKey appends a key that sorts as the number does. Integers and doubles of equal value
// get equal keys, so both are brought to the same form: sign, exponent, and a mantissa whose
// highest bit is set. An integer is never made a double, which would lose digits above 2^53.
func appendNumberKey(dst []byte, v ejson.Value) []byte {
	if n, ok := v.Int(); ok {
		magnitude := uint64(n)
		if n < 0 {
			magnitude = -magnitude
		}
		exponent := bits.Len64(magnitude)
		return appendNormalised(dst, n < 0, int32(exponent), magnitude<<(64-exponent))
	}
	if v.Kind() == ejson.Int {
		return appendBigKey(dst, exact(v))
	}
	f, _ := v.Float()
	fraction, exponent := math.Frexp(math.Abs(f))
	return appendNormalised(dst, f < 0, int32(exponent), uint64(fraction*(1<<53))<<11)
}

// appendNormalised appends the key of ±digits · 2^(exponent-64); the highest bit of digits is set
// unless the number is 0.
func appendNormalised(dst []byte, negative bool, exponent int32, digits uint64) []byte {
	if digits == 0 {
		return append(dst, rankZero)
	}
	dst, start := appendExponent(dst, negative, exponent)
	for more := byte(1); more == 1; digits <<= 7 {
		if digits<<7 == 0 {
			more = 0
		}
		dst = append(dst, byte(digits>>56)&^1|more)
	}
	return signed(dst, start, negative)
}

// appendBigKey is appendNormalised for integers of any size.
func appendBigKey(dst []byte, f *big.Float) []byte {
	if f.Sign() == 0 {
		return append(dst, rankZero)
	}
	exponent := f.MantExp(nil)
	n, _ := f.Int(nil)
	n.Abs(n)
	n.Rsh(n, n.TrailingZeroBits()) // an odd number: the digits as an integer
	groups := (n.BitLen() + 6) / 7
	n.Lsh(n, uint(groups*7-n.BitLen()))
	dst, start := appendExponent(dst, f.Sign() < 0, int32(exponent))
	for i := groups - 1; i >= 0; i-- {
		group := byte(0)
		for bit := 6; bit >= 0; bit-- {
			group = group<<1 | byte(n.Bit(i*7+bit))
		}
		group <<= 1
		if i > 0 {
			group |= 1
		}
		dst = append(dst, group)
	}
	return signed(dst, start, f.Sign() < 0)
}

// appendExponent appends rank and exponent; start is where the bytes after the rank begin.
func appendExponent(dst []byte, negative bool, exponent int32) (key []byte, start int) {
	rank := rankPositive
	if negative {
		rank = rankNegative
	}
	dst = append(dst, rank)
	start = len(dst)
	switch {
	case exponent < smallestShort:
		dst = binary.BigEndian.AppendUint32(append(dst, exponentBelow), uint32(exponent)^1<<31)
	case exponent > largestShort:
		dst = binary.BigEndian.AppendUint32(append(dst, exponentAbove), uint32(exponent)^1<<31)
	default:
		dst = append(dst, byte(exponent-smallestShort)+exponentShort)
	}
	return dst, start
}

// signed inverts a negative number's bytes.
func signed(key []byte, start int, negative bool) []byte {
	if negative {
		for i := start; i < len(key); i++ {
			key[i] = ^key[i]
		}
	}
	return key
}
