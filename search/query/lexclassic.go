package query

import "strings"

var classicRules = &rules{
	startsTerm: func(r rune) bool { return !strings.ContainsRune(" \t\n\r\u3000+-!():^[]\"{}~*?\\/", r) },
	next:       classicToken,
}

// classicSigns are the tokens of one character.
var classicSigns = map[byte]kind{'(': kindOpen, ')': kindClose, ':': kindColon, '^': kindCaret, '[': kindRangeIn,
	'{': kindRangeEx, '+': kindPlus, '-': kindMinus, '!': kindNot}

// classicToken gives the kind and the length, in bytes, of the token at the lexer's place, which is
// no space. A sign with a space behind it is an operator without operand, which Lucene's grammar
// has a token of its own for (BAREOPER).
func classicToken(l *lexer) (kind, int) {
	rest := l.in[l.at:]
	switch c := rest[0]; c {
	case '"':
		return kindQuoted, quotedLength(rest)
	case '/':
		return kindRegexp, delimitedLength(rest, '/')
	case '~':
		return kindFuzzy, 1 + numberLength(rest[1:])
	case '+', '-', '!':
		if len(rest) > 1 {
			if n := spaceAt(rest, 1); n > 0 {
				return kindBareOperator, 1 + n
			}
		}
		return classicSigns[c], 1
	default:
		if k, ok := classicSigns[c]; ok {
			return k, 1
		}
	}
	return l.classicWord()
}

// classicWord is a word at l.at, or a word with wildcards, or one of the words between clauses.
func (l *lexer) classicWord() (kind, int) {
	i, wild, stars := l.at, 0, 0
	for i < len(l.in) {
		if c := l.in[i]; c == '*' || c == '?' {
			if wild++; c == '*' {
				stars++
			}
			i++
			continue
		}
		n := l.termCharLength(i, i > l.at)
		if n == 0 {
			break
		}
		i += n
	}
	word := l.in[l.at:i]
	// The last character is a wildcard and not a character behind a backslash: no other character
	// is counted.
	prefix := wild == 1 && stars == 1 && word[len(word)-1] == '*' && !escapedEnd(word)
	switch {
	case word == "":
		return kindEOF, 0
	case word == "*":
		return kindStar, 1
	case prefix:
		return kindPrefix, len(word)
	case wild > 0:
		return kindWild, len(word)
	}
	return wordKind(word), len(word)
}

// escapedEnd reports whether the last character of a word has a backslash before it.
func escapedEnd(word string) bool {
	n := 0
	for n < len(word)-1 && word[len(word)-2-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// wordKind is the kind of a word without wildcards.
func wordKind(word string) kind {
	switch word {
	case "AND", "&&":
		return kindAnd
	case "OR", "||":
		return kindOr
	case "NOT":
		return kindNot
	}
	return kindTerm
}
