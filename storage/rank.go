package storage

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/storage/kv"
)

// A rank index counts the rows of a subspace before any key in a number of reads that grows with the logarithm of the rows,
// although independent writers never conflict on it.
//
// It is a skip list over the rows' keys. A key's height is given by its hash: one in rankFan reaches level 1, one of those in
// rankFan level 2, and so on. On each level the boundaries (keys that reach it, and the empty key before all) hold the number
// of rows from there up to the next boundary. A boundary stays when its row is deleted; its count falls.
//
// Writers of rows:
//   - find the boundary before the row with a snapshot read, declare a conflict with boundaries that are made between it and the
//     row, and add to its count atomically. Two writers conflict only if one of them makes a boundary between.
//   - that make a boundary count the rows it takes over with ordinary reads, which conflict with every writer of such a row.
const rankLevels = 3

// rankFan is a variable for tests: the heights of stored keys depend on it.
var rankFan uint64 = 64

// rankIndex is one rank index: rows are the keys below base, boundaries of level n the keys below level(n).
type rankIndex struct {
	base  []byte
	level [rankLevels + 1][]byte // [0] is unused
}

func (d *dbRead) idRanks() *rankIndex {
	x := &rankIndex{base: d.keys.sub(nil, TagAllDocs)}
	for n := 1; n <= rankLevels; n++ {
		x.level[n] = d.keys.rank(nil, TagRankIDs, n)
	}
	return x
}

// height is the number of levels that a row's key reaches. It must never change for stored keys.
func rankHeight(key []byte) int {
	h := xxhash.Sum64(key)
	n := 0
	for n < rankLevels && h%rankFan == 0 {
		h /= rankFan
		n++
	}
	return n
}

// rowsBefore counts the rows with keys < key; key is a row's key without the base.
func (x *rankIndex) rowsBefore(r kv.ReadTx, key []byte) (int64, error) {
	var total int64
	from := []byte{} // the boundary before key on the level above
	for n := rankLevels; n >= 1; n-- {
		sum, last, err := x.sumBefore(r, n, from, key)
		if err != nil {
			return 0, err
		}
		total += sum
		from = last
	}
	rows, err := countKeys(r, x.base, from, key)
	return total + rows, err
}

// sumBefore adds up the counts of the boundaries b of a level with from <= b < key, except the last of them, which it returns.
func (x *rankIndex) sumBefore(r kv.ReadTx, n int, from, key []byte) (sum int64, last []byte, err error) {
	last = from
	var pending int64
	it := r.Range(concat(x.level[n], from), concat(x.level[n], key), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		sum += pending
		pending = counter(it.Value())
		last = bytes.Clone(it.Key()[len(x.level[n]):])
	}
	return sum, last, it.Err()
}

// countKeys counts the keys base+k with from <= k < to; a nil to is open.
func countKeys(r kv.ReadTx, base, from, to []byte) (int64, error) {
	end := kv.AppendPrefixEnd(nil, base)
	if to != nil {
		end = concat(base, to)
	}
	it := r.Range(concat(base, from), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var rows int64
	for it.Next() {
		rows++
	}
	return rows, it.Err()
}

func concat(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)+1), a...), b...) }

// rankBatch collects the rows that a transaction adds and removes, to be applied in one walk.
type rankBatch struct{ rows []rankRow }

type rankRow struct {
	key   []byte
	delta int64
}

// add notes that a row is added (+1) or removed (-1); each key at most once in a transaction.
func (b *rankBatch) add(key []byte, delta int64) {
	b.rows = append(b.rows, rankRow{bytes.Clone(key), delta})
}

// apply writes the counts. It must run before the rows themselves are written in the transaction.
func (b *rankBatch) apply(tx kv.Tx, x *rankIndex) error {
	if len(b.rows) == 0 {
		return nil
	}
	slices.SortFunc(b.rows, func(a, c rankRow) int { return bytes.Compare(a.key, c.key) })
	snap := tx.Snapshot()
	for n := rankLevels; n >= 1; n-- { // a level's new counts come from those below as they were
		if err := b.applyLevel(tx, snap, x, n); err != nil {
			return err
		}
	}
	b.rows = b.rows[:0]
	return nil
}

// applyLevel groups the rows by the boundary before them on level n.
func (b *rankBatch) applyLevel(tx kv.Tx, snap kv.ReadTx, x *rankIndex, n int) error {
	rows := b.rows
	for len(rows) > 0 {
		bound, next, size, err := x.segment(tx, snap, n, rows)
		if err != nil {
			return err
		}
		if err := x.applySegment(tx, n, bound, next, rows[:size]); err != nil {
			return err
		}
		rows = rows[size:]
	}
	return nil
}

// segment finds the stored boundary before the first of the sorted rows on level n, the next one, and how many of the rows lie
// between. next is nil at the end of the level; it is looked up only if it matters: for several rows or a new boundary.
func (x *rankIndex) segment(tx kv.Tx, snap kv.ReadTx, n int, rows []rankRow) (bound, next []byte, size int, err error) {
	level := x.level[n]
	first := concat(level, rows[0].key)
	afterFirst := kv.AppendKeyAfter(nil, first)
	bound, err = edgeKey(snap, level, afterFirst, true)
	if err != nil {
		return nil, nil, 0, err
	}
	after := concat(level, bound)
	if bound != nil {
		after = append(after, 0)
	}
	if len(rows) == 1 && rankHeight(rows[0].key) < n {
		tx.AddReadConflictRange(after, afterFirst)
		return bound, nil, 1, nil
	}
	next, err = edgeKey(snap, level, afterFirst, false)
	if err != nil {
		return nil, nil, 0, err
	}
	size, _ = slices.BinarySearchFunc(rows, next, func(r rankRow, next []byte) int {
		if next == nil {
			return -1
		}
		return bytes.Compare(r.key, next)
	})
	last := rows[size-1].key
	conflictEnd := kv.AppendKeyAfter(nil, concat(level, last))
	if slices.ContainsFunc(rows[:size], func(r rankRow) bool { return rankHeight(r.key) >= n }) {
		conflictEnd = kv.AppendPrefixEnd(nil, level)
		if next != nil {
			conflictEnd = concat(level, next)
		}
	}
	tx.AddReadConflictRange(after, conflictEnd)
	return bound, next, size, nil
}

// edgeKey finds the last key below prefix that is before at (reverse), or the first one from at on; nil if there is none. The
// empty boundary need not be stored and is nil as well.
func edgeKey(r kv.ReadTx, prefix, at []byte, reverse bool) ([]byte, error) {
	begin, end := at, kv.AppendPrefixEnd(nil, prefix)
	if reverse {
		begin, end = prefix, at
	}
	it := r.Range(begin, end, kv.RangeOptions{Limit: 1, Reverse: reverse})
	defer it.Close()
	if !it.Next() || len(it.Key()) == len(prefix) {
		return nil, it.Err()
	}
	return bytes.Clone(it.Key()[len(prefix):]), it.Err()
}

// applySegment adds the rows, which all lie in [bound, next) on level n, and makes boundaries of those that reach the level and
// are none yet.
func (x *rankIndex) applySegment(tx kv.Tx, n int, bound, next []byte, rows []rankRow) error {
	var total int64
	for i := range rows {
		total += rows[i].delta
	}
	// Going down from next: behind are the rows of this transaction, storedEnd those of earlier ones, from end to next.
	end, behind, storedEnd := next, int64(0), int64(0)
	for i := len(rows) - 1; i >= 0; i-- {
		behind += rows[i].delta
		key := rows[i].key
		if rankHeight(key) < n || bytes.Equal(key, bound) {
			continue
		}
		stored, err := x.storedRows(tx, n-1, key, end, next)
		if err != nil {
			return err
		}
		if n == 1 {
			stored += storedEnd
		}
		count := behind + stored - storedEnd
		putCounter(tx, concat(x.level[n], key), count)
		total -= count
		end, behind, storedEnd = key, 0, stored
	}
	if total != 0 {
		addCounter(tx, concat(x.level[n], bound), total)
	}
	return nil
}

// storedRows counts rows as they were before this transaction, with reads that conflict. On level 0 those with from <= key < to;
// above, those with from <= key < next, where next is a boundary of level n+1 or nil.
func (x *rankIndex) storedRows(tx kv.Tx, n int, from, to, next []byte) (int64, error) {
	if n == 0 {
		return countKeys(tx, x.base, from, to)
	}
	begin, end := concat(x.level[n], from), kv.AppendPrefixEnd(nil, x.level[n])
	if next != nil {
		end = concat(x.level[n], next)
	}
	first := next
	var sum int64
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for i := 0; it.Next(); i++ {
		if i == 0 {
			first = bytes.Clone(it.Key()[len(x.level[n]):])
		}
		sum += counter(it.Value())
	}
	if err := it.Err(); err != nil {
		return 0, err
	}
	below, err := x.storedRows(tx, n-1, from, first, first)
	return sum + below, err
}

func putCounter(tx kv.Tx, key []byte, n int64) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	tx.Set(key, buf[:])
}

func addCounter(tx kv.Tx, key []byte, n int64) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	tx.Atomic(kv.Add, key, buf[:])
}
