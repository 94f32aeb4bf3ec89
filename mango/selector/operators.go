package selector

import (
	"math"
	"math/big"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/mango/pcre"
)

// operators are the names that stand in selectors, with what they become.
var operators = map[string]Op{
	"$and": OpAnd, "$or": OpOr, "$not": OpNot, "$nor": OpNor, "$elemMatch": OpElemMatch, "$allMatch": OpAllMatch,
	"$keyMapMatch": OpKeyMapMatch, "$text": OpDefault, "$default": OpDefault,
	"$lt": OpLt, "$lte": OpLte, "$eq": OpEq, "$ne": OpNe, "$gte": OpGte, "$gt": OpGt,
	"$in": OpIn, "$nin": OpNin, "$all": OpAll, "$exists": OpExists, "$type": opType, "$mod": OpMod,
	"$regex": OpRegex, "$beginsWith": OpBeginsWith, "$size": OpSize,
}

// unsupported are operators of other databases that get an answer of their own.
var unsupported = map[string]bool{
	"$where":         true,
	"$geoWithin":     true,
	"$geoIntersects": true,
	"$near":          true,
	"$nearSphere":    true,
}

// selectorParser is the state that all conditions of a selector share while they are parsed.
type selectorParser struct{ patterns patterns.Budget }

// condition makes a condition of a value and checks the arguments of operators
// (mango_selector:norm_ops/1).
func (p *selectorParser) condition(v ejson.Value, depth int) (*Condition, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if v.Kind() != ejson.Object || v.Len() == 0 {
		return &Condition{Op: OpEq, Arg: v}, nil // a bare value means equality
	}
	if v.Len() == 1 {
		for name, arg := range v.Members() {
			return p.member(name.Text(), arg, depth)
		}
	}
	all := &Condition{Op: OpAnd}
	for name, arg := range v.Members() {
		kid, err := p.member(name.Text(), arg, depth+1)
		if err != nil {
			return nil, err
		}
		all.Kids = append(all.Kids, kid)
	}
	return all, nil
}

// member reads one member of a selector: a field with its condition, or an operator with its
// argument.
func (p *selectorParser) member(name string, arg ejson.Value, depth int) (*Condition, error) {
	if !strings.HasPrefix(name, "$") {
		kid, err := p.condition(arg, depth+1)
		return &Condition{Op: OpField, Name: name, Kids: []*Condition{kid}}, err
	}
	o, known := operators[name]
	switch {
	case unsupported[name]:
		return nil, errUnsupported(name)
	case !known:
		return nil, errInvalidOperator(name)
	}
	c := &Condition{Op: o, Arg: arg}
	switch o {
	case OpAnd, OpOr, OpNor:
		return c, p.list(c, depth)
	case OpNot, OpElemMatch, OpAllMatch, OpKeyMapMatch:
		if arg.Kind() != ejson.Object {
			return nil, ErrBadArg(name, arg)
		}
		kid, err := p.condition(arg, depth+1)
		c.Kids = []*Condition{kid}
		return c, err
	case OpRegex, OpBeginsWith:
		if arg.Kind() != ejson.String {
			return nil, errInvalidOperator(name)
		}
	case OpDefault:
		c.Raw = name == "$default"
	}
	if !c.readArgument(&p.patterns) {
		return nil, ErrBadArg(name, arg)
	}
	return c, nil
}

// list reads the conditions in the argument of $and, $or and $nor.
func (p *selectorParser) list(c *Condition, depth int) error {
	if c.Arg.Kind() != ejson.Array {
		return ErrBadArg(c.Op.String(), c.Arg)
	}
	for e := range c.Arg.Elements() {
		kid, err := p.condition(e, depth+1)
		if err != nil {
			return err
		}
		c.Kids = append(c.Kids, kid)
	}
	return nil
}

// readArgument checks the argument of an operator that takes no conditions, and prepares it for
// matching.
func (c *Condition) readArgument(budget *patterns.Budget) (ok bool) {
	kind := c.Arg.Kind()
	switch c.Op {
	case OpIn, OpNin:
		c.set = newValueSet(c.Arg)
		return kind == ejson.Array
	case OpAll:
		return kind == ejson.Array
	case OpExists:
		c.Exists, ok = c.Arg.Bool()
		return ok
	case opType, OpBeginsWith:
		c.Text = c.Arg.Text()
		return kind == ejson.String
	case OpRegex:
		compiled, err := pcre.Compile(c.Arg.Text(), budget)
		c.pattern = &compiled
		return err == nil
	case OpMod:
		return c.readModulus()
	case OpSize:
		return c.readSize()
	case OpDefault:
		return c.Raw || kind == ejson.String || kind == ejson.Int || kind == ejson.Double || kind == ejson.Bool
	}
	return true
}

// readSize reads the argument of $size: an integer that is not negative. No array has a size beyond
// 32 bits, so a larger one becomes -1, which matches none.
func (c *Condition) readSize() bool {
	size, ok := c.Arg.Int()
	if c.Arg.Kind() != ejson.Int || c.Arg.Raw()[0] == '-' && !(ok && size == 0) {
		return false
	}
	c.size = int(size)
	if !ok || size > math.MaxInt32 {
		c.size = -1
	}
	return true
}

// readModulus reads the argument of $mod, [divisor, remainder]. CouchDB's integers have no bounds,
// so these have none; smallMod lets documents with usual numbers be tested without big.Int.
func (c *Condition) readModulus() bool {
	if c.Arg.Kind() != ejson.Array || c.Arg.Len() != 2 {
		return false
	}
	var numbers []*big.Int
	for e := range c.Arg.Elements() {
		if e.Kind() != ejson.Int {
			return false
		}
		numbers = append(numbers, e.BigInt())
	}
	c.modulus, c.residue = numbers[0], numbers[1]
	c.smallMod = c.modulus.IsInt64() && c.residue.IsInt64()
	return true
}
