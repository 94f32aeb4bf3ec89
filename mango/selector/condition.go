package selector

import (
	"math/big"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/pcre"
)

// Op is the operator of a condition.
type Op uint8

// The operators; their names are those of selectors with a $ in front.
const (
	OpField Op = iota // Kids[0] holds for the field name
	OpAnd
	OpOr
	OpNot
	OpNor
	OpElemMatch
	OpAllMatch
	OpKeyMapMatch
	OpDefault // a full text search; Arg is the argument of $text, or of $default itself where Raw
	OpLt
	OpLte
	OpEq
	OpNe
	OpGte
	OpGt
	OpIn
	OpNin
	OpAll
	OpExists
	opType
	OpMod
	OpRegex
	OpBeginsWith
	OpSize
)

// opNames are the operators as they are printed; OpField has none.
var opNames = [...]string{
	OpAnd: "$and", OpOr: "$or", OpNot: "$not", OpNor: "$nor", OpElemMatch: "$elemMatch", OpAllMatch: "$allMatch",
	OpKeyMapMatch: "$keyMapMatch", OpDefault: "$default",
	OpLt: "$lt", OpLte: "$lte", OpEq: "$eq", OpNe: "$ne", OpGte: "$gte", OpGt: "$gt",
	OpIn: "$in", OpNin: "$nin", OpAll: "$all", OpExists: "$exists", opType: "$type", OpMod: "$mod", OpRegex: "$regex",
	OpBeginsWith: "$beginsWith", OpSize: "$size",
}

// String is the operator as selectors have it, $eq for example; "" for OpField.
func (o Op) String() string { return opNames[o] }

// Condition is a node of a selector: in CouchDB's terms an object of one member, whose name is the
// field or the operator.
type Condition struct {
	Op   Op
	Name string // of OpField
	Path Path   // of OpField
	// inBytes says of an OpField that values in it are compared in raw order, as Erlang terms: that
	// of _id.
	inBytes bool
	// Kids are the arguments of $and, $or and $nor, and the one of the other operators that take
	// conditions, and of OpField.
	Kids []*Condition
	Arg  ejson.Value // of all other operators
	Raw  bool        // OpDefault: Arg stands in place of {"$text": …}

	// What matching needs of Arg.
	Text     string        // $type, $beginsWith
	set      *valueSet     // $in, $nin of many values
	size     int           // $size, -1 for a number no list can have
	Exists   bool          // $exists
	pattern  *pcre.Pattern // $regex
	modulus  *big.Int      // $mod
	residue  *big.Int
	smallMod bool // both fit in 64 bits
}

// isList reports whether the argument is a list of conditions.
func (c *Condition) isList() bool { return c.Op == OpAnd || c.Op == OpOr || c.Op == OpNor }

// appendJSON prints the condition as an object.
func (c *Condition) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if c.Op == OpField {
		dst = ejson.AppendString(dst, c.Name)
	} else {
		dst = ejson.AppendString(dst, c.Op.String())
	}
	dst = append(dst, ':')
	switch {
	case c.isList():
		dst = append(dst, '[')
		for i, kid := range c.Kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = kid.appendJSON(dst)
		}
		dst = append(dst, ']')
	case len(c.Kids) == 1:
		dst = c.Kids[0].appendJSON(dst)
	case c.Op == OpExists:
		// A negation changes what was said.
		if c.Exists {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	case c.Op == OpDefault && !c.Raw:
		dst = append(c.Arg.AppendJSON(append(dst, `{"$text":`...)), '}')
	default:
		dst = c.Arg.AppendJSON(dst)
	}
	return append(dst, '}')
}

// appendTerm prints an OpDefault as Erlang's ~w does.
func (c *Condition) appendTerm(dst []byte) []byte {
	dst = append(compat.AppendRawBinary(append(dst, "{[{"...), c.Op.String()), ',')
	if c.Raw {
		dst = compat.AppendRawTerm(dst, c.Arg)
	} else {
		dst = append(compat.AppendRawBinary(append(dst, "{[{"...), "$text"), ',')
		dst = append(compat.AppendRawTerm(dst, c.Arg), "}]}"...)
	}
	return append(dst, "}]}"...)
}
