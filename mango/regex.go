package mango

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/settee-db/settee/compat/ejson"
)

// CouchDB runs PCRE over the bytes of UTF-8 and takes each for a character of Latin-1. So patterns are compiled, and texts
// matched, with every byte as the character of its number.

// Sets of characters that PCRE defines in another way than RE2, for use inside brackets, with Erlang's tables of Latin-1.
const (
	wordSet     = `0-9A-Z_a-z\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{ff}`
	notWordSet  = "\\x00-/:-@\\[-\\^`\\{-\\x{a9}\\x{ab}-\\x{b4}\\x{b6}-\\x{b9}\\x{bb}-\\x{bf}\\x{d7}\\x{f7}"
	spaceSet    = `\t-\r `
	notSpaceSet = `\x00-\x08\x0e-\x1f!-\x{ff}`
	blankSet    = `\t \x{a0}`
	notBlankSet = `\x00-\x08\n-\x1f!-\x{9f}\x{a1}-\x{ff}`
)

// escapes are the escapes that mean such a set.
var escapes = map[byte]string{'w': wordSet, 'W': notWordSet, 's': spaceSet, 'S': notSpaceSet, 'h': blankSet, 'H': notBlankSet}

// outsideEscapes are other ones that RE2 lacks; inside brackets they are no sets.
var outsideEscapes = map[byte]string{'Z': `\n?\z`, 'N': `[^\n]`, 'R': `(?:\r\n|[\n-\r\x{85}])`}

// compilePattern compiles a pattern of PCRE, as far as RE2 can.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(translatePattern(string(latin1(nil, []byte(pattern)))), syntax.Perl)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(dollars(tree).String())
}

// translatePattern replaces escapes that RE2 does not know or understands in another way.
func translatePattern(pattern string) string {
	var b strings.Builder
	bracket := -1 // where the contents of the brackets begin that are open
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && strings.HasPrefix(pattern[i:], `\Q`):
			end := strings.Index(pattern[i:], `\E`)
			if end < 0 {
				end = len(pattern) - i
			}
			b.WriteString(pattern[i : i+end])
			i += end - 1
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(translateEscape(pattern[i], bracket >= 0))
			continue
		case bracket >= 0 && strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i:], ":]"); end > 0 {
				b.WriteString(pattern[i : i+end+1])
				i += end + 1
				c = ']'
			}
		case c == '[' && bracket < 0:
			bracket = i + 1
			if strings.HasPrefix(pattern[bracket:], "^") {
				bracket++
			}
		case c == ']' && i > bracket:
			bracket = -1
		}
		b.WriteByte(c)
	}
	return b.String()
}

func translateEscape(c byte, inBrackets bool) string {
	set, isSet := escapes[c]
	switch {
	case isSet && inBrackets:
		return set
	case isSet:
		return "[" + set + "]"
	case c == 'e':
		return `\x1b`
	case !inBrackets && outsideEscapes[c] != "":
		return outsideEscapes[c]
	case c >= utf8.RuneSelf:
		return string([]byte{c}) // the first byte of a character; the rest of it follows
	}
	return `\` + string(rune(c))
}

// dollars lets `$` hold before a line feed at the end, too.
func dollars(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpEndText && re.Flags&syntax.WasDollar != 0 {
		end := *re
		end.Flags &^= syntax.WasDollar
		feed := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\n'}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpQuest, Sub: []*syntax.Regexp{feed}}, &end}}
	}
	for i, sub := range re.Sub {
		re.Sub[i] = dollars(sub)
	}
	return re
}

func matchPattern(pattern *regexp.Regexp, v ejson.Value) bool {
	var buf, wide [256]byte
	text := v.TextBytes(buf[:0])
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return pattern.Match(latin1(wide[:0], text))
		}
	}
	return pattern.Match(text)
}

// latin1 appends the bytes as characters.
func latin1(dst, text []byte) []byte {
	for _, c := range text {
		dst = utf8.AppendRune(dst, rune(c))
	}
	return dst
}
