package tuple

import (
	"encoding/binary"
	"math/bits"

	"github.com/settee-db/settee/storage/kv"
)

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

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte {
	if n >= 0 {
		return AppendUint(dst, uint64(n))
	}
	magnitude := -uint64(n)
	size := (bits.Len64(magnitude) + 7) / 8
	dst = append(dst, byte(codeZero-size))
	return appendLast(dst, ^magnitude, size)
}

// AppendUint appends an integer.
func AppendUint(dst []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	dst = append(dst, byte(codeZero+size))
	return appendLast(dst, n, size)
}

// appendLast appends the low size bytes of n, big-endian.
func appendLast(dst []byte, n uint64, size int) []byte {
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], n)
	return append(dst, buf[8-size:]...)
}

// AppendBool appends a boolean; false sorts before true.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendVersionstampHole appends a versionstamp that the commit fills in, with its user part, and
// returns the offset for [kv.Tx.SetVersionstampedKey] or [kv.Tx.SetVersionstampedValue].
func AppendVersionstampHole(dst []byte, user uint16) (b []byte, offset int) {
	v := kv.Versionstamp{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	binary.BigEndian.PutUint16(v[kv.VersionstampSize:], user)
	return append(append(dst, codeVersionstamp), v[:]...), len(dst) + 1
}
