package n1ql

import "github.com/settee-db/settee/eventing/n1ql/datum"

// group is the rows that have equal values in the terms of GROUP BY, or all rows.
type group struct {
	keys  []datum.Value
	folds []*fold
}

// newGroup has the aggregates of the statement before the first row.
func (r *run) newGroup(keys []datum.Value) *group {
	g := &group{keys: keys, folds: make([]*fold, len(r.statement.aggregates))}
	for i, a := range r.statement.aggregates {
		g.folds[i] = newFold(a, r.memory)
	}
	return g
}

// rows calls each with the rows that the projection is evaluated for: documents, or groups.
func (r *run) rows(f Find, each func(e *env) (more bool, err error)) error {
	if !r.statement.grouped() {
		return r.documents(f, each)
	}
	groups := map[string]*group{}
	var order []*group
	if r.statement.groups == nil { // one group, even of no rows
		order = []*group{r.newGroup(nil)}
		groups[""] = order[0]
	}
	size := 0
	err := r.documents(Find{}, func(e *env) (bool, error) {
		key, keys, bytes, err := r.groupOf(e)
		if err != nil {
			return false, err
		}
		g := groups[key]
		if g == nil {
			if size += bytes; len(groups) >= maxKeptRows || size > maxKeptBytes {
				return false, limitf("GROUP BY would have to keep more than %d groups or %d MB in memory",
					maxKeptRows, maxKeptBytes>>20)
			}
			if err := r.memory.keep(bytes); err != nil {
				return false, err
			}
			g = r.newGroup(keys)
			groups[key], order = g, append(order, g)
		}
		for _, f := range g.folds {
			if err := f.addOf(e); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, g := range order {
		if more, err := r.ofGroup(g, each); err != nil || !more {
			return err
		}
	}
	return nil
}

// groupOf evaluates the terms of GROUP BY for a row; key is equal for equal values, and bytes is what
// a group with it takes.
func (r *run) groupOf(e *env) (key string, keys []datum.Value, bytes int, err error) {
	var printed []byte
	for _, term := range r.statement.groups {
		v, err := term.expr.eval(e)
		if err != nil {
			return "", nil, 0, err
		}
		own, size, err := v.Detach()
		if err != nil {
			return "", nil, 0, err
		}
		printed = append(datum.AppendKey(printed, &own, 0), 0)
		keys, bytes = append(keys, own), bytes+size
	}
	folds := len(r.statement.aggregates) * datum.ValueSize
	return string(printed), keys, bytes + len(printed) + folds + datum.ValueSize, nil
}

// ofGroup calls each with a group for which HAVING holds.
func (r *run) ofGroup(g *group, each func(e *env) (bool, error)) (more bool, err error) {
	e := r.env()
	e.group = g.keys
	for _, f := range g.folds {
		e.results = append(e.results, f.Result())
	}
	if err := e.let(r.statement.lettings); err != nil {
		return false, err
	}
	if ok, err := e.passes(r.statement.having); err != nil || !ok {
		return err == nil, err
	}
	return each(e)
}

// grouped reports whether the rows of a SELECT are groups.
func (s *Statement) grouped() bool { return s.groups != nil || len(s.aggregates) > 0 }
