package pebblekv

import (
	"sync/atomic"
)

// What every transaction reads (the record of a database, its last sequence, the records of
// indexes) are few short values that change seldom, while a read costs Pebble a seek in each level.
// valueCache has the values of keys that are read again and again.
//
// A value is kept with the version of the snapshot that it was read in, and nothing removes it when
// its key is written. Instead the committer notes, before a group's snapshot is there for readers,
// the group's version for each key that it writes, in one of a number of places that the key's hash
// leads to. A value is right in a snapshot if nothing was noted at its key's place after the older
// of the two. Two keys that share a place make values be read again, never be wrong. So neither
// readers nor the committer wait for a lock.
type valueCache struct {
	values  [cacheSlots]atomic.Pointer[cachedValue]
	asked   [cacheSlots]atomic.Uint64 // hash of the last key here whose value was not cached
	written [writtenSlots]atomic.Uint64
	cleared atomic.Uint64 // the last version that cleared a range
}

// cachedValue is never changed.
type cachedValue struct {
	key   string
	value []byte // nil: the key is absent
	asOf  uint64
}

// Sizes: the places take 300 KB, values at most 2 MB and in practice a few dozen KB.
const (
	cacheSlots   = 1 << 11
	writtenSlots = 1 << 15
	maxCached    = 1 << 10 // bytes of a value
)

// place is where versions are noted for a key, from other bits of the hash than those of its slot.
func (c *valueCache) place(hash uint64) *atomic.Uint64 { return &c.written[hash>>32%writtenSlots] }

// wrote notes that a group writes keys.
func (c *valueCache) wrote(hashes []uint64, version uint64) {
	for _, hash := range hashes {
		c.place(hash).Store(version)
	}
}

// clears notes that a group clears ranges of keys.
func (c *valueCache) clears(version uint64) { c.cleared.Store(version) }

// get gives the value that a key has in the snapshot of a version, if the cache has it. It must not
// be modified.
func (c *valueCache) get(hash uint64, key []byte, version uint64) (value []byte, found bool) {
	v := c.values[hash%cacheSlots].Load()
	if v == nil || v.key != string(key) {
		return nil, false
	}
	asOf := min(v.asOf, version)
	if c.place(hash).Load() > asOf || c.cleared.Load() > asOf {
		return nil, false
	}
	return v.value, true
}

// put notes what was read in the snapshot of a version, when the key was asked for twice in a row:
// keys that are read once do not drive others out.
func (c *valueCache) put(hash uint64, key, value []byte, version uint64) {
	if len(value) > maxCached {
		return
	}
	slot := &c.values[hash%cacheSlots]
	v := slot.Load()
	if v == nil || v.key != string(key) {
		if asked := &c.asked[hash%cacheSlots]; asked.Load() != hash {
			asked.Store(hash)
			return
		}
	} else if v.asOf > version {
		return // an older snapshot
	}
	slot.Store(&cachedValue{key: string(key), value: cloneValue(value), asOf: version})
}

// forget forgets all values.
func (c *valueCache) forget() {
	for i := range c.values {
		c.values[i].Store(nil)
	}
}
