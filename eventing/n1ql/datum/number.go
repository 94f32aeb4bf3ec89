package datum

import (
	"cmp"
	"math"
	"math/big"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// Number is a number: an integer of 64 bits, a double, or an integer that does not fit into 64
// bits.
type Number struct {
	Integer int64
	Double  float64
	big     *big.Int // if not nil, this is the number
	IsFloat bool     // else, if set, double is
}

// maxSafe is the size up to which every integer is a double.
const maxSafe = 1 << 53

// numberOf is the number of a document, with its form: 1 and 1.0 are printed as they are.
func numberOf(v ejson.Value) Number {
	if v.Kind() == ejson.Int {
		if n, ok := v.Int(); ok {
			return Number{Integer: n}
		}
		return Number{big: v.BigInt()}
	}
	f, _ := v.Float()
	return Number{Double: f, IsFloat: true}
}

// Integer is an integer.
func Integer(n int64) Value { return Value{Kind: KindNumber, Num: Number{Integer: n}} }

// Float is the value of a calculated double: an integer if it is one, as N1QL prints them, and NULL
// if it is beyond the doubles.
func Float(f float64) Value {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return Null
	case f == math.Trunc(f) && math.Abs(f) < maxSafe:
		return Integer(int64(f))
	}
	return Value{Kind: KindNumber, Num: Number{Double: f, IsFloat: true}}
}

// ParseNumber reads a number as statements and strings have it.
func ParseNumber(s string) (Value, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Integer(n), true
	}
	// JSON's numbers only: ParseFloat takes more.
	parsed, err := ejson.Parse([]byte(s))
	if err != nil || parsed.Kind() != ejson.Int && parsed.Kind() != ejson.Double {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || s == "" || s[0] != '.' { // .5 is N1QL's
			return Value{}, false
		}
		return Float(f), true
	}
	return FromJSON(parsed), true
}

// Sign is -1, 0 or 1.
func (n *Number) Sign() int {
	switch {
	case n.big != nil:
		return n.big.Sign()
	case n.IsFloat:
		return cmp.Compare(n.Double, 0)
	}
	return cmp.Compare(n.Integer, 0)
}

// Float is the nearest double.
func (n *Number) Float() float64 {
	switch {
	case n.big != nil:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	case n.IsFloat:
		return n.Double
	}
	return float64(n.Integer)
}

// Int gives the number as an integer; ok is false if it has a fraction or does not fit into 64
// bits.
func (n *Number) Int() (i int64, ok bool) {
	switch {
	case n.big != nil:
		return 0, false
	case n.IsFloat:
		return int64(n.Double), n.Double == math.Trunc(n.Double) && math.Abs(n.Double) < maxSafe
	}
	return n.Integer, true
}

// compare compares exact values.
func (n *Number) compare(m *Number) int {
	if n.IsFloat && m.IsFloat {
		return cmp.Compare(n.Double, m.Double)
	}
	x, okX := n.Int()
	y, okY := m.Int()
	if okX && okY {
		return cmp.Compare(x, y)
	}
	return n.exact().Cmp(m.exact())
}

func (n *Number) exact() *big.Float {
	switch {
	case n.big != nil:
		return new(big.Float).SetInt(n.big)
	case n.IsFloat:
		return big.NewFloat(n.Double)
	}
	return new(big.Float).SetInt64(n.Integer)
}

// Negate is a number with the other sign.
func Negate(v *Value) Value {
	zero := Number{}
	if v.Num.IsFloat {
		return Value{Kind: KindNumber, Num: Number{Double: -v.Num.Double, IsFloat: true}}
	}
	return Calculate("-", &zero, &v.Num)
}

// Int is an integer of 64 bits; ok is false for another value.
func (v *Value) Int() (n int64, ok bool) {
	n, ok = v.Num.Int()
	return n, ok && v.Kind == KindNumber
}

// AppendJSON appends the number as JSON.
func (n *Number) AppendJSON(dst []byte) []byte {
	switch {
	case n.big != nil:
		return n.big.Append(dst, 10)
	case n.IsFloat:
		return ejson.AppendFloat(dst, n.Double)
	}
	return strconv.AppendInt(dst, n.Integer, 10)
}

// key is equal for equal numbers only.
func (n *Number) key() string {
	if i, ok := n.Int(); ok {
		return strconv.FormatInt(i, 10)
	}
	if n.IsFloat && n.Double == math.Trunc(n.Double) && math.Abs(n.Double) < 1<<63 {
		return strconv.FormatInt(int64(n.Double), 10)
	}
	return n.exact().Text('p', 0)
}

// Calculate is an operation on two numbers. Integers stay exact as long as they fit into 64 bits;
// what cannot be calculated is NULL.
func Calculate(op string, a, b *Number) Value {
	x, y := a.Integer, b.Integer
	if integers := !a.IsFloat && !b.IsFloat && a.big == nil && b.big == nil; integers {
		switch op {
		case "+":
			if sum := x + y; (sum > x) == (y > 0) {
				return Integer(sum)
			}
		case "-":
			if difference := x - y; (difference < x) == (y > 0) {
				return Integer(difference)
			}
		case "*":
			if product := x * y; x == 0 || product/x == y && !(x == -1 && y == math.MinInt64) {
				return Integer(product)
			}
		case "/":
			if y != 0 && y != -1 && x%y == 0 {
				return Integer(x / y)
			}
		case "%":
			if y != 0 && y != -1 {
				return Integer(x % y)
			}
		}
	}
	f, g := a.Float(), b.Float()
	switch op {
	case "+":
		return Float(f + g)
	case "-":
		return Float(f - g)
	case "*":
		return Float(f * g)
	case "/":
		return Float(f / g) // by 0 it is NULL
	}
	return Float(math.Mod(f, g))
}
