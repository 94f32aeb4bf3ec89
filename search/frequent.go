package search

import (
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/search/index"
)

// frequentCache keeps documents of frequent terms of segments, for all indexes. A segment never
// changes, and its number is never given twice.
type frequentCache struct {
	*cache.Cache[cachedFrequent, *index.Frequent]
	most  int   // bytes
	least int32 // see Worth
}

type cachedFrequent struct {
	cachedBlock // its key is not used
	name        string
}

// A term is frequent in a segment if at least so many documents have it, and one of so many.
// bytesOfAnEntry is what an entry takes besides.
const (
	leastFrequent  = 1024
	frequentAmong  = 32
	bytesOfAnEntry = 256
)

// newFrequentCache makes a cache of at most so many bytes.
func newFrequentCache(bytes int, least int32) *frequentCache {
	return &frequentCache{cache.NewSized(bytes, cachedFrequent.size), bytes, least}
}

// size is what an entry takes.
func (k cachedFrequent) size(f *index.Frequent) int { return bytesOfAnEntry + len(k.name) + f.Bytes() }

var _ index.Keeper = (*segmentBlocks)(nil)

// Kept implements index.Keeper.
func (b *segmentBlocks) Kept(name string) *index.Frequent {
	f, _ := b.frequent.Get(cachedFrequent{b.id, name})
	return f
}

// Keep implements index.Keeper. What would take half of the cache alone is not kept.
func (b *segmentBlocks) Keep(name string, f *index.Frequent) {
	if key := (cachedFrequent{b.id, name}); key.size(f) <= b.frequent.most/2 {
		b.frequent.Add(key, f)
	}
}

// Worth implements index.Keeper. A set has some bits for each document of the segment, and none is
// made that would not be kept.
func (b *segmentBlocks) Worth(n, docs int32) bool {
	c := b.frequent
	return n >= c.least && int64(n)*frequentAmong >= int64(docs) && int(docs)/4+int(n) < c.most/4
}
