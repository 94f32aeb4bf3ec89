package n1ql

import "slices"

// onArray is a function of an array and of other values, each of which may be NULL.
func onArray(least, most int, call func(list []value, args []value) value) builtin {
	return conditional(least, most, func(args []value) value {
		for i := range args {
			if args[i].kind == kindMissing {
				return args[i]
			}
		}
		if args[0].kind != kindArray {
			return null
		}
		return call(args[0].elements(), args[1:])
	})
}

func registerArrays() {
	register(onArray(1, 1, func(list, _ []value) value { return integer(int64(len(list))) }), "ARRAY_LENGTH")
	register(onArray(1, 1, func(list, _ []value) value {
		known := 0
		for i := range list {
			if !list[i].unknown() {
				known++
			}
		}
		return integer(int64(known))
	}), "ARRAY_COUNT")
	register(onArray(2, 2, func(list, args []value) value {
		return boolean(position(list, &args[0]) >= 0)
	}), "ARRAY_CONTAINS")
	register(onArray(2, 2, func(list, args []value) value {
		return integer(int64(position(list, &args[0])))
	}), "ARRAY_POSITION", "ARRAY_POS")
	register(onArray(2, -1, func(list, args []value) value {
		return array(append(slices.Clone(list), args...))
	}), "ARRAY_APPEND")
	register(onArray(2, -1, func(list, args []value) value {
		for i := range args {
			if args[i].kind != kindArray {
				return null
			}
			list = append(slices.Clip(list), args[i].elements()...)
		}
		return array(list)
	}), "ARRAY_CONCAT")
	register(onArray(2, -1, func(list, args []value) value {
		return array(slices.DeleteFunc(slices.Clone(list), func(v value) bool { return position(args, &v) >= 0 }))
	}), "ARRAY_REMOVE")
	// The array comes last in this one.
	register(conditional(2, -1, func(args []value) value {
		last := args[len(args)-1]
		for i := range args {
			if args[i].kind == kindMissing {
				return args[i]
			}
		}
		if last.kind != kindArray {
			return null
		}
		return array(append(slices.Clone(args[:len(args)-1]), last.elements()...))
	}), "ARRAY_PREPEND")
	register(onArray(1, 1, func(list, _ []value) value { return array(distinct(list)) }), "ARRAY_DISTINCT")
	register(onArray(1, 1, func(list, _ []value) value {
		sorted := slices.Clone(list)
		slices.SortStableFunc(sorted, func(a, b value) int { return compare(&a, &b) })
		return array(sorted)
	}), "ARRAY_SORT")
	register(onArray(1, 1, func(list, _ []value) value {
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		return array(reversed)
	}), "ARRAY_REVERSE")
	for _, name := range []string{"SUM", "MIN", "MAX", "AVG"} {
		register(onArray(1, 1, func(list, _ []value) value {
			fold := newFold(&aggregate{name: name}, nil)
			for i := range list {
				if fold.add(&list[i]) != nil {
					return null
				}
			}
			return fold.result()
		}), "ARRAY_"+name)
	}
	register(builtin{least: 1, most: 1, takesUnknown: true, call: func(_ *env, args []value) (value, error) {
		return star(&args[0])
	}}, "ARRAY_STAR")
	registerSets()
	registerObjects()
}

// position is where a list has a value, -1 if nowhere.
func position(list []value, v *value) int {
	return slices.IndexFunc(list, func(e value) bool { return compare(&e, v) == 0 })
}

// distinct are the values of a list without those that come again.
func distinct(list []value) []value {
	seen := make(map[string]bool, len(list))
	var once []value
	for i := range list {
		key := string(appendKey(nil, &list[i], 0))
		if !seen[key] {
			once = append(once, list[i])
		}
		seen[key] = true
	}
	return once
}
