package txn

import (
	"cmp"
	"slices"
)

// Sink receives the effects of a transaction, in an order in which they can be applied.
type Sink interface {
	ClearRange(begin, end []byte)
	Set(key, value []byte)
	Clear(key []byte)
}

// Apply sends to sink what the transaction does when it is committed with stamp (8 bytes version, 2
// bytes order). current reads the newest committed state, for atomic operations on keys that the
// transaction has neither set nor cleared.
func (t *Tx) Apply(stamp []byte, current func(key []byte) ([]byte, error), sink Sink) error {
	for _, r := range t.Cleared() {
		sink.ClearRange(r.Begin, r.End)
	}
	var err error
	t.Writes(func(w *Write) bool {
		var base []byte
		if !w.Known {
			if base, err = current(w.Key); err != nil {
				return false
			}
		}
		value := w.Eval(base, stamp)
		if value != nil {
			sink.Set(w.Key, value)
		} else if w.Known || base != nil {
			sink.Clear(w.Key)
		}
		return true
	})
	if err != nil {
		return err
	}
	t.Stamped(stamp, func(key, value []byte) { sink.Set(key, value) })
	return nil
}

// Cleared returns the cleared ranges, disjoint and in order. They come before all other effects.
func (t *Tx) Cleared() []KeyRange { return t.buf.cleared.Ranges() }

// Writes calls yield for each key written other than by a range clear or a versionstamped key, in
// order.
func (t *Tx) Writes(yield func(*Write) bool) { t.buf.entries.Scan(yield) }

// Stamped calls yield for each versionstamped key in the order written, with stamp in place.
func (t *Tx) Stamped(stamp []byte, yield func(key, value []byte)) {
	for _, g := range t.buf.stamped.groups {
		for i := range g.keys {
			if key := g.keys[i].final(&t.buf.arena, stamp); !g.keys[i].clearedLater(key) {
				yield(key, g.keys[i].Value)
			}
		}
	}
}

// StampedKeys returns the versionstamped keys in the order written, for an engine that leaves the
// stamp to its store. The slice is the caller's, the keys are the Tx's.
func (t *Tx) StampedKeys() []StampedKey {
	var all []StampedKey
	for _, g := range t.buf.stamped.groups {
		all = append(all, g.keys...)
	}
	slices.SortFunc(all, func(a, b StampedKey) int { return cmp.Compare(a.order, b.order) })
	return all
}

// WriteConflicts returns what transactions that read it conflict with: the keys written and the
// explicit ranges. In no order, overlaps possible; the slice is the caller's, the keys are the
// Tx's.
func (t *Tx) WriteConflicts(stamp []byte) []KeyRange {
	ranges := make([]KeyRange, 0, len(t.writes)+len(t.Cleared())+t.buf.entries.Len())
	ranges = append(append(ranges, t.writes...), t.Cleared()...)
	t.Writes(func(w *Write) bool {
		ranges = append(ranges, t.buf.arena.point(w.Key))
		return true
	})
	t.Stamped(stamp, func(key, _ []byte) { ranges = append(ranges, t.buf.arena.point(key)) })
	return ranges
}

// ExplicitWriteConflicts returns the ranges of AddWriteConflictRange, in no order.
func (t *Tx) ExplicitWriteConflicts() []KeyRange { return t.writes }
