package ejson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainRun returns the position of the first byte at or after i that is a quote, a backslash, a
// control character or not ASCII; eight bytes at a time.
func plainRun(src []byte, i int) int {
	for i+8 <= len(src) {
		x := binary.LittleEndian.Uint64(src[i:])
		quote := x ^ ones*'"'
		slash := x ^ ones*'\\'
		// The lowest byte marked is right; higher marks may be borrows.
		special := (x - ones*0x20) | (quote - ones) | (slash - ones) | x
		special &= highs
		if special == 0 {
			i += 8
			continue
		}
		// A byte with the high bit set is special anyway, so the usual &^x is not needed.
		return i + bits.TrailingZeros64(special)/8
	}
	for i < len(src) && src[i] >= 0x20 && src[i] != '"' && src[i] != '\\' && src[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// scanString reads the string whose opening quote is at i. end is the position after the closing
// quote, -1 if the string is malformed.
func scanString(src []byte, i int) (end int, flags uint8) {
	flags = flagCanonical
	i++
	for {
		i = plainRun(src, i)
		if i >= len(src) {
			return -1, 0
		}
		switch c := src[i]; {
		case c == '"':
			return i + 1, flags
		case c == '\\':
			_, size, usual := scanEscape(src[i:])
			if size == 0 {
				return -1, 0
			}
			flags |= flagEscaped
			if !usual {
				flags &^= flagCanonical
			}
			i += size
		case c >= utf8.RuneSelf:
			if i = runeRun(src, i); i < 0 {
				return -1, 0
			}
		default:
			return -1, 0
		}
	}
}

// runeRun returns the position after the characters beyond ASCII that begin at i, -1 if one is not
// UTF-8.
func runeRun(src []byte, i int) int {
	for i < len(src) && src[i] >= utf8.RuneSelf {
		// Most are three bytes long: from U+1000 to U+CFFF no further condition holds.
		if i+2 < len(src) && src[i] >= 0xE1 && src[i] <= 0xEC && src[i+1]&0xC0 == 0x80 && src[i+2]&0xC0 == 0x80 {
			i += 3
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && size == 1 {
			return -1
		}
		i += size
	}
	return i
}

// scanEscape reads the escape at the beginning of s: the character, the bytes it takes (0 if
// malformed), and whether CouchDB would print the character with this very escape.
func scanEscape(s []byte) (r rune, size int, usual bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	switch c := s[1]; c {
	case '"', '\\':
		return rune(c), 2, true
	case '/':
		return '/', 2, false
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		return scanUnicodeEscape(s)
	}
	return 0, 0, false
}

// scanUnicodeEscape reads `\uXXXX`, or two of them that are a surrogate pair: the character, and
// how many bytes it takes. usual tells that this is how the encoder writes the character, so that
// the text can stay as it is. A size of 0 says that the escape is invalid, as a lone surrogate is.
func scanUnicodeEscape(s []byte) (r rune, size int, usual bool) {
	r, ok := hex4(s, 2)
	if !ok || r >= 0xDC00 && r < 0xE000 {
		return 0, 0, false
	}
	if r >= 0xD800 && r < 0xDC00 {
		if len(s) < 8 || s[6] != '\\' || s[7] != 'u' {
			return 0, 0, false
		}
		low, ok := hex4(s, 8)
		if !ok || low < 0xDC00 || low >= 0xE000 {
			return 0, 0, false
		}
		return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12, false
	}
	usual = r < 0x20 && shortEscape[r] == 0 && s[5] == upperHex[r&15]
	return r, 6, usual
}

// hex4 reads four hexadecimal digits at a place of s; false if there are fewer.
func hex4(s []byte, at int) (rune, bool) {
	if len(s) < at+4 {
		return 0, false
	}
	var r rune
	for _, c := range s[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// scanNumber reads the number at i by the grammar of JSON. kind is Invalid if there is none.
func scanNumber(src []byte, i int) (end int, kind Kind, flags uint8) {
	start := i
	if src[i] == '-' {
		i++
	}
	whole := i
	i = digits(src, i)
	if i == whole || src[whole] == '0' && i > whole+1 {
		return i, Invalid, 0
	}
	point := i
	fraction := i < len(src) && src[i] == '.'
	if fraction {
		if i = digits(src, i+1); i == point+1 {
			return i, Invalid, 0
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		if i++; i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(src, i); i == exponent {
			return i, Invalid, 0
		}
		return i, Double, doubleFlags(src[start:i])
	}
	if !fraction {
		if src[whole] == '0' && whole > start {
			return i, Int, 0 // -0
		}
		return i, Int, flagCanonical
	}
	if i-start <= 17 && plainFraction(src[start:i], point-start) {
		return i, Double, flagCanonical
	}
	return i, Double, doubleFlags(src[start:i])
}

// digits gives the place behind the decimal digits that begin at i.
func digits(src []byte, i int) int {
	for i < len(src) && src[i] >= '0' && src[i] <= '9' {
		i++
	}
	return i
}

// doubleFlags is the slow way to see whether a double is in range and canonical: convert it and
// print it.
func doubleFlags(text []byte) uint8 {
	f, ok := parseDouble(text)
	if !ok {
		return flagRange
	}
	var buf [32]byte
	if string(AppendFloat(buf[:0], f)) == string(text) {
		return flagCanonical
	}
	return 0
}

// plainFraction reports whether a number without exponent, of at most 15 digits and with its point
// at the given position, is surely canonical. Decimals of up to 15 digits are told apart by a
// double, so the shortest decimal that reads as the same double is the number itself, unless it has
// trailing zeros; see withoutExponent for those that are printed with an exponent.
func plainFraction(text []byte, point int) bool {
	first := 0
	if text[0] == '-' {
		first = 1
	} else if len(text) == 17 { // 16 digits
		return false
	}
	whole, fraction := text[first:point], text[point+1:]
	if fraction[len(fraction)-1] == '0' {
		// 5.0 is printed so, 5.10 is not; -0.0 is printed 0.0
		n := len(bytes.TrimRight(whole, "0"))
		return len(fraction) == 1 && (n > 0 && withoutExponent(n, len(whole)-n) || string(text) == "0.0")
	}
	if whole[0] != '0' {
		return true
	}
	return withoutExponent(len(bytes.TrimLeft(fraction, "0")), -len(fraction))
}
