package levels

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// Change is a row that comes (Old nil), goes (New nil), or gets another value. Key is the row's, without the prefix;
// Old and New are as stored. Where NeedsOld is false, any slice that is not nil does for Old.
type Change struct{ Key, Old, New []byte }

// Touched are the boundaries whose rows a transaction changed, for Settle.
type Touched struct {
	levels [][]touched // [0] is that of level 1; in order of the boundaries
	gone   [][][]byte  // likewise, boundaries whose row goes
	rest   [][]byte    // keys of changed rows that are not in the sums, in order
}

type touched struct {
	bound  []byte
	opened bool // it is new, or has other boundaries next to it than before
}

// note is the rank.Touch.
func (t *Touched) note(level int, bound []byte, how rank.Touched) {
	if how == rank.Gone {
		t.gone[level-1] = append(t.gone[level-1], bound)
		return
	}
	t.levels[level-1] = append(t.levels[level-1], touched{bound, how == rank.Opened})
}

// sort puts boundaries in order, each once.
func (t *Touched) sort() {
	for n, list := range t.levels {
		slices.SortFunc(list, func(a, b touched) int { return bytes.Compare(a.bound, b.bound) })
		kept := list[:0]
		for _, b := range list {
			if last := len(kept) - 1; last >= 0 && bytes.Equal(kept[last].bound, b.bound) {
				kept[last].opened = kept[last].opened || b.opened
			} else {
				kept = append(kept, b)
			}
		}
		t.levels[n] = kept
	}
}

// unsettled are the boundaries of a level whose stretches have to be tidied, in order.
func (t *Touched) unsettled(level int) [][]byte {
	bounds := slices.Clone(t.gone[level-1])
	for _, b := range t.levels[level-1] {
		if b.opened && len(b.bound) > 0 {
			bounds = append(bounds, b.bound)
		}
	}
	slices.SortFunc(bounds, bytes.Compare)
	return bounds
}

// Apply changes the weights, and marks aggregates as stale. It must run before the rows themselves are written in the
// transaction; each key at most once in it. Several transactions may do so at once, for different rows. Logged indexes
// have Log instead.
func (x *Index) Apply(tx kv.Tx, changes []Change) (*Touched, error) {
	t := &Touched{levels: make([][]touched, x.height()), gone: make([][][]byte, x.height())}
	var batch rank.Batch
	for _, c := range changes {
		delta, err := x.delta(&c)
		if err != nil {
			return nil, err
		}
		if delta.rest {
			t.rest = append(t.rest, c.Key)
		}
		if delta.weight == (rank.Weight{}) && len(x.kept) == 0 {
			continue // another value that nobody reduces
		}
		batch.Add(c.Key, delta.weight)
	}
	slices.SortFunc(t.rest, bytes.Compare)
	if err := batch.Apply(tx, x.ranks, t.note); err != nil {
		return nil, err
	}
	t.sort()
	if len(x.kept) > 0 {
		x.requireBoundaries(tx, t)
	}
	for _, s := range x.kept {
		for level := 1; level <= x.height(); level++ {
			prefix := x.aggregates(s, level)
			for _, bound := range x.stale(t, s, level) {
				tx.Set(concat(prefix, bound), nil)
			}
			for _, bound := range t.gone[level-1] {
				tx.Clear(concat(prefix, bound))
			}
		}
	}
	return t, nil
}

// requireBoundaries makes the transaction conflict with those that remove the row of a boundary whose aggregates it
// marks: the mark would bring back an entry that is gone, and leave the one before it, which has those rows by then, as
// it is.
func (x *Index) requireBoundaries(tx kv.Tx, t *Touched) {
	for n, list := range t.levels {
		marks := x.space(keyMarks, int64(n+1))
		for _, b := range list {
			if len(b.bound) > 0 {
				key := concat(marks, b.bound)
				tx.AddReadConflictRange(key, kv.AppendKeyAfter(nil, key))
			}
		}
	}
}

type delta struct {
	weight rank.Weight
	rest   bool // the row is not in the sums, before or after
}

func (x *Index) delta(c *Change) (d delta, err error) {
	for _, side := range []struct {
		value []byte
		sign  int
	}{{c.Old, -1}, {c.New, 1}} {
		if side.value == nil {
			continue
		}
		w := rank.Weight{Rows: 1}
		if x.Sums {
			if w, err = x.weigh(c.Key, side.value); err != nil {
				return d, err
			}
		}
		d.rest = d.rest || w.Rest > 0
		if side.sign < 0 {
			d.weight = d.weight.Sub(w)
		} else {
			d.weight = d.weight.Add(w)
		}
	}
	return d, nil
}

// stale lists the boundaries of a level whose aggregates of a slot are stale after the changes, in order.
func (x *Index) stale(t *Touched, s Slot, level int) [][]byte {
	bounds := make([][]byte, 0, len(t.levels[level-1]))
	rest := t.rest
	list := t.levels[level-1]
	for i, b := range list {
		affected := b.opened || !x.restOnly(s)
		if !affected {
			// Each changed row lies after the last of these boundaries that is not after it.
			for len(rest) > 0 && bytes.Compare(rest[0], b.bound) < 0 {
				rest = rest[1:]
			}
			affected = len(rest) > 0 && (i+1 == len(list) || bytes.Compare(rest[0], list[i+1].bound) < 0)
		}
		if affected {
			bounds = append(bounds, b.bound)
		}
	}
	return bounds
}
