package ejson

import (
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// shortEscape holds the letter of the two-character escapes CouchDB prints, 0 for bytes without
// one.
var shortEscape = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendStrings appends a list as a JSON array of strings.
func AppendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}

// AppendString appends s as a JSON string with CouchDB's escaping: `"`, `\` and bytes below 0x20
// only; bytes that are no UTF-8 become U+FFFD (repairUTF8).
func AppendString[T string | []byte](dst []byte, s T) []byte {
	begin := len(dst)
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[done:i]...)
			dst = appendEscape(dst, c)
			i++
			done = i
			continue
		}
		r, size := decodeRune(s[i:min(i+utf8.UTFMax, len(s))])
		if r == utf8.RuneError && size == 1 {
			return AppendString(dst[:begin], repairUTF8([]byte(s)))
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// decodeRune is utf8's for either type; the compiler keeps one of both branches.
func decodeRune[T string | []byte](s T) (rune, int) {
	switch s := any(s).(type) {
	case string:
		return utf8.DecodeRuneInString(s)
	case []byte:
		return utf8.DecodeRune(s)
	}
	return utf8.RuneError, 1
}

// appendEscape appends a control character as jiffy escapes it: in short form where there is one.
func appendEscape(dst []byte, c byte) []byte {
	if e := shortEscape[c]; e != 0 {
		return append(dst, '\\', e)
	}
	return append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
}
