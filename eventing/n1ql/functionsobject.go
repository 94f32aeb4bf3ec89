package n1ql

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// onObject is a function of an object and of other values.
func onObject(least, most int, call func(members []member, args []value) value) builtin {
	return conditional(least, most, func(args []value) value {
		switch args[0].kind {
		case kindMissing:
			return args[0]
		case kindObject:
			return call(args[0].fields(), args[1:])
		}
		return null
	})
}

// registerObjects adds the functions of objects. Lists of members are sorted by name, as in
// Couchbase, whatever order the object has; changed objects keep the order of their members.
// Members are cloned before a change, since the argument may be a document that other expressions
// read.
func registerObjects() {
	register(onObject(1, 1, func(m []member, _ []value) value { return integer(int64(len(m))) }), "OBJECT_LENGTH")
	inOrder := func(each func(m *member) value) builtin {
		return onObject(1, 1, func(m []member, _ []value) value {
			m = slices.SortedFunc(slices.Values(m), byName)
			list := make([]value, len(m))
			for i := range m {
				list[i] = each(&m[i])
			}
			return array(list)
		})
	}
	register(inOrder(func(m *member) value { return text(m.name) }), "OBJECT_NAMES")
	register(inOrder(func(m *member) value { return m.value }), "OBJECT_VALUES")
	register(inOrder(func(m *member) value {
		return object(member{"name", text(m.name)}, member{"val", m.value})
	}), "OBJECT_PAIRS")
	register(onObject(2, -1, func(m []member, args []value) value {
		all := newMembers(m)
		for i := range args {
			if args[i].kind != kindObject {
				return value{kind: min(args[i].kind, kindNull)}
			}
			for _, more := range args[i].fields() {
				all.set(more.name, more.value)
			}
		}
		return object(all.list...)
	}), "OBJECT_CONCAT")
	register(onObject(3, 3, func(m []member, args []value) value {
		name := args[0]
		switch {
		case name.unknown() || args[1].kind == kindMissing:
			return object(m...)
		case name.kind != kindString || slices.ContainsFunc(m, func(m member) bool { return m.name == name.text }):
			return null
		}
		return object(setMember(slices.Clone(m), name.text, args[1])...)
	}), "OBJECT_ADD")
	register(onObject(3, 3, func(m []member, args []value) value {
		if args[0].kind != kindString {
			return value{kind: min(args[0].kind, kindNull)}
		}
		return object(setMember(slices.Clone(m), args[0].text, args[1])...)
	}), "OBJECT_PUT")
	register(onObject(2, -1, func(m []member, args []value) value {
		m = slices.Clone(m)
		for i := range args {
			if args[i].kind != kindString {
				return value{kind: min(args[i].kind, kindNull)}
			}
			m = setMember(m, args[i].text, value{})
		}
		return object(m...)
	}), "OBJECT_REMOVE")
	register(onObject(3, 3, renameMember), "OBJECT_RENAME")
	register(onObject(1, 1, func(m []member, _ []value) value {
		if len(m) != 1 {
			return null
		}
		return m[0].value
	}), "OBJECT_UNWRAP")
	registerJSON()
}

// renameMember is OBJECT_RENAME(object, old, new). A member that has the new name already goes.
func renameMember(m []member, args []value) value {
	if args[0].kind != kindString || args[1].kind != kindString {
		return value{kind: min(args[0].kind, args[1].kind, kindNull)}
	}
	from, to := args[0].text, args[1].text
	at := slices.IndexFunc(m, func(m member) bool { return m.name == from })
	if at < 0 || from == to {
		return object(m...)
	}
	m = slices.Clone(m)
	m[at].name = to
	moved := m[at].value
	first := true
	return object(slices.DeleteFunc(m, func(m member) bool {
		if m.name != to {
			return false
		}
		keep := first && compare(&m.value, &moved) == 0
		first = first && !keep
		return !keep
	})...)
}

// registerJSON adds the conversions between JSON and values. ENCODE_JSON has to see NULL, whose
// text is null, and fails if the text would be longer than maxValueSize. DECODE_JSON of what is no
// JSON is NULL.
func registerJSON() {
	register(builtin{least: 1, most: 1, takesUnknown: true, call: func(_ *env, args []value) (value, error) {
		if args[0].kind == kindMissing {
			return args[0], nil
		}
		printed, err := args[0].appendJSON(nil, maxValueSize)
		return text(string(printed)), err
	}}, "ENCODE_JSON", "JSON_ENCODE")
	register(onText(1, 1, func(args []value) value {
		parsed, err := ejson.Parse(bytes.Clone([]byte(args[0].text)))
		if err != nil {
			return null
		}
		return fromJSON(parsed)
	}), "DECODE_JSON", "JSON_DECODE")
	register(pure(1, 1, func(args []value) value {
		v := args[0]
		for v.kind >= kindArray {
			if v.length() != 1 {
				return null
			}
			if v.kind == kindArray {
				v = v.element(0)
			} else {
				v = v.fields()[0].value
			}
		}
		return v
	}), "TOATOM", "TO_ATOM")
	register(pure(1, 1, func(args []value) value {
		if args[0].kind == kindObject {
			return args[0]
		}
		return object()
	}), "TOOBJECT", "TO_OBJECT", "TOOBJ", "TO_OBJ")
}
