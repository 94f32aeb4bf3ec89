package functions

import (
	"math"
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// registerSets adds the functions that take arrays for sets. Elements are equal if their values are
// (value.key), whatever their spelling; the order of the first occurrences is kept. NULL is the
// result if an argument is no array.
func registerSets() {
	sets := func(least int, call func(lists [][]datum.Value) []datum.Value) Function {
		return onArray(least, -1, func(list, args []datum.Value) datum.Value {
			lists := [][]datum.Value{list}
			for i := range args {
				if args[i].Kind != datum.KindArray {
					return datum.Null
				}
				lists = append(lists, args[i].Elements())
			}
			return datum.Array(call(lists))
		})
	}
	register(sets(2, func(lists [][]datum.Value) []datum.Value {
		return inLists(lists, func(n int) bool { return n > 0 })
	}),
		"ARRAY_UNION")
	register(sets(2, func(lists [][]datum.Value) []datum.Value {
		both := inLists(lists, func(n int) bool { return n == len(lists) })
		return slices.DeleteFunc(both, func(v datum.Value) bool { return v.Unknown() })
	}), "ARRAY_INTERSECT")
	register(sets(2, func(lists [][]datum.Value) []datum.Value {
		return inLists(lists, func(n int) bool { return n%2 == 1 })
	}), "ARRAY_SYMDIFFN")
	register(sets(2, func(lists [][]datum.Value) []datum.Value {
		return inLists(lists, func(n int) bool { return n == 1 })
	}),
		"ARRAY_SYMDIFF", "ARRAY_SYMDIFF1")
	except := sets(2, func(lists [][]datum.Value) []datum.Value {
		gone := make(map[string]bool)
		for i := range lists[1] {
			gone[lists[1][i].Key()] = true
		}
		return slices.DeleteFunc(slices.Clone(lists[0]), func(v datum.Value) bool { return gone[v.Key()] })
	})
	except.most = 2
	register(except, "ARRAY_EXCEPT")
	register(onKnown(2, -1, func(list, args []datum.Value) datum.Value {
		put := slices.Clone(list)
		for i := range args {
			if position(list, &args[i]) < 0 {
				put = append(put, args[i])
			}
		}
		return datum.Array(put)
	}), "ARRAY_PUT", "ARRAY_ADD", "ARRAY_UPSERT")
	register(onArray(2, 2, flatten), "ARRAY_FLATTEN")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		if i := slices.IndexFunc(list, func(v datum.Value) bool { return !v.Unknown() }); i >= 0 {
			return list[i]
		}
		return datum.Null
	}), "ARRAY_IFNULL")
	register(onArray(3, -1, func(list, args []datum.Value) datum.Value {
		at, ok := args[0].Int()
		if at < 0 {
			at += int64(len(list))
		}
		if !ok || at < 0 || at > int64(len(list)) {
			return datum.Null
		}
		return datum.Array(slices.Concat(list[:at], args[1:], list[at:]))
	}), "ARRAY_INSERT")
	register(onArray(3, 4, func(list, args []datum.Value) datum.Value {
		if args[0].Kind == datum.KindNull {
			return datum.Null
		}
		return replaceElements(list, args)
	}), "ARRAY_REPLACE")
	register(onArray(3, 4, replaceElements), "ARRAY_REPLACE_EQUIVALENT")
	register(Function{least: 2, most: 3, call: numbersBetween}, "ARRAY_RANGE")
	register(Function{least: 2, most: 2, takesUnknown: true, call: repeatValue}, "ARRAY_REPEAT")
}

// inLists are the values, each once, that are in a wanted number of lists.
func inLists(lists [][]datum.Value, wanted func(n int) bool) []datum.Value {
	type where struct{ lists, last int }
	found := make(map[string]*where)
	var once []datum.Value
	for n, list := range lists {
		for i := range list {
			w := found[list[i].Key()]
			if w == nil {
				w = &where{last: -1}
				found[list[i].Key()] = w
				once = append(once, list[i])
			}
			if w.last != n {
				w.lists, w.last = w.lists+1, n
			}
		}
	}
	return slices.DeleteFunc(once, func(v datum.Value) bool { return !wanted(found[v.Key()].lists) })
}

// flatten is ARRAY_FLATTEN(array, depth): the elements of arrays in it, and in these, take their
// places; of all if the depth is negative.
func flatten(list, args []datum.Value) datum.Value {
	depth, ok := args[0].Int()
	if !ok {
		return datum.Null
	}
	flat := []datum.Value{}
	open := [][]datum.Value{list} // arrays within each other, with what is left of each
	for len(open) > 0 {
		last := len(open) - 1
		if len(open[last]) == 0 {
			open = open[:last]
			continue
		}
		v := open[last][0]
		open[last] = open[last][1:]
		if v.Kind == datum.KindArray && (depth < 0 || int64(last) < depth) {
			open = append(open, v.Elements())
			continue
		}
		flat = append(flat, v)
	}
	return datum.Array(flat)
}

// replaceElements is ARRAY_REPLACE_EQUIVALENT(array, old, new[, count]), for which NULL equals NULL.
func replaceElements(list, args []datum.Value) datum.Value {
	left := int64(len(list))
	if len(args) > 2 {
		n, ok := args[2].Int()
		if !ok {
			return datum.Null
		}
		left = n
	}
	replaced := slices.Clone(list)
	for i := range replaced {
		if left > 0 && datum.Compare(&replaced[i], &args[0]) == 0 {
			replaced[i] = args[1]
			left--
		}
	}
	return datum.Array(replaced)
}

// room asks for what so many values in an array take, before they are made.
func room(c Caller, n float64) error { return c.Room(int64(min(n, 1<<40)) * datum.ValueSize) }

// numbersBetween is ARRAY_RANGE(start, end[, step]), without the end.
func numbersBetween(c Caller, args []datum.Value) (datum.Value, error) {
	step := datum.Integer(1)
	if len(args) > 2 {
		step = args[2]
	}
	if args[0].Kind != datum.KindNumber || args[1].Kind != datum.KindNumber || step.Kind != datum.KindNumber {
		return datum.Null, nil
	}
	n := math.Ceil((args[1].Num.Float() - args[0].Num.Float()) / step.Num.Float())
	if step.Num.Sign() == 0 || !(n > 0) {
		return datum.Array([]datum.Value{}), nil
	}
	if err := room(c, n); err != nil {
		return datum.Value{}, err
	}
	list := make([]datum.Value, int(n))
	for i := range list {
		passed := datum.Integer(int64(i))
		passed = datum.Calculate("*", &passed.Num, &step.Num)
		list[i] = datum.Calculate("+", &args[0].Num, &passed.Num)
	}
	return datum.Array(list), nil
}

// repeatValue is ARRAY_REPEAT(value, count).
func repeatValue(c Caller, args []datum.Value) (datum.Value, error) {
	n, ok := args[1].Int()
	switch {
	case args[0].Kind == datum.KindMissing || args[1].Kind == datum.KindMissing:
		return datum.Value{}, nil
	case !ok || n < 0:
		return datum.Null, nil
	}
	if err := room(c, float64(n)); err != nil {
		return datum.Value{}, err
	}
	return datum.Array(slices.Repeat(args[:1], int(n))), nil
}
