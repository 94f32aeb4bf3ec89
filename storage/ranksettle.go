package storage

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

// openBoundary is an open boundary with its count and the rows up to the next boundary, of one snapshot.
type openBoundary struct {
	key   []byte
	count int64
	rows  int64
}

// settle gives the open boundaries of the stretch that has the open boundary bound their rows. It reads without conflicts, before
// the transaction changes anything on level n or below. If a boundary is still open on a lower level nothing is done: one
// that is settled is so on all levels below.
func (x *rankIndex) settle(tx kv.Tx, snap kv.ReadTx, n int, bound []byte) error {
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
	lock := append(concat(x.level[n], first), behindID)
	tx.AddReadConflictRange(lock, kv.AppendKeyAfter(nil, lock))
	tx.AddWriteConflictRange(lock, kv.AppendKeyAfter(nil, lock))
	var moved int64
	for i := range stretch {
		b := &stretch[i]
		end := next
		if i+1 < len(stretch) {
			end = stretch[i+1].key
		}
		if b.rows, err = x.rowsBetween(snap, n-1, b.key, end); err != nil {
			return err
		}
		found := b.rows - b.count // when it was made
		addCounter(tx, concat(x.level[n], b.key), found-openMark)
		moved += found
	}
	addCounter(tx, concat(x.level[n], first), -moved)
	return nil
}

// stretchBefore finds the last settled boundary before an open one.
func (x *rankIndex) stretchBefore(r kv.ReadTx, n int, bound []byte) ([]byte, error) {
	it := r.Range(x.level[n], concat(x.level[n], bound), kv.RangeOptions{Reverse: true})
	defer it.Close()
	for it.Next() {
		if _, open := parseRank(it.Value()); !open {
			return bytes.Clone(it.Key()[len(x.level[n]):]), nil
		}
	}
	return nil, it.Err()
}

// stretchFrom lists the open boundaries that follow a settled one, and gives the settled one behind them, nil if there is none.
func (x *rankIndex) stretchFrom(r kv.ReadTx, n int, first []byte) (stretch []openBoundary, next []byte, err error) {
	level := x.level[n]
	_, end := children(level)
	it := r.Range(kv.AppendKeyAfter(nil, concat(level, first)), end, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		key := bytes.Clone(it.Key()[len(level):])
		count, open := parseRank(it.Value())
		if !open {
			return stretch, key, nil
		}
		stretch = append(stretch, openBoundary{key: key, count: count})
	}
	return stretch, nil, it.Err()
}

// settledBelow tells whether a boundary is settled on the levels below n.
func (x *rankIndex) settledBelow(r kv.ReadTx, n int, key []byte) (bool, error) {
	keys := make([][]byte, 0, rankLevels)
	for below := 1; below < n; below++ {
		keys = append(keys, concat(x.level[below], key))
	}
	values, err := r.GetMany(keys)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(values, func(v []byte) bool {
		_, open := parseRank(v)
		return open || v == nil
	}), nil
}
