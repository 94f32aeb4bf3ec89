package n1ql

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// tokenKind is the kind of a token of a statement.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // a keyword or an identifier
	tokenQuoted           // an identifier in backticks; its text is without them
	tokenString           // its text is what it stands for
	tokenNumber
	tokenParam // its text is the name
	tokenSign
	tokenBad // its text says what is wrong
)

// token is a token of a statement.
type token struct {
	kind       tokenKind
	text       string
	upper      string // of words: in capitals
	start, end int
	glued      bool // there is nothing between it and the token before
}

// is reports whether the token is a keyword, or a sign.
func (t *token) is(text string) bool {
	return t.kind == tokenWord && t.upper == text || t.kind == tokenSign && t.text == text
}

// lexer goes over a statement, which may have code around it.
type lexer struct {
	src string
	pos int
}

// next returns the next token; at the end of the text it has no kind and no length. A bad token
// takes the rest of the text, so that the parser stops at it.
func (l *lexer) next() token {
	start, ok := l.skipBlanks()
	t := token{start: l.pos, end: l.pos, glued: start == l.pos}
	if !ok {
		return l.bad(t, "the comment has no end")
	}
	if l.pos >= len(l.src) {
		return t
	}
	c := l.src[l.pos]
	switch {
	case c == '"' || c == '\'' || c == '`':
		return l.quoted(t, c)
	case c >= '0' && c <= '9' || c == '.' && isDigit(l.src, l.pos+1):
		return l.number(t)
	case c == '$' || c == ':':
		if end := paramEnd(l.src, l.pos+1, c == '$'); end > l.pos+1 {
			t.kind, t.text, t.end = tokenParam, l.src[l.pos+1:end], end
			break
		}
		t.kind, t.text, t.end = tokenSign, string(c), l.pos+1
	case wordEnd(l.src, l.pos) > l.pos:
		t.kind, t.end = tokenWord, wordEnd(l.src, l.pos)
		t.text = l.src[l.pos:t.end]
		t.upper = strings.ToUpper(t.text)
	default:
		t.kind, t.end = tokenSign, l.pos+signSize(l.src[l.pos:])
		t.text = l.src[l.pos:t.end]
	}
	l.pos = t.end
	return t
}

// bad makes the rest of the text a bad token.
func (l *lexer) bad(t token, message string) token {
	t.kind, t.text = tokenBad, message
	t.end = lineEnd(l.src, t.start)
	l.pos = len(l.src)
	return t
}

// paramEnd is where the name of a parameter ends that begins at i; of those with a dollar it may be a number.
func paramEnd(src string, i int, number bool) int {
	end := i
	for number && isDigit(src, end) {
		end++
	}
	if end > i {
		return end
	}
	return wordEnd(src, i)
}

// signs are those of more than one character.
var signs = []string{"==", "!=", "<>", "<=", ">=", "||"}

func signSize(src string) int {
	for _, s := range signs {
		if strings.HasPrefix(src, s) {
			return len(s)
		}
	}
	_, size := utf8.DecodeRuneInString(src)
	return size
}

// skipBlanks passes over blanks and comments: those of N1QL, -- and /* */, and the // of the code around. It returns
// where they began; ok is false in a comment without end.
func (l *lexer) skipBlanks() (start int, ok bool) {
	start = l.pos
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		switch {
		case strings.HasPrefix(rest, "--"):
			l.pos = lineEnd(l.src, l.pos)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return start, false
			}
			l.pos += n + 4
		default:
			// Blanks are those of JavaScript, and so are comments but for the end of the text.
			end, _ := skipJSBlank(l.src, l.pos)
			if end == l.pos {
				return start, true
			}
			l.pos = end
		}
	}
	return start, true
}

// quoted reads a string or an identifier in backticks. A quote within is written twice, or after a backslash.
func (l *lexer) quoted(t token, quote byte) token {
	t.kind = tokenString
	if quote == '`' {
		t.kind = tokenQuoted
	}
	var b strings.Builder
	i := l.pos + 1
	for {
		n := strings.IndexAny(l.src[i:], string(quote)+`\`)
		if n < 0 {
			return l.bad(t, "the string has no end")
		}
		b.WriteString(l.src[i : i+n])
		i += n
		switch {
		case l.src[i] == '\\':
			size, ok := unescape(&b, l.src[i:])
			if !ok {
				return l.bad(t, "the string has an escape that means nothing")
			}
			i += size
		case i+1 < len(l.src) && l.src[i+1] == quote:
			b.WriteByte(quote)
			i += 2
		default:
			t.text, t.end = b.String(), i+1
			l.pos = t.end
			if t.kind == tokenQuoted && t.text == "" {
				return l.bad(t, "an identifier must not be empty")
			}
			return t
		}
	}
}

var escapes = map[byte]string{
	'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", '/': "/", '\\': `\`, '"': `"`, '\'': "'", '`': "`",
}

// unescape appends what an escape stands for.
func unescape(b *strings.Builder, s string) (size int, ok bool) {
	if len(s) < 2 {
		return 0, false
	}
	if plain, ok := escapes[s[1]]; ok {
		b.WriteString(plain)
		return 2, true
	}
	switch s[1] {
	case 'u':
		r, ok := hexRune(s)
		if !ok {
			return 0, false
		}
		if low, ok := hexRune(s[6:]); ok && utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				b.WriteRune(pair)
				return 12, true
			}
		}
		b.WriteRune(r) // half a pair becomes U+FFFD
		return 6, true
	case '%', '_': // for LIKE, which reads the backslash itself
		b.WriteString(s[:2])
		return 2, true
	}
	return 0, false
}

func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// number reads digits, a fraction and an exponent.
func (l *lexer) number(t token) token {
	i := l.pos
	for isDigit(l.src, i) {
		i++
	}
	if i < len(l.src) && l.src[i] == '.' && isDigit(l.src, i+1) {
		for i++; isDigit(l.src, i); i++ {
			continue
		}
	}
	if i < len(l.src) && l.src[i]|0x20 == 'e' {
		e := i + 1
		if e < len(l.src) && (l.src[e] == '+' || l.src[e] == '-') {
			e++
		}
		if isDigit(l.src, e) {
			for i = e; isDigit(l.src, i); i++ {
				continue
			}
		}
	}
	t.kind, t.text, t.end = tokenNumber, l.src[l.pos:i], i
	l.pos = i
	return t
}
