package functions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// Caller is the statement that calls a function.
type Caller interface {
	// Began is the time at which the statement began.
	Began() time.Time
	// Room is asked before a function makes a value of so many bytes. Its error ends the statement.
	Room(bytes int64) error
	// Patterns are the regular expressions that the statement keeps compiled.
	Patterns() *Patterns
}

// Function is a function of N1QL. It is immutable.
type Function struct {
	least, most int // arguments; most is -1 if there is no bound
	call        func(c Caller, args []datum.Value) (datum.Value, error)
	// takesUnknown functions look at MISSING and NULL; of others these are the result, MISSING
	// before NULL.
	takesUnknown bool
	random       bool // another result each time
}

// Lookup finds a function by its name in capitals, nil if there is none.
func Lookup(name string) *Function { return builtins[name] }

// IsRandom reports whether the function has another result each time.
func (f *Function) IsRandom() bool { return f.random }

// Fits reports whether the function takes so many arguments.
func (f *Function) Fits(n int) bool { return n >= f.least && (f.most < 0 || n <= f.most) }

// Call calls the function, with as many arguments as fit. MISSING before NULL among them is the
// result, without a call, unless the function looks at unknown values itself. What makes no sense is
// NULL or MISSING; an error is the caller's, or datum.ErrTooLarge.
func (f *Function) Call(c Caller, args []datum.Value) (datum.Value, error) {
	if !f.takesUnknown && len(args) > 0 {
		unknown := datum.KindObject
		for i := range args {
			unknown = min(unknown, args[i].Kind)
		}
		if unknown <= datum.KindNull {
			return datum.Value{Kind: unknown}, nil
		}
	}
	return f.call(c, args)
}

// Arity says how many arguments the function takes, in words.
func (f *Function) Arity() string { return Arity(f.least, f.most) }

// Arity says how many arguments there may be, in words; there is no bound if most is negative.
func Arity(least, most int) string {
	switch {
	case most < 0:
		return fmt.Sprintf("%d arguments or more", least)
	case least < most:
		return fmt.Sprintf("%d to %d arguments", least, most)
	case least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", least)
}

// builtins are the functions by name.
var builtins = map[string]*Function{}

// register adds functions under a name and other names for the same.
func register(f Function, names ...string) {
	for _, name := range names {
		builtins[name] = &f
	}
}

// pure is a function that cannot fail.
func pure(least, most int, call func(args []datum.Value) datum.Value) Function {
	return Function{least: least, most: most, call: func(_ Caller, args []datum.Value) (datum.Value, error) {
		return call(args), nil
	}}
}

// conditional is pure for functions that look at MISSING and NULL.
func conditional(least, most int, call func(args []datum.Value) datum.Value) Function {
	f := pure(least, most, call)
	f.takesUnknown = true
	return f
}

// onNumber is a function of a number.
func onNumber(call func(f float64) float64) Function {
	return pure(1, 1, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindNumber {
			return datum.Null
		}
		return datum.Float(call(args[0].Num.Float()))
	})
}

func init() {
	registerNumbers()
	registerBits()
	registerConditionals()
	registerTypes()
	registerStrings()
	registerRegexps()
	registerArrays()
	registerDates()
	registerEncodings()
}

// registerNumbers adds the functions of numbers. An argument of another type makes them NULL, as in
// Couchbase. ABS and the rounding functions give integers back exactly, however large; the others
// compute with 64-bit floats.
func registerNumbers() {
	register(onNumber(math.Sqrt), "SQRT")
	register(onNumber(math.Exp), "EXP")
	register(onNumber(math.Log), "LN")
	register(onNumber(math.Log10), "LOG")
	register(onNumber(math.Sin), "SIN")
	register(onNumber(math.Cos), "COS")
	register(onNumber(math.Tan), "TAN")
	register(onNumber(math.Asin), "ASIN")
	register(onNumber(math.Acos), "ACOS")
	register(onNumber(math.Atan), "ATAN")
	register(onNumber(func(f float64) float64 { return f * 180 / math.Pi }), "DEGREES", "DEG")
	register(onNumber(func(f float64) float64 { return f * math.Pi / 180 }), "RADIANS", "RAD")
	register(pure(0, 0, func([]datum.Value) datum.Value { return datum.Float(math.Pi) }), "PI")
	register(pure(0, 0, func([]datum.Value) datum.Value { return datum.Float(math.E) }), "E")
	register(pure(2, 2, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindNumber || args[1].Kind != datum.KindNumber {
			return datum.Null
		}
		return datum.Float(math.Atan2(args[0].Num.Float(), args[1].Num.Float()))
	}), "ATAN2")
	register(Function{random: true, call: func(Caller, []datum.Value) (datum.Value, error) {
		return datum.Float(rand.Float64()), nil
	}}, "RANDOM")
	register(rounding(math.Floor, 1), "FLOOR")
	register(rounding(math.Ceil, 1), "CEIL")
	register(rounding(math.RoundToEven, 2), "ROUND", "ROUND_EVEN")
	register(rounding(math.Round, 2), "ROUND_NEAREST")
	registerIntegerDivision()
	register(rounding(math.Trunc, 2), "TRUNC")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindNumber {
			return datum.Null
		}
		if args[0].Num.Sign() < 0 {
			return datum.Negate(&args[0])
		}
		return args[0]
	}), "ABS")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindNumber {
			return datum.Null
		}
		return datum.Integer(int64(args[0].Num.Sign()))
	}), "SIGN")
	register(pure(2, 2, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindNumber || args[1].Kind != datum.KindNumber {
			return datum.Null
		}
		return datum.Float(math.Pow(args[0].Num.Float(), args[1].Num.Float()))
	}), "POWER")
	register(extreme(1), "GREATEST")
	register(extreme(-1), "LEAST")
}

// registerIntegerDivision adds IDIV and IMOD, for which numbers are cut off to integers.
func registerIntegerDivision() {
	whole := func(call func(a, b int64) int64) Function {
		return pure(2, 2, func(args []datum.Value) datum.Value {
			var n [2]int64
			for i := range n {
				whole := datum.Float(math.Trunc(args[i].Num.Float()))
				if _, isInteger := args[i].Int(); isInteger {
					whole = args[i]
				}
				var ok bool
				if n[i], ok = whole.Int(); !ok || args[i].Kind != datum.KindNumber {
					return datum.Null
				}
			}
			if n[1] == 0 || n[1] == -1 && n[0] == math.MinInt64 {
				return datum.Null
			}
			return datum.Integer(call(n[0], n[1]))
		})
	}
	register(whole(func(a, b int64) int64 { return a / b }), "IDIV")
	register(whole(func(a, b int64) int64 { return a % b }), "IMOD")
}

// rounding is a function of a number, and of how many decimals it shall have if it takes two
// arguments. Integers stay as they are, however large.
func rounding(round func(float64) float64, most int) Function {
	return pure(1, most, func(args []datum.Value) datum.Value {
		digits := int64(0)
		if len(args) > 1 {
			n, ok := args[1].Num.Int()
			if args[1].Kind != datum.KindNumber || !ok || n < -300 || n > 300 {
				return datum.Null
			}
			digits = n
		}
		if args[0].Kind != datum.KindNumber {
			return datum.Null
		}
		if _, ok := args[0].Num.Int(); ok && digits >= 0 {
			return args[0]
		}
		scale := math.Pow(10, float64(digits))
		return datum.Float(round(args[0].Num.Float()*scale) / scale)
	})
}

// extreme is the greatest (1) or the least (-1) of the arguments that are known.
func extreme(direction int) Function {
	return conditional(2, -1, func(args []datum.Value) datum.Value {
		best := datum.Null
		for i := range args {
			if args[i].Unknown() {
				continue
			}
			if best.Unknown() || datum.Compare(&args[i], &best)*direction > 0 {
				best = args[i]
			}
		}
		return best
	})
}

// registerConditionals adds the functions that choose among their arguments. Most have to see
// MISSING and NULL themselves, which are the result of other functions before these are called
// (takesUnknown); NULLIF and MISSINGIF are like others in that.
func registerConditionals() {
	firstThat := func(good func(v *datum.Value) bool) Function {
		return conditional(2, -1, func(args []datum.Value) datum.Value {
			for i := range args {
				if good(&args[i]) {
					return args[i]
				}
			}
			return datum.Null
		})
	}
	register(firstThat(func(v *datum.Value) bool { return v.Kind != datum.KindMissing }),
		"IFMISSING", "IF_MISSING")
	register(firstThat(func(v *datum.Value) bool { return v.Kind != datum.KindNull }), "IFNULL", "IF_NULL")
	register(firstThat(func(v *datum.Value) bool { return !v.Unknown() }),
		"IFMISSINGORNULL", "IF_MISSING_OR_NULL", "COALESCE", "NVL")
	register(conditional(3, 3, func(args []datum.Value) datum.Value {
		if args[0].Unknown() {
			return args[2]
		}
		return args[1]
	}), "NVL2")
	insteadOfEqual := func(instead datum.Value) Function {
		return pure(2, 2, func(args []datum.Value) datum.Value {
			if datum.Compare(&args[0], &args[1]) == 0 {
				return instead
			}
			return args[0]
		})
	}
	register(conditional(3, -1, func(args []datum.Value) datum.Value {
		i := 1
		for ; i+1 < len(args); i += 2 {
			if datum.Compare(&args[0], &args[i]) == 0 {
				return args[i+1]
			}
		}
		if i < len(args) {
			return args[i]
		}
		return datum.Null
	}), "DECODE")
	register(insteadOfEqual(datum.Null), "NULLIF", "NULL_IF")
	register(insteadOfEqual(datum.Value{}), "MISSINGIF", "MISSING_IF")
}

// registerTypes adds the functions that ask for the type of a value or convert it. Only TYPE
// answers for MISSING and NULL; the others give these back, so that ISSTRING of NULL is NULL and
// not FALSE.
func registerTypes() {
	register(conditional(1, 1, func(args []datum.Value) datum.Value {
		return datum.Text(datum.KindNames[args[0].Kind])
	}), "TYPE", "TYPENAME", "TYPE_NAME")
	isKind := func(kinds ...datum.Kind) Function {
		return pure(1, 1, func(args []datum.Value) datum.Value {
			for _, k := range kinds {
				if args[0].Kind == k {
					return datum.Boolean(true)
				}
			}
			return datum.Boolean(false)
		})
	}
	register(isKind(datum.KindArray), "ISARRAY", "IS_ARRAY")
	register(isKind(datum.KindFalse, datum.KindTrue), "ISBOOLEAN", "IS_BOOLEAN", "ISBOOL", "IS_BOOL")
	register(isKind(datum.KindNumber), "ISNUMBER", "IS_NUMBER", "ISNUM", "IS_NUM")
	register(isKind(datum.KindObject), "ISOBJECT", "IS_OBJECT", "ISOBJ", "IS_OBJ")
	register(isKind(datum.KindString), "ISSTRING", "IS_STRING", "ISSTR", "IS_STR")
	register(isKind(datum.KindFalse, datum.KindTrue, datum.KindNumber, datum.KindString), "ISATOM", "IS_ATOM")
	register(pure(1, 1, toString), "TOSTRING", "TO_STRING", "TOSTR", "TO_STR")
	register(pure(1, 1, toNumber), "TONUMBER", "TO_NUMBER", "TONUM", "TO_NUM")
	register(pure(1, 1, func(args []datum.Value) datum.Value { return datum.Boolean(args[0].Truth()) }),
		"TOBOOLEAN", "TO_BOOLEAN", "TOBOOL", "TO_BOOL")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		switch args[0].Kind {
		case datum.KindArray, datum.KindObject:
			return args[0]
		}
		return datum.Array(args[:1])
	}), "TOARRAY", "TO_ARRAY")
}

// toString is TOSTRING: integers are printed exactly, other numbers as JSON prints them, arrays and
// objects are NULL.
func toString(args []datum.Value) datum.Value {
	switch args[0].Kind {
	case datum.KindString:
		return args[0]
	case datum.KindFalse, datum.KindTrue:
		return datum.Text(strconv.FormatBool(args[0].Kind == datum.KindTrue))
	case datum.KindNumber:
		n := args[0].Num
		if i, ok := n.Int(); ok {
			return datum.Text(strconv.FormatInt(i, 10))
		}
		return datum.Text(string(n.AppendJSON(nil)))
	}
	return datum.Null
}

// toNumber is TONUMBER. A text is a number only if all of it is one.
func toNumber(args []datum.Value) datum.Value {
	switch args[0].Kind {
	case datum.KindNumber:
		return args[0]
	case datum.KindFalse:
		return datum.Integer(0)
	case datum.KindTrue:
		return datum.Integer(1)
	case datum.KindString:
		if len(args[0].Text) < 400 { // else it is no number that anybody means
			if v, ok := datum.ParseNumber(args[0].Text); ok {
				return v
			}
		}
	}
	return datum.Null
}
