package storage

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The sequence index can tell how many rows of the changes feed come after a sequence, which gives `pending` and the
// number in front of every sequence, without a counter that writers would have to read.
//
// The feed is cut into blocks, and those into blocks of the second level. A block has the key (TagSeqBlocks, level) +
// the 13 bytes of the sequence where it begins, the first one the zero Seq; its value is the number of rows from there
// to the next block, 8 bytes little-endian. (TagSeqBlocks, 0, level) holds where the last block of a level begins;
// absent: at the zero Seq.
//
//   - New rows always come at the end, so only the last block grows. A writer reads where it begins, with a conflict,
//     and adds to its count atomically: writers conflict only when one of them begins a new block.
//   - A large batch begins a block of its own without asking where the last one begins, so that such batches do not
//     conflict.
//   - Where older blocks begin never changes, so the block of a row that goes away is found by a snapshot read.
//   - An older block without rows stays so: it is removed, and the block before it covers its range.
const seqLevels = 2

const (
	// seqSample: one write in so many looks whether the last block is full.
	seqSample = 16
	// seqNearlyEmpty is the count from which on it is tried to remove an old block. It is more than 1 since the count
	// read is not that of the moment when the write commits.
	seqNearlyEmpty = 64
)

// seqTails are the sequences where the last block of each level begins.
type seqTails [seqLevels]Seq

func (s space) seqTail(dst []byte, level int) []byte {
	return tuple.AppendInt(tuple.AppendInt(s.sub(dst, TagSeqBlocks), 0), int64(level))
}

func (s space) seqLevel(dst []byte, level int) []byte {
	return tuple.AppendInt(s.sub(dst, TagSeqBlocks), int64(level+1))
}

func (s space) seqBlock(dst []byte, level int, begin Seq) []byte {
	return AppendSeq(s.seqLevel(dst, level), begin)
}

// readSeqTail reads where the last block of a level begins.
func (s space) readSeqTail(r kv.ReadTx, level int) (tail Seq, err error) {
	value, err := r.Get(s.seqTail(nil, level))
	if err != nil || value == nil {
		return tail, err
	}
	return ParseSeq(value)
}

// finishSeqBlocks counts the rows that the transaction put into TagChanges and took out of it.
func (t *dbTx) finishSeqBlocks() error {
	if t.addedSeqs == 0 && len(t.removedSeqs) == 0 {
		return nil
	}
	own := t.addedSeqs >= t.sizes.seqOwnRows
	var tails seqTails
	for level := range tails {
		var r kv.ReadTx = t.tx
		if own && level == 0 {
			r = t.tx.Snapshot() // rows before the snapshot are where it says, whatever follows
		}
		var err error
		if tails[level], err = t.keys.readSeqTail(r, level); err != nil {
			return err
		}
	}
	slices.SortFunc(t.removedSeqs, Seq.Compare)
	split, err := t.seqSplits(tails, own)
	if err != nil {
		return err
	}
	for level := range seqLevels {
		if err := t.countSeqs(level, tails[level], level < split); err != nil {
			return err
		}
	}
	for level := range split {
		t.tx.SetVersionstampedValue(t.keys.seqTail(nil, level), AppendSeq(nil, Seq{Incarnation: t.rec.incarnation}), 1)
	}
	return nil
}

// seqSplits tells on how many levels a new block begins with this transaction; own is the choice of one on the first.
func (t *dbTx) seqSplits(tails seqTails, own bool) (levels int, err error) {
	if !own && rand.Int64N(seqSample) >= t.addedSeqs {
		return 0, nil
	}
	full := t.sizes.seqBlockRows
	for level := range seqLevels {
		if own && level == 0 {
			full *= t.sizes.seqBlockFan
			continue
		}
		value, err := t.tx.Snapshot().Get(t.keys.seqBlock(nil, level, tails[level]))
		if err != nil {
			return 0, err
		}
		if counter(value)+t.addedSeqs <= full {
			return level, nil
		}
		full *= t.sizes.seqBlockFan
	}
	return seqLevels, nil
}

// countSeqs adds the transaction's rows to the counts of one level.
func (t *dbTx) countSeqs(level int, tail Seq, split bool) error {
	older := t.removedSeqs
	for len(older) > 0 && !older[len(older)-1].Before(tail) {
		older = older[:len(older)-1]
	}
	delta := int64(len(older) - len(t.removedSeqs))
	for len(older) > 0 {
		var err error
		if older, err = t.uncountSeqs(level, older); err != nil {
			return err
		}
	}
	if split { // after the reads: a key with a versionstamp to come makes its range unreadable
		key := t.keys.seqBlock(nil, level, Seq{Incarnation: t.rec.incarnation})
		t.tx.SetVersionstampedKey(key, t.keys.seqStampOffset(key), counterBytes(t.addedSeqs))
	} else {
		delta += t.addedSeqs
	}
	if delta != 0 {
		addCounter(t.tx, t.keys.seqBlock(nil, level, tail), delta)
	}
	return nil
}

// uncountSeqs takes the last of the sequences, and others of the same block, out of the block's count, and returns the
// rest.
func (t *dbTx) uncountSeqs(level int, seqs []Seq) ([]Seq, error) {
	begin := t.keys.seqLevel(nil, level)
	end := kv.AppendKeyAfter(nil, AppendSeq(begin, seqs[len(seqs)-1]))
	it := t.tx.Snapshot().Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})
	defer it.Close()
	if !it.Next() {
		if err := it.Err(); err != nil {
			return nil, err
		}
		return nil, corrupt("sequence blocks: none for a row", nil)
	}
	first, err := ParseSeq(it.Key())
	if err != nil {
		return nil, err
	}
	rest := seqs
	for len(rest) > 0 && !rest[len(rest)-1].Before(first) {
		rest = rest[:len(rest)-1]
	}
	removed := int64(len(seqs) - len(rest))
	addCounter(t.tx, it.Key(), -removed)
	if counter(it.Value())-removed < seqNearlyEmpty {
		t.tx.Atomic(kv.CompareAndClear, it.Key(), counterBytes(0))
	}
	return rest, nil
}

func counterBytes(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// rowsAfter is the number of rows of the changes feed after seq.
func (d *dbRead) rowsAfter(seq Seq) (int64, error) {
	if seq == (Seq{}) {
		counts, err := d.stats(statDocCount, statDelCount)
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
// read, and all reads of a level go together.
func (d *dbRead) rowsAfterEach(seqs []Seq) ([]int64, error) {
	counts := make([]int64, len(seqs))
	ends := make([]Seq, len(seqs)) // where the block ends that is being looked into; zero: at the end of the feed
	for level := seqLevels - 1; level >= 0; level-- {
		if err := d.countLevel(d.keys.seqLevel(nil, level), seqs, ends, counts, counter); err != nil {
			return nil, err
		}
	}
	one := func([]byte) int64 { return 1 }
	err := d.countLevel(d.keys.sub(nil, TagChanges), seqs, ends, counts, one)
	return counts, err
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
		seq, err := ParseSeq(it.Key())
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
	from = kv.AppendKeyAfter(nil, AppendSeq(prefix[:len(prefix):len(prefix)], after))
	to = kv.AppendPrefixEnd(nil, prefix) // not children: a client's sequence may begin with any byte
	if end != (Seq{}) {
		to = AppendSeq(prefix[:len(prefix):len(prefix)], end)
	}
	return from, to, o
}

// updateSeq is the end of the changes feed.
func (d *dbRead) updateSeq() (UpdateSeq, error) {
	values, err := d.r.GetMany([][]byte{d.keys.stat(nil, statUpdates), d.keys.sub(nil, TagLastSeq)})
	if err != nil {
		return UpdateSeq{}, err
	}
	u := UpdateSeq{N: uint64(counter(values[0]))}
	if values[1] != nil {
		u.Seq, err = ParseSeq(values[1])
	}
	return u, err
}

// seqNumber is the number that the sequence of a row has on the wire.
func (d *dbRead) seqNumber(seq Seq) (uint64, error) {
	after, err := d.rowsAfter(seq)
	if err != nil {
		return 0, err
	}
	counts, err := d.stats(statUpdates)
	if err != nil {
		return 0, err
	}
	return uint64(counts[0] - after), nil
}
