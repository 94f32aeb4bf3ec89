package n1ql

import (
	"errors"
	"github.com/settee-db/settee/eventing/n1ql/datum"
	"slices"
)

// What a statement may keep in memory: rows that are sorted, rows of RETURNING, values of DISTINCT,
// ids of documents to be changed.
const (
	maxKeptRows  = 100_000
	maxKeptBytes = 64 << 20
)

// selectRows gives the rows of SELECT to yield.
func (r *run) selectRows(yield func(row []byte) bool) error {
	s := r.statement
	if err := r.bindAgain(); err != nil {
		return err
	}
	out := &output{yield: yield, skip: r.offset, left: r.limit}
	if s.distinct {
		out.seen = newSeen(r.memory)
	}
	switch {
	case r.limit == 0:
		return nil
	case len(s.order) > 0:
		return r.selectSorted(out)
	}
	f := Find{}
	if s.where == nil && !s.distinct && s.joins == nil && r.limit > 0 {
		f.Limit = r.limit + r.offset
	}
	return r.projected(f, func(e *env) (bool, error) {
		row, err := r.project(e)
		if err != nil {
			return false, err
		}
		return out.row(row)
	})
}

// output counts OFFSET and LIMIT and leaves out rows that came before.
type output struct {
	yield func(row []byte) bool
	skip  int
	left  int // -1 for all
	seen  *seen
}

// row puts out a row and reports whether more are wanted.
func (o *output) row(row []byte) (more bool, err error) {
	if o.seen != nil {
		if again, err := o.seen.before(row); again || err != nil {
			return err == nil, err
		}
	}
	if o.skip > 0 {
		o.skip--
		return true, nil
	}
	if o.left == 0 || !o.yield(row) {
		return false, nil
	}
	if o.left > 0 {
		o.left--
	}
	return o.left != 0, nil
}

// sortedRow is a row with what it is sorted by.
type sortedRow struct {
	keys []datum.Value
	row  []byte
	size int
}

// selectSorted puts out rows in the order of ORDER BY. They are sorted here, or found in this
// order: the latter where nothing but ids is asked for, and where there are too many to sort. Else
// an index is worth more than the order.
func (r *run) selectSorted(out *output) error {
	by, byID := r.sortOfFind()
	kept := r.memory.kept
	if byID && !usesFields(r.statement.where) {
		if err := r.selectFound(out, by); !isKind(err, KindUnsorted) {
			return err
		}
	}
	rows, err := r.sorted(out.seen)
	if byID && isKind(err, KindLimit) {
		r.memory.kept = kept // the rows are gone
		if out.seen != nil {
			out.seen = newSeen(r.memory)
		}
		if err := r.selectFound(out, by); !isKind(err, KindUnsorted) {
			return err
		}
	}
	if err != nil {
		return err
	}
	out.seen = nil // they are left out already
	for _, row := range rows {
		if more, _ := out.row(row.row); !more {
			return nil
		}
	}
	return nil
}

// selectFound puts out rows as Find finds them.
func (r *run) selectFound(out *output, by []SortField) error {
	return r.documents(Find{Sort: by}, func(e *env) (bool, error) {
		row, err := r.project(e)
		if err != nil {
			return false, err
		}
		return out.row(row)
	})
}

// isKind reports whether an error is an Error of a kind.
func isKind(err error, kind ErrorKind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// usesFields reports whether an expression reads fields of documents.
func usesFields(x expr) bool {
	switch x.(type) {
	case *identifier, *subquery:
		return true
	}
	return slices.ContainsFunc(operandsOf(x), usesFields)
}

// sortOfFind is the order as Find may have it: only that of ids, because Mango orders strings in
// another way.
func (r *run) sortOfFind() ([]SortField, bool) {
	order := r.statement.order
	t := translator{env: r.env()}
	if f, ok := t.path(order[0].expr); !ok || !f.id || r.byKeys || r.keyspace == nil ||
		r.statement.joins != nil || r.statement.grouped() || r.statement.windows != nil {
		return nil, false
	}
	// Ids differ, so that further terms order nothing.
	return []SortField{{Field: "_id", Descending: order[0].descending}}, true
}

// sorted collects and sorts the rows. With a LIMIT only the rows that may still be among the first
// are kept, so that memory is bounded by LIMIT and OFFSET, not by the rows.
func (r *run) sorted(seen *seen) ([]sortedRow, error) {
	var rows []sortedRow
	size, keep := 0, -1
	if r.limit >= 0 {
		keep = r.limit + r.offset
	}
	err := r.projected(Find{}, func(e *env) (bool, error) {
		row, err := r.sortedRow(e)
		if err != nil {
			return false, err
		}
		if seen != nil {
			if again, err := seen.before(row.row); again || err != nil {
				return err == nil, err
			}
		}
		if err := r.memory.keep(row.size); err != nil {
			return false, err
		}
		rows = append(rows, row)
		size += row.size
		full := len(rows) > maxKeptRows || size > maxKeptBytes
		if keep >= 0 && len(rows) > keep && (full || len(rows) > 2*keep+1000) {
			r.sort(rows)
			clear(rows[keep:])
			before := size
			rows, size = rows[:keep], 0
			for i := range rows {
				size += rows[i].size
			}
			r.memory.kept -= before - size
			full = len(rows) > maxKeptRows || size > maxKeptBytes
		}
		if full {
			return false, limitf("ORDER BY would have to sort more than %d rows or %d MB in memory: "+
				"use WHERE or LIMIT, or ORDER BY META().id", maxKeptRows, maxKeptBytes>>20)
		}
		return true, nil
	})
	r.sort(rows)
	return rows, err
}

// sortedRow makes a row with the values that it is sorted by. These are detached from the document,
// because it is gone when the rows are sorted; size is what the row holds in memory.
func (r *run) sortedRow(e *env) (sorted sortedRow, err error) {
	for _, term := range r.statement.order {
		v, err := term.expr.eval(e)
		if err != nil {
			return sorted, err
		}
		key, size, err := v.Detach()
		if err != nil {
			return sorted, err
		}
		sorted.keys = append(sorted.keys, key)
		sorted.size += size
	}
	sorted.row, err = r.project(e)
	sorted.size += len(sorted.row) + datum.ValueSize
	return sorted, err
}

// compare orders two values as the term says.
func (t *sortTerm) compare(a, b *datum.Value) int {
	order := datum.Compare(a, b)
	if t.descending {
		order = -order
	}
	if t.nulls == nullsByValue || a.Unknown() == b.Unknown() {
		return order
	}
	if a.Unknown() == (t.nulls == nullsFirst) {
		return -1
	}
	return 1
}

// sort orders rows; those that are equal stay as they came.
func (r *run) sort(rows []sortedRow) {
	slices.SortStableFunc(rows, func(a, b sortedRow) int {
		for i, term := range r.statement.order {
			order := term.compare(&a.keys[i], &b.keys[i])
			if order != 0 {
				return order
			}
		}
		return 0
	})
}
