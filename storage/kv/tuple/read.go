package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"github.com/settee-db/settee/storage/kv"
)

// Kind is the type of a tuple's element.
type Kind uint8

// The kinds, in the order in which they sort.
const (
	KindNone Kind = iota // the end of the tuple, or bytes that are none
	KindNil
	KindBytes
	KindString
	KindNested
	KindInt
	KindDouble
	KindBool
	KindVersionstamp
)

// PeekKind tells the type of the first element of src.
func PeekKind(src []byte) Kind {
	if len(src) == 0 {
		return KindNone
	}
	switch c := src[0]; {
	case c == codeNil:
		return KindNil
	case c == codeBytes:
		return KindBytes
	case c == codeString:
		return KindString
	case c == codeNested:
		return KindNested
	case codeBigNegative <= c && c <= codeBigPositive:
		return KindInt
	case c == codeDouble:
		return KindDouble
	case c == codeFalse || c == codeTrue:
		return KindBool
	case c == codeVersionstamp:
		return KindVersionstamp
	}
	return KindNone
}

// errElement tells what src should not begin with.
func errElement(src []byte) error {
	if len(src) == 0 {
		return fmt.Errorf("%w: it ends early", Err)
	}
	return fmt.Errorf("%w: unexpected element of code 0x%02x", Err, src[0])
}

// ReadBytes reads a byte string. It shares memory with src unless there is a zero byte in it.
func ReadBytes(src []byte) (b, rest []byte, err error) {
	if PeekKind(src) != KindBytes {
		return nil, nil, errElement(src)
	}
	return readEscaped(src[1:])
}

// ReadText reads a text as bytes. It shares memory with src unless there is a zero byte in it.
func ReadText(src []byte) (text, rest []byte, err error) {
	if PeekKind(src) != KindString {
		return nil, nil, errElement(src)
	}
	return readEscaped(src[1:])
}

// ReadString reads a text.
func ReadString(src []byte) (s string, rest []byte, err error) {
	text, rest, err := ReadText(src)
	return string(text), rest, err
}

// readEscaped reads up to a zero byte that is not escaped.
func readEscaped(src []byte) (b, rest []byte, err error) {
	var unescaped []byte
	for from := 0; ; {
		i := bytes.IndexByte(src[from:], 0)
		if i < 0 {
			return nil, nil, fmt.Errorf("%w: a string does not end", Err)
		}
		end := from + i
		if end+1 == len(src) || src[end+1] != escape {
			if unescaped == nil {
				return src[:end:end], src[end+1:], nil
			}
			return append(unescaped, src[from:end]...), src[end+1:], nil
		}
		unescaped = append(unescaped, src[from:end+1]...)
		from = end + 2
	}
}

// NestedEnd reports whether src, within a nested tuple, is at its end, and returns what follows.
func NestedEnd(src []byte) (rest []byte, ended bool) {
	if len(src) > 0 && src[0] == codeNil && (len(src) == 1 || src[1] != escape) {
		return src[1:], true
	}
	return src, false
}

// nestedNil reports whether src, within a nested tuple, begins with nil, and returns what follows.
func nestedNil(src []byte) (rest []byte, ok bool) {
	if len(src) > 1 && src[0] == codeNil && src[1] == escape {
		return src[2:], true
	}
	return src, false
}

// ReadInt reads an integer; one that does not fit is Err.
func ReadInt(src []byte) (n int64, rest []byte, err error) {
	if len(src) > 0 && src[0] == codeZero {
		return 0, src[1:], nil
	}
	negative, magnitude, rest, err := readMagnitude(src)
	if err != nil {
		return 0, nil, err
	}
	n, ok := small(negative, magnitude)
	if !ok {
		return 0, nil, fmt.Errorf("%w: integer of %d bytes", Err, len(magnitude))
	}
	return n, rest, nil
}

// ReadBigInt reads an integer of any size.
func ReadBigInt(src []byte) (n *big.Int, rest []byte, err error) {
	negative, magnitude, rest, err := readMagnitude(src)
	if err != nil {
		return nil, nil, err
	}
	return bigInt(negative, magnitude), rest, nil
}

// readMagnitude reads the sign and the bytes of an integer; those of a negative one are complemented.
func readMagnitude(src []byte) (negative bool, magnitude, rest []byte, err error) {
	if PeekKind(src) != KindInt {
		return false, nil, nil, errElement(src)
	}
	code, size, head, least := src[0], int(src[0])-codeZero, 1, 1
	negative = size < 0
	switch {
	case (code == codeBigNegative || code == codeBigPositive) && len(src) < 2:
		return false, nil, nil, errElement(nil)
	case code == codeBigNegative:
		size, head, least = int(^src[1]), 2, 9
	case code == codeBigPositive:
		size, head, least = int(src[1]), 2, 9
	case negative:
		size = -size
	case size == 0:
		least = 0
	}
	if len(src) < head+size {
		return false, nil, nil, errElement(nil)
	}
	magnitude = src[head : head+size]
	if size < least || size > 0 && magnitude[0] == complement(negative) {
		return false, nil, nil, fmt.Errorf("%w: an integer is not in its shortest form", Err)
	}
	return negative, magnitude, src[head+size:], nil
}

// complement is what the bytes of an integer's magnitude are xored with.
func complement(negative bool) byte {
	if negative {
		return 0xff
	}
	return 0
}

// small returns the integer if it is an int64.
func small(negative bool, magnitude []byte) (int64, bool) {
	if len(magnitude) > 8 {
		return 0, false
	}
	n := beUint(magnitude, complement(negative))
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}

// beUint reads at most 8 big-endian bytes, each xored with xor.
func beUint(b []byte, xor byte) uint64 {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c^xor)
	}
	return n
}

func bigInt(negative bool, magnitude []byte) *big.Int {
	plain := append([]byte(nil), magnitude...)
	for i := range plain {
		plain[i] ^= complement(negative)
	}
	n := new(big.Int).SetBytes(plain)
	if negative {
		n.Neg(n)
	}
	return n
}

// ReadDouble reads a float64.
func ReadDouble(src []byte) (f float64, rest []byte, err error) {
	if PeekKind(src) != KindDouble || len(src) < 9 {
		return 0, nil, errElement(src)
	}
	n := binary.BigEndian.Uint64(src[1:])
	if n>>63 == 1 {
		n &^= 1 << 63
	} else {
		n = ^n
	}
	return math.Float64frombits(n), src[9:], nil
}

// ReadBool reads a boolean.
func ReadBool(src []byte) (b bool, rest []byte, err error) {
	if PeekKind(src) != KindBool {
		return false, nil, errElement(src)
	}
	return src[0] == codeTrue, src[1:], nil
}

// ReadVersionstamp reads a versionstamp.
func ReadVersionstamp(src []byte) (v kv.Versionstamp, rest []byte, err error) {
	if PeekKind(src) != KindVersionstamp || len(src) < 1+len(v) {
		return v, nil, errElement(src)
	}
	return kv.Versionstamp(src[1 : 1+len(v)]), src[1+len(v):], nil
}
