package tuple

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/settee-db/settee/storage/kv"
)

// The codes that elements begin with.
const (
	codeNil          = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeNested       = 0x05
	codeBigNegative  = 0x0b // -(2^64) and below: complemented length, complemented bytes
	codeZero         = 0x14 // integers of n bytes have the codes codeZero-n and codeZero+n, n up to 8
	codeBigPositive  = 0x1d // 2^64 and above: length, bytes
	codeDouble       = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeVersionstamp = 0x33

	escape = 0xff // follows a zero byte within a byte string, text or nested tuple that does not end it
)

// maxTupleDepth bounds the nesting of tuples that Pack writes and the readers accept.
const maxTupleDepth = 500

// Err is of bytes that are not a packed tuple, or of a value that no tuple can hold.
var Err = errors.New("kv: not a tuple")

// Tuple is a sequence of elements: nil, []byte, string, Tuple, int, int64, uint64, *big.Int of at most 255 bytes,
// float64, bool, kv.Versionstamp.
type Tuple []any

// Pack appends the packed tuple to dst. It fails with Err at an element of another type, a big.Int of more than 255
// bytes, or nesting that is too deep.
func (t Tuple) Pack(dst []byte) ([]byte, error) { return t.pack(dst, 0) }

func (t Tuple) pack(dst []byte, depth int) ([]byte, error) {
	if depth > maxTupleDepth {
		return nil, fmt.Errorf("%w: nested too deep", Err)
	}
	for _, element := range t {
		switch v := element.(type) {
		case nil:
			if dst = AppendNil(dst); depth > 0 {
				dst = append(dst, escape)
			}
		case []byte:
			dst = AppendBytes(dst, v)
		case string:
			dst = AppendString(dst, v)
		case Tuple:
			var err error
			if dst, err = v.pack(OpenNested(dst), depth+1); err != nil {
				return nil, err
			}
			dst = CloseNested(dst)
		case int:
			dst = AppendInt(dst, int64(v))
		case int64:
			dst = AppendInt(dst, v)
		case uint64:
			dst = AppendUint(dst, v)
		case *big.Int:
			if (v.BitLen()+7)/8 > maxIntBytes {
				return nil, fmt.Errorf("%w: integer of %d bits", Err, v.BitLen())
			}
			dst = AppendBigInt(dst, v)
		case float64:
			dst = AppendDouble(dst, v)
		case bool:
			dst = AppendBool(dst, v)
		case kv.Versionstamp:
			dst = AppendVersionstamp(dst, v)
		default:
			return nil, fmt.Errorf("%w: element of type %T", Err, element)
		}
	}
	return dst, nil
}

// Unpack reads a packed tuple whole. Integers come as int64 where they fit, else as uint64, else as *big.Int. What it
// accepts, Pack writes back byte by byte; everything else is Err. Nothing in the result shares memory with src.
func Unpack(src []byte) (Tuple, error) {
	t := Tuple{}
	for len(src) > 0 {
		element, rest, err := readElement(src, 0)
		if err != nil {
			return nil, err
		}
		t, src = append(t, element), rest
	}
	return t, nil
}

func readElement(src []byte, depth int) (element any, rest []byte, err error) {
	switch kind := PeekKind(src); kind {
	case KindNil:
		return nil, src[1:], nil
	case KindBytes:
		text, rest, err := readEscaped(src[1:])
		return append([]byte{}, text...), rest, err
	case KindString:
		return unboxed(ReadString(src))
	case KindNested:
		return readNested(src[1:], depth+1)
	case KindInt:
		return readInteger(src)
	case KindDouble:
		return unboxed(ReadDouble(src))
	case KindBool:
		return unboxed(ReadBool(src))
	case KindVersionstamp:
		return unboxed(ReadVersionstamp(src))
	}
	return nil, nil, errElement(src)
}

func unboxed[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

// readNested reads the elements of a nested tuple up to its end.
func readNested(src []byte, depth int) (any, []byte, error) {
	if depth > maxTupleDepth {
		return nil, nil, fmt.Errorf("%w: nested too deep", Err)
	}
	t := Tuple{}
	for {
		if rest, ended := NestedEnd(src); ended {
			return t, rest, nil
		}
		if rest, isNil := nestedNil(src); isNil {
			t, src = append(t, nil), rest
			continue
		}
		element, rest, err := readElement(src, depth)
		if err != nil {
			return nil, nil, err
		}
		t, src = append(t, element), rest
	}
}

// readInteger reads an integer of any size.
func readInteger(src []byte) (any, []byte, error) {
	negative, magnitude, rest, err := readMagnitude(src)
	if err != nil {
		return nil, nil, err
	}
	if n, ok := small(negative, magnitude); ok {
		return n, rest, nil
	}
	if len(magnitude) <= 8 && !negative {
		return beUint(magnitude, 0), rest, nil
	}
	return bigInt(negative, magnitude), rest, nil
}
