package txn

import "github.com/settee-db/settee/storage/kv"

// arena keeps copies of keys and values in large chunks. Its slices stay valid as long as somebody
// holds them.
type arena struct {
	free []byte // the unused rest of the current chunk, as capacity
}

const (
	firstChunk = 1 << 10
	maxChunk   = 64 << 10
)

// reserve returns an empty slice with room for n bytes, which belong to it alone.
func (a *arena) reserve(n int) []byte {
	if cap(a.free)-len(a.free) < n {
		size := min(max(2*cap(a.free), firstChunk), maxChunk)
		if n > size/2 {
			return make([]byte, 0, n) // large: on its own, so that the chunk's rest is not lost
		}
		a.free = make([]byte, 0, size)
	}
	start := len(a.free)
	a.free = a.free[:start+n]
	return a.free[start : start : start+n]
}

// copy returns a copy of b, never nil.
func (a *arena) copy(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return append(a.reserve(len(b)), b...)
}

// point copies key as the range of this one key: [key, key+\x00), in one piece of memory.
func (a *arena) point(key []byte) KeyRange {
	b := kv.AppendKeyAfter(a.reserve(len(key)+1), key)
	return KeyRange{Begin: b[:len(key):len(key)], End: b}
}
