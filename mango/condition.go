package mango

import (
	"math/big"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/pcre"
)

// op is what a condition of a selector does.
type op uint8

const (
	opField op = iota // kids[0] holds for the field name
	opAnd
	opOr
	opNot
	opNor
	opElemMatch
	opAllMatch
	opKeyMapMatch
	opDefault // a full text search; arg is the argument of $text, or of $default itself where raw
	opLt
	opLte
	opEq
	opNe
	opGte
	opGt
	opIn
	opNin
	opAll
	opExists
	opType
	opMod
	opRegex
	opBeginsWith
	opSize
)

// opNames are the operators as they are printed; opField has none.
var opNames = [...]string{
	opAnd: "$and", opOr: "$or", opNot: "$not", opNor: "$nor", opElemMatch: "$elemMatch", opAllMatch: "$allMatch",
	opKeyMapMatch: "$keyMapMatch", opDefault: "$default",
	opLt: "$lt", opLte: "$lte", opEq: "$eq", opNe: "$ne", opGte: "$gte", opGt: "$gt",
	opIn: "$in", opNin: "$nin", opAll: "$all", opExists: "$exists", opType: "$type", opMod: "$mod", opRegex: "$regex",
	opBeginsWith: "$beginsWith", opSize: "$size",
}

// condition is a node of a selector: in CouchDB's terms an object of one member, whose name is the
// field or the operator.
type condition struct {
	op   op
	name string // of opField
	path path   // of opField
	// inBytes says of an opField that values in it are compared in raw order, as Erlang terms: that
	// of _id.
	inBytes bool
	// kids are the arguments of $and, $or and $nor, and the one of the other operators that take
	// conditions, and of opField.
	kids []*condition
	arg  ejson.Value // of all other operators
	raw  bool        // opDefault: arg stands in place of {"$text": …}

	// What matching needs of arg.
	text     string        // $type, $beginsWith
	set      *valueSet     // $in, $nin of many values
	size     int           // $size, -1 for a number no list can have
	exists   bool          // $exists
	pattern  *pcre.Pattern // $regex
	modulus  *big.Int      // $mod
	residue  *big.Int
	smallMod bool // both fit in 64 bits
}

// isList reports whether the argument is a list of conditions.
func (c *condition) isList() bool { return c.op == opAnd || c.op == opOr || c.op == opNor }

// appendJSON prints the condition as an object.
func (c *condition) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if c.op == opField {
		dst = ejson.AppendString(dst, c.name)
	} else {
		dst = ejson.AppendString(dst, opNames[c.op])
	}
	dst = append(dst, ':')
	switch {
	case c.isList():
		dst = append(dst, '[')
		for i, kid := range c.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = kid.appendJSON(dst)
		}
		dst = append(dst, ']')
	case len(c.kids) == 1:
		dst = c.kids[0].appendJSON(dst)
	case c.op == opExists:
		// A negation changes what was said.
		if c.exists {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case c.op == opDefault && !c.raw:
		dst = append(c.arg.AppendJSON(append(dst, `{"$text":`...)), '}')
	default:
		dst = c.arg.AppendJSON(dst)
	}
	return append(dst, '}')
}

// appendTerm prints an opDefault as Erlang's ~w does.
func (c *condition) appendTerm(dst []byte) []byte {
	dst = append(compat.AppendRawBinary(append(dst, "{[{"...), opNames[c.op]), ',')
	if c.raw {
		dst = compat.AppendRawTerm(dst, c.arg)
	} else {
		dst = append(compat.AppendRawBinary(append(dst, "{[{"...), "$text"), ',')
		dst = append(compat.AppendRawTerm(dst, c.arg), "}]}"...)
	}
	return append(dst, "}]}"...)
}
