package n1ql

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// elements goes over an array; one that is a part of a document is not unpacked as a whole.
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

// next gives the next element; ok is false after the last one.
func (l *elements) next() (v value, ok bool) {
	if len(l.list) > 0 {
		v := l.list[0]
		l.list = l.list[1:]
		return v, true
	}
	packed, ok := l.packed.Next()
	return fromJSON(packed), ok
}

// walk goes over what a variable has, one value after the other: over the elements of an array, or
// over all values in an array or object, each before those in it, the members of objects in the
// order of their names.
type walk struct {
	deep   bool
	places bool    // next tells places
	place  value   // of the value that next has given
	open   []level // those that are within each other, with what is left of each
	held   int     // values that were unpacked for them
}

// level is an array or object that a walk is in.
type level struct {
	elements
	held  int
	given int64    // values
	names []member // of an object's members, where places are told
}

func valuesWithin(v *value) *walk {
	w := &walk{deep: true}
	w.enter(v)
	return w
}

// enter goes on with what is in a value.
func (w *walk) enter(v *value) {
	switch v.kind {
	case kindArray:
		w.open = append(w.open, level{elements: elementsOf(v)})
	case kindObject:
		fields := sortedFields(v)
		list := make([]value, len(fields))
		for i := range fields {
			list[i] = fields[i].value
		}
		l := level{elements: elements{list: list}, held: len(list)}
		if w.places {
			l.names = fields
		}
		w.open = append(w.open, l)
		w.held += len(list)
	}
}

// next gives the next value; ok is false after the last one.
func (w *walk) next() (v value, ok bool, err error) {
	for len(w.open) > 0 {
		last := &w.open[len(w.open)-1]
		if v, ok = last.next(); ok {
			switch {
			case !w.places:
			case last.names != nil:
				w.place = text(last.names[last.given].name)
			default:
				w.place = integer(last.given)
			}
			last.given++
			if w.deep {
				w.enter(&v)
				err = tooMany(float64(w.held))
			}
			return v, true, err
		}
		w.held -= last.held
		w.open = w.open[:len(w.open)-1]
	}
	return value{}, false, nil
}

// loop is variables that go over values together: all have their first ones, then their second
// ones, until one has no more.
type loop struct {
	env  *env
	base int // of the variables in those of env
	over []*walk
}

// over begins a loop. If what a variable goes over is MISSING, or cannot be gone over, there is
// none: unknown is the result then, MISSING before NULL.
func (e *env) over(bindings []binding) (l *loop, unknown *value, err error) {
	l = &loop{env: e, base: len(e.variables)}
	for i := range bindings {
		in, err := bindings[i].in.eval(e)
		switch {
		case err != nil:
			return nil, nil, err
		case in.kind == kindMissing:
			return nil, &in, nil
		case in.kind == kindArray, in.kind == kindObject && (bindings[i].within || bindings[i].place != ""):
			w := &walk{deep: bindings[i].within, places: bindings[i].place != ""}
			w.enter(&in)
			l.over = append(l.over, w)
		default:
			unknown = &null
		}
	}
	if unknown != nil {
		return nil, unknown, nil
	}
	for i := range bindings {
		if bindings[i].place != "" {
			e.variables = append(e.variables, member{name: bindings[i].place})
		}
		e.variables = append(e.variables, member{name: bindings[i].name})
	}
	return l, nil, nil
}

// next gives the variables their next values; ok is false after the last ones. The loop must be
// ended.
func (l *loop) next() (ok bool, err error) {
	at := l.base
	for _, w := range l.over {
		v, ok, err := w.next()
		if !ok || err != nil {
			return false, err
		}
		if w.places {
			l.env.variables[at].value = w.place
			at++
		}
		l.env.variables[at].value = v
		at++
	}
	return true, l.env.step()
}

// end takes the variables away.
func (l *loop) end() { l.env.variables = l.env.variables[:l.base] }

// eval stops at the first value that decides: one that satisfies for ANY, one that does not for
// EVERY. Over no values ANY is FALSE, EVERY is TRUE, and ANY AND EVERY, which asks for one value at
// least, is FALSE.
func (x *quantified) eval(e *env) (value, error) {
	l, unknown, err := e.over(x.over)
	switch {
	case err != nil:
		return value{}, err
	case unknown != nil:
		return *unknown, nil
	}
	defer l.end()
	for some := false; ; some = true {
		more, err := l.next()
		if err != nil {
			return value{}, err
		}
		if !more {
			return boolean(x.every && (some || !x.any)), nil
		}
		if ok, err := e.passes(x.satisfies); err != nil || ok != x.every {
			return boolean(ok), err
		}
	}
}

// eval makes the ARRAY, OBJECT or FIRST of a comprehension. Values that are MISSING are left out of
// arrays and objects. What it collects counts against maxHeld while the loop runs; the count goes
// back when that ends.
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

// addMember sets the member of OBJECT that the variables give. If its name is no string, there is
// no object: unknown is the result then.
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
		if v, _ := all.next(); i >= from {
			part = append(part, v)
		}
	}
	return array(part), nil
}

// eval makes an object of arrays of an array of objects: each name of theirs has the values of all
// elements. So a[*].name are the names of the elements of a.
func (x *starOf) eval(e *env) (value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return value{}, err
	}
	return star(&of)
}

// star is [*] of a value.
func star(of *value) (value, error) {
	switch of.kind {
	case kindMissing:
		return *of, nil
	case kindArray:
	default:
		return null, nil
	}
	list, all := of.elements(), newMembers(nil)
	for i := range list {
		for _, m := range list[i].fields() {
			if _, known := all.at[m.name]; !known {
				all.set(m.name, value{})
			}
		}
	}
	if err := tooMany(float64(len(list)) * float64(len(all.list))); err != nil {
		return value{}, err
	}
	for i := range all.list {
		values, _ := fieldsOf(list, all.list[i].name)
		all.list[i].value = array(values)
	}
	return object(all.list...), nil
}

// fieldsOf is [*].name, without the arrays of other names.
func (x *starOf) fieldsOf(e *env, name string) (value, error) {
	of, err := x.of.eval(e)
	if err != nil || of.kind != kindArray {
		return value{}, err
	}
	list, some := fieldsOf(of.elements(), name)
	if !some {
		return value{}, nil
	}
	return array(list), nil
}

// fieldsOf are the fields of all values of a list, NULL for those that have none; some: there is
// one.
func fieldsOf(list []value, name string) (fields []value, some bool) {
	fields = make([]value, len(list))
	for i := range list {
		if fields[i] = list[i].field(name); fields[i].kind == kindMissing {
			fields[i] = null
		} else {
			some = true
		}
	}
	return fields, some
}

func (x *exists) eval(e *env) (value, error) {
	if rows, ok := x.of.(*subquery); ok { // the first one is enough
		held := e.held
		first, err := rows.rows(e, 1)
		e.held = held
		return boolean(first.length() > 0), err
	}
	of, err := x.of.eval(e)
	switch {
	case err != nil || of.kind == kindMissing:
		return value{}, err
	case of.kind != kindArray:
		return null, nil
	}
	return boolean(of.length() > 0), nil
}
