package query

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	kindEOF kind = iota
	kindAnd
	kindOr
	kindNot
	kindPlus
	kindMinus
	kindBareOperator // a sign and white space: the classic language takes it as a word
	kindOpen
	kindClose
	kindColon
	kindEqual
	kindLess
	kindLessEqual
	kindMore
	kindMoreEqual
	kindCaret
	kindTilde // the flexible language's ~; the classic one has it with its number, as kindFuzzy
	kindFuzzy
	kindAt
	kindStar
	kindQuoted
	kindNumber
	kindTerm
	kindPrefix
	kindWild
	kindRegexp
	kindRangeIn
	kindRangeEx
	kindRangeTo
	kindRangeInEnd
	kindRangeExEnd
	kindRangeQuoted
	kindRangeGoop
	kindFunction // fn:
)

// kindNames are the names that Lucene's messages have for tokens that are no single text.
var kindNames = map[kind]string{kindAnd: "<AND>", kindOr: "<OR>", kindNot: "<NOT>", kindBareOperator: "<BAREOPER>",
	kindFuzzy: "<FUZZY_SLOP>", kindQuoted: "<QUOTED>", kindNumber: "<NUMBER>", kindTerm: "<TERM>",
	kindPrefix: "<PREFIXTERM>", kindWild: "<WILDTERM>", kindRegexp: "<REGEXPTERM>", kindRangeQuoted: "<RANGE_QUOTED>",
	kindRangeGoop: "<RANGE_GOOP>"}

// state is what the lexer's next token depends on.
type state uint8

const (
	stateDefault state = iota
	stateBoost         // after ^, in the classic language: a number and nothing else
	stateRange         // between brackets
)

// token is a piece of a query with the place where it begins.
type token struct {
	kind kind
	// The text of the token as it stands in the query, and where that begins, in bytes.
	image string
	at    int
}

// lexer cuts a query into tokens, as they are asked for: an error in the text behind the first
// mistake of grammar is not the one that is reported.
type lexer struct {
	in    string
	at    int
	state state
	rules *rules
}

// rules are the differences between the two languages.
type rules struct {
	skipsInBoost bool
	startsTerm   func(r rune) bool
	next         func(l *lexer) (kind, int) // the kind and the length of the token at l.at, 0 if there is none
}

// next is the next token.
func (l *lexer) next() (token, error) {
	if l.state != stateBoost {
		for l.at < len(l.in) {
			n := spaceAt(l.in, l.at)
			// Between brackets a tab or a line break that more text follows is part of a bound: the
			// longer token.
			if n == 0 || l.state == stateRange && l.in[l.at] != ' ' && goopLength(l.in[l.at:]) > n {
				break
			}
			l.at += n
		}
	}
	if l.at == len(l.in) {
		return token{kind: kindEOF, at: l.at}, nil
	}
	var k kind
	var n int
	switch {
	case l.state == stateRange:
		k, n = l.rangeToken()
	case l.state == stateBoost:
		k, n = kindNumber, numberLength(l.in[l.at:])
	default:
		k, n = l.rules.next(l)
	}
	if n == 0 {
		return token{}, l.lexicalError()
	}
	t := token{k, l.in[l.at : l.at+n], l.at}
	l.at += n
	switch k {
	case kindRangeIn, kindRangeEx:
		l.state = stateRange
	case kindCaret:
		if !l.rules.skipsInBoost {
			l.state = stateBoost
		}
	case kindRangeInEnd, kindRangeExEnd, kindNumber:
		l.state = stateDefault
	}
	return t, nil
}

// rangeToken is the token between brackets at l.at.
func (l *lexer) rangeToken() (kind, int) {
	rest := l.in[l.at:]
	switch rest[0] {
	case ']':
		return kindRangeInEnd, 1
	case '}':
		return kindRangeExEnd, 1
	}
	goop, quoted := goopLength(rest), delimitedLength(rest, '"')
	switch {
	case goop == 2 && rest[:2] == "TO":
		return kindRangeTo, 2
	case quoted > 2 && quoted >= goop:
		return kindRangeQuoted, quoted
	}
	return kindRangeGoop, goop
}

// goopLength is the length of a bound without quotes.
func goopLength(s string) int {
	if n := strings.IndexAny(s, " ]}"); n >= 0 {
		return n
	}
	return len(s)
}

// delimitedLength is the length of the longest text between two delimiters of which inner ones have
// a backslash before them; 0 if there is none. A delimiter with a backslash may be the last one, if
// no other follows.
func delimitedLength(s string, delimiter byte) int {
	if s[0] != delimiter {
		return 0
	}
	last := 0
	for i := 1; i < len(s); i++ {
		if s[i] != delimiter {
			continue
		}
		last = i + 1
		if s[i-1] != '\\' {
			break
		}
	}
	return last
}

// quotedLength is the length of a text in quotes, 0 if it does not end.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// numberLength is the length of digits, with a point between them or without.
func numberLength(s string) int {
	n := digitsLength(s)
	if n > 0 && n < len(s) && s[n] == '.' {
		if fraction := digitsLength(s[n+1:]); fraction > 0 {
			n += 1 + fraction
		}
	}
	return n
}

// digitsLength is how many digits a text begins with.
func digitsLength(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// spaceAt is the length of the white space character at i, 0 if there is another one.
func spaceAt(s string, i int) int {
	switch s[i] {
	case ' ', '\t', '\n', '\r':
		return 1
	case 0xE3:
		if strings.HasPrefix(s[i:], "\u3000") {
			return len("\u3000")
		}
	}
	return 0
}

// termCharLength is the length of the character of a word at i, 0 if there is none: one that may
// begin a word, one behind a backslash, and, inside of a word, + and -.
func (l *lexer) termCharLength(i int, inside bool) int {
	r, n := utf8.DecodeRuneInString(l.in[i:])
	switch {
	case n == 0:
		return 0
	case r == '\\':
		if i+1 == len(l.in) {
			return 0
		}
		_, n = utf8.DecodeRuneInString(l.in[i+1:])
		return 1 + n
	case inside && (r == '+' || r == '-'), l.rules.startsTerm(r):
		return n
	}
	return 0
}

// column is the place of a token as Lucene counts it: UTF-16 units from 0.
func column(in string, at int) int {
	n := 0
	for _, r := range in[:at] {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// lexicalError says that there is no token at l.at. Lucene names the character at which no token is
// possible any more. Here that is the last one of the text where a token does not end, and the next
// one otherwise.
func (l *lexer) lexicalError() error {
	rest := l.in[l.at:]
	if rest == "" || rest[0] == '"' || rest[0] == '/' || rest == `\` {
		return faultf(`Lexical error at line 1, column %d.  Encountered: <EOF> after : "%s"`,
			column(l.in, len(l.in)), javaEscapes(rest))
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return faultf(`Lexical error at line 1, column %d.  Encountered: "%s" (%d), after : ""`,
		column(l.in, l.at)+1, javaEscapes(string(r)), r)
}

// javaEscapes is text as Lucene's messages print it.
func javaEscapes(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r > 0x7e && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
