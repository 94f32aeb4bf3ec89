package lex

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a token of a statement.
type Kind uint8

// The kinds of tokens.
const (
	End    Kind = iota // of the text
	Word               // a keyword or an identifier
	Quoted             // an identifier in backticks; its text is without them
	String             // its text is what it stands for
	Number             // a literal, without a sign
	Param              // its text is the name
	Sign               // an operator, a bracket, or another sign
	Bad                // its text says what is wrong
)

// Token is a token of a statement.
type Token struct {
	Kind       Kind
	Text       string
	Upper      string // of words: in capitals
	Start, End int    // the bytes of the source
	Glued      bool   // there is nothing between it and the token before
}

// Is reports whether the token is a keyword, or a sign.
func (t *Token) Is(text string) bool {
	return t.Kind == Word && t.Upper == text || t.Kind == Sign && t.Text == text
}

// Lexer goes over a statement, which may have code around it.
type Lexer struct {
	Src string
	Pos int
}

// Next returns the next token; at the end of the text it has no kind and no length. A bad token
// takes the rest of the text, so that the parser stops at it.
func (l *Lexer) Next() Token {
	start, ok := l.skipBlanks()
	t := Token{Start: l.Pos, End: l.Pos, Glued: start == l.Pos}
	if !ok {
		return l.bad(t, "the comment has no end")
	}
	if l.Pos >= len(l.Src) {
		return t
	}
	c := l.Src[l.Pos]
	switch {
	case c == '"' || c == '\'' || c == '`':
		return l.quoted(t, c)
	case c >= '0' && c <= '9' || c == '.' && IsDigit(l.Src, l.Pos+1):
		return l.number(t)
	case c == '$' || c == ':':
		if end := ParamEnd(l.Src, l.Pos+1, c == '$'); end > l.Pos+1 {
			t.Kind, t.Text, t.End = Param, l.Src[l.Pos+1:end], end
			break
		}
		t.Kind, t.Text, t.End = Sign, string(c), l.Pos+1
	case WordEnd(l.Src, l.Pos) > l.Pos:
		t.Kind, t.End = Word, WordEnd(l.Src, l.Pos)
		t.Text = l.Src[l.Pos:t.End]
		t.Upper = strings.ToUpper(t.Text)
	default:
		t.Kind, t.End = Sign, l.Pos+signSize(l.Src[l.Pos:])
		t.Text = l.Src[l.Pos:t.End]
	}
	l.Pos = t.End
	return t
}

// maxOutside is how many tokens Outside looks at.
const maxOutside = 2000

// Outside gives the tokens that follow outside of brackets, opening brackets among them, each with the
// lexer behind it. It ends at the bracket that closes those around, at a bad token, and after some
// thousand tokens.
func (l Lexer) Outside() iter.Seq2[Token, Lexer] {
	return func(yield func(Token, Lexer) bool) {
		depth := 0
		for range maxOutside {
			t := l.Next()
			switch {
			case t.Kind == End, t.Kind == Bad:
				return
			case t.Is(")"), t.Is("]"), t.Is("}"):
				if depth--; depth < 0 {
					return
				}
				continue
			}
			if depth == 0 && !yield(t, l) {
				return
			}
			if t.Is("(") || t.Is("[") || t.Is("{") {
				depth++
			}
		}
	}
}

// bad makes the rest of the text a bad token.
func (l *Lexer) bad(t Token, message string) Token {
	t.Kind, t.Text = Bad, message
	t.End = LineEnd(l.Src, t.Start)
	l.Pos = len(l.Src)
	return t
}

// ParamEnd is where the name of a parameter ends that begins at i; of those with a dollar it may be a number.
func ParamEnd(src string, i int, number bool) int {
	end := i
	for number && IsDigit(src, end) {
		end++
	}
	if end > i {
		return end
	}
	return WordEnd(src, i)
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
func (l *Lexer) skipBlanks() (start int, ok bool) {
	start = l.Pos
	for l.Pos < len(l.Src) {
		rest := l.Src[l.Pos:]
		switch {
		case strings.HasPrefix(rest, "--"):
			l.Pos = LineEnd(l.Src, l.Pos)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return start, false
			}
			l.Pos += n + 4
		default:
			// Blanks are those of JavaScript, and so are comments but for the end of the text.
			end, _ := skipJSBlank(l.Src, l.Pos)
			if end == l.Pos {
				return start, true
			}
			l.Pos = end
		}
	}
	return start, true
}

// quoted reads a string or an identifier in backticks. A quote within is written twice, or after a backslash.
func (l *Lexer) quoted(t Token, quote byte) Token {
	t.Kind = String
	if quote == '`' {
		t.Kind = Quoted
	}
	var b strings.Builder
	i := l.Pos + 1
	for {
		n := strings.IndexAny(l.Src[i:], string(quote)+`\`)
		if n < 0 {
			return l.bad(t, "the string has no end")
		}
		b.WriteString(l.Src[i : i+n])
		i += n
		switch {
		case l.Src[i] == '\\':
			size, ok := unescape(&b, l.Src[i:])
			if !ok {
				return l.bad(t, "the string has an escape that means nothing")
			}
			i += size
		case i+1 < len(l.Src) && l.Src[i+1] == quote:
			b.WriteByte(quote)
			i += 2
		default:
			t.Text, t.End = b.String(), i+1
			l.Pos = t.End
			if t.Kind == Quoted && t.Text == "" {
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
func (l *Lexer) number(t Token) Token {
	i := l.Pos
	for IsDigit(l.Src, i) {
		i++
	}
	if i < len(l.Src) && l.Src[i] == '.' && IsDigit(l.Src, i+1) {
		for i++; IsDigit(l.Src, i); i++ {
			continue
		}
	}
	if i < len(l.Src) && l.Src[i]|0x20 == 'e' {
		e := i + 1
		if e < len(l.Src) && (l.Src[e] == '+' || l.Src[e] == '-') {
			e++
		}
		if IsDigit(l.Src, e) {
			for i = e; IsDigit(l.Src, i); i++ {
				continue
			}
		}
	}
	t.Kind, t.Text, t.End = Number, l.Src[l.Pos:i], i
	l.Pos = i
	return t
}
