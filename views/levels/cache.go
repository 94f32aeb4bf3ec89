package levels

import (
	"bytes"
	"slices"
	"sync"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// Cache makes reads of an index cheaper while its rows do not change. It holds the weights of the
// rows before each boundary of one level, and the aggregates of that level and of those above it.
// Aggregates of a function are cached after its queries have read as many entries as there are
// boundaries. A Cache belongs to one state of the rows: whoever keeps it must drop it when the rows
// change. It is safe for concurrent use.
//
// It is read from the store as a whole (ReadCache, fill) and never brought up to date.
type Cache struct {
	*rank.PrefixSums

	mu    sync.Mutex
	slots map[uint32]*cachedSlot // by number
	size  int                    // bytes of the aggregates with their keys in the store
}

// cachedSlot has the cached aggregates of one reduce function, and counts how many were read.
type cachedSlot struct {
	read int // entries of the store, one query after the other
	// Whether to read all was tried once, successful or not.
	tried  bool
	levels [][]entry // by level, from the one of the prefix sums; nil if they were too large, or not all right
}

// cachedEntrySize is how many bytes the cached aggregates of all functions may take per boundary.
const cachedEntrySize = 256

// ReadCache reads the weights of a level into a new Cache. It returns nil without an error if the
// level has more boundaries than most.
func (x *Index) ReadCache(r kv.ReadTx, level, most int) (*Cache, error) {
	rest, err := x.rest(r)
	if err != nil {
		return nil, err
	}
	sums, err := x.ranks.ReadPrefixSums(r, level, most, rest.deltas)
	if sums == nil {
		return nil, err
	}
	return &Cache{PrefixSums: sums, slots: make(map[uint32]*cachedSlot)}, err
}

// With returns a copy of the index that reads through a cache. It may only be used with snapshots
// that show the state of the rows from which the cache was read.
func (x *Index) With(cache *Cache) *Index {
	with := *x
	with.cache = cache
	return &with
}

// sums returns the cached prefix sums, nil for none.
func (x *Index) sums() *rank.PrefixSums {
	if x.cache == nil {
		return nil
	}
	return x.cache.PrefixSums
}

// lookup returns the cached entries of a level with from <= boundary < to, as cover.entries does.
// It returns false if that level of the slot is not cached.
func (k *Cache) lookup(s Slot, level int, from, to []byte) ([]entry, bool) {
	if k == nil || level < k.Level() {
		return nil, false
	}
	k.mu.Lock()
	slot := k.slots[s.Number]
	if slot == nil || slot.levels == nil {
		k.mu.Unlock()
		return nil, false
	}
	all := slot.levels[level-k.Level()]
	k.mu.Unlock() // entries never change once they are cached
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

// worth counts entries that a query read from the store. It returns true once for each slot, to the
// query whose reads reach the number of boundaries: that query shall fill the cache.
func (k *Cache) worth(s Slot, level, entries int) bool {
	if k == nil || level < k.Level() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	slot := k.slots[s.Number]
	if slot == nil {
		slot = &cachedSlot{}
		k.slots[s.Number] = slot
	}
	// Reading all boundaries once costs as much as the queries have spent by then.
	if slot.read += entries; slot.tried || slot.read < k.Len() {
		return false
	}
	slot.tried = true
	return true
}

// fill reads all entries of the cached level and of those above it into the cache. If one of them
// is stale, or if they are too large together, nothing is cached and queries go on reading the
// store.
func (c *cover) fill(k *Cache) error {
	levels, size := make([][]entry, 0, c.x.height()), 0
	for n := k.Level(); n <= c.x.height(); n++ {
		entries, err := c.readAll(n, cachedEntrySize*k.Len()-size)
		if entries == nil {
			return err
		}
		for _, e := range entries {
			size += len(c.x.Levels) + len(e.bound) + len(e.agg)
		}
		levels = append(levels, entries)
	}
	// Another slot may have been filled meanwhile, so that the sum is looked at again.
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size+size <= cachedEntrySize*k.Len() {
		k.size += size
		k.slots[c.slot.Number].levels = levels
	}
	return nil
}

// readAll reads all entries of a level, which hold memory of their own; nil if one but the first is
// stale, or if they take more than most bytes.
func (c *cover) readAll(level, most int) ([]entry, error) {
	// A cover with an arena of its own: what is cached must not keep a query's memory.
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
