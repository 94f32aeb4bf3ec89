package query

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// char is a character of a word, with whether a backslash stood before it.
type char struct {
	r       rune
	raw     string // the bytes that it stands for
	escaped bool
}

// unescape takes the backslashes out of a word: \c is c itself, \uXXXX a UTF-16 unit.
func unescape(s string) ([]char, error) {
	var out []char
	high := rune(0) // the first half of a surrogate pair, whose second half may follow
	flush := func() {
		if high != 0 {
			out, high = append(out, char{utf8.RuneError, "\uFFFD", true}), 0
		}
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != '\\' {
			flush()
			out = append(out, char{r, s[i : i+n], false})
			i += n
			continue
		}
		i++
		if i == len(s) {
			return nil, faultf("Term can not end with escape character.")
		}
		if s[i] != 'u' {
			flush()
			r, n = utf8.DecodeRuneInString(s[i:])
			out = append(out, char{r, s[i : i+n], true})
			i += n
			continue
		}
		unit, err := hexUnit(s[i+1:])
		if err != nil {
			return nil, err
		}
		i += 5
		if pair := utf16.DecodeRune(high, unit); high != 0 && pair != utf8.RuneError {
			out, high = append(out, char{pair, string(pair), true}), 0
			continue
		}
		flush()
		if unit >= 0xD800 && unit < 0xDC00 {
			high = unit
		} else {
			out = append(out, char{unit, string(unit), true})
		}
	}
	flush()
	return out, nil
}

// hexUnit reads the four digits after \u.
func hexUnit(s string) (rune, error) {
	unit := rune(0)
	for i := range 4 {
		if i >= len(s) {
			return 0, faultf("Truncated unicode escape sequence.")
		}
		c := rune(s[i])
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | (c - '0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | (c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | (c - 'A' + 10)
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return 0, faultf("Non-hex character in Unicode escape sequence: %c", r)
		}
	}
	return unit, nil
}

// text is the word without its backslashes.
func text(chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		b.WriteString(c.raw)
	}
	return b.String()
}

// pattern is a word as the pattern of a Wildcard: only what is special there has a backslash.
func pattern(chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		if c.r == '\\' || c.escaped && (c.r == '*' || c.r == '?') {
			b.WriteByte('\\')
		}
		b.WriteString(c.raw)
	}
	return b.String()
}

// escape writes text with a backslash before each character that special says.
func escape(b *strings.Builder, s string, special func(r rune) bool) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if special(r) {
			b.WriteByte('\\')
		}
		b.WriteString(s[i : i+n])
		i += n
	}
}

// charAt is the character at a place in a text.
func charAt(s string, i int) char {
	r, n := utf8.DecodeRuneInString(s[i:])
	return char{r: r, raw: s[i : i+n]}
}
