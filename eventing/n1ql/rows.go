package n1ql

import (
	"context"
	"iter"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// Rows are the rows of a query, for one goroutine at a time.
type Rows struct {
	next      func() ([]byte, error, bool)
	stop      func()
	mutations int
	err       error
}

// Next returns the next row in JSON, which the caller may keep; ok is false after the last one.
func (r *Rows) Next() (row []byte, ok bool, err error) {
	if r.err != nil {
		return nil, false, r.err
	}
	row, err, ok = r.next()
	if err != nil {
		r.err = err
		r.stop()
		return nil, false, err
	}
	return row, ok, nil
}

// Close ends the query. It may be called several times, also after the last row.
func (r *Rows) Close() { r.stop() }

// Mutations is the number of documents that were written or deleted.
func (r *Rows) Mutations() int { return r.mutations }

// pull makes Rows of a function that gives its rows to another one, until that wants no more.
func pull(each func(yield func(row []byte) bool) error) *Rows {
	var r Rows
	r.next, r.stop = iter.Pull2(func(yield func([]byte, error) bool) {
		wanted := true
		err := each(func(row []byte) bool {
			wanted = yield(row, nil)
			return wanted
		})
		if err != nil && wanted {
			yield(nil, limited(err))
		}
	})
	return &r
}

// run is a query at work.
type run struct {
	*Query
	ctx       context.Context // of the caller of Rows, who fetches the rows with it
	work      *work           // with the other statements of the text
	outer     *scope          // of a subquery: what is around it
	keyspace  Keyspace        // nil without FROM, and where that has an expression
	others    []Keyspace      // of the joins, nil for UNNEST
	mutations int
	returning [][]byte
	size      int // of returning
	memory    *memory
}

// keysAtOnce is how many documents are read by their ids at once.
const keysAtOnce = 100

// documents calls each with the documents for which WHERE is TRUE, until each wants no more; where
// terms are joined, with the rows of all of them. The documents are read by their ids if USE KEYS or
// WHERE names these, else found by a selector that finds at least them (invariant 2). A statement
// without a keyspace has one row, without a document.
func (r *run) documents(f Find, each func(e *env) (more bool, err error)) error {
	e := r.env()
	visit := func(d *Document) (bool, error) {
		if err := r.ctx.Err(); err != nil {
			return false, err
		}
		return r.visit(e, d, each)
	}
	if r.statement.from == nil {
		_, err := r.finish(e, each)
		return err
	}
	var push func(d *Document, body datum.Value, size int) (bool, error)
	if r.statement.joins != nil {
		var flush func() error
		push, flush = r.joined(e, each)
		more := true
		visit = func(d *Document) (bool, error) {
			if err := r.ctx.Err(); err != nil || !d.Exists {
				return err == nil, err
			}
			copied, body, size, err := own(d)
			if err != nil {
				return false, err
			}
			more, err = push(copied, body, size)
			return more, err
		}
		if !r.statement.from.isKeyspace() {
			err := r.fromSource(func(v datum.Value) (_ bool, err error) {
				own, size, err := v.Detach()
				if err == nil {
					more, err = push(nil, own, size)
				}
				return more, err
			})
			if err != nil || !more {
				return err
			}
			return flush()
		}
		if err := r.first(e, f, visit); err != nil || !more {
			return err
		}
		return flush()
	}
	if !r.statement.from.isKeyspace() {
		return r.fromSource(func(v datum.Value) (bool, error) {
			e.document, e.held = v, 0
			return r.finish(e, each)
		})
	}
	return r.first(e, f, visit)
}

// first calls visit with the documents of the first keyspace that may be wanted.
func (r *run) first(e *env, f Find, visit func(d *Document) (bool, error)) error {
	if !r.byKeys {
		f.Selector = selectorFor(r.statement.where, e)
		if f.Sort != nil {
			f.Selector = withID(f.Selector)
		}
		f.Each, f.Expiry = visit, r.statement.expiry
		return r.keyspace.Find(r.ctx, f)
	}
	for keys := r.keys; len(keys) > 0; {
		n := min(len(keys), keysAtOnce)
		found, err := r.keyspace.Get(r.ctx, keys[:n])
		if err != nil {
			return err
		}
		keys = keys[n:]
		for i := range found {
			if more, err := visit(&found[i]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// withID adds a condition on the id to a selector, which holds for all documents: without one Mango
// has no index in the order of ids.
func withID(selector []byte) []byte {
	const always = `{"_id":{"$gt":null}}`
	if selector == nil {
		return []byte(always)
	}
	return slices.Concat([]byte(`{"$and":[`+always+`,`), selector, []byte(`]}`))
}

// visit calls each with a document if WHERE holds for it.
func (r *run) visit(e *env, d *Document, each func(e *env) (bool, error)) (more bool, err error) {
	if !d.Exists {
		return true, nil
	}
	parser := ejson.AcquireParser()
	defer parser.Release()
	body, err := parser.Parse(d.Body)
	if err != nil {
		return false, err
	}
	e.document, e.meta, e.held = datum.FromJSON(body), d, 0
	return r.finish(e, each)
}

// finish evaluates LET for a row, and calls each with it if WHERE holds.
func (r *run) finish(e *env, each func(e *env) (bool, error)) (more bool, err error) {
	e.variables = e.variables[:0]
	if err := e.let(r.statement.lets); err != nil {
		return false, err
	}
	ok, err := e.passes(r.statement.where)
	if err != nil || !ok {
		return err == nil, err
	}
	return each(e)
}

// project makes the row of a document as JSON. The error is that it would exceed maxValueSize, or
// the evaluator's.
func (r *run) project(e *env) ([]byte, error) {
	s := r.statement
	if s.raw {
		v, err := s.projection[0].expr.eval(e)
		if err != nil {
			return nil, err
		}
		return v.AppendJSON(nil, datum.MaxValueSize)
	}
	var members []datum.Member
	for i := range s.projection {
		p := &s.projection[i]
		if p.expr == nil {
			for _, t := range e.terms {
				members = datum.SetMember(members, t.alias, t.value)
			}
			if e.terms == nil {
				members = datum.SetMember(members, e.alias, e.document)
			}
			continue
		}
		v, err := p.expr.eval(e)
		if err != nil {
			return nil, err
		}
		if !p.star {
			members = datum.SetMember(members, p.name, v)
			continue
		}
		if len(members) == 0 {
			members = append(members, v.Fields()...)
			continue
		}
		for _, m := range v.Fields() {
			members = datum.SetMember(members, m.Name, m.Value)
		}
	}
	row := datum.Object(members...)
	return row.AppendJSON(nil, datum.MaxValueSize)
}
