package selector

import "strings"

// fieldNames reads the names of fields: as they are read with the selector, or late, when they are
// looked up (ParseSelector35).
type fieldNames struct{ late bool }

// push pushes field names down to the operators on values; outer is the name collected so far, and
// bad the part of it that cannot be read, nil for none (mango_selector:norm_fields/2). Below
// $elemMatch and its like names begin anew: there "" is the element itself. An error of a name that
// cannot be read has that part of it that stands in the selector.
func (f fieldNames) push(c *Condition, outer string, bad *Path) (*Condition, error) {
	switch c.Op {
	case OpAnd, OpOr, OpNor, OpNot:
		return c, f.pushKids(c, outer, bad)
	case OpElemMatch, OpAllMatch, OpKeyMapMatch:
		if err := f.pushKids(c, "", nil); err != nil {
			return nil, err
		}
	case OpDefault:
		if outer == "" && c.isText() {
			return c, nil
		}
		return nil, errBadField(c)
	case OpField:
		own := ParsePath(c.Name)
		switch {
		case own.Valid:
		case !f.late:
			return nil, own.Err()
		case bad == nil:
			bad = &own
		}
		return f.push(c.Kids[0], f.join(outer, c.Name), bad)
	}
	field := NewField(outer, c)
	if bad != nil && !field.Path.Valid {
		field.Path = *bad
	}
	return field, nil
}

// join joins the name of a field in another one.
func (f fieldNames) join(outer, name string) string {
	if outer == "" {
		return name
	}
	if !f.late { // a backslash at the end has nothing to escape, and must not get a dot
		outer = strings.TrimRight(outer, `\`)
	}
	return outer + "." + name
}

// pushKids pushes the field name down into each condition of a list.
func (f fieldNames) pushKids(c *Condition, outer string, bad *Path) error {
	for i, kid := range c.Kids {
		pushed, err := f.push(kid, outer, bad)
		if err != nil {
			return err
		}
		c.Kids[i] = pushed
	}
	return nil
}

// NewField is the condition that a field fulfils another one.
func NewField(name string, inner *Condition) *Condition {
	return &Condition{
		Op: OpField, Name: name, Path: ParsePath(name), inBytes: name == "_id", Kids: []*Condition{inner},
	}
}

// isText tells a $text, or its normal form {"$default": {"$text": …}}, from another $default.
func (c *Condition) isText() bool {
	if !c.Raw {
		return true
	}
	_, ok := c.Arg.Get("$text")
	return ok && c.Arg.Len() == 1
}

// resolveNegations removes $not and $nor where it can (mango_selector:norm_negations/1). It does
// not look below fields.
func resolveNegations(c *Condition) (*Condition, error) {
	switch c.Op {
	case OpNot:
		return negate(c.Kids[0])
	case OpNor:
		return c.withKids(OpAnd, negate)
	case OpAnd, OpOr:
		return c.withKids(c.Op, resolveNegations)
	}
	return c, nil
}

// withKids makes a list of conditions of the kids.
func (c *Condition) withKids(o Op, of func(*Condition) (*Condition, error)) (*Condition, error) {
	list := &Condition{Op: o, Kids: make([]*Condition, len(c.Kids))}
	for i, kid := range c.Kids {
		var err error
		if list.Kids[i], err = of(kid); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// opposites are the operators that say the opposite of one another, for a value that is there.
var opposites = map[Op]Op{
	OpLt:     OpGte,
	OpGte:    OpLt,
	OpLte:    OpGt,
	OpGt:     OpLte,
	OpEq:     OpNe,
	OpNe:     OpEq,
	OpIn:     OpNin,
	OpNin:    OpIn,
	OpExists: OpExists,
}

// negate gives the opposite of a condition (mango_selector:negate/1).
func negate(c *Condition) (*Condition, error) {
	switch c.Op {
	case OpNot:
		return resolveNegations(c.Kids[0])
	case OpNor:
		return c.withKids(OpOr, resolveNegations)
	case OpAnd:
		return c.withKids(OpOr, negate)
	case OpOr:
		return c.withKids(OpAnd, negate)
	case OpDefault:
		return nil, errNegatedText(c)
	case OpField:
		kid, err := negate(c.Kids[0])
		return &Condition{Op: OpField, Name: c.Name, Path: c.Path, inBytes: c.inBytes, Kids: []*Condition{kid}}, err
	}
	opposite, ok := opposites[c.Op]
	if !ok {
		return &Condition{Op: OpNot, Kids: []*Condition{c}}, nil
	}
	negated := *c
	negated.Op = opposite
	negated.Exists = !c.Exists
	return &negated, nil
}
