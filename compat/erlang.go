package compat

import (
	"math"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// ErlangInteger reads what list_to_integer/1 reads: a sign and digits, nothing else, of any length.
// Numbers beyond 64 bits become the nearest int64.
func ErlangInteger(text string) (n int64, ok bool) {
	digits := text
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	if digits == "" {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	// ParseInt gives the nearest number together with a range error, the only one left.
	n, _ = strconv.ParseInt(text, 10, 64)
	return n, true
}

// ErlangString prints s as io_lib's ~p prints the list of its bytes: "abc", or [226,130,172] if a
// byte is not a printable Latin-1 character, or [].
func ErlangString(s string) string {
	if s == "" {
		return "[]"
	}
	if printableLatin1(s) {
		return string(appendErlangQuoted(nil, s))
	}
	return "[" + string(appendErlangBytes(nil, s)) + "]"
}

// maxTermDepth bounds the recursion of appendErlangTerm; deeper levels print as `...`.
const maxTermDepth = 60

// ErlangTerm prints a JSON value as io_lib's ~p prints the term jiffy makes of it: strings are
// binaries, objects {[{Key,Value},…]}. CouchDB breaks long terms into lines of eighty columns; here
// they are one line.
func ErlangTerm(v ejson.Value) string { return string(appendErlangTerm(nil, v, 0)) }

// appendErlangTerm prints one value. A list whose elements are all printable characters prints as a
// string: that is what Erlang makes of it, and clients see it in error reasons.
func appendErlangTerm(dst []byte, v ejson.Value, depth int) []byte {
	if depth > maxTermDepth {
		return append(dst, "..."...)
	}
	separator := ""
	switch v.Kind() {
	case ejson.String:
		return appendErlangBinary(dst, v.Text())
	case ejson.Array:
		if s, ok := erlangCharList(v); ok {
			return appendErlangQuoted(dst, s)
		}
		dst = append(dst, '[')
		for e := range v.Elements() {
			dst = append(dst, separator...)
			dst = appendErlangTerm(dst, e, depth+1)
			separator = ","
		}
		return append(dst, ']')
	case ejson.Object:
		dst = append(dst, "{["...)
		for name, value := range v.Members() {
			dst = append(dst, separator...)
			dst = append(dst, '{')
			dst = appendErlangBinary(dst, name.Text())
			dst = append(dst, ',')
			dst = appendErlangTerm(dst, value, depth+1)
			dst = append(dst, '}')
			separator = ","
		}
		return append(dst, "]}"...)
	case ejson.Double:
		f, _ := v.Float()
		return AppendErlangFloat(dst, f)
	}
	return v.AppendJSON(dst)
}

// erlangCharList gives the text of an array that Erlang cannot tell from a string: integers that
// are printable.
func erlangCharList(v ejson.Value) (string, bool) {
	if v.Len() == 0 {
		return "", false
	}
	text := make([]byte, 0, v.Len())
	for e := range v.Elements() {
		n, ok := e.Int()
		if !ok || n < 0 || n > 255 {
			return "", false
		}
		text = append(text, byte(n))
	}
	return string(text), printableLatin1(string(text))
}

// appendErlangBinary prints a binary as ~p does: quoted if it is printable Latin-1, else as
// numbers.
func appendErlangBinary(dst []byte, s string) []byte {
	dst = append(dst, "<<"...)
	if s != "" && printableLatin1(s) {
		dst = appendErlangQuoted(dst, s)
	} else {
		dst = appendErlangBytes(dst, s)
	}
	return append(dst, ">>"...)
}

func appendErlangBytes(dst []byte, s string) []byte {
	for i := range len(s) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(s[i]), 10)
	}
	return dst
}

// printableLatin1 is io_lib:printable_latin1_list/1.
func printableLatin1(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < ' ' || c > '~') && c < 0xa0 && erlangEscape(c) == 0 {
			return false
		}
	}
	return true
}

// appendErlangQuoted prints the bytes of s between quotes, with the escapes that io_lib uses.
func appendErlangQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case erlangEscape(c) != 0:
			dst = append(dst, '\\', erlangEscape(c))
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// erlangEscape gives the letter of the control characters Erlang counts as printable, else 0.
func erlangEscape(c byte) byte {
	switch c {
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\v':
		return 'v'
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case 0x1b:
		return 'e'
	}
	return 0
}

// AppendErlangFloat prints the shortest digits that read as f, in decimal or with an exponent,
// whichever is shorter (io_lib_format:fwrite_g/1).
func AppendErlangFloat(dst []byte, f float64) []byte {
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // d.ddde±xx
	digits := make([]byte, 0, len(text))
	i := 0
	for ; text[i] != 'e'; i++ {
		if text[i] != '.' {
			digits = append(digits, text[i])
		}
	}
	exponent, _ := strconv.Atoi(string(text[i+1:]))
	point := exponent + 1 // of the decimal point: f = 0.digits · 10^point
	cost := len(strconv.Itoa(exponent)) + 2
	if len(digits) == 1 {
		cost++
	}
	switch {
	case point >= 0 && point < len(digits):
		if point == 0 {
			dst = append(dst, '0')
		}
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	case point < 0 && 2-point <= cost:
		return append(appendZeros(append(dst, "0."...), -point), digits...)
	case point > 0 && point-len(digits)+2 <= cost && f < 1<<53:
		return append(appendZeros(append(dst, digits...), point-len(digits)), ".0"...)
	}
	dst = append(dst, digits[0], '.')
	if len(digits) == 1 {
		dst = append(dst, '0')
	}
	dst = append(append(dst, digits[1:]...), 'e')
	return strconv.AppendInt(dst, int64(exponent), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
