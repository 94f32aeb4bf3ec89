package mango

import (
	"math"
	"math/big"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// operators are the names that stand in selectors, with what they become.
var operators = map[string]op{
	"$and": opAnd, "$or": opOr, "$not": opNot, "$nor": opNor, "$elemMatch": opElemMatch, "$allMatch": opAllMatch,
	"$keyMapMatch": opKeyMapMatch, "$text": opDefault, "$default": opDefault, "$lt": opLt, "$lte": opLte, "$eq": opEq, "$ne": opNe,
	"$gte": opGte, "$gt": opGt, "$in": opIn, "$nin": opNin, "$all": opAll, "$exists": opExists, "$type": opType, "$mod": opMod,
	"$regex": opRegex, "$beginsWith": opBeginsWith, "$size": opSize,
}

// unsupported are operators of other databases that get an answer of their own.
var unsupported = map[string]bool{"$where": true, "$geoWithin": true, "$geoIntersects": true, "$near": true, "$nearSphere": true}

// parseNode makes a condition of a value and checks the arguments of operators (mango_selector:norm_ops/1).
func parseNode(v ejson.Value, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if v.Kind() != ejson.Object || v.Len() == 0 {
		return &node{op: opEq, arg: v}, nil // a bare value means equality
	}
	if v.Len() == 1 {
		for name, arg := range v.Members() {
			return parseMember(name.Text(), arg, depth)
		}
	}
	all := &node{op: opAnd}
	for name, arg := range v.Members() {
		kid, err := parseMember(name.Text(), arg, depth+1)
		if err != nil {
			return nil, err
		}
		all.kids = append(all.kids, kid)
	}
	return all, nil
}

func parseMember(name string, arg ejson.Value, depth int) (*node, error) {
	if !strings.HasPrefix(name, "$") {
		kid, err := parseNode(arg, depth+1)
		return &node{op: opField, name: name, kids: []*node{kid}}, err
	}
	o, known := operators[name]
	switch {
	case unsupported[name]:
		return nil, errUnsupported(name)
	case !known:
		return nil, errInvalidOperator(name)
	}
	n := &node{op: o, arg: arg}
	switch o {
	case opAnd, opOr, opNor:
		return n, n.parseList(depth)
	case opNot, opElemMatch, opAllMatch, opKeyMapMatch:
		if arg.Kind() != ejson.Object {
			return nil, errBadArg(name, arg)
		}
		kid, err := parseNode(arg, depth+1)
		n.kids = []*node{kid}
		return n, err
	case opRegex, opBeginsWith:
		if arg.Kind() != ejson.String {
			return nil, errInvalidOperator(name)
		}
	case opDefault:
		n.raw = name == "$default"
	}
	if !n.readArgument() {
		return nil, errBadArg(name, arg)
	}
	return n, nil
}

func (n *node) parseList(depth int) error {
	if n.arg.Kind() != ejson.Array {
		return errBadArg(opNames[n.op], n.arg)
	}
	for e := range n.arg.Elements() {
		kid, err := parseNode(e, depth+1)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	return nil
}

// readArgument checks the argument of an operator that takes no conditions, and prepares it for matching.
func (n *node) readArgument() (ok bool) {
	kind := n.arg.Kind()
	switch n.op {
	case opIn, opNin, opAll:
		return kind == ejson.Array
	case opExists:
		n.exists, ok = n.arg.Bool()
		return ok
	case opType, opBeginsWith:
		n.text = n.arg.Text()
		return kind == ejson.String
	case opRegex:
		compiled, err := compilePattern(n.arg.Text())
		n.pattern = &compiled
		return err == nil
	case opMod:
		return n.readModulus()
	case opSize:
		return n.readSize()
	case opDefault:
		return n.raw || kind == ejson.String || kind == ejson.Int || kind == ejson.Double || kind == ejson.Bool
	}
	return true
}

func (n *node) readSize() bool {
	if n.arg.Kind() != ejson.Int || n.arg.Raw()[0] == '-' && !isZero(n.arg) {
		return false
	}
	size, ok := n.arg.Int()
	n.size = int(size)
	if !ok || size > math.MaxInt32 {
		n.size = -1
	}
	return true
}

func isZero(v ejson.Value) bool {
	n, ok := v.Int()
	return ok && n == 0
}

func (n *node) readModulus() bool {
	if n.arg.Kind() != ejson.Array || n.arg.Len() != 2 {
		return false
	}
	var numbers []*big.Int
	for e := range n.arg.Elements() {
		if e.Kind() != ejson.Int {
			return false
		}
		numbers = append(numbers, bigInt(e))
	}
	n.modulus, n.residue = numbers[0], numbers[1]
	n.smallMod = n.modulus.IsInt64() && n.residue.IsInt64()
	return true
}

// bigInt is the value of an Int.
func bigInt(v ejson.Value) *big.Int {
	i, _ := new(big.Int).SetString(string(v.Raw()), 10)
	return i
}
