package js

import (
	"fmt"
	"strings"
)

// jsonError words what is wrong with a text that is no JSON, as SpiderMonkey's JSON.parse does.
func jsonError(text string) string {
	p := jsonScanner{text: text}
	p.value()
	if p.problem == "" {
		if p.blanks(); p.at < len(text) {
			p.problem = "unexpected non-whitespace character after JSON data"
		}
	}
	if p.problem == "" {
		p.problem = "unexpected character"
	}
	line := 1 + strings.Count(text[:p.at], "\n")
	column := 1 + len([]rune(text[strings.LastIndexByte(text[:p.at], '\n')+1:p.at]))
	return fmt.Sprintf("JSON.parse: %s at line %d column %d of the JSON data", p.problem, line, column)
}

// jsonScanner reads a text until the first problem, which is at its position then.
type jsonScanner struct {
	text    string
	at      int
	depth   int
	problem string
}

func (p *jsonScanner) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *jsonScanner) fail(problem string) bool {
	p.problem = problem
	return false
}

// peek skips blanks and gives the next byte; at the end it fails with the problem.
func (p *jsonScanner) peek(atEnd string) (byte, bool) {
	if p.blanks(); p.at >= len(p.text) {
		return 0, p.fail(atEnd)
	}
	return p.text[p.at], true
}

func (p *jsonScanner) value() bool {
	c, ok := p.peek("unexpected end of data")
	if !ok {
		return false
	}
	if p.depth++; p.depth > maxDepth {
		return p.fail("too much recursion")
	}
	defer func() { p.depth-- }()
	switch {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't' || c == 'f' || c == 'n':
		for _, word := range []string{"true", "false", "null"} {
			if strings.HasPrefix(p.text[p.at:], word) {
				p.at += len(word)
				return true
			}
		}
		return p.fail("unexpected keyword")
	}
	return p.fail("unexpected character")
}

func (p *jsonScanner) object() bool {
	p.at++
	c, ok := p.peek("end of data while reading object contents")
	if !ok {
		return false
	}
	if c == '}' {
		p.at++
		return true
	}
	wanted := "expected property name or '}'"
	for {
		if c, ok = p.peek("end of data when property name was expected"); !ok {
			return false
		}
		if c != '"' {
			return p.fail(wanted)
		}
		if !p.str() {
			return false
		}
		if c, ok = p.peek("end of data after property name when ':' was expected"); !ok {
			return false
		}
		if c != ':' {
			return p.fail("expected ':' after property name in object")
		}
		p.at++
		if !p.value() {
			return false
		}
		if c, ok = p.peek("end of data after property value in object"); !ok {
			return false
		}
		p.at++
		switch c {
		case '}':
			return true
		case ',':
			wanted = "expected double-quoted property name"
		default:
			p.at--
			return p.fail("expected ',' or '}' after property value in object")
		}
	}
}

func (p *jsonScanner) array() bool {
	p.at++
	c, ok := p.peek("end of data while reading array contents")
	if !ok {
		return false
	}
	if c == ']' {
		p.at++
		return true
	}
	for {
		if !p.value() {
			return false
		}
		if c, ok = p.peek("end of data when ',' or ']' was expected"); !ok {
			return false
		}
		p.at++
		switch c {
		case ']':
			return true
		case ',':
		default:
			p.at--
			return p.fail("expected ',' or ']' after array element")
		}
	}
}

func (p *jsonScanner) str() bool {
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return true
		case c < ' ':
			return p.fail("bad control character in string literal")
		case c == '\\':
			if p.at++; p.at >= len(p.text) {
				return p.fail("unterminated string")
			}
			if p.text[p.at] == 'u' {
				for range 4 {
					if p.at++; p.at >= len(p.text) || !isHex(p.text[p.at]) {
						return p.fail("bad Unicode escape")
					}
				}
			} else if strings.IndexByte(`"\/bfnrt`, p.text[p.at]) < 0 {
				return p.fail("bad escaped character")
			}
		}
	}
	return p.fail("unterminated string")
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'f' }

func (p *jsonScanner) digits() bool {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

func (p *jsonScanner) number() bool {
	if p.text[p.at] == '-' {
		if p.at++; p.at >= len(p.text) {
			return p.fail("no number after minus sign")
		}
	}
	if p.text[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		return p.fail("unexpected non-digit")
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		if p.at++; p.at >= len(p.text) {
			return p.fail("missing digits after decimal point")
		}
		if !p.digits() {
			return p.fail("unterminated fractional number")
		}
	}
	if p.at < len(p.text) && p.text[p.at]|32 == 'e' {
		if p.at++; p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if p.at >= len(p.text) {
			return p.fail("missing digits after exponent indicator")
		}
		if !p.digits() {
			return p.fail("exponent part is missing a number")
		}
	}
	return true
}
