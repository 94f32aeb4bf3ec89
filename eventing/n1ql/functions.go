package n1ql

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// builtin is a function of N1QL.
type builtin struct {
	least, most int // arguments; most is -1 if there is no bound
	call        func(e *env, args []value) (value, error)
	// takesUnknown functions look at MISSING and NULL; of others these are the result, MISSING
	// before NULL.
	takesUnknown bool
	random       bool // another result each time
}

func (f *builtin) arity() string {
	switch {
	case f.most < 0:
		return fmt.Sprintf("%d arguments or more", f.least)
	case f.least < f.most:
		return fmt.Sprintf("%d to %d arguments", f.least, f.most)
	case f.least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.least)
}

// builtins are the functions by name.
var builtins = map[string]*builtin{}

// register adds functions under a name and other names for the same.
func register(f builtin, names ...string) {
	for _, name := range names {
		builtins[name] = &f
	}
}

// pure is a function that cannot fail.
func pure(least, most int, call func(args []value) value) builtin {
	return builtin{least: least, most: most, call: func(_ *env, args []value) (value, error) {
		return call(args), nil
	}}
}

// conditional is pure for functions that look at MISSING and NULL.
func conditional(least, most int, call func(args []value) value) builtin {
	f := pure(least, most, call)
	f.takesUnknown = true
	return f
}

// onNumber is a function of a number.
func onNumber(call func(f float64) float64) builtin {
	return pure(1, 1, func(args []value) value {
		if args[0].kind != kindNumber {
			return null
		}
		return float(call(args[0].num.float()))
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
	register(onNumber(func(f float64) float64 { return f * 180 / math.Pi }), "DEGREES")
	register(onNumber(func(f float64) float64 { return f * math.Pi / 180 }), "RADIANS")
	register(pure(0, 0, func([]value) value { return float(math.Pi) }), "PI")
	register(pure(0, 0, func([]value) value { return float(math.E) }), "E")
	register(pure(2, 2, func(args []value) value {
		if args[0].kind != kindNumber || args[1].kind != kindNumber {
			return null
		}
		return float(math.Atan2(args[0].num.float(), args[1].num.float()))
	}), "ATAN2")
	register(builtin{random: true, call: func(*env, []value) (value, error) {
		return float(rand.Float64()), nil
	}}, "RANDOM")
	register(rounding(math.Floor, 1), "FLOOR")
	register(rounding(math.Ceil, 1), "CEIL")
	register(rounding(math.Round, 2), "ROUND")
	register(rounding(math.Trunc, 2), "TRUNC")
	register(pure(1, 1, func(args []value) value {
		if args[0].kind != kindNumber {
			return null
		}
		if args[0].num.sign() < 0 {
			return negate(&args[0])
		}
		return args[0]
	}), "ABS")
	register(pure(1, 1, func(args []value) value {
		if args[0].kind != kindNumber {
			return null
		}
		return integer(int64(args[0].num.sign()))
	}), "SIGN")
	register(pure(2, 2, func(args []value) value {
		if args[0].kind != kindNumber || args[1].kind != kindNumber {
			return null
		}
		return float(math.Pow(args[0].num.float(), args[1].num.float()))
	}), "POWER")
	register(extreme(1), "GREATEST")
	register(extreme(-1), "LEAST")
}

// rounding is a function of a number, and of how many decimals it shall have if it takes two
// arguments. Integers stay as they are, however large.
func rounding(round func(float64) float64, most int) builtin {
	return pure(1, most, func(args []value) value {
		digits := int64(0)
		if len(args) > 1 {
			n, ok := args[1].num.int()
			if args[1].kind != kindNumber || !ok || n < -300 || n > 300 {
				return null
			}
			digits = n
		}
		if args[0].kind != kindNumber {
			return null
		}
		if _, ok := args[0].num.int(); ok && digits >= 0 {
			return args[0]
		}
		scale := math.Pow(10, float64(digits))
		return float(round(args[0].num.float()*scale) / scale)
	})
}

// extreme is the greatest (1) or the least (-1) of the arguments that are known.
func extreme(direction int) builtin {
	return conditional(2, -1, func(args []value) value {
		best := null
		for i := range args {
			if args[i].unknown() {
				continue
			}
			if best.unknown() || compare(&args[i], &best)*direction > 0 {
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
	firstThat := func(good func(v *value) bool) builtin {
		return conditional(2, -1, func(args []value) value {
			for i := range args {
				if good(&args[i]) {
					return args[i]
				}
			}
			return null
		})
	}
	register(firstThat(func(v *value) bool { return v.kind != kindMissing }), "IFMISSING")
	register(firstThat(func(v *value) bool { return v.kind != kindNull }), "IFNULL")
	register(firstThat(func(v *value) bool { return !v.unknown() }), "IFMISSINGORNULL", "COALESCE", "NVL")
	register(conditional(3, 3, func(args []value) value {
		if args[0].unknown() {
			return args[2]
		}
		return args[1]
	}), "NVL2")
	insteadOfEqual := func(instead value) builtin {
		return pure(2, 2, func(args []value) value {
			if compare(&args[0], &args[1]) == 0 {
				return instead
			}
			return args[0]
		})
	}
	register(conditional(3, -1, func(args []value) value {
		i := 1
		for ; i+1 < len(args); i += 2 {
			if compare(&args[0], &args[i]) == 0 {
				return args[i+1]
			}
		}
		if i < len(args) {
			return args[i]
		}
		return null
	}), "DECODE")
	register(insteadOfEqual(null), "NULLIF")
	register(insteadOfEqual(value{}), "MISSINGIF")
}

// registerTypes adds the functions that ask for the type of a value or convert it. Only TYPE
// answers for MISSING and NULL; the others give these back, so that ISSTRING of NULL is NULL and
// not FALSE.
func registerTypes() {
	register(conditional(1, 1, func(args []value) value { return text(kindNames[args[0].kind]) }), "TYPE", "TYPENAME")
	isKind := func(kinds ...kind) builtin {
		return pure(1, 1, func(args []value) value {
			for _, k := range kinds {
				if args[0].kind == k {
					return boolean(true)
				}
			}
			return boolean(false)
		})
	}
	register(isKind(kindArray), "ISARRAY", "IS_ARRAY")
	register(isKind(kindFalse, kindTrue), "ISBOOLEAN", "IS_BOOLEAN", "ISBOOL", "IS_BOOL")
	register(isKind(kindNumber), "ISNUMBER", "IS_NUMBER", "ISNUM", "IS_NUM")
	register(isKind(kindObject), "ISOBJECT", "IS_OBJECT", "ISOBJ", "IS_OBJ")
	register(isKind(kindString), "ISSTRING", "IS_STRING", "ISSTR", "IS_STR")
	register(isKind(kindFalse, kindTrue, kindNumber, kindString), "ISATOM", "IS_ATOM")
	register(pure(1, 1, toString), "TOSTRING", "TO_STRING", "TOSTR", "TO_STR")
	register(pure(1, 1, toNumber), "TONUMBER", "TO_NUMBER", "TONUM", "TO_NUM")
	register(pure(1, 1, func(args []value) value { return boolean(args[0].truth()) }),
		"TOBOOLEAN", "TO_BOOLEAN", "TOBOOL", "TO_BOOL")
	register(pure(1, 1, func(args []value) value {
		switch args[0].kind {
		case kindArray, kindObject:
			return args[0]
		}
		return array(args[:1])
	}), "TOARRAY", "TO_ARRAY")
}

// toString is TOSTRING: integers are printed exactly, other numbers as JSON prints them, arrays and
// objects are NULL.
func toString(args []value) value {
	switch args[0].kind {
	case kindString:
		return args[0]
	case kindFalse, kindTrue:
		return text(strconv.FormatBool(args[0].kind == kindTrue))
	case kindNumber:
		n := args[0].num
		if i, ok := n.int(); ok {
			return text(strconv.FormatInt(i, 10))
		}
		return text(string(n.appendJSON(nil)))
	}
	return null
}

// toNumber is TONUMBER. A text is a number only if all of it is one.
func toNumber(args []value) value {
	switch args[0].kind {
	case kindNumber:
		return args[0]
	case kindFalse:
		return integer(0)
	case kindTrue:
		return integer(1)
	case kindString:
		if len(args[0].text) < 400 { // else it is no number that anybody means
			if v, ok := parseNumber(args[0].text); ok {
				return v
			}
		}
	}
	return null
}
