package n1ql

import (
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
)

// elements goes over an array; one that is a part of a document is not unpacked as a whole.
type elements struct {
	list   []datum.Value
	packed ejson.Cursor
}

func elementsOf(v *datum.Value) elements {
	if v.Unpacked() {
		return elements{list: v.List}
	}
	return elements{packed: v.Doc.Children()}
}

// next gives the next element; ok is false after the last one.
func (l *elements) next() (v datum.Value, ok bool) {
	if len(l.list) > 0 {
		v := l.list[0]
		l.list = l.list[1:]
		return v, true
	}
	packed, ok := l.packed.Next()
	return datum.FromJSON(packed), ok
}

// walk goes over what a variable has, one value after the other: over the elements of an array, or
// over all values in an array or object, each before those in it, the members of objects in the
// order of their names.
type walk struct {
	deep   bool
	places bool        // next tells places
	place  datum.Value // of the value that next has given
	open   []level     // those that are within each other, with what is left of each
	held   int         // values that were unpacked for them
}

// level is an array or object that a walk is in.
type level struct {
	elements
	held  int
	given int64          // values
	names []datum.Member // of an object's members, where places are told
}

func valuesWithin(v *datum.Value) *walk {
	w := &walk{deep: true}
	w.enter(v)
	return w
}

// enter goes on with what is in a value.
func (w *walk) enter(v *datum.Value) {
	switch v.Kind {
	case datum.KindArray:
		w.open = append(w.open, level{elements: elementsOf(v)})
	case datum.KindObject:
		fields := datum.SortedFields(v)
		list := make([]datum.Value, len(fields))
		for i := range fields {
			list[i] = fields[i].Value
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
func (w *walk) next() (v datum.Value, ok bool, err error) {
	for len(w.open) > 0 {
		last := &w.open[len(w.open)-1]
		if v, ok = last.next(); ok {
			switch {
			case !w.places:
			case last.names != nil:
				w.place = datum.Text(last.names[last.given].Name)
			default:
				w.place = datum.Integer(last.given)
			}
			last.given++
			if w.deep {
				w.enter(&v)
				if w.held > maxHeld/datum.ValueSize {
					err = errTooMuch
				}
			}
			return v, true, err
		}
		w.held -= last.held
		w.open = w.open[:len(w.open)-1]
	}
	return datum.Value{}, false, nil
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
func (e *env) over(bindings []binding) (l *loop, unknown *datum.Value, err error) {
	l = &loop{env: e, base: len(e.variables)}
	for i := range bindings {
		in, err := bindings[i].in.eval(e)
		switch {
		case err != nil:
			return nil, nil, err
		case in.Kind == datum.KindMissing:
			return nil, &in, nil
		case in.Kind == datum.KindArray, in.Kind == datum.KindObject && (bindings[i].within || bindings[i].place != ""):
			w := &walk{deep: bindings[i].within, places: bindings[i].place != ""}
			w.enter(&in)
			l.over = append(l.over, w)
		default:
			unknown = &datum.Null
		}
	}
	if unknown != nil {
		return nil, unknown, nil
	}
	for i := range bindings {
		if bindings[i].place != "" {
			e.variables = append(e.variables, datum.Member{Name: bindings[i].place})
		}
		e.variables = append(e.variables, datum.Member{Name: bindings[i].name})
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
			l.env.variables[at].Value = w.place
			at++
		}
		l.env.variables[at].Value = v
		at++
	}
	return true, l.env.step()
}

// end takes the variables away.
func (l *loop) end() { l.env.variables = l.env.variables[:l.base] }

// eval stops at the first value that decides: one that satisfies for ANY, one that does not for
// EVERY. Over no values ANY is FALSE, EVERY is TRUE, and ANY AND EVERY, which asks for one value at
// least, is FALSE.
func (x *quantified) eval(e *env) (datum.Value, error) {
	l, unknown, err := e.over(x.over)
	switch {
	case err != nil:
		return datum.Value{}, err
	case unknown != nil:
		return *unknown, nil
	}
	defer l.end()
	for some := false; ; some = true {
		more, err := l.next()
		if err != nil {
			return datum.Value{}, err
		}
		if !more {
			return datum.Boolean(x.every && (some || !x.any)), nil
		}
		if ok, err := e.passes(x.satisfies); err != nil || ok != x.every {
			return datum.Boolean(ok), err
		}
	}
}

// eval makes the ARRAY, OBJECT or FIRST of a comprehension. Values that are MISSING are left out of
// arrays and objects. What it collects counts against maxHeld while the loop runs; the count goes
// back when that ends.
func (x *transformation) eval(e *env) (datum.Value, error) {
	l, unknown, err := e.over(x.over)
	switch {
	case err != nil:
		return datum.Value{}, err
	case unknown != nil:
		return *unknown, nil
	}
	defer l.end()
	held := e.held
	defer func() { e.held = held }()
	var list []datum.Value
	members := datum.NewMembers(nil)
	for {
		more, err := l.next()
		if err != nil {
			return datum.Value{}, err
		}
		if !more {
			break
		}
		if ok, err := e.passes(x.when); err != nil {
			return datum.Value{}, err
		} else if !ok {
			continue
		}
		if x.what == "OBJECT" {
			unknown, err := x.addMember(e, members)
			if err != nil {
				return datum.Value{}, err
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
		if v.Kind == datum.KindMissing {
			continue
		}
		if err := e.hold(&v); err != nil {
			return datum.Value{}, err
		}
		list = append(list, v)
	}
	switch x.what {
	case "FIRST":
		return datum.Value{}, nil
	case "OBJECT":
		return datum.Object(members.List...), nil
	}
	return datum.Array(list), nil
}

// addMember sets the member of OBJECT that the variables give. If its name is no string, there is
// no object: unknown is the result then.
func (x *transformation) addMember(e *env, to *datum.Members) (unknown *datum.Value, err error) {
	name, err := x.name.eval(e)
	switch {
	case err != nil:
		return nil, err
	case name.Kind == datum.KindMissing:
		return &name, nil
	case name.Kind != datum.KindString:
		return &datum.Null, nil
	}
	v, err := x.of.eval(e)
	if err != nil {
		return nil, err
	}
	if v.Kind == datum.KindMissing {
		return nil, nil
	}
	to.Set(name.Text, v)
	return nil, e.hold(&v)
}

// eval is MISSING where the array has no such part, as an element is.
func (x *sliceOf) eval(e *env) (datum.Value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return datum.Value{}, err
	}
	n := int64(of.Length())
	bounds := [2]int64{0, n}
	missing, wrong := of.Kind == datum.KindMissing, of.Kind != datum.KindArray
	for i, bound := range []expr{x.from, x.to} {
		if bound == nil {
			continue
		}
		v, err := bound.eval(e)
		if err != nil {
			return datum.Value{}, err
		}
		at, ok := v.Int()
		missing, wrong = missing || v.Kind == datum.KindMissing, wrong || !ok
		if bounds[i] = at; at < 0 {
			bounds[i] += n
		}
	}
	from, to := bounds[0], bounds[1]
	switch {
	case missing:
		return datum.Value{}, nil
	case wrong:
		return datum.Null, nil
	case from < 0 || from > to || to > n || x.to == nil && from == n: // l[n:] has nothing, l[n:n] is []
		return datum.Value{}, nil
	}
	if of.Unpacked() {
		return datum.Array(of.List[from:to:to]), nil
	}
	part := make([]datum.Value, 0, to-from)
	for i, all := int64(0), elementsOf(&of); i < to; i++ {
		if v, _ := all.next(); i >= from {
			part = append(part, v)
		}
	}
	return datum.Array(part), nil
}

// eval makes an object of arrays of an array of objects: each name of theirs has the values of all
// elements. So a[*].name are the names of the elements of a.
func (x *starOf) eval(e *env) (datum.Value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return datum.Value{}, err
	}
	return functions.Star(e, &of)
}

// fieldsOf is [*].name, without the arrays of other names.
func (x *starOf) fieldsOf(e *env, name string) (datum.Value, error) {
	of, err := x.of.eval(e)
	if err != nil || of.Kind != datum.KindArray {
		return datum.Value{}, err
	}
	list, some := functions.FieldsOf(of.Elements(), name)
	if !some {
		return datum.Value{}, nil
	}
	return datum.Array(list), nil
}

func (x *exists) eval(e *env) (datum.Value, error) {
	if rows, ok := x.of.(*subquery); ok { // the first one is enough
		held := e.held
		first, err := rows.rows(e, 1)
		e.held = held
		return datum.Boolean(first.Length() > 0), err
	}
	of, err := x.of.eval(e)
	switch {
	case err != nil || of.Kind == datum.KindMissing:
		return datum.Value{}, err
	case of.Kind != datum.KindArray:
		return datum.Null, nil
	}
	return datum.Boolean(of.Length() > 0), nil
}
