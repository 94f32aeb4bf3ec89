package script

import (
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

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
			return lex.WordEnd(code, i+1) // its flags
		}
	}
	return len(code)
}

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

// puncts are the signs of more than one character that must not be read as two.
var puncts = []string{
	">>>=", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "...",
	"=>", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "&&", "||", "??", "**",
	"<<", ">>", "?.",
}

func punctSize(code string) int {
	for _, p := range puncts {
		if strings.HasPrefix(code, p) {
			if p == "?." && lex.IsDigit(code, 2) {
				continue // a ? .5 : 1
			}
			return len(p)
		}
	}
	_, size := utf8.DecodeRuneInString(code)
	return size
}
