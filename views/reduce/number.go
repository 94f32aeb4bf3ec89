package reduce

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// errArithmetic is CouchDB's answer when a sum is beyond the floats; its reason is the trace of a
// process.
var errArithmetic = compat.Named(compat.KindError, "badarith", "bad argument in an arithmetic expression").WithRef()

// number is an Erlang number: an integer of any size, or a float.
type number struct {
	float bool
	f     float64
	i     int64
	big   *big.Int // an integer beyond int64; never modified
}

func intNumber(n int64) number     { return number{i: n} }
func floatNumber(f float64) number { return number{float: true, f: f} }

func bigNumber(n *big.Int) number {
	if n.IsInt64() {
		return intNumber(n.Int64())
	}
	return number{big: n}
}

// SmallInt reads the JSON of an integer that fits 64 bits; ok is false for any other value.
func SmallInt(json []byte) (n int64, ok bool) {
	digits := json
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if len(digits) != len(json) {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u < 1<<63
}

// numberOf gives the number of an Int or Double.
func numberOf(v ejson.Value) (number, bool) {
	switch v.Kind() {
	case ejson.Int:
		if n, ok := v.Int(); ok {
			return intNumber(n), true
		}
		return number{big: v.BigInt()}, true
	case ejson.Double:
		f, ok := v.Float()
		return floatNumber(f), ok
	}
	return number{}, false
}

func (n number) integer() *big.Int {
	if n.big != nil {
		return n.big
	}
	return big.NewInt(n.i)
}

// toFloat converts as Erlang does in arithmetic: integers beyond the floats are badarith.
func (n number) toFloat() (float64, error) {
	if n.float {
		return n.f, nil
	}
	if n.big == nil {
		return float64(n.i), nil
	}
	f, _ := new(big.Float).SetInt(n.big).Float64()
	if math.IsInf(f, 0) {
		return 0, errArithmetic
	}
	return f, nil
}

// add is a + b.
func add(a, b number) (number, error) {
	if a.float || b.float {
		return floats(a, b, func(x, y float64) float64 { return x + y })
	}
	if a.big == nil && b.big == nil {
		if s := a.i + b.i; (s > a.i) == (b.i > 0) {
			return intNumber(s), nil
		}
	}
	return bigNumber(new(big.Int).Add(a.integer(), b.integer())), nil
}

// mul is a * b.
func mul(a, b number) (number, error) {
	if a.float || b.float {
		return floats(a, b, func(x, y float64) float64 { return x * y })
	}
	if a.big == nil && b.big == nil {
		hi, lo := bits.Mul64(magnitude(a.i), magnitude(b.i))
		if hi == 0 && lo < 1<<63 {
			if (a.i < 0) != (b.i < 0) {
				return intNumber(-int64(lo)), nil
			}
			return intNumber(int64(lo)), nil
		}
	}
	return bigNumber(new(big.Int).Mul(a.integer(), b.integer())), nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// floats computes with both numbers as floats, as Erlang does where one of them is a float. An
// integer beyond the range of a float and a result that is not finite are errArithmetic, Erlang's
// badarith.
func floats(a, b number, op func(x, y float64) float64) (number, error) {
	x, err := a.toFloat()
	if err != nil {
		return number{}, err
	}
	y, err := b.toFloat()
	if err != nil {
		return number{}, err
	}
	f := op(x, y)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return number{}, errArithmetic
	}
	return floatNumber(f), nil
}

// compareNumbers compares by value, exactly.
func compareNumbers(a, b number) int {
	switch {
	case a.float && b.float:
		return cmp.Compare(a.f, b.f)
	case !a.float && !b.float:
		if a.big == nil && b.big == nil {
			return cmp.Compare(a.i, b.i)
		}
		return a.integer().Cmp(b.integer())
	}
	return a.exact().Cmp(b.exact())
}

func (n number) exact() *big.Float {
	if n.float {
		return big.NewFloat(n.f)
	}
	return new(big.Float).SetInt(n.integer())
}

// appendJSON appends the number as CouchDB prints it.
func (n number) appendJSON(dst []byte) []byte {
	switch {
	case n.float:
		return ejson.AppendFloat(dst, n.f)
	case n.big != nil:
		return n.big.Append(dst, 10)
	}
	return strconv.AppendInt(dst, n.i, 10)
}
