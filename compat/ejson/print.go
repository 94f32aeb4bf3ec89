package ejson

import (
	"bytes"
	"unicode/utf8"
)

// level is a container on the way down the tape.
type level struct {
	end  uint32 // the node after its subtree
	done uint32 // children seen; names count, too
	kind Kind
}

// inlineLevels is the depth up to which walking a tape needs no memory of its own.
const inlineLevels = 16

// AppendJSON appends v as CouchDB prints it. What is canonical already is copied.
func (v Value) AppendJSON(dst []byte) []byte {
	if v.p == nil {
		return dst
	}
	p := v.p
	var buf [inlineLevels]level
	open := buf[:0]
	end := v.i + v.node().span
	for i := v.i; i < end; {
		n := &p.nodes[i]
		if len(open) > 0 {
			dst = open[len(open)-1].separate(dst)
		}
		switch {
		case n.flags&flagCanonical != 0:
			dst = append(dst, p.src[n.start:n.end]...)
			i += n.span
		case n.kind == Object, n.kind == Array:
			dst = append(dst, opening(n.kind))
			open = append(open, level{end: i + n.span, kind: n.kind})
			i++
		default:
			dst = p.appendScalar(dst, n)
			i++
		}
		for len(open) > 0 && open[len(open)-1].end == i {
			dst = append(dst, closing(open[len(open)-1].kind))
			open = open[:len(open)-1]
		}
	}
	return dst
}

func opening(kind Kind) byte {
	if kind == Object {
		return '{'
	}
	return '['
}

func closing(kind Kind) byte {
	if kind == Object {
		return '}'
	}
	return ']'
}

// separate appends what stands before the next child.
func (l *level) separate(dst []byte) []byte {
	switch {
	case l.kind == Object && l.done&1 == 1:
		dst = append(dst, ':')
	case l.done > 0:
		dst = append(dst, ',')
	}
	l.done++
	return dst
}

// appendScalar prints a string or number that is not canonical in the source.
func (p *Parser) appendScalar(dst []byte, n *node) []byte {
	text := p.src[n.start:n.end]
	switch n.kind {
	case String:
		return appendRequoted(dst, text)
	case Double:
		f, _ := parseDouble(text)
		return AppendFloat(dst, f)
	}
	return append(dst, '0') // the only integer that is printed otherwise is -0
}

// appendRequoted prints a valid string, quotes included, with CouchDB's escapes.
func appendRequoted(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		r, size, _ := scanEscape(text[i:])
		if r < 0x20 || r == '"' || r == '\\' {
			dst = appendEscape(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
		text = text[i+size:]
	}
}
