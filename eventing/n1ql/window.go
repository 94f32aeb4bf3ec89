package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// heldRow is a row that waits until the functions over windows have their values: what expressions
// are evaluated in, with copies of its own.
type heldRow struct {
	document       datum.Value
	meta           *Document
	terms          []term
	variables      []datum.Member
	results, group []datum.Value // of a group, which keeps them
	windows        []datum.Value // of the functions
}

// windowed are the rows of a SELECT with functions over windows.
type windowed struct {
	run  *run
	env  *env // at one of the rows
	rows []heldRow
	size int // of all that is kept, in bytes
}

// projected calls each with the rows that the projection is evaluated for. Beside functions over windows
// these are kept until all are there, and come in the order in which they were found.
func (r *run) projected(f Find, each func(e *env) (more bool, err error)) error {
	if len(r.statement.windows) == 0 {
		return r.rows(f, each)
	}
	w := &windowed{run: r, env: r.env()}
	if err := r.rows(Find{}, w.add); err != nil {
		return err
	}
	for _, x := range r.statement.windows {
		if err := w.compute(x); err != nil {
			return err
		}
	}
	for i := range w.rows {
		if more, err := each(w.at(i)); err != nil || !more {
			return err
		}
	}
	return nil
}

// keep counts bytes that stay until the statement ends.
func (w *windowed) keep(bytes int) error {
	if w.size += bytes; len(w.rows) > maxKeptRows || w.size > maxKeptBytes {
		return limitf("window functions would have to keep more than %d rows or %d MB in memory",
			maxKeptRows, maxKeptBytes>>20)
	}
	return w.run.memory.keep(bytes)
}

// add keeps a row.
func (w *windowed) add(e *env) (more bool, err error) {
	row := heldRow{results: e.results, group: e.group, windows: make([]datum.Value, len(w.run.statement.windows))}
	size := 0
	own := func(v *datum.Value) (copied datum.Value) {
		if err == nil {
			n := 0
			copied, n, err = v.Detach()
			size += n
		}
		return copied
	}
	meta := func(d *Document) *Document {
		if d == nil {
			return nil
		}
		size += len(d.ID) + len(d.Cas) + datum.ValueSize
		return &Document{ID: d.ID, Cas: d.Cas, Expiry: d.Expiry, Exists: d.Exists}
	}
	row.document, row.meta = own(&e.document), meta(e.meta)
	for _, t := range e.terms {
		row.terms = append(row.terms, term{alias: t.alias, value: own(&t.value), meta: meta(t.meta)})
	}
	for _, m := range e.variables {
		row.variables = append(row.variables, datum.Member{Name: m.Name, Value: own(&m.Value)})
	}
	if err != nil {
		return false, err
	}
	w.rows = append(w.rows, row)
	return true, w.keep(size)
}

// at is the environment of a row.
func (w *windowed) at(i int) *env {
	e, row := w.env, &w.rows[i]
	e.document, e.meta, e.terms, e.variables = row.document, row.meta, row.terms, row.variables
	e.results, e.group, e.windows, e.held = row.results, row.group, row.windows, 0
	return e
}

// evaluate evaluates an expression for all rows.
func (w *windowed) evaluate(x expr, filter expr) ([]datum.Value, error) {
	values := make([]datum.Value, len(w.rows))
	for i := range values {
		e := w.at(i)
		passes, err := e.passes(filter)
		if err == nil && passes {
			values[i], err = x.eval(e)
		}
		if err == nil {
			err = e.step()
		}
		if err == nil {
			err = w.keep(datum.ValueSize + values[i].Cost())
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// compute gives a function its value for each row.
func (w *windowed) compute(x *window) error {
	c := &windowCall{window: x, rows: w}
	for _, arg := range x.args {
		values, err := w.evaluate(arg, x.filter)
		if err != nil {
			return err
		}
		c.values = append(c.values, values)
	}
	if err := c.bindFrame(); err != nil {
		return err
	}
	parts, err := w.partitions(x.over)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := c.run(p); err != nil {
			return err
		}
	}
	return nil
}

// partition is the rows that have equal values in PARTITION BY, in the order of ORDER BY. A place is a
// number of a row in it, from 0 on.
type partition struct {
	rows   []int // what windowed calls them
	by     []sortTerm
	keys   [][]datum.Value // of ORDER BY, for each term and row of the windowed
	groups []int           // the group of each place: those with equal values in ORDER BY
	starts []int           // the places at which groups begin, and the one after the last
}

// partitions sorts the rows for a window.
func (w *windowed) partitions(over *windowSpec) (list []*partition, err error) {
	terms := make([]sortTerm, 0, len(over.partition)+len(over.order))
	for _, x := range over.partition {
		terms = append(terms, sortTerm{expr: x})
	}
	terms = append(terms, over.order...)
	keys := make([][]datum.Value, len(terms))
	for i := range terms {
		if keys[i], err = w.evaluate(terms[i].expr, nil); err != nil {
			return nil, err
		}
	}
	compare := func(a, b, from, to int) int {
		for i := from; i < to; i++ {
			if n := terms[i].compare(&keys[i][a], &keys[i][b]); n != 0 {
				return n
			}
		}
		return 0
	}
	rows := make([]int, len(w.rows))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int { return compare(a, b, 0, len(terms)) })
	parted := len(over.partition)
	for i, row := range rows {
		if i == 0 || compare(rows[i-1], row, 0, parted) != 0 {
			list = append(list, &partition{by: over.order, keys: keys[parted:]})
		}
		p := list[len(list)-1]
		if n := len(p.rows); n == 0 || compare(p.rows[n-1], row, parted, len(terms)) != 0 {
			p.starts = append(p.starts, n)
		}
		p.rows = append(p.rows, row)
		p.groups = append(p.groups, len(p.starts)-1)
	}
	for _, p := range list {
		p.starts = append(p.starts, len(p.rows))
	}
	return list, w.run.ctx.Err()
}

// peers are the places of the group of a place: from one up to another.
func (p *partition) peers(at int) (from, to int) {
	return p.starts[p.groups[at]], p.starts[p.groups[at]+1]
}
