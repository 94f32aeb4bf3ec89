package query

import "strings"

var flexibleRules = &rules{
	skipsInBoost: true,
	startsTerm:   func(r rune) bool { return !strings.ContainsRune(" \t\n\r\u3000+-!():^@<>=[]\"{}~\\/", r) },
	next:         flexibleToken,
}

// flexibleSigns are the tokens that are no words, longer ones before their beginnings.
var flexibleSigns = []struct {
	image string
	kind  kind
}{{"fn:", kindFunction}, {"<=", kindLessEqual}, {">=", kindMoreEqual}, {"<", kindLess}, {">", kindMore},
	{"=", kindEqual}, {":", kindColon}, {"(", kindOpen}, {")", kindClose}, {"^", kindCaret}, {"~", kindTilde},
	{"@", kindAt},
	{"[", kindRangeIn}, {"{", kindRangeEx}, {"+", kindPlus}, {"-", kindMinus}, {"!", kindNot}}

// flexibleToken gives the kind and the length, in bytes, of the token at the lexer's place, which
// is no space. The length is 0 where no token begins. A text that is a number as a whole is one,
// though it could be a word: the parser decides where that makes a difference.
func flexibleToken(l *lexer) (kind, int) {
	rest := l.in[l.at:]
	switch rest[0] {
	case '"':
		return kindQuoted, quotedLength(rest)
	case '/':
		return kindRegexp, delimitedLength(rest, '/')
	}
	for _, sign := range flexibleSigns {
		if strings.HasPrefix(rest, sign.image) {
			return sign.kind, len(sign.image)
		}
	}
	i := l.at
	for i < len(l.in) {
		n := l.termCharLength(i, i > l.at)
		if n == 0 {
			break
		}
		i += n
	}
	word := l.in[l.at:i]
	if word != "" && numberLength(word) == len(word) {
		return kindNumber, len(word)
	}
	return wordKind(word), len(word)
}
