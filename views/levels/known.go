package levels

import (
	"bytes"
	"slices"
	"sync"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// Known are the weights of the rows before the boundaries of a level, in the state of the rows that a snapshot shows,
// and the aggregates of that level and of those above it, of functions whose queries have read as many of them as there
// are boundaries. They make reads of that state cheaper. A Known is safe for concurrent use.
type Known struct {
	*rank.PrefixSums

	mu    sync.Mutex
	slots map[uint32]*knownSlot // by number
	size  int                   // bytes of the aggregates with their keys in the store
}

// knownSlot is what is known of a function's aggregates.
type knownSlot struct {
	read   int       // entries of the store, one query after the other
	tried  bool      // to read all
	levels [][]entry // by level, from the one of the prefix sums; nil if they were too large, or not all right
}

// knownEntrySize is how many bytes aggregates may take for each boundary, of all functions together.
const knownEntrySize = 256

// ReadKnown reads the weights of a level; nil if there are more boundaries than most.
func (x *Index) ReadKnown(r kv.ReadTx, level, most int) (*Known, error) {
	rest, err := x.rest(r)
	if err != nil {
		return nil, err
	}
	sums, err := x.ranks.ReadPrefixSums(r, level, most, rest.deltas)
	if sums == nil {
		return nil, err
	}
	return &Known{PrefixSums: sums, slots: make(map[uint32]*knownSlot)}, err
}

// With gives the index for reads of snapshots that show the state that known is of.
func (x *Index) With(known *Known) *Index {
	with := *x
	with.known = known
	return &with
}

// sums are the prefix sums that are known, nil for none.
func (x *Index) sums() *rank.PrefixSums {
	if x.known == nil {
		return nil
	}
	return x.known.PrefixSums
}

// recall gives the entries of a level with from <= boundary < to, as cover.entries does, if they are known.
func (k *Known) recall(s Slot, level int, from, to []byte) ([]entry, bool) {
	if k == nil || level < k.Level() {
		return nil, false
	}
	k.mu.Lock()
	known := k.slots[s.Number]
	if known == nil || known.levels == nil {
		k.mu.Unlock()
		return nil, false
	}
	all := known.levels[level-k.Level()]
	k.mu.Unlock() // nothing changes them once they are there
	first := 0
	if len(from) > 0 {
		first = firstEntry(all, from)
	}
	last := max(first, firstEntry(all, to))
	return all[first:last:last], true
}

// firstEntry is the first entry at a key or after it; a nil key is after all.
func firstEntry(entries []entry, key []byte) int {
	if key == nil {
		return len(entries)
	}
	i, _ := slices.BinarySearchFunc(entries, key, func(e entry, key []byte) int { return bytes.Compare(e.bound, key) })
	return i
}

// worth counts entries that were read of the store, and reports to one of the queries that have read many that all are
// worth reading.
func (k *Known) worth(s Slot, level, entries int) bool {
	if k == nil || level < k.Level() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.slots[s.Number]
	if known == nil {
		known = &knownSlot{}
		k.slots[s.Number] = known
	}
	if known.read += entries; known.tried || known.read < k.Len() {
		return false
	}
	known.tried = true
	return true
}

// know reads all entries of the known level and of those above it. If one is stale, or together they are large, the
// store is read as before.
func (c *cover) know(k *Known) error {
	levels, size := make([][]entry, 0, c.x.height()), 0
	for n := k.Level(); n <= c.x.height(); n++ {
		entries, err := c.readAll(n, knownEntrySize*k.Len()-size)
		if entries == nil {
			return err
		}
		for _, e := range entries {
			size += len(c.x.Levels) + len(e.bound) + len(e.agg)
		}
		levels = append(levels, entries)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size+size <= knownEntrySize*k.Len() {
		k.size += size
		k.slots[c.slot.Number].levels = levels
	}
	return nil
}

// readAll reads all entries of a level, which hold memory of their own; nil if one but the first is stale, or if they
// take more than most bytes.
func (c *cover) readAll(level, most int) ([]entry, error) {
	own := cover{gatherer: c.gatherer, x: c.x, slot: c.slot, r: c.r, rest: c.rest}
	it := &boundedIterator{Iterator: own.openEntries(level, nil, nil), left: most}
	defer it.Close()
	entries, err := own.readEntries(it, level, nil, nil)
	stale := func(e entry) bool { return e.agg == nil && len(e.bound) > 0 }
	if err != nil || it.left < 0 || slices.ContainsFunc(entries, stale) {
		return nil, err
	}
	return entries, nil
}

// boundedIterator ends after some bytes of keys and values; then left is negative.
type boundedIterator struct {
	kv.Iterator
	left int
}

func (b *boundedIterator) Next() bool {
	if b.left < 0 || !b.Iterator.Next() {
		return false
	}
	b.left -= len(b.Key()) + len(b.Value())
	return b.left >= 0
}
