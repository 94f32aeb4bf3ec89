package search

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/settee-db/settee/search/index"
)

// frequentCache keeps documents of frequent terms of segments, for all indexes. A segment never changes, and its number
// is never given twice.
type frequentCache struct {
	mu    sync.Mutex
	kept  *simplelru.LRU[cachedFrequent, *index.Frequent]
	bytes int // of all that are kept
	most  int
	least int32 // see Worth
}

type cachedFrequent struct {
	cachedBlock // its key is not used
	name        string
}

// A term is frequent in a segment if at least so many documents have it, and one of so many.
const (
	leastFrequent  = 1024
	frequentAmong  = 32
	bytesOfAnEntry = 256
)

// newFrequentCache makes a cache of at most so many bytes.
func newFrequentCache(bytes int, least int32) *frequentCache {
	c := &frequentCache{most: bytes, least: least}
	kept, err := simplelru.NewLRU(math.MaxInt32, func(key cachedFrequent, f *index.Frequent) {
		c.bytes -= key.size(f)
	})
	if err != nil {
		panic(err) // the size is right
	}
	c.kept = kept
	return c
}

// size is what an entry takes.
func (k *cachedFrequent) size(f *index.Frequent) int { return bytesOfAnEntry + len(k.name) + f.Bytes() }

func (c *frequentCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Purge()
}

func (c *frequentCache) get(key cachedFrequent) *index.Frequent {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, _ := c.kept.Get(key)
	return f
}

// add keeps documents, and drops what was not used for the longest time for them. What would take half of the cache
// alone is not kept.
func (c *frequentCache) add(key cachedFrequent, f *index.Frequent) {
	size := key.size(f)
	if size > c.most/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Remove(key)
	c.kept.Add(key, f)
	for c.bytes += size; c.bytes > c.most; {
		c.kept.RemoveOldest()
	}
}

var _ index.Keeper = (*segmentBlocks)(nil)

// Kept implements index.Keeper.
func (b *segmentBlocks) Kept(name string) *index.Frequent {
	return b.frequent.get(cachedFrequent{b.id, name})
}

// Keep implements index.Keeper.
func (b *segmentBlocks) Keep(name string, f *index.Frequent) {
	b.frequent.add(cachedFrequent{b.id, name}, f)
}

// Worth implements index.Keeper. A set has some bits for each document of the segment, and none is made that would not
// be kept.
func (b *segmentBlocks) Worth(n, docs int32) bool {
	c := b.frequent
	return n >= c.least && int64(n)*frequentAmong >= int64(docs) && int(docs)/4+int(n) < c.most/4
}
