package n1ql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// skipJSBlanks passes over blanks and comments.
func skipJSBlanks(code string, i int) (end int, newline bool) {
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
		return lineEnd(code, i), false
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

func lineEnd(code string, i int) int {
	if n := strings.IndexAny(code[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(code)
}

// stringEnd is where a string ends that begins at i: at the latest at the end of the line.
func stringEnd(code string, i int) int {
	quote := code[i]
	for i++; i < len(code); i++ {
		switch code[i] {
		case '\\':
			if strings.HasPrefix(code[i+1:], "\r\n") {
				i++
			}
			i++
		case quote:
			return i + 1
		case '\n', '\r':
			return i
		}
	}
	return len(code)
}

// regexpEnd is where a regular expression ends that begins at i: at the latest at the end of the
// line.
func regexpEnd(code string, i int) int {
	class := false
	for i++; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\n' || c == '\r':
			return i
		case c == '\\' && i+1 < len(code) && code[i+1] != '\n' && code[i+1] != '\r':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return wordEnd(code, i+1) // its flags
		}
	}
	return len(code)
}

func isDigit(code string, i int) bool { return i < len(code) && code[i] >= '0' && code[i] <= '9' }

// numberEnd is where a number ends that begins at i; letters in it are those of its base, exponent
// and suffix.
func numberEnd(code string, i int) int {
	for i < len(code) {
		c := code[i]
		switch {
		case c == '.' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z':
			i++
		case (c == '+' || c == '-') && code[i-1]|0x20 == 'e' && !strings.HasPrefix(code[i-1:], "0x"):
			i++
		default:
			return i
		}
	}
	return i
}

// wordEnd is where a word ends that begins at i, i if there is none.
func wordEnd(code string, i int) int {
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

// puncts are the signs of more than one character that must not be read as two.
var puncts = []string{
	">>>=", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "...",
	"=>", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||", "??", "**",
	"<<", ">>", "?.",
}

func punctSize(code string) int {
	for _, p := range puncts {
		if strings.HasPrefix(code, p) {
			if p == "?." && isDigit(code, 2) {
				continue // a ? .5 : 1
			}
			return len(p)
		}
	}
	_, size := utf8.DecodeRuneInString(code)
	return size
}
