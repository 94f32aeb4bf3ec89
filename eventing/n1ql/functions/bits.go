package functions

import (
	"math/bits"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// registerBits adds the functions of bits. They know integers of 64 bits, in two's complement; all
// else is NULL. The lowest bit has the number 1.
func registerBits() {
	together := func(call func(a, b int64) int64) Function {
		return pure(2, -1, func(args []datum.Value) datum.Value {
			result, ok := args[0].Int()
			for i := 1; ok && i < len(args); i++ {
				var n int64
				if n, ok = args[i].Int(); ok {
					result = call(result, n)
				}
			}
			if !ok {
				return datum.Null
			}
			return datum.Integer(result)
		})
	}
	register(together(func(a, b int64) int64 { return a & b }), "BITAND")
	register(together(func(a, b int64) int64 { return a | b }), "BITOR")
	register(together(func(a, b int64) int64 { return a ^ b }), "BITXOR")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		n, ok := args[0].Int()
		if !ok {
			return datum.Null
		}
		return datum.Integer(^n)
	}), "BITNOT")
	register(pure(2, 3, shift), "BITSHIFT")
	at := func(call func(n, mask int64) int64) Function {
		return pure(2, 2, func(args []datum.Value) datum.Value {
			n, ok := args[0].Int()
			mask, known := bitsAt(&args[1])
			if !ok || !known {
				return datum.Null
			}
			return datum.Integer(call(n, mask))
		})
	}
	register(at(func(n, mask int64) int64 { return n | mask }), "BITSET")
	register(at(func(n, mask int64) int64 { return n &^ mask }), "BITCLEAR")
	register(pure(2, 3, testBits), "BITTEST", "ISBITSET")
}

// flag is the boolean that an argument is, false if there is none.
func flag(args []datum.Value, i int) (on, ok bool) {
	if i >= len(args) {
		return false, true
	}
	return args[i].Kind == datum.KindTrue, args[i].Kind == datum.KindTrue || args[i].Kind == datum.KindFalse
}

// bitsAt has the bits set whose numbers a value has: a number or an array of numbers, from 1 to 64.
func bitsAt(v *datum.Value) (mask int64, ok bool) {
	list := []datum.Value{*v}
	if v.Kind == datum.KindArray {
		list = v.Elements()
	}
	for i := range list {
		n, ok := list[i].Int()
		if !ok || n < 1 || n > 64 {
			return 0, false
		}
		mask |= 1 << (n - 1)
	}
	return mask, true
}

// shift is BITSHIFT(number, by[, rotate]): to the left, to the right if by is negative. What is
// shifted in is 0, or with rotate what was shifted out.
func shift(args []datum.Value) datum.Value {
	n, ok := args[0].Int()
	by, known := args[1].Int()
	rotate, clear := flag(args, 2)
	switch {
	case !ok || !known || !clear:
		return datum.Null
	case rotate:
		return datum.Integer(int64(bits.RotateLeft64(uint64(n), int(by%64))))
	case by <= -64 || by >= 64:
		return datum.Integer(0)
	case by < 0:
		return datum.Integer(int64(uint64(n) >> -by))
	}
	return datum.Integer(n << by)
}

// testBits is BITTEST(number, at[, all]): whether one of the bits is set, or all are.
func testBits(args []datum.Value) datum.Value {
	n, ok := args[0].Int()
	mask, known := bitsAt(&args[1])
	all, clear := flag(args, 2)
	switch {
	case !ok || !known || !clear:
		return datum.Null
	case all:
		return datum.Boolean(n&mask == mask)
	}
	return datum.Boolean(n&mask != 0)
}
