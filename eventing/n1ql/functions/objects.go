package functions

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// onObject is a function of an object and of other values, of which only the third may be MISSING.
func onObject(least, most int, call func(members []datum.Member, args []datum.Value) datum.Value) Function {
	return conditional(least, most, func(args []datum.Value) datum.Value {
		for i := range args {
			if args[i].Kind == datum.KindMissing && (i != 2 || most != 3) {
				return args[i]
			}
		}
		if args[0].Kind == datum.KindObject {
			return call(args[0].Fields(), args[1:])
		}
		return datum.Null
	})
}

// registerObjects adds the functions of objects. Lists of members are sorted by name, as in
// Couchbase, whatever order the object has; changed objects keep the order of their members.
// Members are cloned before a change, since the argument may be a document that other expressions
// read.
func registerObjects() {
	register(onObject(1, 1, func(m []datum.Member, _ []datum.Value) datum.Value {
		return datum.Integer(int64(len(m)))
	}), "OBJECT_LENGTH")
	inOrder := func(each func(m *datum.Member) datum.Value) Function {
		return onObject(1, 1, func(m []datum.Member, _ []datum.Value) datum.Value {
			m = slices.SortedFunc(slices.Values(m), datum.ByName)
			list := make([]datum.Value, len(m))
			for i := range m {
				list[i] = each(&m[i])
			}
			return datum.Array(list)
		})
	}
	register(inOrder(func(m *datum.Member) datum.Value { return datum.Text(m.Name) }), "OBJECT_NAMES")
	register(inOrder(func(m *datum.Member) datum.Value { return m.Value }),
		"OBJECT_VALUES", "OBJECT_INNER_VALUES", "OBJECT_INNERVALUES", "OBJECT_OUTER_VALUES", "OBJECT_OUTERVALUES")
	register(onObject(1, 2, func(m []datum.Member, args []datum.Value) datum.Value {
		if len(args) > 0 && args[0].Kind != datum.KindObject {
			return datum.Null
		}
		types := len(args) > 0 && args[0].Field("types").Kind == datum.KindTrue
		list := []datum.Value{}
		for _, m := range slices.SortedFunc(slices.Values(m), datum.ByName) {
			list = append(list, pair(m.Name, &m.Value, types))
		}
		return datum.Array(list)
	}), "OBJECT_PAIRS", "OBJECT_INNER_PAIRS", "OBJECT_INNERPAIRS", "OBJECT_OUTER_PAIRS", "OBJECT_OUTERPAIRS")
	register(onObject(1, 1, func(m []datum.Member, _ []datum.Value) datum.Value {
		m = slices.Clone(m)
		for i := range m {
			m[i].Value = datum.Text(datum.KindNames[m[i].Value.Kind])
		}
		return datum.Object(m...)
	}), "OBJECT_TYPES")
	register(onObject(2, -1, concatObjects), "OBJECT_CONCAT")
	register(onObject(2, -1, func(m []datum.Member, args []datum.Value) datum.Value {
		var objects []datum.Value
		for i := range args {
			if args[i].Kind == datum.KindArray {
				objects = append(objects, args[i].Elements()...)
			} else {
				objects = append(objects, args[i])
			}
		}
		return concatObjects(m, objects)
	}), "OBJECT_CONCAT2")
	register(onObject(3, 3, func(m []datum.Member, args []datum.Value) datum.Value {
		name := args[0]
		switch {
		case name.Kind != datum.KindString:
			return datum.Null
		case slices.ContainsFunc(m, func(m datum.Member) bool { return m.Name == name.Text }):
			return datum.Object(m...)
		}
		return datum.Object(datum.SetMember(slices.Clone(m), name.Text, args[1])...)
	}), "OBJECT_ADD")
	register(onObject(3, 3, func(m []datum.Member, args []datum.Value) datum.Value {
		if args[0].Kind == datum.KindNull {
			return datum.Null
		}
		replaced := []datum.Member{}
		for _, m := range m {
			if datum.Compare(&m.Value, &args[0]) == 0 {
				m.Value = args[1]
			}
			if m.Value.Kind != datum.KindMissing {
				replaced = append(replaced, m)
			}
		}
		return datum.Object(replaced...)
	}), "OBJECT_REPLACE")
	register(onObject(3, 3, func(m []datum.Member, args []datum.Value) datum.Value {
		if args[0].Kind != datum.KindString {
			return datum.Null
		}
		return datum.Object(datum.SetMember(slices.Clone(m), args[0].Text, args[1])...)
	}), "OBJECT_PUT")
	register(onObject(2, -1, func(m []datum.Member, args []datum.Value) datum.Value {
		m = slices.Clone(m)
		for i := range args {
			if args[i].Kind != datum.KindString {
				return datum.Null
			}
			m = datum.SetMember(m, args[i].Text, datum.Value{})
		}
		return datum.Object(m...)
	}), "OBJECT_REMOVE")
	register(onObject(3, 3, renameMember), "OBJECT_RENAME")
	register(onObject(1, 1, func(m []datum.Member, _ []datum.Value) datum.Value {
		if len(m) != 1 {
			return datum.Null
		}
		return m[0].Value
	}), "OBJECT_UNWRAP")
	registerJSON()
	registerPaths()
}

// concatObjects adds the members of objects to those of another one.
func concatObjects(m []datum.Member, objects []datum.Value) datum.Value {
	all := datum.NewMembers(m)
	for i := range objects {
		if objects[i].Kind != datum.KindObject {
			return datum.Null
		}
		for _, more := range objects[i].Fields() {
			all.Set(more.Name, more.Value)
		}
	}
	return datum.Object(all.List...)
}

// renameMember is OBJECT_RENAME(object, old, new). A member that has the new name already goes.
func renameMember(m []datum.Member, args []datum.Value) datum.Value {
	if args[1].Kind == datum.KindMissing {
		return args[1]
	}
	if args[0].Kind != datum.KindString || args[1].Kind != datum.KindString {
		return datum.Null
	}
	from, to := args[0].Text, args[1].Text
	at := slices.IndexFunc(m, func(m datum.Member) bool { return m.Name == from })
	if at < 0 || from == to {
		return datum.Object(m...)
	}
	m = slices.Clone(m)
	m[at].Name = to
	moved := m[at].Value
	first := true
	return datum.Object(slices.DeleteFunc(m, func(m datum.Member) bool {
		if m.Name != to {
			return false
		}
		keep := first && datum.Compare(&m.Value, &moved) == 0
		first = first && !keep
		return !keep
	})...)
}

// registerJSON adds the conversions between JSON and values. ENCODE_JSON has to see NULL, whose
// text is null, and fails if the text would be longer than datum.MaxValueSize. DECODE_JSON of what is no
// JSON is NULL.
func registerJSON() {
	register(Function{least: 1, most: 1, takesUnknown: true, call: func(
		_ Caller, args []datum.Value,
	) (datum.Value, error) {
		if args[0].Kind == datum.KindMissing {
			return args[0], nil
		}
		printed, err := args[0].AppendJSON(nil, datum.MaxValueSize)
		return datum.Text(string(printed)), err
	}}, "ENCODE_JSON", "JSON_ENCODE")
	register(onText(1, 1, func(args []datum.Value) datum.Value {
		parsed, err := ejson.Parse(bytes.Clone([]byte(args[0].Text)))
		if err != nil {
			return datum.Null
		}
		return datum.FromJSON(parsed)
	}), "DECODE_JSON", "JSON_DECODE")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		v := args[0]
		for v.Kind >= datum.KindArray {
			if v.Length() != 1 {
				return datum.Null
			}
			if v.Kind == datum.KindArray {
				v = v.Element(0)
			} else {
				v = v.Fields()[0].Value
			}
		}
		return v
	}), "TOATOM", "TO_ATOM")
	register(pure(1, 1, func(args []datum.Value) datum.Value {
		if args[0].Kind == datum.KindObject {
			return args[0]
		}
		return datum.Object()
	}), "TOOBJECT", "TO_OBJECT", "TOOBJ", "TO_OBJ")
}
