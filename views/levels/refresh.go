package levels

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/views/reduce"
)

// maxAggregate is the size from which on an aggregate is not stored but made anew by each query. It
// leaves room below the limit of values.
const maxAggregate = 90_000

// Refresh makes the aggregates anew that Apply marked, in the same transaction. ctx is for
// functions in JavaScript.
func (x *Index) Refresh(ctx context.Context, tx kv.Tx, stale Stale) error {
	for n, levels := range stale {
		for at, bounds := range levels {
			for part := range slices.Chunk(bounds, maxGroups) {
				if err := x.aggregates(x.kept[n], at+1).refresh(ctx, tx, part); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// refresh makes those of some boundaries anew.
func (a *aggregates) refresh(ctx context.Context, tx kv.Tx, bounds [][]byte) error {
	aggs, err := a.made(ctx, tx, bounds)
	if err != nil {
		return err
	}
	for i, agg := range aggs {
		// nil is stored as an empty value: stale for ever, and made by each query.
		if len(agg) > maxAggregate {
			agg = nil
		}
		tx.Set(concat(a.prefix, bounds[i]), agg)
	}
	return nil
}

// made makes those of some boundaries, in order, from the level below.
func (a *aggregates) made(ctx context.Context, r kv.ReadTx, bounds [][]byte) ([]reduce.Aggregate, error) {
	c := &cover{gatherer: &gatherer{ctx: ctx, fn: a.slot.Func, descending: true}, x: a.x, slot: a.slot, r: r}
	nexts, err := a.nexts(r, bounds)
	if err != nil {
		return nil, err
	}
	// Boundaries that follow each other are one run, whose rows are read in one range.
	var runs []boundRun
	for i := 0; i < len(bounds); {
		from := i
		for i++; i < len(bounds) && bytes.Equal(bounds[i], nexts[i-1]); i++ {
		}
		runs = append(runs, boundRun{bounds[from:i], nexts[i-1]})
	}
	for len(runs) > 0 {
		n := min(len(runs), rangesAtOnce)
		if err := c.addRuns(a.level, runs[:n]); err != nil {
			return nil, err
		}
		runs = runs[n:]
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

const (
	// rangesAtOnce is how many ranges are read together.
	rangesAtOnce = 32
	// manyBounds is the number of boundaries from which on those after them are looked for in one
	// range first.
	manyBounds = 8
)

// nexts finds the boundary after each of some boundaries, which are in order; nil if there is
// none.
func (a *aggregates) nexts(r kv.ReadTx, bounds [][]byte) ([][]byte, error) {
	nexts := make([][]byte, 0, len(bounds))
	if len(bounds) >= manyBounds {
		var err error
		if nexts, err = a.scanNext(r, bounds, nexts); err != nil {
			return nil, err
		}
	}
	for len(nexts) < len(bounds) {
		part := bounds[len(nexts):min(len(bounds), len(nexts)+rangesAtOnce)]
		its := make([]kv.Iterator, len(part))
		for i, bound := range part {
			its[i] = r.Range(kv.AppendKeyAfter(nil, concat(a.prefix, bound)), prefixEnd(a.prefix),
				kv.RangeOptions{Limit: 1})
			defer its[i].Close()
		}
		for _, it := range its { // each is closed before the next one is read, as in package rank
			var next []byte
			if it.Next() {
				next = bytes.Clone(it.Key()[len(a.prefix):])
			}
			if err := it.Close(); err != nil {
				return nil, err
			}
			nexts = append(nexts, next)
		}
	}
	return nexts, nil
}

// scanNext finds those after the first of the boundaries in one range; they often follow each
// other.
func (a *aggregates) scanNext(r kv.ReadTx, bounds, nexts [][]byte) ([][]byte, error) {
	prefix := a.prefix
	// Boundaries that are not asked for may be between them: a quarter more are read before it is
	// left to single reads.
	limit := len(bounds) + len(bounds)/4 + 1
	it := r.Range(kv.AppendKeyAfter(nil, concat(prefix, bounds[0])), prefixEnd(prefix), kv.RangeOptions{Limit: limit})
	defer it.Close()
	read := 0
	for ; it.Next(); read++ {
		var key []byte
		for len(nexts) < len(bounds) && bytes.Compare(bounds[len(nexts)], it.Key()[len(prefix):]) < 0 {
			if key == nil {
				key = bytes.Clone(it.Key()[len(prefix):])
			}
			nexts = append(nexts, key)
		}
	}
	// The range was read to its end: there are no boundaries behind.
	if read < limit {
		for len(nexts) < len(bounds) {
			nexts = append(nexts, nil)
		}
	}
	return nexts, it.Err()
}

// boundRun is boundaries of a level that follow each other, and the one after them.
type boundRun struct {
	bounds [][]byte
	to     []byte
}

// addRuns adds the stretches of boundaries of a level, each to a group of its own, in one read for
// each run, all at once.
func (c *cover) addRuns(level int, runs []boundRun) error {
	its := make([]kv.Iterator, len(runs))
	for i, run := range runs {
		if level == 1 {
			its[i] = c.openRows(run.bounds[0], run.to)
		} else {
			its[i] = c.openEntries(level-1, run.bounds[0], run.to)
		}
		defer its[i].Close()
	}
	for i, run := range runs {
		if err := c.addRun(level, run, its[i]); err != nil {
			return err
		}
	}
	return nil
}

// addRun adds a run, whose rows or boundaries of the level below it has.
func (c *cover) addRun(level int, run boundRun, it kv.Iterator) error {
	bounds := run.bounds
	groups := make([]*gathered, len(bounds))
	for i := range groups {
		groups[i] = c.begin(false)
	}
	at := 0
	if level == 1 {
		return c.readRows(it, c.x.restOnly(c.slot), func(key []byte, r gatheredRow) error {
			for at+1 < len(bounds) && bytes.Compare(key, bounds[at+1]) >= 0 {
				at++
			}
			return c.row(groups[at], r)
		})
	}
	entries, err := c.readEntries(it, level-1, bounds[0], run.to)
	if err != nil {
		return err
	}
	for at := range bounds {
		end, n := run.to, len(entries)
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

// Guard is run first in each transaction of a long operation; its error ends that. nil checks
// nothing.
type Guard = rank.Guard

// RefreshAll makes all stale aggregates anew, in as many transactions as it takes; writers may go
// on meanwhile.
func (x *Index) RefreshAll(ctx context.Context, store kv.Store, guard Guard) error {
	for _, s := range x.kept {
		if err := x.refreshSlot(ctx, store, guard, s); err != nil {
			return err
		}
	}
	return nil
}

// refreshSlot makes the stale aggregates of a function anew, level by level from the lowest, as
// each is made of the level below. A transaction makes as many as fit: fewer after one that was too
// large or too old, and a single one that does not fit stays stale.
func (x *Index) refreshSlot(ctx context.Context, store kv.Store, guard Guard, s Slot) error {
	size := maxGroups // how many are made in a transaction
	for level := 1; level <= x.height(); level++ {
		a := x.aggregates(s, level)
		cursor := a.prefix
		for cursor != nil {
			var bounds [][]byte
			var next []byte
			if err := kv.ViewAgain(ctx, store, func(r kv.ReadTx) (err error) {
				bounds, next, err = a.findStale(r, cursor)
				return err
			}); err != nil {
				return err
			}
			cursor = next
			for len(bounds) > 0 {
				n := min(len(bounds), size)
				switch err := a.refreshStale(ctx, store, guard, bounds[:n]); {
				case err == nil:
					size = min(2*size, maxGroups)
				case !errors.Is(err, kv.ErrTooOld) && !errors.Is(err, kv.ErrTooLarge) && !errors.Is(err, errCrowded):
					return err
				case n > 1:
					size = n / 2
					continue
				} // else it stays stale: queries make up for it
				bounds = bounds[n:]
			}
		}
	}
	return nil
}

// errCrowded ends a transaction that writers come in between again and again.
var errCrowded = errors.New("levels: too many conflicts")

// refreshRuns is how often the transaction of refreshStale is run before fewer boundaries are
// tried.
const refreshRuns = 3

// refreshStale makes those of some boundaries anew that are still there and stale, in one
// transaction.
func (a *aggregates) refreshStale(ctx context.Context, store kv.Store, guard Guard, bounds [][]byte) error {
	runs := 0
	_, err := store.Update(ctx, func(tx kv.Tx) error {
		if runs++; runs > refreshRuns {
			return errCrowded
		}
		if guard != nil {
			if err := guard(tx); err != nil {
				return err
			}
		}
		keys := make([][]byte, len(bounds))
		for i := range bounds {
			keys[i] = concat(a.prefix, bounds[i])
		}
		values, err := tx.GetMany(keys)
		if err != nil {
			return err
		}
		var stale [][]byte
		for i := range bounds {
			// A boundary that is gone has no value at all; the empty one need not be stored.
			if len(values[i]) == 0 && (values[i] != nil || len(bounds[i]) == 0) {
				stale = append(stale, bounds[i])
			}
		}
		if len(stale) == 0 {
			return nil
		}
		return a.refresh(ctx, tx, stale)
	})
	return err
}

// maxScanned bounds the boundaries that one read looks at.
const maxScanned = 20_000

// findStale finds the next stale boundaries, as many as the snapshot lasts for; next is
// where to go on, nil at the end.
func (a *aggregates) findStale(r kv.ReadTx, begin []byte) (bounds [][]byte, next []byte, err error) {
	prefix := a.prefix
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
		next = kv.AppendKeyAfter(next[:0], it.Key())
		if len(bounds) >= maxGroups || scanned >= maxScanned {
			return bounds, next, nil
		}
	}
	switch err := it.Err(); {
	// What was found until the snapshot ended is worth something.
	case next != nil && errors.Is(err, kv.ErrTooOld):
		return bounds, next, nil
	case err != nil:
		return nil, nil, err
	case empty:
		bounds = append(bounds, []byte{})
	}
	return bounds, nil, nil
}
