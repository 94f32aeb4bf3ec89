package tuple

import (
	"bytes"
	"fmt"
	"math"
)

// begins reports whether src begins with an element of a code.
func begins(src []byte, code byte) bool { return len(src) > 0 && src[0] == code }

// errElement tells what src should not begin with.
func errElement(src []byte) error {
	if len(src) == 0 {
		return fmt.Errorf("%w: it ends early", Err)
	}
	return fmt.Errorf("%w: unexpected element of code 0x%02x", Err, src[0])
}

// ReadBytes reads a byte string. It shares memory with src unless there is a zero byte in it.
func ReadBytes(src []byte) (b, rest []byte, err error) {
	if !begins(src, codeBytes) {
		return nil, nil, errElement(src)
	}
	return readEscaped(src[1:])
}

// ReadText reads a text as bytes. It shares memory with src unless there is a zero byte in it.
func ReadText(src []byte) (text, rest []byte, err error) {
	if !begins(src, codeString) {
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

// ReadInt reads an integer; one that does not fit is Err.
func ReadInt(src []byte) (n int64, rest []byte, err error) {
	if len(src) == 0 || src[0] < codeZero-maxIntBytes || src[0] > codeZero+maxIntBytes {
		return 0, nil, errElement(src)
	}
	size := int(src[0]) - codeZero
	complement := byte(0) // what the bytes of the magnitude are xored with
	if size < 0 {
		size, complement = -size, 0xff
	}
	if len(src) < 1+size {
		return 0, nil, errElement(nil)
	}
	magnitude, rest := src[1:1+size], src[1+size:]
	if size > 0 && magnitude[0] == complement {
		return 0, nil, fmt.Errorf("%w: an integer is not in its shortest form", Err)
	}
	var m uint64
	for _, c := range magnitude {
		m = m<<8 | uint64(c^complement)
	}
	switch {
	case complement == 0 && m <= math.MaxInt64:
		return int64(m), rest, nil
	case complement != 0 && m <= 1<<63:
		return -int64(m), rest, nil
	}
	return 0, nil, fmt.Errorf("%w: an integer beyond 64 bits", Err)
}

// ReadBool reads a boolean.
func ReadBool(src []byte) (b bool, rest []byte, err error) {
	if !begins(src, codeFalse) && !begins(src, codeTrue) {
		return false, nil, errElement(src)
	}
	return src[0] == codeTrue, src[1:], nil
}
