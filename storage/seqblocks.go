package storage

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// The sequence index can tell how many rows of the changes feed come after a sequence, which gives `pending` and the
// number in front of every sequence, without a counter that writers would have to read.
//
// The feed is cut into blocks, and those into blocks of the second level. A block has the key (TagSeqBlocks, level) +
// the 13 bytes of the sequence where it begins, the first one the zero Seq; its value is the number of rows from there
// to the next block, 8 bytes little-endian, as far as the log of counts is folded (countlog.go).
//
//   - New rows always come at the end, so only the last block grows, and where older ones begin never changes.
//   - Where a block of the second level begins there begins one of the first.
//   - An older block without rows stays so: it is removed, and the block before it covers its range.
const seqLevels = 2

// seqBlock is a block under the hands of the folder.
type seqBlock struct {
	begin Seq
	rows  int64
}

// foldSeqs takes the rows of the feed that came and went into the blocks.
func (t *dbTx) foldSeqs(log []countEntry) error {
	var levels [seqLevels][]seqBlock // the last one that is stored, and new ones
	for level := range levels {
		last, err := t.lastSeqBlock(level)
		if err != nil {
			return err
		}
		levels[level] = []seqBlock{last}
	}
	var removed []Seq
	for i := range log {
		e := &log[i]
		removed = append(removed, e.removed...)
		if e.added == 0 {
			continue
		}
		for begun := t.seqSplits(levels, e.added); begun > 0; begun-- {
			levels[begun-1] = append(levels[begun-1], seqBlock{begin: e.seq})
		}
		for _, blocks := range levels {
			blocks[len(blocks)-1].rows += e.added
		}
	}
	slices.SortFunc(removed, Seq.Compare)
	for level, blocks := range levels {
		if err := t.foldSeqLevel(level, blocks, removed); err != nil {
			return err
		}
	}
	return nil
}

// lastSeqBlock reads the last block of a level; the one at the zero Seq need not be stored.
func (t *dbTx) lastSeqBlock(level int) (last seqBlock, err error) {
	prefix := t.keys.SeqLevel(nil, level)
	o := kv.RangeOptions{Reverse: true, Limit: 1}
	it := t.tx.Snapshot().Range(prefix, kv.AppendPrefixEnd(nil, prefix), o)
	defer it.Close()
	if it.Next() {
		last.rows = keyspace.Counter(it.Value())
		if last.begin, err = keyspace.ParseSeq(it.Key()); err != nil {
			return last, err
		}
	}
	return last, it.Err()
}

// seqSplits tells on how many levels a new block begins with so many rows to come.
func (t *dbTx) seqSplits(levels [seqLevels][]seqBlock, added int64) int {
	for level := seqLevels - 1; level >= 0; level-- {
		full := t.sizes.seqBlockRows
		for range level {
			full *= t.sizes.seqBlockFan
		}
		if rows := levels[level][len(levels[level])-1].rows; rows > 0 && rows+added > full {
			return level + 1
		}
	}
	return 0
}

// foldSeqLevel writes the last blocks of a level without the rows removed from them, and takes those that are older out
// of the counts of their blocks.
func (t *dbTx) foldSeqLevel(level int, blocks []seqBlock, removed []Seq) error {
	prefix := t.keys.SeqLevel(nil, level)
	var older [][]byte
	for _, r := range removed {
		if r.Before(blocks[0].begin) {
			older = append(older, keyspace.AppendSeq(nil, r))
			continue
		}
		at, found := slices.BinarySearchFunc(blocks, r, func(b seqBlock, r Seq) int { return b.begin.Compare(r) })
		if !found {
			at--
		}
		blocks[at].rows--
	}
	floors, err := rank.Floors(t.tx.Snapshot(), prefix, older)
	if err != nil {
		return err
	}
	put := func(key []byte, rows int64, last bool) {
		if rows == 0 && !last {
			t.tx.Clear(key)
			return
		}
		keyspace.PutCounter(t.tx, key, rows)
	}
	for from := 0; from < len(floors); {
		to := from + 1
		for to < len(floors) && bytes.Equal(floors[to].Key, floors[from].Key) {
			to++
		}
		if len(floors[from].Key) == 0 {
			return keyspace.Corrupt("sequence blocks: none for a row", nil)
		}
		put(slices.Concat(prefix, floors[from].Key), keyspace.Counter(floors[from].Value)-int64(to-from), false)
		from = to
	}
	for i, b := range blocks {
		put(t.keys.SeqBlock(nil, level, b.begin), b.rows, i == len(blocks)-1)
	}
	return nil
}

// rowsAfter is the number of rows of the changes feed after seq.
func (d *dbRead) rowsAfter(seq Seq) (int64, error) {
	if seq == (Seq{}) {
		counts, err := d.stats(keyspace.DocCount, keyspace.DelCount)
		if err != nil {
			return 0, err
		}
		return counts[0] + counts[1], nil
	}
	counts, err := d.rowsAfterEach([]Seq{seq})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// rowsAfterEach is rowsAfter for several sequences, which ascend and are not zero. On each level it counts the blocks
// that lie after a sequence in the block of the level above that the sequence is in; sequences of one block share a
// read, and all reads of a level go together. What the log of counts has beside the blocks comes to that.
func (d *dbRead) rowsAfterEach(seqs []Seq) ([]int64, error) {
	log, err := d.askRest()
	if err != nil {
		return nil, err
	}
	defer log.close()
	counts := make([]int64, len(seqs))
	ends := make([]Seq, len(seqs)) // where the block ends that is being looked into; zero: at the end of the feed
	for level := seqLevels - 1; level >= 0; level-- {
		if err := d.countLevel(d.keys.SeqLevel(nil, level), seqs, ends, counts, keyspace.Counter); err != nil {
			return nil, err
		}
	}
	rest, err := log.read()
	if err != nil {
		return nil, err
	}
	for i, end := range ends {
		if end != (Seq{}) { // from there on there are counts, before it rows
			counts[i] += rest.added - rest.removedFrom(end)
		}
	}
	one := func([]byte) int64 { return 1 }
	err = d.countLevel(d.keys.Sub(nil, keyspace.TagChanges), seqs, ends, counts, one)
	return counts, err
}

// FeedCut is where a range of the feed ends, and about how many rows it has.
type FeedCut struct {
	Seq  Seq
	Rows int64
}

// CutFeed cuts the feed into ranges of at least as many rows as are asked for, by the counts of its blocks, so that not
// a row of it is read. It tells of all ranges but the last one where they end.
func (s *Snapshot) CutFeed(rows int64) (cuts []FeedCut, err error) {
	level := 0
	for above := s.d.sizes.seqBlockRows * s.d.sizes.seqBlockFan; level+1 < seqLevels && rows > 2*above; level++ {
		above *= s.d.sizes.seqBlockFan
	}
	prefix := s.d.keys.SeqLevel(nil, level)
	it := s.d.r.Range(prefix, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for n := int64(0); it.Next(); {
		begin, err := keyspace.ParseSeq(it.Key())
		if err != nil {
			return nil, err
		}
		if n >= rows {
			cuts, n = append(cuts, FeedCut{begin, n}), 0
		}
		n += keyspace.Counter(it.Value())
	}
	return cuts, it.Err()
}

// countLevel adds what lies between each sequence and its end, and moves the end to the first of it. weight tells what
// a value counts.
func (d *dbRead) countLevel(prefix []byte, seqs, ends []Seq, counts []int64, weight func([]byte) int64) error {
	var from [leavesAhead + 1]int // of each group of sequences with the same end, the first one
	for at := 0; at < len(seqs); {
		var its [leavesAhead]kv.Iterator
		groups := 0
		for ; at < len(seqs) && groups < len(its); groups++ {
			from[groups] = at
			its[groups] = d.r.Snapshot().Range(d.seqRange(prefix, seqs[at], ends[at], kv.RangeOptions{WantAll: true}))
			for end := ends[at]; at < len(seqs) && ends[at] == end; {
				at++
			}
		}
		from[groups] = at
		var failure error
		for n, it := range its[:groups] {
			if failure == nil {
				begin, end := from[n], from[n+1]
				failure = countGroup(it, seqs[begin:end], ends[begin:end], counts[begin:end], weight)
			}
			_ = it.Close()
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// countGroup drains a range that begins after the first of some sequences.
func countGroup(it kv.Iterator, seqs, ends []Seq, counts []int64, weight func([]byte) int64) error {
	after := make([]int64, len(seqs)) // between each sequence and the next one
	first := make([]Seq, len(seqs))   // the first there, zero for none
	for at := 0; it.Next(); {
		seq, err := keyspace.ParseSeq(it.Key())
		if err != nil {
			return err
		}
		for at+1 < len(seqs) && seqs[at+1].Before(seq) {
			at++
		}
		if after[at] += weight(it.Value()); first[at] == (Seq{}) {
			first[at] = seq
		}
	}
	total, end := int64(0), Seq{}
	for i := len(seqs) - 1; i >= 0; i-- {
		total += after[i]
		counts[i] += total
		if first[i] != (Seq{}) {
			end = first[i]
		}
		if end != (Seq{}) {
			ends[i] = end
		}
	}
	return it.Err()
}

// seqRange is the range of keys with a prefix and sequences after one and before another, or all if that is zero.
func (d *dbRead) seqRange(prefix []byte, after, end Seq, o kv.RangeOptions) (from, to []byte, opts kv.RangeOptions) {
	from = kv.AppendKeyAfter(nil, keyspace.AppendSeq(prefix[:len(prefix):len(prefix)], after))
	to = kv.AppendPrefixEnd(nil, prefix) // not children: a client's sequence may begin with any byte
	if end != (Seq{}) {
		to = keyspace.AppendSeq(prefix[:len(prefix):len(prefix)], end)
	}
	return from, to, o
}

// updateSeq is the end of the changes feed.
func (d *dbRead) updateSeq() (UpdateSeq, error) {
	values, err := d.r.GetMany([][]byte{d.keys.Stat(nil, keyspace.Updates), d.keys.Sub(nil, keyspace.TagLastSeq)})
	if err != nil {
		return UpdateSeq{}, err
	}
	u := UpdateSeq{N: uint64(keyspace.Counter(values[0]))}
	if values[1] != nil {
		u.Seq, err = keyspace.ParseSeq(values[1])
	}
	return u, err
}

// seqNumber is the number that the sequence of a row has on the wire.
func (d *dbRead) seqNumber(seq Seq) (uint64, error) {
	after, err := d.rowsAfter(seq)
	if err != nil {
		return 0, err
	}
	counts, err := d.stats(keyspace.Updates)
	if err != nil {
		return 0, err
	}
	return uint64(counts[0] - after), nil
}
