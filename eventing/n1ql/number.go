package n1ql

import (
	"cmp"
	"math"
	"math/big"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// number is a number: an integer of 64 bits, a double, or an integer that does not fit into 64
// bits.
type number struct {
	integer int64
	double  float64
	big     *big.Int // if not nil, this is the number
	isFloat bool     // else, if set, double is
}

// maxSafe is the size up to which every integer is a double.
const maxSafe = 1 << 53

// numberOf is the number of a document, with its form: 1 and 1.0 are printed as they are.
func numberOf(v ejson.Value) number {
	if v.Kind() == ejson.Int {
		if n, ok := v.Int(); ok {
			return number{integer: n}
		}
		return number{big: v.BigInt()}
	}
	f, _ := v.Float()
	return number{double: f, isFloat: true}
}

func integer(n int64) value { return value{kind: kindNumber, num: number{integer: n}} }

// float is the value of a calculated double: an integer if it is one, as N1QL prints them, and NULL
// if it is beyond the doubles.
func float(f float64) value {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return null
	case f == math.Trunc(f) && math.Abs(f) < maxSafe:
		return integer(int64(f))
	}
	return value{kind: kindNumber, num: number{double: f, isFloat: true}}
}

// parseNumber reads a number as statements and strings have it.
func parseNumber(s string) (value, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(n), true
	}
	// JSON's numbers only: ParseFloat takes more.
	parsed, err := ejson.Parse([]byte(s))
	if err != nil || parsed.Kind() != ejson.Int && parsed.Kind() != ejson.Double {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || s == "" || s[0] != '.' { // .5 is N1QL's
			return value{}, false
		}
		return float(f), true
	}
	return fromJSON(parsed), true
}

func (n *number) sign() int {
	switch {
	case n.big != nil:
		return n.big.Sign()
	case n.isFloat:
		return cmp.Compare(n.double, 0)
	}
	return cmp.Compare(n.integer, 0)
}

// float is the nearest double.
func (n *number) float() float64 {
	switch {
	case n.big != nil:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	case n.isFloat:
		return n.double
	}
	return float64(n.integer)
}

// int gives the number as an integer; ok is false if it has a fraction or does not fit into 64
// bits.
func (n *number) int() (i int64, ok bool) {
	switch {
	case n.big != nil:
		return 0, false
	case n.isFloat:
		return int64(n.double), n.double == math.Trunc(n.double) && math.Abs(n.double) < maxSafe
	}
	return n.integer, true
}

// compare compares exact values.
func (n *number) compare(m *number) int {
	if n.isFloat && m.isFloat {
		return cmp.Compare(n.double, m.double)
	}
	x, okX := n.int()
	y, okY := m.int()
	if okX && okY {
		return cmp.Compare(x, y)
	}
	return n.exact().Cmp(m.exact())
}

func (n *number) exact() *big.Float {
	switch {
	case n.big != nil:
		return new(big.Float).SetInt(n.big)
	case n.isFloat:
		return big.NewFloat(n.double)
	}
	return new(big.Float).SetInt64(n.integer)
}

func (n *number) appendJSON(dst []byte) []byte {
	switch {
	case n.big != nil:
		return n.big.Append(dst, 10)
	case n.isFloat:
		return ejson.AppendFloat(dst, n.double)
	}
	return strconv.AppendInt(dst, n.integer, 10)
}

// key is equal for equal numbers only.
func (n *number) key() string {
	if i, ok := n.int(); ok {
		return strconv.FormatInt(i, 10)
	}
	if n.isFloat && n.double == math.Trunc(n.double) && math.Abs(n.double) < 1<<63 {
		return strconv.FormatInt(int64(n.double), 10)
	}
	return n.exact().Text('p', 0)
}

// calculate is an operation on two numbers. Integers stay exact as long as they fit into 64 bits;
// what cannot be calculated is NULL.
func calculate(op string, a, b *number) value {
	x, y := a.integer, b.integer
	if integers := !a.isFloat && !b.isFloat && a.big == nil && b.big == nil; integers {
		switch op {
		case "+":
			if sum := x + y; (sum > x) == (y > 0) {
				return integer(sum)
			}
		case "-":
			if difference := x - y; (difference < x) == (y > 0) {
				return integer(difference)
			}
		case "*":
			if product := x * y; x == 0 || product/x == y && !(x == -1 && y == math.MinInt64) {
				return integer(product)
			}
		case "/":
			if y != 0 && y != -1 && x%y == 0 {
				return integer(x / y)
			}
		case "%":
			if y != 0 && y != -1 {
				return integer(x % y)
			}
		}
	}
	f, g := a.float(), b.float()
	switch op {
	case "+":
		return float(f + g)
	case "-":
		return float(f - g)
	case "*":
		return float(f * g)
	case "/":
		return float(f / g) // by 0 it is NULL
	}
	return float(math.Mod(f, g))
}
