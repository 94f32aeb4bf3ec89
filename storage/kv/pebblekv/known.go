package pebblekv

import (
	"sync/atomic"
)

// What every transaction reads (the record of a database, its last sequence, the records of indexes) are few short
// values that change seldom, while a read costs Pebble a seek in each level. knownValues has the values of keys that
// are read again and again.
//
// A value is kept with the version of the snapshot that it was read in, and nothing removes it when its key is
// written. Instead the committer notes, before a group's snapshot is there for readers, the group's version for each
// key that it writes, in one of a number of places that the key's hash leads to. A value is right in a snapshot if
// nothing was noted at its key's place after the older of the two. Two keys that share a place make values be read
// again, never be wrong. So neither readers nor the committer wait for a lock.
type knownValues struct {
	values  [knownSlots]atomic.Pointer[knownValue]
	asked   [knownSlots]atomic.Uint64 // hash of the last key here whose value was not known
	written [writtenSlots]atomic.Uint64
	cleared atomic.Uint64 // the last version that cleared a range
}

// knownValue is never changed.
type knownValue struct {
	key   string
	value []byte // nil: the key is absent
	asOf  uint64
}

// Sizes: the places take 300 KB, values at most 2 MB and in practice a few dozen KB.
const (
	knownSlots   = 1 << 11
	writtenSlots = 1 << 15
	maxKnown     = 1 << 10 // bytes of a value
)

// place is where versions are noted for a key, from other bits of the hash than those of its slot.
func (k *knownValues) place(hash uint64) *atomic.Uint64 { return &k.written[hash>>32%writtenSlots] }

// wrote notes that a group writes keys.
func (k *knownValues) wrote(hashes []uint64, version uint64) {
	for _, hash := range hashes {
		k.place(hash).Store(version)
	}
}

// clears notes that a group clears ranges of keys.
func (k *knownValues) clears(version uint64) { k.cleared.Store(version) }

// get gives the value that a key has in the snapshot of a version, if it is known. It must not be modified.
func (k *knownValues) get(hash uint64, key []byte, version uint64) (value []byte, known bool) {
	v := k.values[hash%knownSlots].Load()
	if v == nil || v.key != string(key) {
		return nil, false
	}
	asOf := min(v.asOf, version)
	if k.place(hash).Load() > asOf || k.cleared.Load() > asOf {
		return nil, false
	}
	return v.value, true
}

// put notes what was read in the snapshot of a version, when the key was asked for twice in a row: keys that are read
// once do not drive others out.
func (k *knownValues) put(hash uint64, key, value []byte, version uint64) {
	if len(value) > maxKnown {
		return
	}
	slot := &k.values[hash%knownSlots]
	v := slot.Load()
	if v == nil || v.key != string(key) {
		if asked := &k.asked[hash%knownSlots]; asked.Load() != hash {
			asked.Store(hash)
			return
		}
	} else if v.asOf > version {
		return // an older snapshot
	}
	slot.Store(&knownValue{key: string(key), value: cloneValue(value), asOf: version})
}

// forget forgets all values.
func (k *knownValues) forget() {
	for i := range k.values {
		k.values[i].Store(nil)
	}
}
