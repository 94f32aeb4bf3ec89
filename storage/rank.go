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
// A writer finds the boundary before its row with a snapshot read, declares a conflict with boundaries that are made between it
// and the row, and adds to its count atomically: two writers conflict only if one of them makes a boundary between.
//
// To make a boundary would take a count of the rows that it takes over, which conflicts with all their writers. So it begins
// open: it counts only changes made after it, and the rows it found stay in the count of the boundary before. Sums over whole
// stretches from one boundary that is not open to the next are right at any time, and nothing else is read. Later a writer
// that comes upon an open boundary settles it: the rows between it and the next boundary, less its own count, both in one
// snapshot, are what it found when it was made, a number that does not change any more; it is moved over atomically. Only
// other settlers of the same stretch conflict with that (ranksettle.go).
//
// The count is 8 bytes little-endian; openMark is added to it while the boundary is open. A boundary has a second key, a mark
// that is never rewritten: a backward read that looks for the boundary before a row must not land on counts, since a store that
// keeps versions walks over all those of a count that every writer adds to.
const rankLevels = 3

// rankFan is a variable for tests: the heights of stored keys depend on it.
var rankFan uint64 = 128

const openMark = 1 << 62

// parseRank takes the mark off a stored count.
func parseRank(value []byte) (count int64, open bool) {
	count = counter(value)
	if count >= openMark/2 {
		return count - openMark, true
	}
	return count, false
}

// rankIndex is one rank index: rows are the keys below base, counts of level n the keys below level[n], marks those below mark[n].
type rankIndex struct {
	base        []byte
	level, mark [rankLevels + 1][]byte // [0] is unused
}

func (d *dbRead) idRanks() *rankIndex {
	x := &rankIndex{base: d.keys.sub(nil, TagAllDocs)}
	for n := 1; n <= rankLevels; n++ {
		x.level[n] = d.keys.rank(nil, TagRankIDs, n)
		x.mark[n] = d.keys.rank(nil, TagRankIDs, rankLevels+n)
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
	return x.rowsBetween(r, rankLevels, nil, key)
}

// rowsBetween counts the rows with from <= row < to with the help of levels up to n; from is empty or a settled boundary of all
// these levels, a nil to is behind all rows.
func (x *rankIndex) rowsBetween(r kv.ReadTx, n int, from, to []byte) (int64, error) {
	var total int64
	for ; n >= 1; n-- {
		sum, last, err := x.sumStretches(r, n, from, to)
		if err != nil {
			return 0, err
		}
		total += sum
		from = last
	}
	rows, err := countKeys(r, x.base, from, to)
	return total + rows, err
}

// sumStretches adds up the counts on level n from the boundary from up to the last settled boundary before to, which it
// returns.
func (x *rankIndex) sumStretches(r kv.ReadTx, n int, from, to []byte) (sum int64, last []byte, err error) {
	last = from
	var stretch int64 // since last
	_, end := children(x.level[n])
	if to != nil {
		end = concat(x.level[n], to)
	}
	it := r.Range(concat(x.level[n], from), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		count, open := parseRank(it.Value())
		if !open {
			sum += stretch
			stretch = 0
			last = bytes.Clone(it.Key()[len(x.level[n]):])
		}
		stretch += count
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

// applyLevel groups the rows by the boundary before them on level n. All is read before anything is written.
func (b *rankBatch) applyLevel(tx kv.Tx, snap kv.ReadTx, x *rankIndex, n int) error {
	type segment struct {
		bound []byte
		rows  []rankRow
	}
	var segments []segment
	for rows := b.rows; len(rows) > 0; {
		bound, size, err := x.segment(tx, snap, n, rows)
		if err != nil {
			return err
		}
		segments = append(segments, segment{bound, rows[:size]})
		rows = rows[size:]
	}
	for _, s := range segments {
		x.applySegment(tx, n, s.bound, s.rows)
	}
	return nil
}

// segment finds the stored boundary before the first of the sorted rows on level n, and how many of the rows come before the
// next one.
func (x *rankIndex) segment(tx kv.Tx, snap kv.ReadTx, n int, rows []rankRow) (bound []byte, size int, err error) {
	level := x.level[n]
	bound, open, err := x.lastBoundary(snap, n, rows[0].key)
	if err != nil {
		return nil, 0, err
	}
	if open {
		if err := x.settle(tx, snap, n, bound); err != nil {
			return nil, 0, err
		}
	}
	size = 1
	if len(rows) > 1 {
		next, err := nextBoundary(snap, level, kv.AppendKeyAfter(nil, concat(level, rows[0].key)))
		if err != nil {
			return nil, 0, err
		}
		size, _ = slices.BinarySearchFunc(rows, next, func(r rankRow, next []byte) int {
			if next == nil {
				return -1
			}
			return bytes.Compare(r.key, next)
		})
	}
	tx.AddReadConflictRange(kv.AppendKeyAfter(nil, concat(level, bound)), kv.AppendKeyAfter(nil, concat(level, rows[size-1].key)))
	return bound, size, nil
}

// lastBoundary finds the last boundary of level n at or before a row; nil is the empty one, which need not be stored.
func (x *rankIndex) lastBoundary(r kv.ReadTx, n int, row []byte) (bound []byte, open bool, err error) {
	behind := kv.AppendKeyAfter(nil, concat(x.mark[n], row))
	it := r.Range(x.mark[n], behind, kv.RangeOptions{Limit: 1, Reverse: true})
	defer it.Close()
	if !it.Next() {
		return nil, false, it.Err()
	}
	bound = bytes.Clone(it.Key()[len(x.mark[n]):])
	count, err := r.Get(concat(x.level[n], bound))
	_, open = parseRank(count)
	return bound, open, err
}

// nextBoundary finds the first boundary whose stored key is not before from; nil if there is none.
func nextBoundary(r kv.ReadTx, level, from []byte) ([]byte, error) {
	_, end := children(level)
	it := r.Range(from, end, kv.RangeOptions{Limit: 1})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	return bytes.Clone(it.Key()[len(level):]), it.Err()
}

// applySegment adds the rows, which all lie between two boundaries of level n, and opens boundaries at those that reach the
// level and are none yet.
func (x *rankIndex) applySegment(tx kv.Tx, n int, bound []byte, rows []rankRow) {
	var behind int64 // rows from here up to the next boundary
	for i := len(rows) - 1; i >= 0; i-- {
		behind += rows[i].delta
		if key := rows[i].key; rankHeight(key) >= n && !bytes.Equal(key, bound) {
			putCounter(tx, concat(x.level[n], key), openMark+behind)
			tx.Set(concat(x.mark[n], key), nil)
			behind = 0
		}
	}
	if behind != 0 {
		addCounter(tx, concat(x.level[n], bound), behind)
	}
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
