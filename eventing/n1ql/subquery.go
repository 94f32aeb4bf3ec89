package n1ql

import (
	"cmp"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
)

// work is what all statements of one text share while they run.
type work struct {
	memory   memory
	patterns functions.Patterns
	queries  map[*Statement]*run       // the subqueries, ready to run
	results  map[*subquery]datum.Value // of those that have read nothing around them, which run once
}

// scope is what is around a subquery.
type scope struct {
	env  *env
	used bool // something was read there
}

// around reports whether a name is a term or a variable around the subquery.
func (e *env) around(name string) bool {
	return e.outer != nil && e.outer.env.known(name) != nameOfField
}

// errNotRunning is what subqueries give while a statement is bound.
var errNotRunning = invalidf("a subquery has no value before the statement runs")

func (x *subquery) eval(e *env) (datum.Value, error) { return x.rows(e, -1) }

// rows makes an array of the rows, of so many at most unless that is negative. What has read nothing
// around it has the same rows each time, and is run once.
func (x *subquery) rows(e *env, most int) (datum.Value, error) {
	if e.work == nil {
		return datum.Value{}, errNotRunning
	}
	if v, ok := e.work.results[x]; ok {
		return v, nil
	}
	var list []datum.Value
	size := 0
	alone, err := x.run(e, func(row datum.Value, bytes int) (bool, error) {
		list, size = append(list, row), size+bytes
		if len(list) > maxKeptRows || size > maxKeptBytes {
			return false, limitf("a subquery would have to keep more than %d rows or %d MB in memory",
				maxKeptRows, maxKeptBytes>>20)
		}
		return len(list) != most, e.work.memory.keep(bytes)
	})
	v := datum.Array(list)
	if err != nil {
		return datum.Value{}, err
	}
	if alone {
		if e.work.results == nil {
			e.work.results = map[*subquery]datum.Value{}
		}
		e.work.results[x] = v
		return v, e.work.memory.keep(size)
	}
	if e.held += size; e.held > maxHeld {
		return datum.Value{}, errTooMuch
	}
	return v, e.memory.hold(e.held)
}

// run calls each with the rows and what each takes, until it wants no more. alone tells that nothing
// around the subquery was read. What it has kept is given back.
func (x *subquery) run(e *env, each func(row datum.Value, bytes int) (bool, error)) (alone bool, err error) {
	r := *e.work.queries[x.query]
	query := *r.Query
	r.Query, r.outer = &query, &scope{env: e}
	kept := r.memory.kept
	r.memory.kept += e.held
	defer func() { r.memory.kept = kept }()
	var failed error
	err = r.selectRows(func(row []byte) (more bool) {
		var parsed ejson.Value
		if parsed, failed = ejson.Parse(row); failed != nil {
			return false
		}
		more, failed = each(datum.FromJSON(parsed), len(row)+int(ejson.TapeSize(row))+datum.ValueSize)
		return more && failed == nil
	})
	return !r.outer.used, cmp.Or(failed, err)
}

// fromSource calls each with what FROM has in place of the documents of a keyspace.
func (r *run) fromSource(each func(v datum.Value) (bool, error)) error {
	e := r.env()
	e.alias = "" // the source is not a part of the row
	if sets := r.statement.from.sets; sets != nil {
		return sets.stream(e, each)
	}
	return e.stream(r.statement.from.source, each)
}

// stream calls each with the elements of an array, or with another value that is known. The rows of a
// subquery are not collected, but in another one, where they may be asked for again.
func (e *env) stream(x expr, each func(v datum.Value) (bool, error)) error {
	if rows, ok := x.(*subquery); ok && e.outer == nil {
		_, err := rows.run(e, func(row datum.Value, _ int) (bool, error) { return each(row) })
		return err
	}
	v, err := x.eval(e)
	if err != nil || v.Unknown() {
		return err
	}
	if v.Kind != datum.KindArray {
		_, err := each(v)
		return err
	}
	for all := elementsOf(&v); ; {
		element, ok := all.next()
		if !ok {
			return e.ctx.Err()
		}
		if err := e.step(); err != nil {
			return err
		}
		if more, err := each(element); err != nil || !more {
			return err
		}
	}
}

// stream calls each with the rows of UNION, INTERSECT or EXCEPT. With ALL a row may come again: so
// often as in both together, as in the one that has it less often, and as there are more of it in the
// first one.
func (x *setOf) stream(e *env, each func(v datum.Value) (bool, error)) error {
	before := newSeen(&e.work.memory)
	more := true
	give := func(v datum.Value, key string) (_ bool, err error) {
		if !x.all {
			if again, err := before.beforeKey(key); again || err != nil {
				return err == nil, err
			}
		}
		more, err = each(v)
		return more, err
	}
	if x.op == "UNION" {
		both := func(v datum.Value) (bool, error) { return give(v, v.Key()) }
		if err := e.stream(x.of, both); err != nil || !more {
			return err
		}
		return e.stream(x.with, both)
	}
	counts, keys := map[string]int{}, newSeen(&e.work.memory)
	err := e.stream(x.with, func(v datum.Value) (bool, error) {
		key := v.Key()
		counts[key]++
		_, err := keys.beforeKey(key)
		return true, err
	})
	if err != nil {
		return err
	}
	return e.stream(x.of, func(v datum.Value) (bool, error) {
		key := v.Key()
		found := counts[key] > 0
		if found && x.all {
			counts[key]--
		}
		if found != (x.op == "INTERSECT") {
			return true, nil
		}
		return give(v, key)
	})
}
