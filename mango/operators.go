package mango

import (
	"math"
	"math/big"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/mango/pcre"
)

// operators are the names that stand in selectors, with what they become.
var operators = map[string]op{
	"$and": opAnd, "$or": opOr, "$not": opNot, "$nor": opNor, "$elemMatch": opElemMatch, "$allMatch": opAllMatch,
	"$keyMapMatch": opKeyMapMatch, "$text": opDefault, "$default": opDefault,
	"$lt": opLt, "$lte": opLte, "$eq": opEq, "$ne": opNe, "$gte": opGte, "$gt": opGt,
	"$in": opIn, "$nin": opNin, "$all": opAll, "$exists": opExists, "$type": opType, "$mod": opMod,
	"$regex": opRegex, "$beginsWith": opBeginsWith, "$size": opSize,
}

// unsupported are operators of other databases that get an answer of their own.
var unsupported = map[string]bool{
	"$where":         true,
	"$geoWithin":     true,
	"$geoIntersects": true,
	"$near":          true,
	"$nearSphere":    true,
}

// selectorParser is what the conditions of a selector share while they are parsed.
type selectorParser struct{ patterns patterns.Budget }

// condition makes a condition of a value and checks the arguments of operators
// (mango_selector:norm_ops/1).
func (p *selectorParser) condition(v ejson.Value, depth int) (*condition, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if v.Kind() != ejson.Object || v.Len() == 0 {
		return &condition{op: opEq, arg: v}, nil // a bare value means equality
	}
	if v.Len() == 1 {
		for name, arg := range v.Members() {
			return p.member(name.Text(), arg, depth)
		}
	}
	all := &condition{op: opAnd}
	for name, arg := range v.Members() {
		kid, err := p.member(name.Text(), arg, depth+1)
		if err != nil {
			return nil, err
		}
		all.kids = append(all.kids, kid)
	}
	return all, nil
}

// member reads one member of a selector: a field with its condition, or an operator with its
// argument.
func (p *selectorParser) member(name string, arg ejson.Value, depth int) (*condition, error) {
	if !strings.HasPrefix(name, "$") {
		kid, err := p.condition(arg, depth+1)
		return &condition{op: opField, name: name, kids: []*condition{kid}}, err
	}
	o, known := operators[name]
	switch {
	case unsupported[name]:
		return nil, errUnsupported(name)
	case !known:
		return nil, errInvalidOperator(name)
	}
	c := &condition{op: o, arg: arg}
	switch o {
	case opAnd, opOr, opNor:
		return c, p.list(c, depth)
	case opNot, opElemMatch, opAllMatch, opKeyMapMatch:
		if arg.Kind() != ejson.Object {
			return nil, errBadArg(name, arg)
		}
		kid, err := p.condition(arg, depth+1)
		c.kids = []*condition{kid}
		return c, err
	case opRegex, opBeginsWith:
		if arg.Kind() != ejson.String {
			return nil, errInvalidOperator(name)
		}
	case opDefault:
		c.raw = name == "$default"
	}
	if !c.readArgument(&p.patterns) {
		return nil, errBadArg(name, arg)
	}
	return c, nil
}

func (p *selectorParser) list(c *condition, depth int) error {
	if c.arg.Kind() != ejson.Array {
		return errBadArg(opNames[c.op], c.arg)
	}
	for e := range c.arg.Elements() {
		kid, err := p.condition(e, depth+1)
		if err != nil {
			return err
		}
		c.kids = append(c.kids, kid)
	}
	return nil
}

// readArgument checks the argument of an operator that takes no conditions, and prepares it for
// matching.
func (c *condition) readArgument(budget *patterns.Budget) (ok bool) {
	kind := c.arg.Kind()
	switch c.op {
	case opIn, opNin:
		c.set = newValueSet(c.arg)
		return kind == ejson.Array
	case opAll:
		return kind == ejson.Array
	case opExists:
		c.exists, ok = c.arg.Bool()
		return ok
	case opType, opBeginsWith:
		c.text = c.arg.Text()
		return kind == ejson.String
	case opRegex:
		compiled, err := pcre.Compile(c.arg.Text(), budget)
		c.pattern = &compiled
		return err == nil
	case opMod:
		return c.readModulus()
	case opSize:
		return c.readSize()
	case opDefault:
		return c.raw || kind == ejson.String || kind == ejson.Int || kind == ejson.Double || kind == ejson.Bool
	}
	return true
}

func (c *condition) readSize() bool {
	size, ok := c.arg.Int()
	if c.arg.Kind() != ejson.Int || c.arg.Raw()[0] == '-' && !(ok && size == 0) {
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
func (c *condition) readModulus() bool {
	if c.arg.Kind() != ejson.Array || c.arg.Len() != 2 {
		return false
	}
	var numbers []*big.Int
	for e := range c.arg.Elements() {
		if e.Kind() != ejson.Int {
			return false
		}
		numbers = append(numbers, e.BigInt())
	}
	c.modulus, c.residue = numbers[0], numbers[1]
	c.smallMod = c.modulus.IsInt64() && c.residue.IsInt64()
	return true
}
