package tuple

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/settee-db/settee/storage/kv"
)

// maxIntBytes is the length of the longest integer that a tuple can hold.
const maxIntBytes = 255

// AppendNil appends the element nil.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// AppendBytes appends a byte string.
func AppendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	return appendEscaped(append(dst, codeBytes), b)
}

// AppendString appends a text.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendEscaped(append(dst, codeString), s)
}

// appendEscaped appends s with its zero bytes escaped, and the zero byte that ends it.
func appendEscaped[T ~string | ~[]byte](dst []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(append(dst, s[from:i+1]...), escape)
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), 0)
}

// OpenNested begins a nested tuple, whose elements are appended next, and which CloseNested ends.
func OpenNested(dst []byte) []byte { return append(dst, codeNested) }

// CloseNested ends what OpenNested began.
func CloseNested(dst []byte) []byte { return append(dst, 0) }

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	if n >= 0 {
		return AppendUint(dst, uint64(n))
	}
	return appendNegative(dst, -uint64(n))
}

// AppendUint appends an integer.
func AppendUint(dst []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	dst = append(dst, byte(codeZero+size))
	return appendLast(dst, n, size)
}

// appendNegative appends the integer -magnitude, which is not zero.
func appendNegative(dst []byte, magnitude uint64) []byte {
	size := (bits.Len64(magnitude) + 7) / 8
	dst = append(dst, byte(codeZero-size))
	return appendLast(dst, ^magnitude, size)
}

// appendLast appends the low size bytes of n, big-endian.
func appendLast(dst []byte, n uint64, size int) []byte {
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], n)
	return append(dst, buf[8-size:]...)
}

// AppendBigInt appends an integer of any size up to 255 bytes; a larger one counts as the largest (smallest) such
// integer, so that the order stays right.
func AppendBigInt(dst []byte, n *big.Int) []byte {
	size := (n.BitLen() + 7) / 8
	if size <= 8 {
		magnitude := new(big.Int).Abs(n).Uint64()
		if n.Sign() < 0 {
			return appendNegative(dst, magnitude)
		}
		return AppendUint(dst, magnitude)
	}
	magnitude := n.Bytes()
	if size > maxIntBytes {
		size, magnitude = maxIntBytes, bytes.Repeat([]byte{0xff}, maxIntBytes)
	}
	if n.Sign() > 0 {
		return append(append(dst, codeBigPositive, byte(size)), magnitude...)
	}
	dst = append(dst, codeBigNegative, ^byte(size))
	for _, b := range magnitude {
		dst = append(dst, ^b)
	}
	return dst
}

// AppendDouble appends a float64. -0 sorts before 0, a NaN before or after all numbers, by its sign.
func AppendDouble(dst []byte, f float64) []byte {
	n := math.Float64bits(f)
	if n>>63 == 0 {
		n |= 1 << 63
	} else {
		n = ^n
	}
	return binary.BigEndian.AppendUint64(append(dst, codeDouble), n)
}

// AppendBool appends a boolean; false sorts before true.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendVersionstamp appends a versionstamp.
func AppendVersionstamp(dst []byte, v kv.Versionstamp) []byte {
	return append(append(dst, codeVersionstamp), v[:]...)
}

// AppendVersionstampHole appends a versionstamp that the commit fills in, with its user part, and returns the offset
// for [kv.Tx.SetVersionstampedKey] or [kv.Tx.SetVersionstampedValue].
func AppendVersionstampHole(dst []byte, user uint16) (b []byte, offset int) {
	v := kv.Versionstamp{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint16(v[kv.VersionstampSize:], user)
	return AppendVersionstamp(dst, v), len(dst) + 1
}
