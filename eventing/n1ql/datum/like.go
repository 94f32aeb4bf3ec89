package datum

import (
	"strings"
	"unicode/utf8"
)

// LikePattern is a pattern of LIKE: literal texts, `_` for one character, `%` for any number of
// them.
type LikePattern struct {
	parts []likePart
}

// likePart is one character of a pattern.
type likePart struct {
	any, one bool // % and _, else the character
	char     rune
}

// ParseLike reads a pattern. A backslash takes its meaning from the character after it.
func ParseLike(s string) LikePattern {
	var p LikePattern
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == '%':
			if n := len(p.parts); n == 0 || !p.parts[n-1].any { // several in a row are as one
				p.parts = append(p.parts, likePart{any: true})
			}
			continue
		case r == '_':
			p.parts = append(p.parts, likePart{one: true})
			continue
		case r == '\\' && i < len(s):
			r, size = utf8.DecodeRuneInString(s[i:])
			i += size
		}
		p.parts = append(p.parts, likePart{char: r})
	}
	return p
}

// Match reports whether the whole text is like the pattern. Where a text does not go on as it
// should, the last % takes one character more; so the time is the product of both lengths at most.
func (p LikePattern) Match(s string) bool {
	i, at := 0, 0        // in the pattern and in the text
	again, from := -1, 0 // after the last %, and where it was tried
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case i < len(p.parts) && p.parts[i].any:
			i++
			again, from = i, at
		case i < len(p.parts) && (p.parts[i].one || p.parts[i].char == r):
			i++
			at += size
		case again >= 0:
			_, size = utf8.DecodeRuneInString(s[from:])
			from += size
			i, at = again, from
		default:
			return false
		}
	}
	for i < len(p.parts) && p.parts[i].any {
		i++
	}
	return i == len(p.parts)
}

// Prefix is the text before the first % or _; whole tells that there is none.
func (p LikePattern) Prefix() (prefix string, whole bool) {
	var b strings.Builder
	for _, part := range p.parts {
		if part.any || part.one {
			return b.String(), false
		}
		b.WriteRune(part.char)
	}
	return b.String(), true
}

// Regexp is a pattern of Mango's $regex that matches at least the same texts. There a character is
// a byte of UTF-8.
func (p LikePattern) Regexp() string {
	var b strings.Builder
	b.WriteString("(?s)^")
	for _, part := range p.parts {
		switch {
		case part.any:
			b.WriteString(".*")
		case part.one:
			b.WriteString(".{1,4}")
		case strings.ContainsRune(`\.+*?()|[]{}^$#-/`, part.char):
			b.WriteByte('\\')
			b.WriteRune(part.char)
		default:
			b.WriteRune(part.char)
		}
	}
	b.WriteString(`\z`)
	return b.String()
}
