package pebblekv

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// maxCounters bounds the values that are remembered from group to group, maxCounterValue their
// size.
const (
	maxCounters     = 4096
	maxCounterValue = 64
)

// folder evaluates the atomic operations of a group: all of them on one key become one plain write.
// It remembers the values for the next groups; the conflict set tells whether a remembered value is
// still the newest, as it does for a read. Only the committer uses the folder, except for its two
// counters.
type folder struct {
	db        *pebble.DB
	conflicts *conflictSet
	// Keys that atomic operations were applied to lately, with their values, so that an addition
	// does not read the store.
	counters map[string]*counter
	open     []*counter // the keys of the current group
	stored   []byte     // scratch
	hits     atomic.Uint64
	misses   atomic.Uint64
}

// counter is a key that atomic operations were applied to.
type counter struct {
	key   string
	value []byte // nil: absent
	base  []byte // the value before the current group
	asOf  uint64 // the version that value is of
	open  bool   // touched by the current group
}

func newFolder(db *pebble.DB, conflicts *conflictSet) *folder {
	return &folder{db: db, conflicts: conflicts, counters: map[string]*counter{}}
}

// isOpen reports whether the current group has applied an atomic operation to key.
func (f *folder) isOpen(key []byte) bool {
	if len(f.open) == 0 {
		return false
	}
	c := f.counters[string(key)]
	return c != nil && c.open
}

// anyOpen reports whether the current group has applied an atomic operation to a key in r.
func (f *folder) anyOpen(r txn.KeyRange) bool {
	for _, c := range f.open {
		if c.key >= string(r.Begin) && c.key < string(r.End) {
			return true
		}
	}
	return false
}

// load makes the value of key known that it has before the current group, and opens the key. The
// key must not have been written in the group except through the folder.
func (f *folder) load(key []byte) (*counter, error) {
	c := f.counters[string(key)]
	switch {
	case c != nil && c.open:
		return c, nil
	case c != nil && f.conflicts.keyUnchanged(c.key, c.asOf):
		f.hits.Add(1)
	default:
		f.misses.Add(1)
		value, err := f.read(key)
		if err != nil {
			return nil, err
		}
		if c == nil {
			c = &counter{key: string(key)}
			f.counters[c.key] = c
		}
		c.value = value
	}
	c.base, c.open = c.value, true
	f.open = append(f.open, c)
	return c, nil
}

// read returns the newest value of key, durable or not: what is applied is durable before this
// group is.
func (f *folder) read(key []byte) ([]byte, error) {
	f.stored = appendStored(f.stored[:0], key)
	value, closer, err := f.db.Get(f.stored)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, translate(err)
	}
	value = append(make([]byte, 0, len(value)), value...)
	return value, translate(closer.Close())
}

// abandon ends a group that accepted nothing.
func (f *folder) abandon() {
	for _, c := range f.open {
		c.base, c.open = nil, false
		delete(f.counters, c.key)
	}
	f.endGroup()
}

// close writes the folded values to the batch, and ends the group of the given version.
func (f *folder) close(batch *pebble.Batch, version uint64) error {
	for _, c := range f.open {
		var err error
		switch {
		case c.value != nil && (c.base == nil || !bytes.Equal(c.value, c.base)):
			err = batchSet(batch, c.key, c.value)
		case c.value == nil && c.base != nil:
			err = batchDelete(batch, c.key)
		}
		if err != nil {
			return err
		}
		if len(c.value) > maxCounterValue {
			delete(f.counters, c.key)
		}
		// The value may share memory with the transaction that wrote it.
		c.value = cloneValue(c.value)
		c.base, c.open, c.asOf = nil, false, version
	}
	f.endGroup()
	if len(f.counters) <= maxCounters {
		return nil
	}
	// Half of them go at a time: writers that count under keys of their own, as blobs do, bring new
	// ones with each group, and all that stay are moved to a new map, since one that was large
	// stays so.
	kept := make(map[string]*counter, maxCounters)
	for key, c := range f.counters {
		if len(kept) == maxCounters/2 {
			break // any half will do: values in use are soon remembered again
		}
		kept[key] = c
	}
	f.counters = kept
	return nil
}

// endGroup forgets the keys of the group, and the room for very many.
func (f *folder) endGroup() {
	if cap(f.open) > maxCounters {
		f.open = nil
		return
	}
	clear(f.open)
	f.open = f.open[:0]
}

// cloneValue copies a value. An absent value (nil) stays different from an empty one.
func cloneValue(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append(make([]byte, 0, len(value)), value...)
}
