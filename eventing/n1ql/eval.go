package n1ql

import (
	"context"
	"slices"
	"time"

	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
)

// env is what expressions are evaluated in: a document, parameters and variables.
type env struct {
	ctx       context.Context // of the query: loops over arrays end with it
	params    map[string]datum.Value
	alias     string
	now       time.Time
	document  datum.Value
	meta      *Document // nil where there is no document
	terms     []term    // of FROM, where there are joins; document is that of the one whose ON is evaluated
	statement *Statement
	variables []datum.Member
	results   []datum.Value // of the aggregates
	windows   []datum.Value // of the functions over windows
	group     []datum.Value // of the terms of GROUP BY
	steps     int
	memory    *memory             // of the query; nil: its values have no bound but maxHeld
	held      int                 // bytes of values that expressions have and are not done with
	patterns  *functions.Patterns // of the whole statement; nil for none so far
	work      *work               // of the query; nil before it runs, when subqueries have no values
	outer     *scope              // what is around a subquery
}

// Began is the time at which the statement began.
func (e *env) Began() time.Time { return e.now }

// Patterns are those of the whole statement.
func (e *env) Patterns() *functions.Patterns {
	if e.patterns == nil {
		e.patterns = new(functions.Patterns)
	}
	return e.patterns
}

// term is the value that a term of FROM has in a row.
type term struct {
	alias string
	value datum.Value
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
	case slices.ContainsFunc(e.variables, func(m datum.Member) bool { return m.Name == name }), e.term(name) != nil:
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
		e.variables = append(e.variables, datum.Member{Name: l.name, Value: v})
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
const maxHeld = 2 * datum.MaxValueSize

// hold counts a value that an expression keeps until it has others. Whoever holds values puts
// e.held back when it is done.
func (e *env) hold(v *datum.Value) error {
	if e.held += datum.ValueSize + v.Cost(); e.held > maxHeld {
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
	return v.Truth(), err
}

// evalAll evaluates several expressions.
func (e *env) evalAll(list []expr) ([]datum.Value, error) {
	held := e.held
	values := make([]datum.Value, len(list))
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
func (e *env) evalTwo(a, b expr) (x, y datum.Value, unknown bool, err error) {
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
	if x.Unknown() || y.Unknown() {
		return datum.Value{Kind: min(x.Kind, y.Kind)}, y, true, nil
	}
	return x, y, false, nil
}

func (x *literal) eval(*env) (datum.Value, error) { return x.value, nil }

func (x *parameter) eval(e *env) (datum.Value, error) { return e.params[x.name], nil }

// eval looks a name up among variables and terms, then among the members of the document.
func (x *identifier) eval(e *env) (datum.Value, error) {
	if v, _, ok := e.lookup(x.name); ok {
		return v, nil
	}
	return e.document.Field(x.name), nil
}

// lookup finds a name: the variables of loops from the innermost out, then the alias of a term,
// which is the whole document and has its metadata, then what is around the subquery.
func (e *env) lookup(name string) (v datum.Value, meta *Document, ok bool) {
	for i := len(e.variables) - 1; i >= 0; i-- {
		if e.variables[i].Name == name {
			return e.variables[i].Value, nil, true
		}
	}
	if t := e.term(name); t != nil {
		return t.value, t.meta, true
	}
	if name == e.alias {
		return e.document, e.meta, true
	}
	if e.outer == nil {
		return datum.Value{}, nil, false
	}
	v, meta, ok = e.outer.env.lookup(name)
	e.outer.used = e.outer.used || ok
	return v, meta, ok
}

func (x *fieldOf) eval(e *env) (datum.Value, error) {
	if all, ok := x.of.(*starOf); ok {
		return all.fieldsOf(e, x.name)
	}
	v, err := x.of.eval(e)
	return v.Field(x.name), err
}

// eval is MISSING for an element of what has none, as a field of what is no object is, and NULL for what is
// the number of no element.
func (x *elementOf) eval(e *env) (datum.Value, error) {
	of, err := x.of.eval(e)
	if err != nil {
		return datum.Value{}, err
	}
	at, err := x.at.eval(e)
	i, ok := at.Int()
	switch {
	case err != nil || of.Kind == datum.KindMissing || at.Kind == datum.KindMissing:
		return datum.Value{}, err
	case of.Kind == datum.KindObject && at.Kind == datum.KindString: // object["name"] is as good as object.name
		return of.Field(at.Text), nil
	case !ok:
		return datum.Null, nil
	}
	return of.Element(i), nil
}

func (x *arrayOf) eval(e *env) (datum.Value, error) {
	list, err := e.evalAll(x.list)
	for i := range list {
		if list[i].Kind == datum.KindMissing {
			list[i] = datum.Null
		}
	}
	return datum.Array(list), err
}

func (x *objectOf) eval(e *env) (datum.Value, error) {
	held := e.held
	var members []datum.Member
	for _, m := range x.members {
		v, err := m.value.eval(e)
		if err == nil {
			err = e.hold(&v)
		}
		if err != nil {
			return datum.Value{}, err
		}
		members = datum.SetMember(members, m.name, v)
	}
	e.held = held
	return datum.Object(members...), nil
}

func (x *negative) eval(e *env) (datum.Value, error) {
	v, err := x.of.eval(e)
	switch {
	case err != nil || v.Unknown():
		return v, err
	case v.Kind != datum.KindNumber:
		return datum.Null, nil
	}
	return datum.Negate(&v), nil
}

func (x *arithmetic) eval(e *env) (datum.Value, error) {
	a, b, unknown, err := e.evalTwo(x.a, x.b)
	switch {
	case err != nil || unknown:
		return a, err
	case a.Kind != datum.KindNumber || b.Kind != datum.KindNumber:
		return datum.Null, nil
	}
	return datum.Calculate(x.op, &a.Num, &b.Num), nil
}

func (x *concat) eval(e *env) (datum.Value, error) {
	list, err := e.evalAll(x.list)
	if err != nil {
		return datum.Value{}, err
	}
	return functions.Concat(e, list)
}

// eval is the metadata of a document, which is MISSING for what is none: an element of an array, or
// what LEFT has added nothing to.
func (x *metaOf) eval(e *env) (datum.Value, error) {
	meta := e.meta
	if x.alias != "" {
		if _, found, ok := e.lookup(x.alias); ok {
			meta = found
		}
	}
	if meta == nil {
		return datum.Value{}, nil
	}
	return datum.Object(
		datum.Member{Name: "cas", Value: datum.Text(meta.Cas)},
		datum.Member{Name: "expiration", Value: datum.Integer(meta.Expiry)},
		datum.Member{Name: "id", Value: datum.Text(meta.ID)},
		datum.Member{Name: "type", Value: datum.Text("json")},
	), nil
}

// eval calls a function with its evaluated arguments.
func (x *function) eval(e *env) (datum.Value, error) {
	args, err := e.evalAll(x.args)
	if err != nil {
		return datum.Value{}, err
	}
	return x.fn.Call(e, args)
}

func (x *aggregate) eval(e *env) (datum.Value, error) { return e.results[x.at], nil }

func (x *window) eval(e *env) (datum.Value, error) { return e.windows[x.at], nil }

func (x *groupKey) eval(e *env) (datum.Value, error) { return e.group[x.at], nil }
