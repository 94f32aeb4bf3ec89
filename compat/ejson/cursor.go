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
