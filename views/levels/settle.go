package levels

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/views/reduce"
)

// maxAggregate is the size from which on an aggregate is not stored but made anew by each query. It leaves room below the limit of
// values.
const maxAggregate = 90_000

// Settle makes the aggregates anew that Apply marked, and settles the weights of new boundaries. It runs in the same transaction
// after the rows are written, or in a later one; it conflicts with writers of rows next to those of touched. ctx is for
// functions in JavaScript.
func (x *Index) Settle(ctx context.Context, tx kv.Tx, t *Touched) error {
	for level := 1; level <= x.height(); level++ {
		for _, b := range t.levels[level-1] {
			if !b.opened || len(b.bound) == 0 {
				continue
			}
			if err := x.ranks.SettleOpened(tx, tx.Snapshot(), level, b.bound); err != nil {
				return err
			}
		}
	}
	for _, s := range x.kept {
		for level := 1; level <= x.height(); level++ {
			bounds := x.stale(t, s, level)
			for len(bounds) > 0 {
				n := min(len(bounds), maxGroups)
				if err := x.settle(ctx, tx, s, level, bounds[:n]); err != nil {
					return err
				}
				bounds = bounds[n:]
			}
		}
	}
	return nil
}

// settle makes the aggregates of some boundaries of a level anew.
func (x *Index) settle(ctx context.Context, tx kv.Tx, s Slot, level int, bounds [][]byte) error {
	aggs, err := x.made(ctx, tx, s, level, bounds)
	if err != nil {
		return err
	}
	prefix := x.aggregates(s, level)
	for i, a := range aggs {
		if len(a) > maxAggregate {
			a = nil
		}
		tx.Set(concat(prefix, bounds[i]), a)
	}
	return nil
}

// made makes the aggregates of some boundaries of a level, in order, from the level below.
func (x *Index) made(ctx context.Context, r kv.ReadTx, s Slot, level int, bounds [][]byte) ([]reduce.Aggregate, error) {
	c := &cover{gatherer: &gatherer{ctx: ctx, fn: s.Func, descending: true}, x: x, slot: s, r: r}
	prefix := x.aggregates(s, level)
	for i := 0; i < len(bounds); {
		run := bounds[i : i+1]
		next, err := x.nextEntry(r, prefix, bounds[i])
		if err != nil {
			return nil, err
		}
		for i++; i < len(bounds) && bytes.Equal(bounds[i], next); i++ {
			run = append(run, bounds[i])
			if next, err = x.nextEntry(r, prefix, bounds[i]); err != nil {
				return nil, err
			}
		}
		if err := c.addRun(level, run, next); err != nil {
			return nil, err
		}
	}
	aggs, err := c.finish()
	if err != nil {
		return nil, err
	}
	for i := range aggs {
		if aggs[i] == nil {
			aggs[i] = noRows
		}
	}
	return aggs, nil
}

// nextEntry finds the boundary after bound; nil if there is none.
func (x *Index) nextEntry(r kv.ReadTx, prefix, bound []byte) ([]byte, error) {
	it := r.Range(kv.AppendKeyAfter(nil, concat(prefix, bound)), prefixEnd(prefix), kv.RangeOptions{Limit: 1})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	return bytes.Clone(it.Key()[len(prefix):]), it.Err()
}

// addRun adds the stretches of boundaries of a level that follow each other, each to a group of its own, in one read.
func (c *cover) addRun(level int, bounds [][]byte, to []byte) error {
	groups := make([]*gathered, len(bounds))
	for i := range groups {
		groups[i] = c.begin(false)
	}
	at := 0
	if level == 1 {
		return c.eachRow(bounds[0], to, c.x.restOnly(c.slot), func(key []byte, r gatheredRow) error {
			for at+1 < len(bounds) && bytes.Compare(key, bounds[at+1]) >= 0 {
				at++
			}
			return c.row(groups[at], r)
		})
	}
	entries, err := c.entries(level-1, bounds[0], to)
	if err != nil {
		return err
	}
	for at := range bounds {
		end, n := to, len(entries)
		if at+1 < len(bounds) {
			end = bounds[at+1]
			for n = 0; n < len(entries) && bytes.Compare(entries[n].bound, end) < 0; {
				n++
			}
		}
		if err := c.addStretches(groups[at], level-1, entries[:n], end); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// Guard is run first in each transaction of a long operation; its error ends that. nil checks nothing.
type Guard = rank.Guard

// SettleAll makes all stale aggregates anew, in as many transactions as it takes; writers may go on meanwhile.
func (x *Index) SettleAll(ctx context.Context, store kv.Store, guard Guard) error {
	for _, s := range x.kept {
		if err := x.settleSlot(ctx, store, guard, s); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) settleSlot(ctx context.Context, store kv.Store, guard Guard, s Slot) error {
	for level := 1; level <= x.height(); level++ {
		prefix := x.aggregates(s, level)
		cursor := prefix
		for cursor != nil {
			var bounds [][]byte
			var next []byte
			if err := store.View(ctx, func(r kv.ReadTx) (err error) {
				bounds, next, err = x.findStale(r, prefix, cursor)
				return err
			}); err != nil {
				return err
			}
			cursor = next
			if len(bounds) == 0 {
				continue
			}
			if _, err := store.Update(ctx, func(tx kv.Tx) error {
				if guard != nil {
					if err := guard(tx); err != nil {
						return err
					}
				}
				return x.settle(ctx, tx, s, level, bounds)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxScanned bounds the boundaries that one read looks at.
const maxScanned = 20_000

// findStale finds the next stale boundaries of a level; next is where to go on, nil at the end.
func (x *Index) findStale(r kv.ReadTx, prefix, begin []byte) (bounds [][]byte, next []byte, err error) {
	it := r.Range(begin, prefixEnd(prefix), kv.RangeOptions{})
	defer it.Close()
	empty := bytes.Equal(begin, prefix) // the empty boundary need not be stored
	for scanned := 0; it.Next(); scanned++ {
		key := it.Key()[len(prefix):]
		if empty && len(key) > 0 {
			bounds = append(bounds, []byte{})
		}
		empty = false
		if len(it.Value()) == 0 {
			bounds = append(bounds, bytes.Clone(key))
		}
		if len(bounds) >= maxGroups || scanned >= maxScanned {
			return bounds, kv.AppendKeyAfter(nil, it.Key()), it.Err()
		}
	}
	if empty {
		bounds = append(bounds, []byte{})
	}
	return bounds, nil, it.Err()
}
