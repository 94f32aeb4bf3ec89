package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// SkipBlanks passes over blanks and comments of JavaScript that begin at i; newline tells that a line
// ended in them.
func SkipBlanks(code string, i int) (end int, newline bool) {
	for {
		next, line := skipJSBlank(code, i)
		newline = newline || line
		if next == i {
			return i, newline
		}
		i = next
	}
}

// skipJSBlank passes over one blank or comment.
func skipJSBlank(code string, i int) (end int, newline bool) {
	if i >= len(code) {
		return i, false
	}
	switch c := code[i]; {
	case c == '\n' || c == '\r':
		return i + 1, true
	case c == ' ' || c == '\t' || c == '\v' || c == '\f':
		return i + 1, false
	case strings.HasPrefix(code[i:], "//"):
		return LineEnd(code, i), false
	case strings.HasPrefix(code[i:], "/*"):
		end = len(code)
		if n := strings.Index(code[i+2:], "*/"); n >= 0 {
			end = i + n + 4
		}
		return end, strings.ContainsAny(code[i:end], "\r\n")
	case c < utf8.RuneSelf:
		return i, false
	}
	r, size := utf8.DecodeRuneInString(code[i:])
	if unicode.IsSpace(r) || r == '\ufeff' || r == '\u2028' || r == '\u2029' {
		return i + size, r == '\u2028' || r == '\u2029'
	}
	return i, false
}

// LineEnd is where the line of a byte ends, before its line break.
func LineEnd(code string, i int) int {
	if n := strings.IndexAny(code[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(code)
}

// IsDigit reports whether a byte is there and a digit.
func IsDigit(code string, i int) bool { return i < len(code) && code[i] >= '0' && code[i] <= '9' }

// WordEnd is where a word ends that begins at i, i if there is none.
func WordEnd(code string, i int) int {
	start := i
	for i < len(code) {
		c := code[i]
		if c < utf8.RuneSelf {
			if c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || i > start && c >= '0' && c <= '9' {
				i++
				continue
			}
			if c == '\\' && strings.HasPrefix(code[i:], `\u`) { // a letter as its number
				i += 2
				continue
			}
			return i
		}
		r, size := utf8.DecodeRuneInString(code[i:])
		if !unicode.IsLetter(r) && !(i > start && (unicode.IsDigit(r) || unicode.IsMark(r) ||
			r == '\u200c' || r == '\u200d')) {
			return i
		}
		i += size
	}
	return i
}
