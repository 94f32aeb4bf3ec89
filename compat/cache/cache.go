package cache

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps the most recently used values (LRU). It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[K, V]
	size  func(K, V) int
	bytes int // of all entries
	most  int // bytes
	loads loads[K, V]
}

// New returns a cache of at most so many entries; the number must be at least 1.
func New[K comparable, V any](entries int) *Cache[K, V] {
	return newCache(max(entries, 1), 0, func(K, V) int { return 0 })
}

// NewSized returns a cache of so many bytes; size tells those of an entry, always the same.
func NewSized[K comparable, V any](bytes int, size func(K, V) int) *Cache[K, V] {
	return newCache(math.MaxInt32, bytes, size)
}

// newCache makes a cache of at most so many entries whose sizes are at most so many bytes together.
func newCache[K comparable, V any](entries, bytes int, size func(K, V) int) *Cache[K, V] {
	c := &Cache[K, V]{size: size, most: bytes}
	// it fails only for a number below 1
	c.lru, _ = simplelru.NewLRU(entries, func(key K, value V) { c.bytes -= size(key, value) })
	return c
}

// Get gives the value of a key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

// Add puts a value in, in place of the key's earlier one, and drops what was used least recently
// for it.
func (c *Cache[K, V]) Add(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, value)
}

// add puts a value in and drops those used longest ago until the rest fits. The last one stays,
// however large it is. The lock is held.
func (c *Cache[K, V]) add(key K, value V) {
	c.lru.Remove(key)
	c.lru.Add(key, value)
	for c.bytes += c.size(key, value); c.bytes > c.most && c.lru.Len() > 1; {
		c.lru.RemoveOldest()
	}
}

// Load gives the value of a key, which load makes if there is none. Of callers that ask at the same
// time the first one calls load, and the others wait for it. The error is load's; then nothing is
// kept, and each caller that has waited calls its own load.
func (c *Cache[K, V]) Load(key K, load func() (V, error)) (V, error) {
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	return c.loads.do(key, func() (V, error) {
		value, err := load()
		if err == nil {
			c.Add(key, value)
		}
		return value, err
	})
}

// GetOrAdd gives the value of a key, which is value if it has none yet: all who ask at the same
// time get the same one.
func (c *Cache[K, V]) GetOrAdd(key K, value V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if earlier, ok := c.lru.Get(key); ok {
		return earlier
	}
	c.add(key, value)
	return value
}

// Remove drops the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}

// Purge drops all values.
func (c *Cache[K, V]) Purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Purge()
}

// Bytes is how many bytes all entries have together, 0 in a cache that counts entries (New).
func (c *Cache[K, V]) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// Len is how many entries there are.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Len()
}

// Stamped is a Cache of values that are derived from something that changes, such as a database's
// design documents. The stamp names the state that a value was derived from. Nobody has to remove a
// value when the state changes, and a value of an earlier state that comes late does no harm.
type Stamped[K, S comparable, V any] struct {
	values *Cache[K, stamped[S, V]]
	loads  loads[stampedKey[K, S], V]
}

type stampedKey[K, S comparable] struct {
	key   K
	stamp S
}

type stamped[S comparable, V any] struct {
	stamp S
	value V
}

// NewStamped returns a cache of so many entries, at least 1.
func NewStamped[K, S comparable, V any](entries int) *Stamped[K, S, V] {
	return &Stamped[K, S, V]{values: New[K, stamped[S, V]](entries)}
}

// NewStampedSized returns a cache of so many bytes; size tells those of an entry, always the same.
func NewStampedSized[K, S comparable, V any](bytes int, size func(K, V) int) *Stamped[K, S, V] {
	of := func(key K, s stamped[S, V]) int { return size(key, s.value) }
	return &Stamped[K, S, V]{values: NewSized(bytes, of)}
}

// Get gives the value of a key if it was put in with the same stamp.
func (c *Stamped[K, S, V]) Get(key K, stamp S) (value V, ok bool) {
	if s, ok := c.values.Get(key); ok && s.stamp == stamp {
		return s.value, true
	}
	return value, false
}

// Load is Get of a value that load makes if there is none of that state; see Cache.Load.
func (c *Stamped[K, S, V]) Load(key K, stamp S, load func() (V, error)) (V, error) {
	if value, ok := c.Get(key, stamp); ok {
		return value, nil
	}
	return c.loads.do(stampedKey[K, S]{key, stamp}, func() (V, error) {
		value, err := load()
		if err == nil {
			c.Add(key, stamp, value)
		}
		return value, err
	})
}

// Add puts a value of a state in, in place of the key's earlier one.
func (c *Stamped[K, S, V]) Add(key K, stamp S, value V) {
	c.values.Add(key, stamped[S, V]{stamp, value})
}

// Purge drops all values.
func (c *Stamped[K, S, V]) Purge() { c.values.Purge() }

// Len is how many entries there are.
func (c *Stamped[K, S, V]) Len() int { return c.values.Len() }
