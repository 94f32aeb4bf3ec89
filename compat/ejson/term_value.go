package ejson

import (
	"encoding/binary"
	"strconv"
)

// AppendTerm appends v as Erlang's term_to_binary writes the EJSON term of jiffy, without the
// leading 131: an object is a 1-tuple of a list of pairs, a string a binary, and a list of bytes is
// a string. The time grows with the square of an integer's digits beyond 19; check with EncodedSize
// before.
func (v Value) AppendTerm(dst []byte) []byte {
	if v.p == nil {
		return dst
	}
	p := v.p
	var buf [inlineLevels]level
	open := buf[:0] // the lists that need a tail
	end := v.i + v.node().span
	for i := v.i; i < end; {
		n := &p.nodes[i]
		if len(open) > 0 {
			dst = open[len(open)-1].pair(dst)
		}
		switch n.kind {
		case Object, Array:
			if n.kind == Object {
				dst = AppendTermTuple(dst, 1)
			} else if text, ok := p.appendTermString(dst, i); ok {
				dst = text
				i += n.span
				break
			}
			dst = AppendTermList(dst, int(n.count))
			if n.count > 0 {
				open = append(open, level{end: i + n.span, kind: n.kind})
			}
			i++
		default:
			dst = p.appendTermScalar(dst, n)
			i++
		}
		for len(open) > 0 && open[len(open)-1].end == i {
			dst = AppendTermNil(dst)
			open = open[:len(open)-1]
		}
	}
	return dst
}

// pair begins the tuple of a member before its name.
func (l *level) pair(dst []byte) []byte {
	if l.kind == Object && l.done&1 == 0 {
		dst = AppendTermTuple(dst, 2)
	}
	l.done++
	return dst
}

// appendTermString appends the array at node i as a STRING_EXT if Erlang would: all elements are
// bytes, and neither none nor too many.
func (p *Parser) appendTermString(dst []byte, i uint32) ([]byte, bool) {
	n := &p.nodes[i]
	if n.count == 0 || n.count > maxTermString || n.span != n.count+1 || p.nodes[i+1].kind != Int {
		return dst, false
	}
	start := len(dst)
	dst = append(dst, tagString, byte(n.count>>8), byte(n.count))
	for e := i + 1; e < i+n.span; e++ {
		b, ok := p.byteValue(&p.nodes[e])
		if !ok {
			return dst[:start], false
		}
		dst = append(dst, b)
	}
	return dst, true
}

// byteValue returns the value of an integer 0..255.
func (p *Parser) byteValue(n *node) (byte, bool) {
	if n.kind != Int || n.end-n.start > 3 {
		return 0, false
	}
	value := 0
	for _, c := range p.src[n.start:n.end] {
		if c == '-' {
			// -0 is the byte 0; other negative numbers are no bytes
			return 0, string(p.src[n.start:n.end]) == "-0"
		}
		value = value*10 + int(c-'0')
	}
	return byte(value), value <= 255
}

// appendTermScalar appends a value without children as Erlang's external term format has it. The
// length of a string with escapes is known only behind it and is filled in then.
func (p *Parser) appendTermScalar(dst []byte, n *node) []byte {
	text := p.src[n.start:n.end]
	switch n.kind {
	case String:
		inner := text[1 : len(text)-1]
		if n.flags&flagEscaped == 0 {
			return AppendTermBinary(dst, inner)
		}
		dst = AppendTermBinary(dst, "")
		start := len(dst)
		dst = appendUnescaped(dst, inner)
		binary.BigEndian.PutUint32(dst[start-4:], uint32(len(dst)-start))
		return dst
	case Int:
		return appendTermInteger(dst, text)
	case Double:
		f, _ := parseDouble(text)
		return appendTermFloat(dst, f)
	}
	dst = append(dst, tagAtom, 0, byte(len(text))) // null, true, false
	return append(dst, text...)
}

// appendTermInteger appends an integer of any size in the external term format, in the shortest
// form that has room for it, as term_to_binary does: revision hashes depend on these bytes. Big
// integers have their least significant byte first.
func appendTermInteger(dst, text []byte) []byte {
	if len(text) == 1 {
		return append(dst, tagSmallInt, text[0]-'0')
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return AppendTermInt(dst, n)
	}
	n := bigInteger(text)
	magnitude := n.Bytes()
	if len(magnitude) <= 255 {
		dst = append(dst, tagSmallBig, byte(len(magnitude)))
	} else {
		dst = append(dst, tagLargeBig)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(magnitude)))
	}
	sign := byte(0)
	if n.Sign() < 0 {
		sign = 1
	}
	dst = append(dst, sign)
	for i := len(magnitude) - 1; i >= 0; i-- {
		dst = append(dst, magnitude[i])
	}
	return dst
}
