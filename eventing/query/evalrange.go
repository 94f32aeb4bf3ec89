package query

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// elements goes over an array, without unpacking one that is a part of a document.
type elements struct {
	list   []value
	packed ejson.Cursor
}

func elementsOf(v *value) elements {
	if v.unpacked() {
		return elements{list: v.list}
	}
	return elements{packed: v.doc.Children()}
}

// next is MISSING after the last element.
func (l *elements) next() value {
	if len(l.list) > 0 {
		v := l.list[0]
		l.list = l.list[1:]
		return v
	}
	v, _ := l.packed.Next()
	return fromJSON(v)
}

// loop is variables that go over arrays together: all have their first elements, then their second ones, up to the
// length of the shortest array.
type loop struct {
	env    *env
	base   int // of the variables in those of env
	arrays []elements
	length int
}

// over begins a loop. If an array is MISSING, or something else than an array, there is none: unknown is the result
// then, MISSING before NULL.
func (e *env) over(bindings []binding) (l *loop, unknown *value, err error) {
	l = &loop{env: e, base: len(e.variables), length: -1}
	for i := range bindings {
		in, err := bindings[i].in.eval(e)
		switch {
		case err != nil:
			return nil, nil, err
		case in.kind == kindMissing:
			return nil, &in, nil
		case in.kind != kindArray:
			unknown = &null
			continue
		}
		l.arrays = append(l.arrays, elementsOf(&in))
		if n := in.length(); l.length < 0 || n < l.length {
			l.length = n
		}
	}
	if unknown != nil {
		return nil, unknown, nil
	}
	for i := range bindings {
		e.variables = append(e.variables, member{name: bindings[i].name})
	}
	return l, nil, nil
}

// next gives the variables their next values; ok is false after the last ones. The loop must be ended.
func (l *loop) next() (ok bool, err error) {
	if l.length == 0 {
		return false, nil
	}
	l.length--
	for i := range l.arrays {
		l.env.variables[l.base+i].value = l.arrays[i].next()
	}
	return true, l.env.step()
}

// end takes the variables away.
func (l *loop) end() { l.env.variables = l.env.variables[:l.base] }

func (x *quantified) eval(e *env) (value, error) {
	l, unknown, err := e.over(x.over)
	switch {
	case err != nil:
		return value{}, err
	case unknown != nil:
		return *unknown, nil
	}
	defer l.end()
	if x.every && x.any && l.length == 0 {
		return boolean(false), nil
	}
	for {
		more, err := l.next()
		if err != nil {
			return value{}, err
		}
		if !more {
			return boolean(x.every), nil
		}
		if ok, err := e.passes(x.satisfies); err != nil || ok != x.every {
			return boolean(ok), err
		}
	}
}

func (x *transformation) eval(e *env) (value, error) {
	l, unknown, err := e.over(x.over)
	switch {
	case err != nil:
		return value{}, err
	case unknown != nil:
		return *unknown, nil
	}
	defer l.end()
	held := e.held
	defer func() { e.held = held }()
	var list []value
	members := newMembers(nil)
	for {
		more, err := l.next()
		if err != nil {
			return value{}, err
		}
		if !more {
			break
		}
		if ok, err := e.passes(x.when); err != nil {
			return value{}, err
		} else if !ok {
			continue
		}
		if x.what == "OBJECT" {
			unknown, err := x.addMember(e, members)
			if err != nil {
				return value{}, err
			}
			if unknown != nil {
				return *unknown, nil
			}
			continue
		}
		v, err := x.of.eval(e)
		if err != nil || x.what == "FIRST" {
			return v, err
		}
		if v.kind == kindMissing {
			continue
		}
		if err := e.hold(&v); err != nil {
			return value{}, err
		}
		list = append(list, v)
	}
	switch x.what {
	case "FIRST":
		return value{}, nil
	case "OBJECT":
		return object(members.list...), nil
	}
	return array(list), nil
}

// addMember sets the member of OBJECT that the variables give. If its name is no string, there is no object: unknown is
// the result then.
func (x *transformation) addMember(e *env, to *members) (unknown *value, err error) {
	name, err := x.name.eval(e)
	switch {
	case err != nil:
		return nil, err
	case name.kind == kindMissing:
		return &name, nil
	case name.kind != kindString:
		return &null, nil
	}
	v, err := x.of.eval(e)
	if err != nil {
		return nil, err
	}
	if v.kind == kindMissing {
		return nil, nil
	}
	to.set(name.text, v)
	return nil, e.hold(&v)
}

// members are members of an object that grows: setMember for many.
type members struct {
	list []member
	at   map[string]int
}

func newMembers(list []member) *members {
	m := &members{list: slices.Clone(list), at: make(map[string]int, len(list))}
	for i := range list {
		m.at[list[i].name] = i
	}
	return m
}

// set sets a member to something that is not MISSING.
func (m *members) set(name string, v value) {
	if i, ok := m.at[name]; ok {
		m.list[i].value = v
		return
	}
	m.at[name] = len(m.list)
	m.list = append(m.list, member{name, v})
}

// eval is MISSING where the array has no such part, as an element is.
func (x *sliceOf) eval(e *env) (value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return value{}, err
	}
	n := int64(of.length())
	bounds := [2]int64{0, n}
	missing, wrong := of.kind == kindMissing, of.kind != kindArray
	for i, bound := range []expr{x.from, x.to} {
		if bound == nil {
			continue
		}
		v, err := bound.eval(e)
		if err != nil {
			return value{}, err
		}
		at, ok := count(&v)
		missing, wrong = missing || v.kind == kindMissing, wrong || !ok
		if bounds[i] = at; at < 0 {
			bounds[i] += n
		}
	}
	from, to := bounds[0], bounds[1]
	switch {
	case missing:
		return value{}, nil
	case wrong:
		return null, nil
	case from < 0 || from > to || to > n:
		return value{}, nil
	}
	if of.unpacked() {
		return array(of.list[from:to:to]), nil
	}
	part := make([]value, 0, to-from)
	for i, all := int64(0), elementsOf(&of); i < to; i++ {
		if v := all.next(); i >= from {
			part = append(part, v)
		}
	}
	return array(part), nil
}

func (x *exists) eval(e *env) (value, error) {
	of, err := x.of.eval(e)
	switch {
	case err != nil || of.kind == kindMissing:
		return value{}, err
	case of.kind != kindArray:
		return null, nil
	}
	return boolean(of.length() > 0), nil
}
