package principal

import "strings"

// term is an Erlang term of the few kinds the setting password_regexp may hold: a string, a list or
// a tuple of terms.
type term struct {
	kind  byte // '"' string, '[' list, '{' tuple
	text  string
	items []term
}

// maxDepth bounds the nesting of a term.
const maxDepth = 8

// parseTerm reads a term; ok is false for anything else.
func parseTerm(s string) (t term, ok bool) {
	p := termParser{rest: strings.TrimSuffix(strings.TrimSpace(s), ".")}
	t, ok = p.term(0)
	p.blanks()
	return t, ok && p.rest == ""
}

type termParser struct{ rest string }

func (p *termParser) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take removes c from the front.
func (p *termParser) take(c byte) bool {
	p.blanks()
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// term reads a string, a list or a tuple. Other terms of Erlang, like atoms and numbers, have no
// meaning in the settings that are parsed here. depth bounds the recursion.
func (p *termParser) term(depth int) (t term, ok bool) {
	switch {
	case depth > maxDepth:
		return t, false
	case p.take('"'):
		t.kind = '"'
		t.text, ok = p.str()
		return t, ok
	case p.take('['):
		return p.items('[', ']', depth)
	case p.take('{'):
		return p.items('{', '}', depth)
	}
	return t, false
}

// items reads terms up to a closing bracket, with commas between them.
func (p *termParser) items(kind, closing byte, depth int) (t term, ok bool) {
	t.kind = kind
	if p.take(closing) {
		return t, true
	}
	for {
		item, ok := p.term(depth + 1)
		if !ok {
			return t, false
		}
		t.items = append(t.items, item)
		if p.take(closing) {
			return t, true
		}
		if !p.take(',') {
			return t, false
		}
	}
}

// escapes are Erlang's escape sequences of one letter; any other escaped character stands for
// itself.
var escapes = map[byte]byte{'b': 8, 'd': 127, 'e': 27, 'f': 12, 'n': 10, 'r': 13, 's': 32, 't': 9, 'v': 11, '0': 0}

// str reads the rest of a string, whose opening quote has been taken. An unknown escape stands for
// the character itself, as in Erlang.
func (p *termParser) str() (string, bool) {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == '"':
			p.rest = p.rest[i+1:]
			return b.String(), true
		case c == '\\' && i+1 < len(p.rest):
			i++
			c = p.rest[i]
			if e, ok := escapes[c]; ok {
				c = e
			}
		}
		b.WriteByte(c)
	}
	return "", false
}
