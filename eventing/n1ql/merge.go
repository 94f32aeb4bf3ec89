package n1ql

import (
	"errors"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// merged is a row of the source for which MERGE does something: change or remove a document of the
// target, or insert one.
type merged struct {
	terms    []term      // of the source
	id       string      // of the document in the target
	insert   *Write      // nil for one that is there
	document datum.Value // to be inserted
}

// merge does MERGE. All rows are joined first, and written then, as UPDATE does it: a document that it
// inserts meets no row.
func (r *run) merge() error {
	if err := r.bindAgain(); err != nil || r.limit == 0 {
		return err
	}
	todo, err := r.mergeable()
	if err != nil {
		return err
	}
	target := *r
	target.keyspace = r.others[0]
	for i := range todo {
		if err := target.mergeOne(&todo[i]); err != nil {
			return err
		}
	}
	r.mutations, r.returning = target.mutations, target.returning
	return nil
}

// mergeable are the rows for which something is done. Each document is meant by one row at most, or
// which one counts would be chance.
func (r *run) mergeable() (todo []merged, err error) {
	s, seen := r.statement, map[string]bool{}
	err = r.documents(Find{}, func(e *env) (bool, error) {
		m := merged{terms: e.terms[:len(e.terms)-1]}
		size := datum.ValueSize
		if meta := e.terms[len(e.terms)-1].meta; meta != nil {
			update, remove, err := r.does(e)
			if err != nil || !update && !remove {
				return err == nil, err
			}
			m.id = meta.ID
		} else {
			if ok, err := e.passes(s.merge.insertIf); s.merge.insert == nil || err != nil || !ok {
				return err == nil, err
			}
			if err := r.mergedInsert(e, &m); err != nil {
				return false, err
			}
			size += len(m.insert.Body) + m.document.Cost()
		}
		if seen[m.id] {
			return false, &Error{Kind: KindInvalid, ID: m.id,
				Message: "MERGE would write a document two times: several rows of its source mean " + m.id}
		}
		for _, t := range m.terms {
			if t.meta != nil {
				size += len(t.meta.Body)
			}
			size += t.value.Cost() + datum.ValueSize
		}
		seen[m.id] = true
		if todo = append(todo, m); len(todo) > maxKeptRows {
			return false, limitf("MERGE would change more than %d documents: use LIMIT", maxKeptRows)
		}
		return len(todo) != r.limit, r.memory.keep(size + len(m.id))
	})
	return todo, err
}

// does reports what is done with a document that matches: both conditions ask for it as it is.
func (r *run) does(e *env) (update, remove bool, err error) {
	m := r.statement.merge
	if m.update {
		if update, err = e.passes(m.updateIf); err != nil {
			return false, false, err
		}
	}
	if m.remove {
		remove, err = e.passes(m.removeIf)
	}
	return update, remove, err
}

// mergedInsert evaluates what INSERT makes of a row.
func (r *run) mergedInsert(e *env, m *merged) error {
	key := r.statement.merge.insert.key
	if key == nil {
		key = r.statement.joins[0].keys
	}
	id, err := key.eval(e)
	if err != nil {
		return err
	}
	w, document, err := r.insertion(e, r.statement.merge.insert, &id)
	if err != nil {
		return err
	}
	m.insert, m.id = &w, w.ID
	m.document, _, err = document.Detach()
	return err
}

// mergeOne writes what a row means, with the document of the target as it is by now.
func (r *run) mergeOne(m *merged) error {
	j := r.statement.joins[0]
	e := r.env()
	e.alias, e.terms = j.alias, m.terms
	if m.insert != nil {
		if err := r.keyspace.Write(r.ctx, *m.insert); err != nil {
			return err
		}
		e.document, e.meta = m.document, m.insert.document()
		return r.written(e)
	}
	for try := 1; ; try++ {
		found, err := r.keyspace.Get(r.ctx, []string{m.id})
		if err != nil || !found[0].Exists {
			return err
		}
		copied, body, _, err := own(&found[0])
		if err != nil {
			return err
		}
		e.document, e.meta, e.held = body, copied, 0
		if ok, err := e.passes(j.on); err != nil || !ok {
			return err
		}
		update, remove, err := r.does(e)
		if err != nil || !update && !remove {
			return err
		}
		err = r.apply(e, remove)
		var refused *Error
		if !errors.As(err, &refused) || refused.Kind != KindConflict || try == maxTries {
			return err
		}
	}
}
