package ejson

import (
	"encoding/binary"
	"math"
)

// Tags of Erlang's external term format (erts, external.h), as term_to_binary writes them with
// minor version 1.
const (
	tagNewFloat   = 70  // 8 bytes IEEE 754, big-endian
	tagSmallInt   = 97  // 1 byte
	tagInt        = 98  // 4 bytes, big-endian, signed
	tagAtom       = 100 // u16 length, Latin-1 name
	tagSmallTuple = 104 // u8 arity, elements
	tagNil        = 106 // the empty list
	tagString     = 107 // u16 length: a list of bytes
	tagList       = 108 // u32 length, elements, tail
	tagBinary     = 109 // u32 length, bytes
	tagSmallBig   = 110 // u8 length, sign, magnitude little-endian
	tagLargeBig   = 111 // u32 length, sign, magnitude little-endian

	maxTermString = 65535 // bytes in a STRING_EXT
)

// AppendTermAtom appends an atom.
func AppendTermAtom(dst []byte, name string) []byte {
	dst = append(dst, tagAtom, byte(len(name)>>8), byte(len(name)))
	return append(dst, name...)
}

// AppendTermBool appends the atom true or false.
func AppendTermBool(dst []byte, b bool) []byte {
	if b {
		return AppendTermAtom(dst, "true")
	}
	return AppendTermAtom(dst, "false")
}

// AppendTermBinary appends a binary.
func AppendTermBinary[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, tagBinary)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// AppendTermInt appends an integer.
func AppendTermInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0 && n <= 255:
		return append(dst, tagSmallInt, byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		dst = append(dst, tagInt)
		return binary.BigEndian.AppendUint32(dst, uint32(int32(n)))
	}
	sign, magnitude := byte(0), uint64(n)
	if n < 0 {
		sign, magnitude = 1, -uint64(n)
	}
	dst = append(dst, tagSmallBig, 0, sign)
	count := len(dst) - 2
	for ; magnitude != 0; magnitude >>= 8 {
		dst = append(dst, byte(magnitude))
		dst[count]++
	}
	return dst
}

// AppendTermList appends the head of a list of n elements. The n elements must follow, and after
// them AppendTermNil; with n = 0 this is the whole (empty) list, without a tail.
func AppendTermList(dst []byte, n int) []byte {
	if n == 0 {
		return append(dst, tagNil)
	}
	dst = append(dst, tagList)
	return binary.BigEndian.AppendUint32(dst, uint32(n))
}

// AppendTermNil appends the tail of a list that is not empty.
func AppendTermNil(dst []byte) []byte { return append(dst, tagNil) }

// AppendTermTuple appends the head of a tuple of n <= 255 elements.
func AppendTermTuple(dst []byte, n int) []byte { return append(dst, tagSmallTuple, byte(n)) }

func appendTermFloat(dst []byte, f float64) []byte {
	dst = append(dst, tagNewFloat)
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}
