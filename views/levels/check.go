package levels

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/kv"
)

// checkWindow is how many entries Check reads from one snapshot at a time.
const checkWindow = 1000

// Check compares all levels with the rows and reports what breaks the package's invariants: it
// makes every aggregate anew. It reads as many snapshots as that takes: what it reports is right if
// nothing was written meanwhile. It holds the boundaries in memory.
func (x *Index) Check(ctx context.Context, store kv.Store, report func(format string, args ...any)) error {
	var rest *unfolded
	if err := store.View(ctx, func(r kv.ReadTx) (err error) {
		rest, err = x.rest(r)
		return err
	}); err != nil {
		return err
	}
	if err := x.ranks.Check(ctx, store, rest.deltas, report); err != nil {
		return err
	}
	for _, s := range x.kept {
		for level := 1; level <= x.height(); level++ {
			if err := x.checkEntries(ctx, store, s, level, report); err != nil {
				return err
			}
			if err := x.checkAggregates(ctx, store, s, level, rest, report); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEntries compares the boundaries of a slot with those of the index.
func (x *Index) checkEntries(
	ctx context.Context,
	store kv.Store,
	s Slot,
	level int,
	report func(format string, args ...any),
) error {
	weights, prefix := x.boundaries(level), x.aggregates(s, level).prefix
	var bounds [][]byte
	begin := kv.AppendKeyAfter(nil, weights)
	err := kv.Walk(ctx, store, begin, prefixEnd(weights), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			bounds = append(bounds, bytes.Clone(row.Key[len(weights):]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Both lists are in order of the keys and are walked together.
	next := 0
	begin = kv.AppendKeyAfter(nil, prefix)
	err = kv.Walk(ctx, store, begin, prefixEnd(prefix), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			key := row.Key[len(prefix):]
			for ; next < len(bounds) && bytes.Compare(bounds[next], key) < 0; next++ {
				report("slot %d, level %d: no entry at %q", s.Number, level, bounds[next])
			}
			if next < len(bounds) && bytes.Equal(bounds[next], key) {
				next++
				continue
			}
			report("slot %d, level %d: an entry at %q, which is no boundary", s.Number, level, key)
		}
		return nil
	})
	for ; next < len(bounds); next++ {
		report("slot %d, level %d: no entry at %q", s.Number, level, bounds[next])
	}
	return err
}

// checkAggregates makes the aggregates of a level that are not stale anew from the level below.
func (x *Index) checkAggregates(
	ctx context.Context,
	store kv.Store,
	s Slot,
	level int,
	rest *unfolded,
	report func(format string, args ...any),
) error {
	a := x.aggregates(s, level)
	touched := rest.touching(x.restOnly(s))
	return kv.Walk(ctx, store, a.prefix, prefixEnd(a.prefix), maxGroups, func(r kv.ReadTx, window []kv.Row) error {
		var bounds, stored [][]byte
		for _, row := range window {
			// Stale ones promise nothing.
			if len(row.Value) > 0 {
				bounds, stored = append(bounds, row.Key[len(a.prefix):]), append(stored, row.Value)
			}
		}
		if len(bounds) == 0 {
			return nil
		}
		nexts, err := a.nexts(r, bounds)
		if err != nil {
			return err
		}
		aggs, err := a.made(ctx, r, bounds)
		if err != nil {
			return err
		}
		for i, agg := range aggs {
			if touched.within(bounds[i], nexts[i]) {
				continue // it is stale to all readers
			}
			if !bytes.Equal(agg, stored[i]) {
				report("slot %d, level %d at %q: %.100q, of rows %.100q", s.Number, level, bounds[i], stored[i], agg)
			}
		}
		return nil
	})
}
