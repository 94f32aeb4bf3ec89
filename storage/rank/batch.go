package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// Batch collects the rows that a transaction adds, removes and changes, to be applied in one walk.
type Batch struct{ rows []row }

type row struct {
	key   []byte
	delta Weight
}

// Add notes that a row comes (Rows 1), goes (-1), or changes its weight or nothing but its value; each key at most once in a
// transaction. The key is without the prefix of the rows.
func (b *Batch) Add(key []byte, delta Weight) { b.rows = append(b.rows, row{bytes.Clone(key), delta}) }

// Touch is called for a boundary when rows between it and the next one change; opened tells that it is new, or that a new
// boundary took over some of its rows.
type Touch func(level int, bound []byte, opened bool)

// Apply writes the weights, and forgets the rows. It must run before the rows themselves are written in the transaction. touch
// may be nil.
func (b *Batch) Apply(tx kv.Tx, x *Index, touch Touch) error {
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortFunc(b.rows, func(a, c row) int { return bytes.Compare(a.key, c.key) })
	snap := tx.Snapshot()
	for n := len(x.Levels); n >= 1; n-- { // a level's new weights come from those below as they were
		if err := b.applyLevel(tx, snap, x, n, touch); err != nil {
			return err
		}
	}
	b.rows = b.rows[:0]
	return nil
}

// applyLevel groups the rows by the boundary before them on level n. All is read before anything is written.
func (b *Batch) applyLevel(tx kv.Tx, snap kv.ReadTx, x *Index, n int, touch Touch) error {
	type segment struct {
		bound []byte
		rows  []row
	}
	var segments []segment
	f, err := x.find(snap, n, b.rows)
	if err != nil {
		return err
	}
	for rows := b.rows; len(rows) > 0; {
		bound, size, err := x.segment(tx, snap, f, rows)
		if err != nil {
			return err
		}
		segments = append(segments, segment{bound, rows[:size]})
		rows = rows[size:]
	}
	for _, s := range segments {
		x.applySegment(tx, n, s.bound, s.rows, touch)
	}
	return nil
}

// segment finds the stored boundary before the first of the sorted rows on a level, and how many of the rows come before the next
// one.
func (x *Index) segment(tx kv.Tx, snap kv.ReadTx, f *finder, rows []row) (bound []byte, size int, err error) {
	level := x.level(f.level)
	bound, open, next, err := f.around(rows[0].key, len(rows) > 1)
	if err != nil {
		return nil, 0, err
	}
	if open {
		if err := x.SettleOpened(tx, snap, f.level, bound); err != nil {
			return nil, 0, err
		}
	}
	size = 1
	if len(rows) > 1 {
		size, _ = slices.BinarySearchFunc(rows, next, func(r row, next []byte) int {
			if next == nil {
				return -1
			}
			return bytes.Compare(r.key, next)
		})
	}
	tx.AddReadConflictRange(kv.AppendKeyAfter(nil, concat(level, bound)), kv.AppendKeyAfter(nil, concat(level, rows[size-1].key)))
	return bound, size, nil
}

// applySegment adds the rows, which all lie between two boundaries of level n, and opens boundaries at those that reach the
// level and are none yet.
func (x *Index) applySegment(tx kv.Tx, n int, bound []byte, rows []row, touch Touch) {
	var behind Weight // rows from here up to the next boundary
	opened := false
	for i := len(rows) - 1; i >= 0; i-- {
		behind = behind.Add(rows[i].delta)
		if key := rows[i].key; x.Height(key) >= n && !bytes.Equal(key, bound) {
			x.put(tx, concat(x.level(n), key), openMark, behind)
			tx.Set(concat(x.mark(n), key), nil)
			behind, opened = Weight{}, true
			if touch != nil {
				touch(n, key, true)
			}
		}
	}
	x.add(tx, concat(x.level(n), bound), 0, behind)
	if touch != nil {
		touch(n, bound, opened)
	}
}
