package mango

import "strings"

// pushFields pushes field names down to the operators on values; outer is the name collected so far
// (mango_selector:norm_fields/2). Below $elemMatch and its like names begin anew: there "" is the
// element itself. An error of a name that cannot be read has that part of it that stands in the
// selector.
func pushFields(c *condition, outer string) (*condition, error) {
	switch c.op {
	case opAnd, opOr, opNor, opNot:
		return c, c.pushKids(outer)
	case opElemMatch, opAllMatch, opKeyMapMatch:
		if err := c.pushKids(""); err != nil {
			return nil, err
		}
	case opDefault:
		if outer == "" && c.isText() {
			return c, nil
		}
		return nil, errBadField(c)
	case opField:
		name := c.name
		if own := parsePath(name); !own.valid {
			return nil, own.invalid()
		}
		if outer != "" {
			// A backslash at the end has nothing to escape, and must not get a dot.
			name = strings.TrimRight(outer, `\`) + "." + name
		}
		return pushFields(c.kids[0], name)
	}
	return newField(outer, c), nil
}

func (c *condition) pushKids(outer string) error {
	for i, kid := range c.kids {
		pushed, err := pushFields(kid, outer)
		if err != nil {
			return err
		}
		c.kids[i] = pushed
	}
	return nil
}

func newField(name string, inner *condition) *condition {
	return &condition{
		op: opField, name: name, path: parsePath(name), inBytes: name == "_id", kids: []*condition{inner},
	}
}

// withoutNoName takes the name "" off conditions again, which newField gave to those on an element
// itself.
func (c *condition) withoutNoName() *condition {
	for i, kid := range c.kids {
		c.kids[i] = kid.withoutNoName()
	}
	if c.op == opField && c.name == "" && c.kids[0].op != opField {
		return c.kids[0]
	}
	return c
}

// isText tells a $text, or its normal form {"$default": {"$text": …}}, from another $default.
func (c *condition) isText() bool {
	if !c.raw {
		return true
	}
	_, ok := c.arg.Get("$text")
	return ok && c.arg.Len() == 1
}

// resolveNegations removes $not and $nor where it can (mango_selector:norm_negations/1). It does
// not look below fields.
func resolveNegations(c *condition) (*condition, error) {
	switch c.op {
	case opNot:
		return negate(c.kids[0])
	case opNor:
		return c.withKids(opAnd, negate)
	case opAnd, opOr:
		return c.withKids(c.op, resolveNegations)
	}
	return c, nil
}

// withKids makes a list of conditions of the kids.
func (c *condition) withKids(o op, of func(*condition) (*condition, error)) (*condition, error) {
	list := &condition{op: o, kids: make([]*condition, len(c.kids))}
	for i, kid := range c.kids {
		var err error
		if list.kids[i], err = of(kid); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// opposites are the operators that say the opposite of one another, for a value that is there.
var opposites = map[op]op{
	opLt:     opGte,
	opGte:    opLt,
	opLte:    opGt,
	opGt:     opLte,
	opEq:     opNe,
	opNe:     opEq,
	opIn:     opNin,
	opNin:    opIn,
	opExists: opExists,
}

// negate gives the opposite of a condition (mango_selector:negate/1).
func negate(c *condition) (*condition, error) {
	switch c.op {
	case opNot:
		return resolveNegations(c.kids[0])
	case opNor:
		return c.withKids(opOr, resolveNegations)
	case opAnd:
		return c.withKids(opOr, negate)
	case opOr:
		return c.withKids(opAnd, negate)
	case opDefault:
		return nil, errNegatedText(c)
	case opField:
		kid, err := negate(c.kids[0])
		return &condition{op: opField, name: c.name, path: c.path, inBytes: c.inBytes, kids: []*condition{kid}}, err
	}
	opposite, ok := opposites[c.op]
	if !ok {
		return &condition{op: opNot, kids: []*condition{c}}, nil
	}
	negated := *c
	negated.op = opposite
	negated.exists = !c.exists
	return &negated, nil
}
