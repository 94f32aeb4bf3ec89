package segment

import (
	"math"
	"math/bits"
)

// Norms are Lucene's bytes: in Nouveau's kind of index the length of a field with four bits of
// precision beyond 24, in Clouseau's boost/sqrt(length) as a float with three bits of mantissa. No
// document has the norm 0: it stands for documents without one, which are scored as if their fields
// had one token.

const exactLengths = 24 // lengths below are exact: 255 less the byte for the largest integer

// lengthNorm is SmallFloat.intToByte4.
func lengthNorm(length int32) byte {
	if length < exactLengths {
		return byte(length)
	}
	v := uint32(length - exactLengths)
	n := bits.Len32(v)
	if n < 4 {
		return byte(exactLengths + v)
	}
	shift := n - 4
	return byte(exactLengths + int(v>>shift&7|uint32(shift+1)<<3))
}

// NormLength is SmallFloat.byte4ToInt.
func NormLength(norm byte) int32 {
	if norm < exactLengths {
		return int32(norm)
	}
	v := uint32(norm - exactLengths)
	shift := int(v>>3) - 1
	if shift < 0 {
		return int32(exactLengths + v)
	}
	return int32(exactLengths + (v&7|8)<<shift)
}

const (
	smallFloatShift = 24 - 3
	smallFloatZero  = (63 - 15) << 3
)

// boostNorm is SmallFloat.floatToByte315 of boost/sqrt(length), the least one for 0.
func boostNorm(boost float32, length int32) byte {
	f := boost * float32(1/math.Sqrt(float64(length)))
	b := int32(math.Float32bits(f))
	small := b >> smallFloatShift
	switch {
	case small <= smallFloatZero:
		return 1
	case small >= smallFloatZero+0x100:
		return 255
	}
	return byte(small - smallFloatZero)
}

// NormFactor is SmallFloat.byte315ToFloat.
func NormFactor(norm byte) float32 {
	if norm == 0 {
		return 0
	}
	return math.Float32frombits(uint32(norm)<<smallFloatShift + (63-15)<<24)
}

// KnownNorm is a norm that means the same and is not 0.
func (k Kind) KnownNorm(norm byte) byte {
	switch {
	case norm != 0:
		return norm
	case k == Nouveau:
		return 1
	}
	return normOfOne
}

// normOfOne is the norm of Clouseau's kind that multiplies by 1.
const normOfOne = 124

// BetterNorm is the norm that gives the better score; 0 stands for no norm so far.
func (k Kind) BetterNorm(a, b byte) byte {
	switch {
	case b == 0:
		return a
	case a == 0 || (k == Nouveau) == (b < a):
		return b
	}
	return a
}
