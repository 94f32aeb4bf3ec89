package levels

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/kv"
)

// Build makes all levels of all slots anew, reading the rows in order, in as many transactions as
// it takes and with bounded memory. The rows must not change meanwhile: guard sees to that. Until
// it is done, the levels must not be used.
func (x *Index) Build(ctx context.Context, store kv.Store, guard Guard) error {
	// Old levels go first, so that an interrupted build leaves none that are half right.
	if err := update(ctx, store, guard, x.Clear); err != nil {
		return err
	}
	if err := x.ranks.Rebuild(ctx, store, guard); err != nil {
		return err
	}
	for _, s := range x.kept {
		if err := x.buildSlot(ctx, store, guard, s); err != nil {
			return err
		}
	}
	return nil
}

// buildSlot makes the aggregates of one function, of which there are none.
func (x *Index) buildSlot(ctx context.Context, store kv.Store, guard Guard, s Slot) error {
	if err := x.enter(ctx, store, guard, s); err != nil {
		return err
	}
	return x.refreshSlot(ctx, store, guard, s)
}

// maxEntered bounds the boundaries that are entered in one transaction.
const maxEntered = 5000

// enter enters all boundaries into a slot, as stale.
func (x *Index) enter(ctx context.Context, store kv.Store, guard Guard, s Slot) error {
	for level := 1; level <= x.height(); level++ {
		// The boundaries of a level are the keys of its weights. The empty one is left out: it is
		// not stored for aggregates before it has one.
		weights, prefix := x.boundaries(level), x.aggregates(s, level).prefix
		for cursor := kv.AppendKeyAfter(nil, weights); cursor != nil; {
			var next []byte
			if _, err := store.Update(ctx, func(tx kv.Tx) error {
				if guard != nil {
					if err := guard(tx); err != nil {
						return err
					}
				}
				// The transaction may run several times.
				next = nil
				it := tx.Range(cursor, prefixEnd(weights), kv.RangeOptions{Limit: maxEntered})
				defer it.Close()
				var last []byte
				n := 0
				for ; it.Next(); n++ {
					last = append(last[:0], it.Key()...)
					tx.Set(concat(prefix, last[len(weights):]), nil)
				}
				if n == maxEntered {
					next = kv.AppendKeyAfter(nil, bytes.Clone(last))
				}
				return it.Err()
			}); err != nil {
				return err
			}
			cursor = next
		}
	}
	return nil
}

// update runs a transaction that only writes.
func update(ctx context.Context, store kv.Store, guard Guard, write func(tx kv.Tx)) error {
	_, err := store.Update(ctx, func(tx kv.Tx) error {
		if guard != nil {
			if err := guard(tx); err != nil {
				return err
			}
		}
		write(tx)
		return nil
	})
	return err
}
