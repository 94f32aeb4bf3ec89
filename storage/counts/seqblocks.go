package counts

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// The sequence index can tell how many rows of the changes feed come after a sequence, which gives
// `pending` and the number in front of every sequence, without a counter that writers would have to
// read.
//
// The feed is cut into blocks, and those into blocks of the second level. A block has the key
// (TagSeqBlocks, level) + the 13 bytes of the sequence where it begins, the first one the zero Seq;
// its value is the number of rows from there to the next block, 8 bytes little-endian, as far as
// the log of counts is folded (log.go).
//
//   - New rows always come at the end, so only the last block grows, and where older ones begin
//     never changes.
//   - Where a block of the second level begins there begins one of the first.
//   - An older block without rows stays so: it is removed, and the block before it covers its
//     range.

// SeqLevels is how many levels of blocks there are.
const SeqLevels = 2

// seqBlock is a block in memory while the log is folded.
type seqBlock struct {
	// The first sequence of the block, and how many rows it has.
	begin compat.Seq
	rows  int64
}

// foldSeqs takes the rows of the feed that came and went into the blocks.
func (d *Reader) foldSeqs(tx kv.Tx, log []entry) error {
	var levels [SeqLevels][]seqBlock // the last one that is stored, and new ones
	for level := range levels {
		last, err := d.lastSeqBlock(tx, level)
		if err != nil {
			return err
		}
		levels[level] = []seqBlock{last}
	}
	var removed []compat.Seq
	for i := range log {
		e := &log[i]
		removed = append(removed, e.removed...)
		if e.added == 0 {
			continue
		}
		for begun := d.seqSplits(levels, e.added); begun > 0; begun-- {
			levels[begun-1] = append(levels[begun-1], seqBlock{begin: e.seq})
		}
		for _, blocks := range levels {
			blocks[len(blocks)-1].rows += e.added
		}
	}
	slices.SortFunc(removed, compat.Seq.Compare)
	for level, blocks := range levels {
		if err := d.foldSeqLevel(tx, level, blocks, removed); err != nil {
			return err
		}
	}
	return nil
}

// lastSeqBlock reads the last block of a level; the one at the zero compat.Seq need not be stored.
func (d *Reader) lastSeqBlock(tx kv.Tx, level int) (last seqBlock, err error) {
	prefix := d.Keys.SeqLevel(nil, level)
	o := kv.RangeOptions{Reverse: true, Limit: 1}
	it := tx.Snapshot().Range(prefix, kv.AppendPrefixEnd(nil, prefix), o)
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
func (d *Reader) seqSplits(levels [SeqLevels][]seqBlock, added int64) int {
	for level := SeqLevels - 1; level >= 0; level-- {
		full := d.Sizes.SeqBlockRows
		for range level {
			full *= d.Sizes.SeqBlockFan
		}
		if rows := levels[level][len(levels[level])-1].rows; rows > 0 && rows+added > full {
			return level + 1
		}
	}
	return 0
}

// foldSeqLevel writes the last blocks of a level without the rows removed from them, and takes
// those that are older out of the counts of their blocks.
func (d *Reader) foldSeqLevel(tx kv.Tx, level int, blocks []seqBlock, removed []compat.Seq) error {
	prefix := d.Keys.SeqLevel(nil, level)
	var older [][]byte
	for _, r := range removed {
		if r.Before(blocks[0].begin) {
			older = append(older, keyspace.AppendSeq(nil, r))
			continue
		}
		begins := func(b seqBlock, r compat.Seq) int { return b.begin.Compare(r) }
		at, found := slices.BinarySearchFunc(blocks, r, begins)
		if !found {
			at--
		}
		blocks[at].rows--
	}
	floors, err := rank.Floors(tx.Snapshot(), prefix, older, d.Sizes.Together)
	if err != nil {
		return err
	}
	put := func(key []byte, rows int64, last bool) {
		if rows == 0 && !last {
			tx.Clear(key)
			return
		}
		keyspace.PutCounter(tx, key, rows)
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
		put(d.Keys.SeqBlock(nil, level, b.begin), b.rows, i == len(blocks)-1)
	}
	return nil
}

// RowsAfter is the number of rows of the changes feed after seq.
func (d *Reader) RowsAfter(seq compat.Seq) (int64, error) {
	if seq == (compat.Seq{}) {
		counts, err := d.Stats(keyspace.DocCount, keyspace.DelCount)
		if err != nil {
			return 0, err
		}
		return counts[0] + counts[1], nil
	}
	counts, err := d.RowsAfterEach([]compat.Seq{seq})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// RowsAfterEach is RowsAfter for several sequences, which ascend and are not zero. On each level it
// counts the blocks that lie after a sequence in the block of the level above that the sequence is
// in; sequences of one block share a read, and all reads of a level go together. What the log of
// counts has beside the blocks comes to that.
func (d *Reader) RowsAfterEach(seqs []compat.Seq) ([]int64, error) {
	log, err := d.askRest()
	if err != nil {
		return nil, err
	}
	defer log.close()
	counts := make([]int64, len(seqs))
	// where the block ends that is being looked into; zero: at the end of the feed
	ends := make([]compat.Seq, len(seqs))
	for level := SeqLevels - 1; level >= 0; level-- {
		if err := d.countLevel(d.Keys.SeqLevel(nil, level), seqs, ends, counts, keyspace.Counter); err != nil {
			return nil, err
		}
	}
	rest, err := log.read()
	if err != nil {
		return nil, err
	}
	for i, end := range ends {
		if end != (compat.Seq{}) { // from there on there are counts, before it rows
			counts[i] += rest.Added - rest.RemovedFrom(end)
		}
	}
	one := func([]byte) int64 { return 1 }
	err = d.countLevel(d.Keys.Sub(nil, keyspace.TagChanges), seqs, ends, counts, one)
	return counts, err
}

// rangesAtOnce is how many ranges are counted at once.
const rangesAtOnce = 64

// countLevel adds what lies between each sequence and its end, and moves the end to the first of
// it. weight tells what a value counts.
func (d *Reader) countLevel(prefix []byte, seqs, ends []compat.Seq, counts []int64, weight func([]byte) int64) error {
	var from [rangesAtOnce + 1]int // of each group of sequences with the same end, the first one
	for at := 0; at < len(seqs); {
		var its [rangesAtOnce]kv.Iterator
		groups := 0
		for ; at < len(seqs) && groups < len(its); groups++ {
			from[groups] = at
			its[groups] = d.R.Snapshot().Range(d.SeqRange(prefix, seqs[at], ends[at], kv.RangeOptions{WantAll: true}))
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
func countGroup(it kv.Iterator, seqs, ends []compat.Seq, counts []int64, weight func([]byte) int64) error {
	after := make([]int64, len(seqs))      // between each sequence and the next one
	first := make([]compat.Seq, len(seqs)) // the first there, zero for none
	for at := 0; it.Next(); {
		seq, err := keyspace.ParseSeq(it.Key())
		if err != nil {
			return err
		}
		for at+1 < len(seqs) && seqs[at+1].Before(seq) {
			at++
		}
		if after[at] += weight(it.Value()); first[at] == (compat.Seq{}) {
			first[at] = seq
		}
	}
	total, end := int64(0), compat.Seq{}
	for i := len(seqs) - 1; i >= 0; i-- {
		total += after[i]
		counts[i] += total
		if first[i] != (compat.Seq{}) {
			end = first[i]
		}
		if end != (compat.Seq{}) {
			ends[i] = end
		}
	}
	return it.Err()
}

// SeqRange is the range of keys with a prefix and sequences after one and before another, or all if
// that is zero.
func (d *Reader) SeqRange(prefix []byte, after, end compat.Seq, o kv.RangeOptions) (
	from, to []byte,
	opts kv.RangeOptions,
) {
	from = kv.AppendKeyAfter(nil, keyspace.AppendSeq(prefix[:len(prefix):len(prefix)], after))
	to = kv.AppendPrefixEnd(nil, prefix) // not children: a client's sequence may begin with any byte
	if end != (compat.Seq{}) {
		to = keyspace.AppendSeq(prefix[:len(prefix):len(prefix)], end)
	}
	return from, to, o
}

// Last tells how many updates were ever made, and the sequence of the last one.
func (d *Reader) Last() (updates uint64, seq compat.Seq, err error) {
	values, err := d.R.GetMany([][]byte{d.Keys.Stat(nil, keyspace.Updates), d.Keys.Sub(nil, keyspace.TagLastSeq)})
	if err != nil {
		return 0, seq, err
	}
	if values[1] != nil {
		seq, err = keyspace.ParseSeq(values[1])
	}
	return uint64(keyspace.Counter(values[0])), seq, err
}

// SeqNumber is the number that the sequence of a row has on the wire.
func (d *Reader) SeqNumber(seq compat.Seq) (uint64, error) {
	after, err := d.RowsAfter(seq)
	if err != nil {
		return 0, err
	}
	counts, err := d.Stats(keyspace.Updates)
	if err != nil {
		return 0, err
	}
	return uint64(counts[0] - after), nil
}
