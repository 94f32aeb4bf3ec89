package n1ql

import (
	"context"
	"slices"
	"time"
)

// env is what expressions are evaluated in: a document, parameters and variables.
type env struct {
	ctx       context.Context // of the query: loops over arrays end with it
	params    map[string]value
	alias     string
	now       time.Time
	document  value
	meta      *Document // nil where there is no document
	terms     []term    // of FROM, where there are joins; document is that of the one whose ON is evaluated
	statement *Statement
	variables []member
	results   []value // of the aggregates
	group     []value // of the terms of GROUP BY
	steps     int
	memory    *memory  // of the query; nil: its values have no bound but maxHeld
	held      int      // bytes of values that expressions have and are not done with
	regexps   *regexps // of the whole statement; nil for none so far
	work      *work    // of the query; nil before it runs, when subqueries have no values
	outer     *scope   // what is around a subquery
}

// term is the value that a term of FROM has in a row.
type term struct {
	alias string
	value value
	meta  *Document // nil for what is no document
}

// term finds a term by its alias, nil if there is none.
func (e *env) term(alias string) *term {
	for i := range e.terms {
		if e.terms[i].alias == alias {
			return &e.terms[i]
		}
	}
	return nil
}

// known says what a name stands for before the document is read.
func (e *env) known(name string) nameKind {
	switch {
	case slices.ContainsFunc(e.variables, func(m member) bool { return m.name == name }), e.term(name) != nil:
		return nameKnown
	case name == e.alias, slices.ContainsFunc(e.statement.lets, named(name)):
		return nameOfRow
	case e.around(name):
		return nameKnown
	}
	return nameOfField
}

// let evaluates variables, each of which sees those before it.
func (e *env) let(list []variable) error {
	for _, l := range list {
		v, err := l.value.eval(e)
		if err == nil {
			err = e.hold(&v)
		}
		if err != nil {
			return err
		}
		e.variables = append(e.variables, member{l.name, v})
	}
	return nil
}

// step counts the work that one document causes, so that loops in loops end when the query does.
func (e *env) step() error {
	if e.steps++; e.steps%1024 == 0 && e.ctx != nil {
		return e.ctx.Err()
	}
	return nil
}

// maxHeld bounds the values that expressions have together at one time, each of which is not too
// large.
const maxHeld = 2 * maxValueSize

// hold counts a value that an expression keeps until it has others. Whoever holds values puts
// e.held back when it is done.
func (e *env) hold(v *value) error {
	if e.held += valueSize + v.cost(); e.held > maxHeld {
		return errTooMuch
	}
	return e.memory.hold(e.held)
}

var errTooMuch = limitf("the expressions of the statement need more than %d MB of memory", maxHeld>>20)

// passes reports whether a condition holds: MISSING and NULL do not. No condition always does.
func (e *env) passes(condition expr) (bool, error) {
	if condition == nil {
		return true, nil
	}
	v, err := condition.eval(e)
	return v.truth(), err
}

// evalAll evaluates several expressions.
func (e *env) evalAll(list []expr) ([]value, error) {
	held := e.held
	values := make([]value, len(list))
	for i, x := range list {
		var err error
		if values[i], err = x.eval(e); err != nil {
			return nil, err
		}
		if err = e.hold(&values[i]); err != nil {
			return nil, err
		}
	}
	e.held = held
	return values, nil
}

// evalTwo evaluates two operands. If one is MISSING or NULL, so is the result, and unknown is set.
func (e *env) evalTwo(a, b expr) (x, y value, unknown bool, err error) {
	if x, err = a.eval(e); err != nil {
		return x, y, true, err
	}
	held := e.held
	if err = e.hold(&x); err != nil {
		return x, y, true, err
	}
	if y, err = b.eval(e); err != nil {
		return x, y, true, err
	}
	e.held = held
	if x.unknown() || y.unknown() {
		return value{kind: min(x.kind, y.kind)}, y, true, nil
	}
	return x, y, false, nil
}

func (x *literal) eval(*env) (value, error) { return x.value, nil }

func (x *parameter) eval(e *env) (value, error) { return e.params[x.name], nil }

// eval looks a name up among variables and terms, then among the members of the document.
func (x *identifier) eval(e *env) (value, error) {
	if v, _, ok := e.lookup(x.name); ok {
		return v, nil
	}
	return e.document.field(x.name), nil
}

// lookup finds a name: the variables of loops from the innermost out, then the alias of a term,
// which is the whole document and has its metadata, then what is around the subquery.
func (e *env) lookup(name string) (v value, meta *Document, ok bool) {
	for i := len(e.variables) - 1; i >= 0; i-- {
		if e.variables[i].name == name {
			return e.variables[i].value, nil, true
		}
	}
	if t := e.term(name); t != nil {
		return t.value, t.meta, true
	}
	if name == e.alias {
		return e.document, e.meta, true
	}
	if e.outer == nil {
		return value{}, nil, false
	}
	v, meta, ok = e.outer.env.lookup(name)
	e.outer.used = e.outer.used || ok
	return v, meta, ok
}

func (x *fieldOf) eval(e *env) (value, error) {
	if all, ok := x.of.(*starOf); ok {
		return all.fieldsOf(e, x.name)
	}
	v, err := x.of.eval(e)
	return v.field(x.name), err
}

// eval is MISSING for what has no elements, as a field of what is no object is.
func (x *elementOf) eval(e *env) (value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return value{}, err
	}
	at, err := x.at.eval(e)
	i, ok := at.num.int()
	switch {
	case err != nil || of.kind < kindArray:
		return value{}, err
	case at.unknown():
		return at, nil
	case at.kind == kindString: // object["name"] is as good as object.name
		return of.field(at.text), nil
	case at.kind != kindNumber || !ok:
		return null, nil
	}
	return of.element(i), nil
}

func (x *arrayOf) eval(e *env) (value, error) {
	list, err := e.evalAll(x.list)
	for i := range list {
		if list[i].kind == kindMissing {
			list[i] = null
		}
	}
	return array(list), err
}

func (x *objectOf) eval(e *env) (value, error) {
	held := e.held
	var members []member
	for _, m := range x.members {
		v, err := m.value.eval(e)
		if err == nil {
			err = e.hold(&v)
		}
		if err != nil {
			return value{}, err
		}
		members = setMember(members, m.name, v)
	}
	e.held = held
	return object(members...), nil
}

// setMember sets a member, or removes it if the value is MISSING. The list is the caller's.
func setMember(members []member, name string, v value) []member {
	for i := range members {
		if members[i].name != name {
			continue
		}
		if v.kind == kindMissing {
			return append(members[:i], members[i+1:]...)
		}
		members[i].value = v
		return members
	}
	if v.kind == kindMissing {
		return members
	}
	return append(members, member{name, v})
}

func negate(v *value) value {
	zero := number{}
	if v.num.isFloat {
		return value{kind: kindNumber, num: number{double: -v.num.double, isFloat: true}}
	}
	return calculate("-", &zero, &v.num)
}

func (x *negative) eval(e *env) (value, error) {
	v, err := x.of.eval(e)
	switch {
	case err != nil || v.unknown():
		return v, err
	case v.kind != kindNumber:
		return null, nil
	}
	return negate(&v), nil
}

func (x *arithmetic) eval(e *env) (value, error) {
	a, b, unknown, err := e.evalTwo(x.a, x.b)
	switch {
	case err != nil || unknown:
		return a, err
	case a.kind != kindNumber || b.kind != kindNumber:
		return null, nil
	}
	return calculate(x.op, &a.num, &b.num), nil
}

func (x *concat) eval(e *env) (value, error) {
	list, err := e.evalAll(x.list)
	if err != nil {
		return value{}, err
	}
	return e.concatenate(list)
}

// concatenate joins strings; others make it NULL.
func (e *env) concatenate(list []value) (value, error) {
	size, unknown := 0, kindString
	for i := range list {
		switch list[i].kind {
		case kindString:
			size += len(list[i].text)
		case kindMissing:
			unknown = kindMissing
		default:
			unknown = min(unknown, kindNull)
		}
	}
	if unknown != kindString {
		return value{kind: unknown}, nil
	}
	if err := e.room(int64(size)); err != nil {
		return value{}, err
	}
	joined := make([]byte, 0, size)
	for i := range list {
		joined = append(joined, list[i].text...)
	}
	return text(string(joined)), nil
}

// eval is the metadata of a document, which is MISSING for what is none: an element of an array, or
// what LEFT has added nothing to.
func (x *metaOf) eval(e *env) (value, error) {
	meta := e.meta
	if x.alias != "" {
		if _, found, ok := e.lookup(x.alias); ok {
			meta = found
		}
	}
	if meta == nil {
		return value{}, nil
	}
	return object(
		member{"cas", text(meta.Cas)},
		member{"expiration", integer(meta.Expiry)},
		member{"id", text(meta.ID)},
		member{"type", text("json")},
	), nil
}

// eval calls a function with its evaluated arguments. MISSING before NULL among them is the result,
// without a call, unless the function looks at unknown values itself.
func (x *function) eval(e *env) (value, error) {
	args, err := e.evalAll(x.args)
	if err != nil {
		return value{}, err
	}
	if !x.fn.takesUnknown {
		unknown := kindObject
		for i := range args {
			unknown = min(unknown, args[i].kind)
		}
		if len(args) > 0 && unknown <= kindNull {
			return value{kind: unknown}, nil
		}
	}
	return x.fn.call(e, args)
}

func (x *aggregate) eval(e *env) (value, error) { return e.results[x.at], nil }

func (x *groupKey) eval(e *env) (value, error) { return e.group[x.at], nil }
