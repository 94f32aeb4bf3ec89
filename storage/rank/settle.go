package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// openBoundary is an open boundary with its weight.
type openBoundary struct {
	key    []byte
	weight Weight
}

// Settle gives the open boundaries of the stretch that has the open boundary bound their rows. It reads without conflicts from
// snap, which shows the rows and the weights of one state: that before the transaction changed anything on level n or below, or
// that after all of its changes. If a boundary is still open on a lower level nothing is done: one that is settled is so on all
// levels below.
func (x *Index) Settle(tx kv.Tx, snap kv.ReadTx, n int, bound []byte) error {
	first, err := x.stretchBefore(snap, n, bound)
	if err != nil {
		return err
	}
	stretch, next, err := x.stretchFrom(snap, n, first)
	if err != nil {
		return err
	}
	for i := range stretch {
		settled, err := x.settledBelow(snap, n, stretch[i].key)
		if err != nil || !settled {
			return err
		}
	}
	// The key is never written: it is there for settlers of this stretch to conflict on.
	lock := append(concat(x.level(n), first), behindKey)
	tx.AddReadConflictRange(lock, kv.AppendKeyAfter(nil, lock))
	tx.AddWriteConflictRange(lock, kv.AppendKeyAfter(nil, lock))
	var moved Weight
	found := make([]Weight, len(stretch)) // when they were made
	for i := range stretch {
		end := next
		if i+1 < len(stretch) {
			end = stretch[i+1].key
		}
		rows, err := x.between(snap, n-1, stretch[i].key, end)
		if err != nil {
			return err
		}
		found[i] = rows.Sub(stretch[i].weight)
		moved = moved.Add(found[i])
	}
	for i := range stretch {
		x.add(tx, concat(x.level(n), stretch[i].key), -openMark, found[i])
	}
	x.add(tx, concat(x.level(n), first), 0, Weight{}.Sub(moved))
	return nil
}

// behindKey, behind a row's key, is no row's key.
const behindKey = 0xff

// SettleOpened is Settle for one that may be settled already.
func (x *Index) SettleOpened(tx kv.Tx, snap kv.ReadTx, n int, bound []byte) error {
	value, err := snap.Get(concat(x.level(n), bound))
	if err != nil {
		return err
	}
	if _, open := Parse(value); !open {
		return nil
	}
	return x.Settle(tx, snap, n, bound)
}

// stretchBefore finds the last settled boundary before an open one.
func (x *Index) stretchBefore(r kv.ReadTx, n int, bound []byte) ([]byte, error) {
	level := x.level(n)
	it := r.Range(level, concat(level, bound), kv.RangeOptions{Reverse: true})
	defer it.Close()
	for it.Next() {
		if _, open := Parse(it.Value()); !open {
			return bytes.Clone(it.Key()[len(level):]), nil
		}
	}
	return nil, it.Err()
}

// stretchFrom lists the open boundaries that follow a settled one, and gives the settled one behind them, nil if there is none.
func (x *Index) stretchFrom(r kv.ReadTx, n int, first []byte) (stretch []openBoundary, next []byte, err error) {
	level := x.level(n)
	it := r.Range(kv.AppendKeyAfter(nil, concat(level, first)), rangeEnd(level, nil), kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		key := bytes.Clone(it.Key()[len(level):])
		weight, open := Parse(it.Value())
		if !open {
			return stretch, key, nil
		}
		stretch = append(stretch, openBoundary{key, weight})
	}
	return stretch, nil, it.Err()
}

// settledBelow tells whether a boundary is settled on the levels below n.
func (x *Index) settledBelow(r kv.ReadTx, n int, key []byte) (bool, error) {
	keys := make([][]byte, 0, n)
	for below := 1; below < n; below++ {
		keys = append(keys, concat(x.level(below), key))
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(values, func(v []byte) bool {
		_, open := Parse(v)
		return open || v == nil
	}), nil
}
