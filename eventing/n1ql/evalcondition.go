package n1ql

import "github.com/settee-db/settee/eventing/n1ql/datum"

// eval compares by the order of all JSON values (compare), in which values of different types are
// ordered by their types; an unknown operand makes it unknown.
func (x *comparison) eval(e *env) (datum.Value, error) {
	a, b, unknown, err := e.evalTwo(x.a, x.b)
	if err != nil || unknown {
		return a, err
	}
	return datum.Boolean(holds(x.op, datum.Compare(&a, &b))), nil
}

// holds reports whether an operator holds for the order of its operands.
func holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// between is of >= low AND of <= high, which may be FALSE although one bound is unknown.
func (x *between) eval(e *env) (datum.Value, error) {
	all := &allOf{[]expr{&comparison{">=", x.of, x.low}, &comparison{"<=", x.of, x.high}}}
	return all.eval(e)
}

// eval is TRUE if an element equals the operand, else NULL if an element is unknown, since that
// could be the one, else FALSE; NULL if the list is no array.
func (x *inList) eval(e *env) (datum.Value, error) {
	of, list, unknown, err := e.evalTwo(x.of, x.list)
	switch {
	case err != nil || unknown:
		return of, err
	case list.Kind != datum.KindArray:
		return datum.Null, nil
	}
	found := datum.Boolean(false)
	for _, element := range list.Elements() {
		if err := e.step(); err != nil {
			return datum.Value{}, err
		}
		if element.Unknown() {
			found = datum.Null // nobody knows whether this one is it
		} else if datum.Compare(&of, &element) == 0 {
			return datum.Boolean(true), nil
		}
	}
	return found, nil
}

// eval is inList for all values in an array or object, however deep.
func (x *within) eval(e *env) (datum.Value, error) {
	of, all, unknown, err := e.evalTwo(x.of, x.all)
	switch {
	case err != nil || unknown:
		return of, err
	case all.Kind < datum.KindArray:
		return datum.Null, nil
	}
	found, values := datum.Boolean(false), valuesWithin(&all)
	for {
		v, ok, err := values.next()
		if err == nil {
			err = e.step()
		}
		switch {
		case err != nil:
			return datum.Value{}, err
		case !ok:
			return found, nil
		case v.Unknown():
			found = datum.Null
		case datum.Compare(&of, &v) == 0:
			return datum.Boolean(true), nil
		}
	}
}

// eval matches the whole text (see parseLike); it is NULL unless both operands are strings.
func (x *like) eval(e *env) (datum.Value, error) {
	of, pattern, unknown, err := e.evalTwo(x.of, x.pattern)
	switch {
	case err != nil || unknown:
		return of, err
	case of.Kind != datum.KindString || pattern.Kind != datum.KindString:
		return datum.Null, nil
	}
	return datum.Boolean(datum.ParseLike(pattern.Text).Match(of.Text)), nil
}

// eval asks for the kind of a value. IS MISSING and IS VALUED answer for every value; IS NULL of
// MISSING stays MISSING, since nothing is known of what is not there.
func (x *isWhat) eval(e *env) (datum.Value, error) {
	v, err := x.of.eval(e)
	if err != nil {
		return datum.Value{}, err
	}
	switch x.what {
	case "MISSING":
		return datum.Boolean(v.Kind == datum.KindMissing), nil
	case "NOT MISSING":
		return datum.Boolean(v.Kind != datum.KindMissing), nil
	case "VALUED":
		return datum.Boolean(!v.Unknown()), nil
	case "NOT VALUED":
		return datum.Boolean(v.Unknown()), nil
	}
	if v.Kind == datum.KindMissing { // nothing is known of what is not there
		return v, nil
	}
	return datum.Boolean((v.Kind == datum.KindNull) == (x.what == "NULL")), nil
}

func (x *not) eval(e *env) (datum.Value, error) {
	v, err := x.of.eval(e)
	if err != nil || v.Unknown() {
		return v, err
	}
	return datum.Boolean(!v.Truth()), nil
}

// eval is FALSE if one condition does not hold, else MISSING or NULL if one is, else TRUE.
func (x *allOf) eval(e *env) (datum.Value, error) {
	result := datum.Boolean(true)
	for _, of := range x.list {
		v, err := of.eval(e)
		switch {
		case err != nil:
			return datum.Value{}, err
		case v.Unknown():
			result.Kind = min(result.Kind, v.Kind)
		case !v.Truth():
			return datum.Boolean(false), nil
		}
	}
	return result, nil
}

// eval is TRUE if one condition holds, else NULL or MISSING if one is, NULL before MISSING, else
// FALSE.
func (x *anyOf) eval(e *env) (datum.Value, error) {
	result := datum.Boolean(false)
	for _, of := range x.list {
		v, err := of.eval(e)
		switch {
		case err != nil:
			return datum.Value{}, err
		case v.Truth():
			return datum.Boolean(true), nil
		case v.Kind == datum.KindNull, v.Kind == datum.KindMissing && result.Kind != datum.KindNull:
			result.Kind = v.Kind
		}
	}
	return result, nil
}

// eval is the first branch whose condition holds, or in CASE x WHEN y the first whose value equals
// x; NULL where there is neither a branch nor an ELSE. An unknown x equals nothing. Branches that
// are not taken are not evaluated, so that they cannot fail.
func (x *caseOf) eval(e *env) (datum.Value, error) {
	var of datum.Value
	var err error
	if x.of != nil {
		if of, err = x.of.eval(e); err != nil {
			return datum.Value{}, err
		}
	}
	for _, w := range x.whens {
		condition, err := w.condition.eval(e)
		if err != nil {
			return datum.Value{}, err
		}
		holds := condition.Truth()
		if x.of != nil {
			holds = !of.Unknown() && datum.Compare(&of, &condition) == 0
		}
		if holds {
			return w.then.eval(e)
		}
	}
	if x.otherwise == nil {
		return datum.Null, nil
	}
	return x.otherwise.eval(e)
}
