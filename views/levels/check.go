package levels

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

// Check compares all levels with the rows of one snapshot, and reports what breaks the package's invariants: it makes every
// aggregate anew. It holds the boundaries in memory.
func (x *Index) Check(ctx context.Context, r kv.ReadTx, report func(format string, args ...any)) error {
	if err := x.ranks.Check(r, report); err != nil {
		return err
	}
	for _, s := range x.kept {
		for level := 1; level <= x.height(); level++ {
			if err := x.checkEntries(r, s, level, report); err != nil {
				return err
			}
			if err := x.checkAggregates(ctx, r, s, level, report); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEntries compares the boundaries of a slot with the marks.
func (x *Index) checkEntries(r kv.ReadTx, s Slot, level int, report func(format string, args ...any)) error {
	marks, prefix := x.space(keyMarks, int64(level)), x.aggregates(s, level)
	m := r.Range(marks, prefixEnd(marks), kv.RangeOptions{WantAll: true})
	defer m.Close()
	e := r.Range(kv.AppendKeyAfter(nil, prefix), prefixEnd(prefix), kv.RangeOptions{WantAll: true})
	defer e.Close()
	for m.Next() {
		if !e.Next() || !bytes.Equal(m.Key()[len(marks):], e.Key()[len(prefix):]) {
			report("slot %d, level %d: no entry at %q", s.Number, level, m.Key()[len(marks):])
			return m.Err()
		}
	}
	if e.Next() {
		report("slot %d, level %d: an entry at %q, which is no boundary", s.Number, level, e.Key()[len(prefix):])
	}
	if err := m.Err(); err != nil {
		return err
	}
	return e.Err()
}

// checkAggregates makes the aggregates of a level that are not stale anew from the level below.
func (x *Index) checkAggregates(ctx context.Context, r kv.ReadTx, s Slot, level int, report func(format string, args ...any)) error {
	prefix := x.aggregates(s, level)
	it := r.Range(prefix, prefixEnd(prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	var bounds [][]byte
	var stored []reduce.Aggregate
	compare := func() error {
		aggs, err := x.made(ctx, r, s, level, bounds)
		for i, a := range aggs {
			if !bytes.Equal(a, stored[i]) {
				report("slot %d, level %d at %q: %.100q, of rows %.100q", s.Number, level, bounds[i], stored[i], a)
			}
		}
		bounds, stored = nil, nil
		return err
	}
	for it.Next() {
		if len(it.Value()) == 0 {
			continue
		}
		bounds = append(bounds, bytes.Clone(it.Key()[len(prefix):]))
		if stored = append(stored, bytes.Clone(it.Value())); len(bounds) == maxGroups {
			if err := compare(); err != nil {
				return err
			}
		}
	}
	if err := it.Err(); err != nil || len(bounds) == 0 {
		return err
	}
	return compare()
}
