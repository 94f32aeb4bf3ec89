package ejson

import "math"

// largeText is the size from which on a text's values are counted before they are read.
const largeText = 1 << 20

// Parse reads one JSON text, which may be surrounded by blanks. The result refers to src. The only
// errors are ErrSyntax and ErrTooLarge.
func (p *Parser) Parse(src []byte) (Value, error) {
	if uint64(len(src)) >= math.MaxUint32 {
		return Value{}, ErrTooLarge
	}
	p.src, p.nodes, p.open, p.dirty, p.outOfRange = src, p.nodes[:0], p.open[:0], 0, false
	if len(src) > largeText && cap(p.nodes) < largeText {
		// allocated at once: a tape that grows by copying takes more than twice the memory
		p.nodes = make([]node, 0, maxNodes(src))
	}
	if !p.run() || p.outOfRange && p.rangeError() {
		p.nodes = p.nodes[:0]
		return Value{}, ErrSyntax
	}
	return Value{p: p}, nil
}

// rangeError reports whether a number beyond the range is on the tape.
func (p *Parser) rangeError() bool {
	for i := range p.nodes {
		if p.nodes[i].flags&flagRange != 0 {
			return true
		}
	}
	return false
}

// run is the parser: in each round of the outer loop a value begins at i; the inner loop looks at
// what follows a value.
func (p *Parser) run() bool {
	src := p.src
	i := 0
	for {
		i = p.skipBlanks(i)
		if i >= len(src) {
			return false
		}
		var ok bool
		switch c := src[i]; c {
		case '{':
			p.push(Object, i)
			i = p.skipBlanks(i + 1)
			if i >= len(src) {
				return false
			}
			if src[i] != '}' {
				if i, ok = p.key(i); !ok {
					return false
				}
				continue
			}
		case '[':
			p.push(Array, i)
			i = p.skipBlanks(i + 1)
			if i >= len(src) {
				return false
			}
			if src[i] != ']' {
				continue
			}
		default:
			if i, ok = p.scalar(i, c); !ok {
				return false
			}
			p.count()
		}
		if i, ok = p.afterValue(i); !ok {
			return false
		}
		if len(p.open) == 0 {
			return p.skipBlanks(i) == len(src)
		}
	}
}

// afterValue closes the containers that end at i, up to the position where the next value begins
// (returned), or until none is open.
func (p *Parser) afterValue(i int) (int, bool) {
	for len(p.open) > 0 {
		i = p.skipBlanks(i)
		if i >= len(p.src) {
			return i, false
		}
		top := &p.nodes[p.open[len(p.open)-1].node]
		switch c := p.src[i]; {
		case c == ',' && top.count > 0:
			if top.kind == Object {
				return p.key(i + 1)
			}
			return i + 1, true
		case c == '}' && top.kind == Object, c == ']' && top.kind == Array:
			i++
			p.pop(i)
		default:
			return i, false
		}
	}
	return i, true
}

// skipBlanks returns the position of the first byte at or after i that is not a blank.
func (p *Parser) skipBlanks(i int) int {
	src := p.src
	if i >= len(src) || src[i] > ' ' {
		return i
	}
	start := i
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	if i > start {
		p.dirty++
	}
	return i
}

// push opens a container: a node that gets its end, span and count when it is closed.
func (p *Parser) push(kind Kind, i int) {
	p.open = append(p.open, frame{node: uint32(len(p.nodes)), dirty: p.dirty})
	n := p.next()
	n.start, n.end, n.span, n.count, n.kind, n.flags = uint32(i), 0, 0, 0, kind, 0
}

// pop closes the innermost container, whose text ends before end.
func (p *Parser) pop(end int) {
	f := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	n := &p.nodes[f.node]
	if n.kind == Object && n.count > 1 {
		p.dropDoubles(f.node)
	}
	n.end = uint32(end)
	n.span = uint32(len(p.nodes)) - f.node
	if p.dirty == f.dirty {
		n.flags = flagCanonical
	}
	p.count()
}

// count tells the innermost open container that a value in it is complete.
func (p *Parser) count() {
	if len(p.open) > 0 {
		p.nodes[p.open[len(p.open)-1].node].count++
	}
}

// key reads `"name" :` with blanks anywhere and returns the position after the colon.
func (p *Parser) key(i int) (int, bool) {
	i = p.skipBlanks(i)
	if i >= len(p.src) || p.src[i] != '"' {
		return i, false
	}
	i, ok := p.str(i)
	if !ok {
		return i, false
	}
	i = p.skipBlanks(i)
	if i >= len(p.src) || p.src[i] != ':' {
		return i, false
	}
	return i + 1, true
}

// scalar reads the string, number or literal that begins with c at i.
func (p *Parser) scalar(i int, c byte) (int, bool) {
	switch c {
	case '"':
		return p.str(i)
	case 't':
		return p.literal(i, "true", Bool)
	case 'f':
		return p.literal(i, "false", Bool)
	case 'n':
		return p.literal(i, "null", Null)
	}
	end, kind, flags := scanNumber(p.src, i)
	if kind == Invalid {
		return i, false
	}
	p.outOfRange = p.outOfRange || flags&flagRange != 0
	p.leaf(i, end, kind, flags)
	return end, true
}

// str puts a string on the tape and gives the place behind it.
func (p *Parser) str(i int) (int, bool) {
	end, flags := scanString(p.src, i)
	if end < 0 {
		return i, false
	}
	p.leaf(i, end, String, flags)
	return end, true
}

// literal reads null, true or false.
func (p *Parser) literal(i int, text string, kind Kind) (int, bool) {
	end := i + len(text)
	if end > len(p.src) || string(p.src[i:end]) != text {
		return i, false
	}
	p.leaf(i, end, kind, flagCanonical)
	return end, true
}

// leaf puts a value without children on the tape. One that is not written canonically makes all
// containers around it not canonical either (dirty).
func (p *Parser) leaf(start, end int, kind Kind, flags uint8) {
	if flags&flagCanonical == 0 {
		p.dirty++
	}
	n := p.next()
	n.start, n.end, n.span, n.count, n.kind, n.flags = uint32(start), uint32(end), 1, 0, kind, flags
}

// next lengthens the tape by one node, whose content is left from before. (An append of a struct
// literal is slower: it is built elsewhere first.)
func (p *Parser) next() *node {
	at := len(p.nodes)
	if at == cap(p.nodes) {
		p.nodes = append(p.nodes, node{})
	}
	p.nodes = p.nodes[:at+1]
	return &p.nodes[at]
}
