package levels

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// Change is a row that comes (Old nil), goes (New nil), or gets another value. Key is the row's,
// without the prefix; Old and New are as stored. Where NeedsOld is false, any slice that is not nil
// does for Old.
type Change struct{ Key, Old, New []byte }

// Stale are the boundaries whose aggregates a transaction marked as stale, for Refresh: of each
// slot that has aggregates and each level, in order.
type Stale [][][][]byte

// Apply changes the weights, and marks aggregates as stale. It runs after the rows themselves are
// written in the transaction; each key at most once in it. Of two transactions at the same time
// that change the same index one runs again: builders of it are alone by their claim, but documents
// are purged meanwhile. Logged indexes have Log instead.
func (x *Index) Apply(tx kv.Tx, changes []Change) (Stale, error) {
	// Nothing below Levels is read with a conflict otherwise; with this range each transaction that
	// changes the levels conflicts with every other one.
	tx.AddReadConflictRange(x.Levels, prefixEnd(x.Levels))
	u := &unfolded{}
	var batch rank.Batch
	for i := range changes {
		c := &changes[i]
		d, err := x.delta(c)
		if err != nil {
			return nil, err
		}
		batch.Add(c.Key, d.weight)
		if len(x.kept) == 0 {
			continue
		}
		if u.all = append(u.all, c.Key); d.rest {
			u.rest = append(u.rest, c.Key)
		}
	}
	u.deltas, u.all, u.rest = batch.Deltas(), u.all.sorted(), u.rest.sorted()
	return x.fold(tx, u, nil)
}

type delta struct {
	weight rank.Weight
	rest   bool // the row is not in the sums, before or after
}

// delta returns how the weights above a row change: the weight of its old value is taken off, that
// of its new one added. If either value is none that the sums hold, the aggregates over such rows
// become stale.
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

// unfolded are changes that the levels do not have yet.
type unfolded struct {
	deltas *rank.Deltas
	all    touchedKeys // of rows that come, go or change
	rest   touchedKeys // those of them that are not in the sums, before or after
}

// touchedKeys are keys in order, each once.
type touchedKeys [][]byte

func (k touchedKeys) sorted() touchedKeys {
	slices.SortFunc(k, bytes.Compare)
	return slices.CompactFunc(k, bytes.Equal)
}

// within reports whether there is a key with from <= key < to; a nil to is open.
func (k touchedKeys) within(from, to []byte) bool {
	i, _ := slices.BinarySearchFunc(k, from, bytes.Compare)
	return i < len(k) && (to == nil || bytes.Compare(k[i], to) < 0)
}

// touching are the keys of the changes that make aggregates stale.
func (u *unfolded) touching(restOnly bool) touchedKeys {
	if restOnly {
		return u.rest
	}
	return u.all
}

// fold takes changes into the weights, and marks the aggregates that they are below as stale; later
// are changes that the rows have as well, and that stay for later.
func (x *Index) fold(tx kv.Tx, now *unfolded, later *rank.Deltas) (Stale, error) {
	floors, err := x.ranks.Fold(tx, now.deltas, later, now.all)
	if err != nil || len(now.all) == 0 {
		return nil, err
	}
	return x.markAggregates(tx, now, floors), nil
}

// markAggregates marks the aggregates that changes are below as stale, enters boundaries that came,
// and takes away those that went; floors are for each level the boundaries before the keys of
// now.all, without new ones.
func (x *Index) markAggregates(tx kv.Tx, now *unfolded, floors [][][]byte) Stale {
	stale := make(Stale, len(x.kept))
	for level := 1; level <= x.height(); level++ {
		var opened, gone [][]byte
		now.deltas.Each(func(key []byte, w rank.Weight) {
			switch {
			// A row that has another value is no boundary that comes or goes.
			case w.Rows == 0 || x.ranks.Height(key) < level:
			case w.Rows > 0:
				opened = append(opened, key)
			default:
				gone = append(gone, key)
			}
		})
		for n, s := range x.kept {
			prefix := x.aggregates(s, level).prefix
			for _, key := range gone {
				tx.Clear(concat(prefix, key))
			}
			bounds := append(x.staleFloors(s, floors[level-1], now), opened...)
			slices.SortFunc(bounds, bytes.Compare)
			for _, bound := range bounds {
				// An empty value is what stale means.
				tx.Set(concat(prefix, bound), nil)
			}
			stale[n] = append(stale[n], bounds)
		}
	}
	return stale
}

// staleFloors are the boundaries of a level whose aggregates are stale: floors are those before the
// keys of now.all, without boundaries that are opened.
func (x *Index) staleFloors(s Slot, floors [][]byte, now *unfolded) (stale [][]byte) {
	for i, f := range floors {
		if len(stale) > 0 && bytes.Equal(stale[len(stale)-1], f) {
			continue
		}
		// Boundaries come and go with their rows, whatever is in the sums.
		if key := now.all[i]; x.restOnly(s) && (x.ranks.Height(key) == 0 || now.deltas.Of(key).Rows == 0) {
			if _, found := slices.BinarySearchFunc(now.rest, key, bytes.Compare); !found {
				continue
			}
		}
		stale = append(stale, f)
	}
	return stale
}
