package mango

// pushFields pushes field names down to the operators on values; outer is the name collected so far
// (mango_selector:norm_fields/2). Below $elemMatch and its like names begin anew: there "" is the element itself.
func pushFields(n *node, outer string) (*node, error) {
	switch n.op {
	case opAnd, opOr, opNor, opNot:
		return n, n.pushKids(outer)
	case opElemMatch, opAllMatch, opKeyMapMatch:
		if err := n.pushKids(""); err != nil {
			return nil, err
		}
	case opDefault:
		if outer == "" && n.isText() {
			return n, nil
		}
		return nil, errBadField(n)
	case opField:
		name := n.name
		if outer != "" {
			name = outer + "." + name
		}
		return pushFields(n.kids[0], name)
	}
	return newField(outer, n), nil
}

func (n *node) pushKids(outer string) error {
	for i, kid := range n.kids {
		pushed, err := pushFields(kid, outer)
		if err != nil {
			return err
		}
		n.kids[i] = pushed
	}
	return nil
}

func newField(name string, condition *node) *node {
	return &node{op: opField, name: name, path: parsePath(name), kids: []*node{condition}}
}

// isText tells a $text, or its normal form {"$default": {"$text": …}}, from another $default.
func (n *node) isText() bool {
	if !n.raw {
		return true
	}
	_, ok := n.arg.Get("$text")
	return ok && n.arg.Len() == 1
}

// resolveNegations removes $not and $nor where it can (mango_selector:norm_negations/1). It does not look below fields.
func resolveNegations(n *node) (*node, error) {
	switch n.op {
	case opNot:
		return negate(n.kids[0])
	case opNor:
		return n.withKids(opAnd, negate)
	case opAnd, opOr:
		return n.withKids(n.op, resolveNegations)
	}
	return n, nil
}

// withKids makes a list of conditions of the kids.
func (n *node) withKids(o op, of func(*node) (*node, error)) (*node, error) {
	list := &node{op: o, kids: make([]*node, len(n.kids))}
	for i, kid := range n.kids {
		var err error
		if list.kids[i], err = of(kid); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// opposites are the operators that say the opposite of one another, for a value that is there.
var opposites = map[op]op{opLt: opGte, opGte: opLt, opLte: opGt, opGt: opLte, opEq: opNe, opNe: opEq, opIn: opNin, opNin: opIn, opExists: opExists}

// negate gives the opposite of a condition (mango_selector:negate/1).
func negate(n *node) (*node, error) {
	switch n.op {
	case opNot:
		return resolveNegations(n.kids[0])
	case opNor:
		return n.withKids(opOr, resolveNegations)
	case opAnd:
		return n.withKids(opOr, negate)
	case opOr:
		return n.withKids(opAnd, negate)
	case opDefault:
		return nil, errNegatedText(n)
	case opField:
		kid, err := negate(n.kids[0])
		return &node{op: opField, name: n.name, path: n.path, kids: []*node{kid}}, err
	}
	opposite, ok := opposites[n.op]
	if !ok {
		return &node{op: opNot, kids: []*node{n}}, nil
	}
	negated := *n
	negated.op = opposite
	negated.exists = !n.exists
	return &negated, nil
}
