package functions

import (
	"math/rand/v2"
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// onArray is a function of an array and of other values, each of which may be NULL.
func onArray(least, most int, call func(list []datum.Value, args []datum.Value) datum.Value) Function {
	return conditional(least, most, func(args []datum.Value) datum.Value {
		for i := range args {
			if args[i].Kind == datum.KindMissing {
				return args[i]
			}
		}
		if args[0].Kind != datum.KindArray {
			return datum.Null
		}
		return call(args[0].Elements(), args[1:])
	})
}

func registerArrays() {
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		return datum.Integer(int64(len(list)))
	}), "ARRAY_LENGTH")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		known := 0
		for i := range list {
			if !list[i].Unknown() {
				known++
			}
		}
		return datum.Integer(int64(known))
	}), "ARRAY_COUNT")
	registerSearches()
	register(onArray(2, -1, func(list, args []datum.Value) datum.Value {
		return datum.Array(append(slices.Clone(list), args...))
	}), "ARRAY_APPEND")
	register(onArray(2, -1, func(list, args []datum.Value) datum.Value {
		for i := range args {
			if args[i].Kind != datum.KindArray {
				return datum.Null
			}
			list = append(slices.Clip(list), args[i].Elements()...)
		}
		return datum.Array(list)
	}), "ARRAY_CONCAT")
	register(onKnown(2, -1, func(list, args []datum.Value) datum.Value {
		gone := func(v datum.Value) bool { return position(args, &v) >= 0 }
		return datum.Array(slices.DeleteFunc(slices.Clone(list), gone))
	}), "ARRAY_REMOVE")
	// The array comes last in this one.
	register(conditional(2, -1, func(args []datum.Value) datum.Value {
		last := args[len(args)-1]
		for i := range args {
			if args[i].Kind == datum.KindMissing {
				return args[i]
			}
		}
		if last.Kind != datum.KindArray {
			return datum.Null
		}
		return datum.Array(append(slices.Clone(args[:len(args)-1]), last.Elements()...))
	}), "ARRAY_PREPEND")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		return datum.Array(datum.Distinct(list))
	}), "ARRAY_DISTINCT")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		sorted := slices.Clone(list)
		slices.SortStableFunc(sorted, func(a, b datum.Value) int { return datum.Compare(&a, &b) })
		return datum.Array(sorted)
	}), "ARRAY_SORT")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		return datum.Array(reversed)
	}), "ARRAY_REVERSE")
	registerMoves()
	for _, name := range []string{"SUM", "MIN", "MAX", "AVG"} {
		register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
			all := NewAggregate(name)
			for i := range list {
				if !all.Takes(&list[i]) {
					continue
				}
				if _, _, err := all.Add(&list[i]); err != nil {
					return datum.Null
				}
			}
			if v := all.Result(); name != "SUM" || v.Kind == datum.KindNumber || all.count > 0 {
				return v
			}
			return datum.Integer(0) // the sum of no numbers
		}), "ARRAY_"+name)
	}
	register(Function{least: 1, most: 1, takesUnknown: true, call: func(
		c Caller, args []datum.Value,
	) (datum.Value, error) {
		return Star(c, &args[0])
	}}, "ARRAY_STAR")
	registerSets()
	registerObjects()
}

// registerMoves adds the functions that move elements. Places from the end are negative; one that the
// array does not have makes them NULL.
func registerMoves() {
	moving := func(move func(list []datum.Value, from, to int) []datum.Value) Function {
		return onArray(3, 3, func(list, args []datum.Value) datum.Value {
			from, ok := placeIn(list, &args[0])
			to, also := placeIn(list, &args[1])
			if !ok || !also {
				return datum.Null
			}
			return datum.Array(move(slices.Clone(list), from, to))
		})
	}
	register(moving(func(list []datum.Value, from, to int) []datum.Value {
		list[from], list[to] = list[to], list[from]
		return list
	}), "ARRAY_SWAP")
	register(moving(func(list []datum.Value, from, to int) []datum.Value {
		moved := list[from]
		return slices.Insert(slices.Delete(list, from, from+1), to, moved)
	}), "ARRAY_MOVE")
	register(onArray(1, 1, func(list, _ []datum.Value) datum.Value {
		if len(list) == 0 {
			return datum.Null
		}
		return list[rand.IntN(len(list))]
	}), "RANDOM_ELEMENT")
	builtins["RANDOM_ELEMENT"].random = true
}

// onKnown is onArray for functions of other values that are known: NULL among them makes them NULL.
func onKnown(least, most int, call func(list, args []datum.Value) datum.Value) Function {
	return onArray(least, most, func(list, args []datum.Value) datum.Value {
		if slices.ContainsFunc(args, func(v datum.Value) bool { return v.Kind == datum.KindNull }) {
			return datum.Null
		}
		return call(list, args)
	})
}

// registerSearches adds the functions that look for values in arrays.
func registerSearches() {
	register(onKnown(2, 2, func(list, args []datum.Value) datum.Value {
		return datum.Boolean(position(list, &args[0]) >= 0)
	}), "ARRAY_CONTAINS")
	register(onKnown(2, 2, func(list, args []datum.Value) datum.Value {
		return datum.Integer(int64(position(list, &args[0])))
	}), "ARRAY_POSITION", "ARRAY_POS")
	// NULL in the second array equals nothing.
	wanted := func(list, args []datum.Value) (all int, found int) {
		has, of := make(map[string]bool, len(list)), args
		for i := range list {
			has[list[i].Key()] = !list[i].Unknown()
		}
		if args[0].Kind == datum.KindArray {
			of = args[0].Elements()
		}
		for i := range of {
			if has[of[i].Key()] {
				found++
			}
		}
		return len(of), found
	}
	register(onKnown(2, 2, func(list, args []datum.Value) datum.Value {
		_, found := wanted(list, args)
		return datum.Boolean(found > 0)
	}), "ARRAY_CONTAINS_ANY")
	register(onKnown(2, 2, func(list, args []datum.Value) datum.Value {
		all, found := wanted(list, args)
		return datum.Boolean(found == all)
	}), "ARRAY_CONTAINS_ALL")
	register(conditional(2, 2, func(args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindArray {
			return datum.Value{Kind: min(args[0].Kind, datum.KindNull)}
		}
		at, found := slices.BinarySearchFunc(args[0].Elements(), args[1], func(e, v datum.Value) int {
			return datum.Compare(&e, &v)
		})
		if !found {
			at = -1
		}
		return datum.Integer(int64(at))
	}), "ARRAY_BINARY_SEARCH")
}

// placeIn is the place in a list that a value is the number of.
func placeIn(list []datum.Value, v *datum.Value) (at int, ok bool) {
	n, ok := v.Num.Int()
	if n < 0 {
		n += int64(len(list))
	}
	return int(n), ok && v.Kind == datum.KindNumber && n >= 0 && n < int64(len(list))
}

// position is where a list has a value, -1 if nowhere.
func position(list []datum.Value, v *datum.Value) int {
	return slices.IndexFunc(list, func(e datum.Value) bool { return datum.Compare(&e, v) == 0 })
}

// Star is [*] of a value.
func Star(c Caller, of *datum.Value) (datum.Value, error) {
	switch of.Kind {
	case datum.KindMissing:
		return *of, nil
	case datum.KindArray:
	default:
		return datum.Null, nil
	}
	list, all := of.Elements(), datum.NewMembers(nil)
	for i := range list {
		for _, m := range list[i].Fields() {
			if !all.Has(m.Name) {
				all.Set(m.Name, datum.Value{})
			}
		}
	}
	if err := room(c, float64(len(list))*float64(len(all.List))); err != nil {
		return datum.Value{}, err
	}
	for i := range all.List {
		values, _ := FieldsOf(list, all.List[i].Name)
		all.List[i].Value = datum.Array(values)
	}
	return datum.Object(all.List...), nil
}

// FieldsOf are the fields of all values of a list, NULL for those that have none; some: there is
// one.
func FieldsOf(list []datum.Value, name string) (fields []datum.Value, some bool) {
	fields = make([]datum.Value, len(list))
	for i := range list {
		if fields[i] = list[i].Field(name); fields[i].Kind == datum.KindMissing {
			fields[i] = datum.Null
		} else {
			some = true
		}
	}
	return fields, some
}
