package couchfile

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// jsonLevel is an array or object whose end is not written yet.
type jsonLevel struct {
	left   int // elements or members that are still to come
	object bool
	list   bool // an end of the list follows
	pairs  bool // members are pairs of terms, as in a map, not tuples
	begun  bool
}

// appendJSON appends the JSON text of the next term as CouchDB answers it (jiffy:encode/1): {[…]} is
// an object, a binary a string, a list an array; atoms are themselves or strings. Levels are as many
// as there are: nothing recurses.
func (c *cursor) appendJSON(dst []byte) []byte {
	var open []jsonLevel
	for {
		var level jsonLevel
		var opened bool
		if dst, level, opened = c.appendValue(dst); opened {
			open = append(open, level)
		}
		for {
			if c.err != nil {
				return dst
			}
			if len(open) == 0 {
				return dst
			}
			top := &open[len(open)-1]
			if top.left > 0 {
				dst = c.beginElement(dst, top)
				break
			}
			if top.list {
				c.endList(1)
			}
			if top.object {
				dst = append(dst, '}')
			} else {
				dst = append(dst, ']')
			}
			open = open[:len(open)-1]
		}
	}
}

// beginElement writes what stands before an element: a comma, and the name of a member.
func (c *cursor) beginElement(dst []byte, l *jsonLevel) []byte {
	l.left--
	if l.begun {
		dst = append(dst, ',')
	}
	l.begun = true
	if !l.object {
		return dst
	}
	if !l.pairs && c.tuple() != 2 {
		c.fail("a member is no pair")
		return dst
	}
	if isAtom(c.peek()) {
		dst = ejson.AppendString(dst, c.atom())
	} else {
		dst = ejson.AppendString(dst, c.binary())
	}
	return append(dst, ':')
}

// appendValue appends a scalar, or the begin of what has elements.
func (c *cursor) appendValue(dst []byte) (_ []byte, level jsonLevel, opened bool) {
	switch c.peek() {
	case tagSmallTuple, tagLargeTuple:
		if c.tuple() != 1 {
			c.fail("a tuple is no JSON")
			return dst, level, false
		}
		level = jsonLevel{object: true, list: c.peek() == tagList}
		level.left = c.list()
		return append(dst, '{'), level, true
	case tagMap:
		c.take(1)
		return append(dst, '{'), jsonLevel{object: true, pairs: true, left: c.count(4)}, true
	case tagList, tagNil:
		level.list = c.peek() == tagList
		level.left = c.list()
		return append(dst, '['), level, true
	case tagString:
		c.take(1)
		dst = append(dst, '[')
		for i, b := range c.take(c.number(2)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendUint(dst, uint64(b), 10)
		}
		return append(dst, ']'), level, false
	case tagBinary:
		return ejson.AppendString(dst, c.binary()), level, false
	case tagNewFloat, tagOldFloat:
		f := c.float()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			c.fail("a float is no number")
			return dst, level, false
		}
		return ejson.AppendFloat(dst, f), level, false
	case tagSmallInt, tagInt:
		return strconv.AppendInt(dst, c.integer(), 10), level, false
	case tagSmallBig, tagLargeBig:
		return c.appendBig(dst), level, false
	}
	switch name := c.atom(); name {
	case "true", "false", "null":
		return append(dst, name...), level, false
	default:
		return ejson.AppendString(dst, name), level, false
	}
}

// maxBigBytes bounds integers: to print one takes time quadratic in its length.
const maxBigBytes = 64 << 10

func (c *cursor) appendBig(dst []byte) []byte {
	size := 1
	if c.number(1) == tagLargeBig {
		size = 4
	}
	n := c.number(size)
	if n > maxBigBytes {
		c.fail("an integer is too large")
		return dst
	}
	sign := c.number(1)
	digits := slices.Clone(c.take(n))
	slices.Reverse(digits)
	v := new(big.Int).SetBytes(digits)
	if sign != 0 {
		v.Neg(v)
	}
	return v.Append(dst, 10)
}
