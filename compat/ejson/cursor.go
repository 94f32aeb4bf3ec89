package ejson

// Cursor walks the children of an array or object one at a time, for code that goes through two
// values in step, where [Value.Members] and [Value.Elements] cannot be used. The zero Cursor has no
// children.
type Cursor struct {
	p      *Parser
	i, end uint32
}

// Children returns a cursor before the first child of v: the elements of an array, the name and the
// value of each member of an object in turn. Other kinds have none.
func (v Value) Children() Cursor {
	if v.Len() == 0 {
		return Cursor{}
	}
	return Cursor{p: v.p, i: v.i + 1, end: v.i + v.node().span}
}

// Next returns the next child; ok is false after the last one.
func (c *Cursor) Next() (child Value, ok bool) {
	if c.i >= c.end {
		return Value{}, false
	}
	child = Value{c.p, c.i}
	c.i += child.node().span
	return child, true
}

// Positions are where the children of an array or object are on the tape, for code that picks some
// of many: elements, or the names of members, each with its value behind it. They take four bytes
// each; other kinds have none.
func (v Value) Positions() []uint32 {
	if v.Len() == 0 {
		return nil
	}
	at := make([]uint32, 0, v.Len())
	step := uint32(0) // from a name to its value
	if v.Kind() == Object {
		step = 1
	}
	for i, end := v.i+1, v.i+v.node().span; i < end; i += step + v.p.nodes[i+step].span {
		at = append(at, i)
	}
	return at
}

// At is the value at one of the Positions of a value of the same text.
func (v Value) At(position uint32) Value { return Value{v.p, position} }
