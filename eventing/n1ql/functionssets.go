package n1ql

import (
	"math"
	"slices"
)

// registerSets adds the functions that take arrays for sets. Elements are equal if their values are
// (value.key), whatever their spelling; the order of the first occurrences is kept. NULL is the
// result if an argument is no array.
func registerSets() {
	sets := func(least int, call func(lists [][]value) []value) builtin {
		return onArray(least, -1, func(list, args []value) value {
			lists := [][]value{list}
			for i := range args {
				if args[i].kind != kindArray {
					return null
				}
				lists = append(lists, args[i].elements())
			}
			return array(call(lists))
		})
	}
	register(sets(2, func(lists [][]value) []value { return inLists(lists, func(n int) bool { return n > 0 }) }),
		"ARRAY_UNION")
	register(sets(2, func(lists [][]value) []value {
		return inLists(lists, func(n int) bool { return n == len(lists) })
	}), "ARRAY_INTERSECT")
	register(sets(2, func(lists [][]value) []value { return inLists(lists, func(n int) bool { return n == 1 }) }),
		"ARRAY_SYMDIFF", "ARRAY_SYMDIFF1")
	except := sets(2, func(lists [][]value) []value {
		gone := make(map[string]bool)
		for i := range lists[1] {
			gone[lists[1][i].key()] = true
		}
		return slices.DeleteFunc(slices.Clone(lists[0]), func(v value) bool { return gone[v.key()] })
	})
	except.most = 2
	register(except, "ARRAY_EXCEPT")
	register(onArray(2, -1, func(list, args []value) value {
		list = slices.Clone(list)
		for i := range args {
			if position(list, &args[i]) < 0 {
				list = append(list, args[i])
			}
		}
		return array(list)
	}), "ARRAY_PUT")
	register(onArray(2, 2, flatten), "ARRAY_FLATTEN")
	register(onArray(1, 1, func(list, _ []value) value {
		if i := slices.IndexFunc(list, func(v value) bool { return !v.unknown() }); i >= 0 {
			return list[i]
		}
		return null
	}), "ARRAY_IFNULL")
	register(onArray(3, -1, func(list, args []value) value {
		at, ok := count(&args[0])
		if at < 0 {
			at += int64(len(list))
		}
		if !ok || at < 0 || at > int64(len(list)) {
			return null
		}
		return array(slices.Concat(list[:at], args[1:], list[at:]))
	}), "ARRAY_INSERT")
	register(onArray(3, 4, replaceElements), "ARRAY_REPLACE")
	register(builtin{least: 2, most: 3, call: numbersBetween}, "ARRAY_RANGE")
	register(builtin{least: 2, most: 2, takesUnknown: true, call: repeatValue}, "ARRAY_REPEAT")
}

// key is equal for equal values only.
func (v *value) key() string { return string(appendKey(nil, v, 0)) }

// inLists are the values, each once, that are in a wanted number of lists.
func inLists(lists [][]value, wanted func(n int) bool) []value {
	type where struct{ lists, last int }
	found := make(map[string]*where)
	var once []value
	for n, list := range lists {
		for i := range list {
			w := found[list[i].key()]
			if w == nil {
				w = &where{last: -1}
				found[list[i].key()] = w
				once = append(once, list[i])
			}
			if w.last != n {
				w.lists, w.last = w.lists+1, n
			}
		}
	}
	return slices.DeleteFunc(once, func(v value) bool { return !wanted(found[v.key()].lists) })
}

// flatten is ARRAY_FLATTEN(array, depth): the elements of arrays in it, and in these, take their
// places; of all if the depth is negative.
func flatten(list, args []value) value {
	depth, ok := count(&args[0])
	if !ok {
		return null
	}
	flat := []value{}
	open := [][]value{list} // arrays within each other, with what is left of each
	for len(open) > 0 {
		last := len(open) - 1
		if len(open[last]) == 0 {
			open = open[:last]
			continue
		}
		v := open[last][0]
		open[last] = open[last][1:]
		if v.kind == kindArray && (depth < 0 || int64(last) < depth) {
			open = append(open, v.elements())
			continue
		}
		flat = append(flat, v)
	}
	return array(flat)
}

// replaceElements is ARRAY_REPLACE(array, old, new[, count]).
func replaceElements(list, args []value) value {
	left := int64(-1)
	if len(args) > 2 {
		n, ok := count(&args[2])
		if !ok {
			return null
		}
		left = n
	}
	if args[0].kind == kindNull {
		return null
	}
	replaced := slices.Clone(list)
	for i := range replaced {
		if left != 0 && compare(&replaced[i], &args[0]) == 0 {
			replaced[i] = args[1]
			left--
		}
	}
	return array(replaced)
}

// tooMany is an error if so many values in an array would need too much memory.
func tooMany(n float64) error {
	if n*valueSize > maxHeld {
		return errTooMuch
	}
	return nil
}

// numbersBetween is ARRAY_RANGE(start, end[, step]), without the end.
func numbersBetween(_ *env, args []value) (value, error) {
	step := integer(1)
	if len(args) > 2 {
		step = args[2]
	}
	if args[0].kind != kindNumber || args[1].kind != kindNumber || step.kind != kindNumber {
		return null, nil
	}
	n := math.Ceil((args[1].num.float() - args[0].num.float()) / step.num.float())
	if step.num.sign() == 0 || !(n > 0) {
		return array([]value{}), nil
	}
	if err := tooMany(n); err != nil {
		return value{}, err
	}
	list := make([]value, int(n))
	for i := range list {
		passed := integer(int64(i))
		passed = calculate("*", &passed.num, &step.num)
		list[i] = calculate("+", &args[0].num, &passed.num)
	}
	return array(list), nil
}

// repeatValue is ARRAY_REPEAT(value, count).
func repeatValue(_ *env, args []value) (value, error) {
	n, ok := count(&args[1])
	switch {
	case args[0].kind == kindMissing || args[1].kind == kindMissing:
		return value{}, nil
	case !ok || n < 0:
		return null, nil
	}
	if err := tooMany(float64(n)); err != nil {
		return value{}, err
	}
	return array(slices.Repeat(args[:1], int(n))), nil
}
