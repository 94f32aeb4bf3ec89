package selector

import (
	"bytes"
	"math/big"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
)

// match reports whether the condition holds for v. In raw order, which counts in the field _id,
// values are compared as Erlang terms (mango_selector:match/3).
func (c *Condition) match(v ejson.Value, raw bool) (bool, error) {
	switch c.Op {
	case OpField:
		return c.matchField(v, raw)
	case OpAnd:
		return c.matchAll(v, raw)
	case OpOr:
		return c.matchAny(v, raw)
	case OpNot:
		ok, err := c.Kids[0].match(v, raw)
		return !ok && err == nil, err
	case OpNor:
		return false, errInvalidOperator(OpNor.String()) // left only inside $elemMatch and its like
	case OpElemMatch:
		return c.matchAnElement(v, raw), nil
	case OpAllMatch:
		return c.matchAllElements(v, raw), nil
	case OpKeyMapMatch:
		return c.matchAKey(v, raw), nil
	case OpDefault:
		return true, nil // a text index has decided
	case OpMod:
		return c.matchMod(v)
	case OpRegex:
		if v.Kind() != ejson.String {
			return false, nil
		}
		var buf [256]byte
		return c.pattern.Match(v.TextBytes(buf[:0]))
	}
	return c.matchValue(v, raw), nil
}

// matchField tests the value of a field (mango_selector:match/3). Where the field is missing only
// {"$exists": false} holds; a path through something that is no object passes nothing. Ids are
// compared by their bytes (mango_json:cmp_raw/2), also in everything below, but for CollateIDs.
func (c *Condition) matchField(v ejson.Value, raw bool) (bool, error) {
	inner := c.Kids[0]
	if c.Name == "" {
		return inner.match(v, raw)
	}
	value, how, err := c.Path.Get(v)
	switch {
	case err != nil:
		return false, err
	case how == foundNothing:
		return inner.Op == OpExists && !inner.Exists, nil
	case how == foundBadPath:
		return false, nil
	}
	return inner.match(value, raw || c.inBytes)
}

// matchAll stops at the first condition that fails: later ones are not tested.
func (c *Condition) matchAll(v ejson.Value, raw bool) (bool, error) {
	for _, kid := range c.Kids {
		if ok, err := kid.match(v, raw); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// matchAny stops at the first condition that holds. Without conditions it holds.
func (c *Condition) matchAny(v ejson.Value, raw bool) (bool, error) {
	for _, kid := range c.Kids {
		if ok, err := kid.match(v, raw); ok || err != nil {
			return ok, err
		}
	}
	return len(c.Kids) == 0, nil
}

// matchValue is match for operators that cannot fail.
func (c *Condition) matchValue(v ejson.Value, raw bool) bool {
	switch c.Op {
	case OpLt:
		return compare(v, c.Arg, raw) < 0
	case OpLte:
		return compare(v, c.Arg, raw) <= 0
	case OpEq:
		return compare(v, c.Arg, raw) == 0
	case OpNe:
		return compare(v, c.Arg, raw) != 0
	case OpGte:
		return compare(v, c.Arg, raw) >= 0
	case OpGt:
		return compare(v, c.Arg, raw) > 0
	case OpIn:
		return c.isIn(v, raw)
	case OpNin:
		return c.Arg.Len() == 0 || !c.isIn(v, raw)
	case OpAll:
		return hasAll(v, c.Arg)
	case OpExists:
		return c.Exists
	case opType:
		return TypeName(v) == c.Text
	case OpBeginsWith:
		return v.Kind() == ejson.String && hasPrefix(v, c.Text)
	case OpSize:
		return v.Kind() == ejson.Array && v.Len() == c.size
	}
	return false
}

func compare(a, b ejson.Value, raw bool) int {
	if raw {
		return collate.CompareRaw(a, b)
	}
	return collate.Compare(a, b)
}

// TypeName is mango_json:type/1.
func TypeName(v ejson.Value) string {
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

// matchMod compares the remainder, which has the sign of the value. A modulus of 0 is CouchDB's
// badarith.
func (c *Condition) matchMod(v ejson.Value) (bool, error) {
	if v.Kind() != ejson.Int {
		return false, nil
	}
	if c.modulus.Sign() == 0 {
		return false, compat.ErrBadArith
	}
	if i, ok := v.Int(); ok && c.smallMod {
		return i%c.modulus.Int64() == c.residue.Int64(), nil
	}
	return new(big.Int).Rem(v.BigInt(), c.modulus).Cmp(c.residue) == 0, nil
}

// hasPrefix is $beginsWith, Erlang's string:prefix/2: the prefix must not end inside a character as
// a reader sees it, so "e" is no prefix of "e\u0301".
func hasPrefix(v ejson.Value, prefix string) bool {
	var buf [128]byte
	text := v.TextBytes(buf[:0])
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return false
	}
	if prefix == "" || len(text) == len(prefix) || text[len(prefix)] < utf8.RuneSelf && text[len(prefix)] != '\n' {
		return true
	}
	_, size := utf8.DecodeLastRuneInString(prefix)
	cluster, _, _, _ := uniseg.FirstGraphemeCluster(bytes.Clone(text[len(prefix)-size:]), -1)
	return len(cluster) == size
}
