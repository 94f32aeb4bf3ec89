package mango

import (
	"math/big"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// match tells whether the condition holds for v. In raw order, which counts in the field _id, values are compared as Erlang
// terms (mango_selector:match/3).
func (n *node) match(v ejson.Value, raw bool) (bool, error) {
	switch n.op {
	case opField:
		return n.matchField(v, raw)
	case opAnd:
		return n.matchAll(v, raw)
	case opOr:
		return n.matchAny(v, raw)
	case opNot:
		ok, err := n.kids[0].match(v, raw)
		return !ok && err == nil, err
	case opNor:
		return false, errInvalidOperator(opNames[opNor]) // left only inside $elemMatch and its like
	case opElemMatch:
		return n.matchAnElement(v, raw), nil
	case opAllMatch:
		return n.matchAllElements(v, raw), nil
	case opKeyMapMatch:
		return n.matchAKey(v, raw), nil
	case opDefault:
		return true, nil // a text index has decided
	case opMod:
		return n.matchMod(v)
	case opRegex:
		if v.Kind() != ejson.String {
			return false, nil
		}
		return n.pattern.match(v)
	}
	return n.matchValue(v, raw), nil
}

func (n *node) matchField(v ejson.Value, raw bool) (bool, error) {
	condition := n.kids[0]
	if n.name == "" {
		return condition.match(v, raw)
	}
	value, how, err := n.path.get(v)
	switch {
	case err != nil:
		return false, err
	case how == foundNothing:
		return condition.op == opExists && !condition.exists, nil
	case how == foundBadPath:
		return false, nil
	}
	return condition.match(value, raw || n.name == "_id")
}

// matchAll stops at the first condition that fails: later ones are not tested.
func (n *node) matchAll(v ejson.Value, raw bool) (bool, error) {
	for _, kid := range n.kids {
		if ok, err := kid.match(v, raw); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// matchAny stops at the first condition that holds. Without conditions it holds.
func (n *node) matchAny(v ejson.Value, raw bool) (bool, error) {
	for _, kid := range n.kids {
		if ok, err := kid.match(v, raw); ok || err != nil {
			return ok, err
		}
	}
	return len(n.kids) == 0, nil
}

// matchValue is match for operators that cannot fail.
func (n *node) matchValue(v ejson.Value, raw bool) bool {
	switch n.op {
	case opLt:
		return compare(v, n.arg, raw) < 0
	case opLte:
		return compare(v, n.arg, raw) <= 0
	case opEq:
		return compare(v, n.arg, raw) == 0
	case opNe:
		return compare(v, n.arg, raw) != 0
	case opGte:
		return compare(v, n.arg, raw) >= 0
	case opGt:
		return compare(v, n.arg, raw) > 0
	case opIn:
		return isIn(v, n.arg, raw)
	case opNin:
		return n.arg.Len() == 0 || !isIn(v, n.arg, raw)
	case opAll:
		return hasAll(v, n.arg)
	case opExists:
		return n.exists
	case opType:
		return typeName(v) == n.text
	case opBeginsWith:
		return v.Kind() == ejson.String && hasPrefix(v, n.text)
	case opSize:
		return v.Kind() == ejson.Array && v.Len() == n.size
	}
	return false
}

func compare(a, b ejson.Value, raw bool) int {
	if raw {
		return collate.CompareRaw(a, b)
	}
	return collate.Compare(a, b)
}

// typeName is mango_json:type/1.
func typeName(v ejson.Value) string {
	switch v.Kind() {
	case ejson.Null:
		return "null"
	case ejson.Bool:
		return "boolean"
	case ejson.Int, ejson.Double:
		return "number"
	case ejson.String:
		return "string"
	case ejson.Array:
		return "array"
	}
	return "object"
}

// matchMod compares the remainder, which has the sign of the value. A modulus of 0 is CouchDB's badarith.
func (n *node) matchMod(v ejson.Value) (bool, error) {
	if v.Kind() != ejson.Int {
		return false, nil
	}
	if n.modulus.Sign() == 0 {
		return false, compat.ErrBadArith
	}
	if i, ok := v.Int(); ok && n.smallMod {
		return i%n.modulus.Int64() == n.residue.Int64(), nil
	}
	return new(big.Int).Rem(bigInt(v), n.modulus).Cmp(n.residue) == 0, nil
}
