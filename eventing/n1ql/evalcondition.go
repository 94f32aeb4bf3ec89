package n1ql

// eval compares by the order of all JSON values (compare), in which values of different types are
// ordered by their types; an unknown operand makes it unknown.
func (x *comparison) eval(e *env) (value, error) {
	a, b, unknown, err := e.evalTwo(x.a, x.b)
	if err != nil || unknown {
		return a, err
	}
	return boolean(holds(x.op, compare(&a, &b))), nil
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
func (x *between) eval(e *env) (value, error) {
	all := &allOf{[]expr{&comparison{">=", x.of, x.low}, &comparison{"<=", x.of, x.high}}}
	return all.eval(e)
}

// eval is TRUE if an element equals the operand, else NULL if an element is unknown, since that
// could be the one, else FALSE; NULL if the list is no array.
func (x *inList) eval(e *env) (value, error) {
	of, list, unknown, err := e.evalTwo(x.of, x.list)
	switch {
	case err != nil || unknown:
		return of, err
	case list.kind != kindArray:
		return null, nil
	}
	found := boolean(false)
	for _, element := range list.elements() {
		if err := e.step(); err != nil {
			return value{}, err
		}
		if element.unknown() {
			found = null // nobody knows whether this one is it
		} else if compare(&of, &element) == 0 {
			return boolean(true), nil
		}
	}
	return found, nil
}

// eval is inList for all values in an array or object, however deep.
func (x *within) eval(e *env) (value, error) {
	of, all, unknown, err := e.evalTwo(x.of, x.all)
	switch {
	case err != nil || unknown:
		return of, err
	case all.kind < kindArray:
		return null, nil
	}
	found, values := boolean(false), valuesWithin(&all)
	for {
		v, ok, err := values.next()
		if err == nil {
			err = e.step()
		}
		switch {
		case err != nil:
			return value{}, err
		case !ok:
			return found, nil
		case v.unknown():
			found = null
		case compare(&of, &v) == 0:
			return boolean(true), nil
		}
	}
}

// eval matches the whole text (see parseLike); it is NULL unless both operands are strings.
func (x *like) eval(e *env) (value, error) {
	of, pattern, unknown, err := e.evalTwo(x.of, x.pattern)
	switch {
	case err != nil || unknown:
		return of, err
	case of.kind != kindString || pattern.kind != kindString:
		return null, nil
	}
	return boolean(parseLike(pattern.text).match(of.text)), nil
}

// eval asks for the kind of a value. IS MISSING and IS VALUED answer for every value; IS NULL of
// MISSING stays MISSING, since nothing is known of what is not there.
func (x *isWhat) eval(e *env) (value, error) {
	v, err := x.of.eval(e)
	if err != nil {
		return value{}, err
	}
	switch x.what {
	case "MISSING":
		return boolean(v.kind == kindMissing), nil
	case "NOT MISSING":
		return boolean(v.kind != kindMissing), nil
	case "VALUED":
		return boolean(!v.unknown()), nil
	case "NOT VALUED":
		return boolean(v.unknown()), nil
	}
	if v.kind == kindMissing { // nothing is known of what is not there
		return v, nil
	}
	return boolean((v.kind == kindNull) == (x.what == "NULL")), nil
}

func (x *not) eval(e *env) (value, error) {
	v, err := x.of.eval(e)
	if err != nil || v.unknown() {
		return v, err
	}
	return boolean(!v.truth()), nil
}

// eval is FALSE if one condition does not hold, else MISSING or NULL if one is, else TRUE.
func (x *allOf) eval(e *env) (value, error) {
	result := boolean(true)
	for _, of := range x.list {
		v, err := of.eval(e)
		switch {
		case err != nil:
			return value{}, err
		case v.unknown():
			result.kind = min(result.kind, v.kind)
		case !v.truth():
			return boolean(false), nil
		}
	}
	return result, nil
}

// eval is TRUE if one condition holds, else NULL or MISSING if one is, NULL before MISSING, else
// FALSE.
func (x *anyOf) eval(e *env) (value, error) {
	result := boolean(false)
	for _, of := range x.list {
		v, err := of.eval(e)
		switch {
		case err != nil:
			return value{}, err
		case v.truth():
			return boolean(true), nil
		case v.kind == kindNull, v.kind == kindMissing && result.kind != kindNull:
			result.kind = v.kind
		}
	}
	return result, nil
}

// eval is the first branch whose condition holds, or in CASE x WHEN y the first whose value equals
// x; NULL where there is neither a branch nor an ELSE. An unknown x equals nothing. Branches that
// are not taken are not evaluated, so that they cannot fail.
func (x *caseOf) eval(e *env) (value, error) {
	var of value
	var err error
	if x.of != nil {
		if of, err = x.of.eval(e); err != nil {
			return value{}, err
		}
	}
	for _, w := range x.whens {
		condition, err := w.condition.eval(e)
		if err != nil {
			return value{}, err
		}
		holds := condition.truth()
		if x.of != nil {
			holds = !of.unknown() && compare(&of, &condition) == 0
		}
		if holds {
			return w.then.eval(e)
		}
	}
	if x.otherwise == nil {
		return null, nil
	}
	return x.otherwise.eval(e)
}
