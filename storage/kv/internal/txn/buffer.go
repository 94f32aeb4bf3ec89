package txn

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/settee-db/settee/storage/kv"
)

// buffer holds the writes of a transaction.
type buffer struct {
	arena   arena
	slab    []Write // where new entries are made, several at once
	entries *btree.BTreeG[*Write]
	// Ranges that were cleared, and keys whose versionstamp only the commit knows: what is in them
	// cannot be read before.
	cleared RangeSet
	stamped stampedKeys
	probe   Write          // for lookups in entries, without an allocation
	hint    btree.PathHint // where the last lookup ended: often, what follows is near
	gen     uint64         // grows with each write; iterators see by it that they must look again
	scratch []*Write
}

// newBuffer makes a tree without locks: one goroutine uses a transaction at a time.
func newBuffer() buffer {
	less := func(a, b *Write) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	return buffer{entries: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// reset forgets all writes and keeps memory for new ones.
func (b *buffer) reset() {
	b.arena.free, b.slab = b.arena.free[:0], b.slab[:0]
	b.entries.Clear()
	b.cleared.ranges = b.cleared.ranges[:0]
	b.stamped = stampedKeys{}
	b.gen = 0
}

// empty reports whether nothing was written.
func (b *buffer) empty() bool {
	return b.entries.Len() == 0 && b.cleared.Len() == 0 && b.stamped.empty()
}

// find returns the entry of key, or nil.
func (b *buffer) find(key []byte) *Write {
	if b.entries.Len() == 0 {
		return nil
	}
	b.probe.Key = key
	e, _ := b.entries.GetHint(&b.probe, &b.hint)
	return e
}

// touch returns the entry of key, a new one if there is none; a new entry is known to be absent if
// a range clear covers the key, else its value is not known.
func (b *buffer) touch(key []byte) *Write {
	b.gen++
	if e := b.find(key); e != nil {
		return e
	}
	_, cleared := b.cleared.Find(key)
	if len(b.slab) == cap(b.slab) {
		b.slab = make([]Write, 0, min(max(2*cap(b.slab), 8), 256))
	}
	b.slab = append(b.slab, Write{Key: b.arena.copy(key), Known: cleared})
	e := &b.slab[len(b.slab)-1]
	b.entries.SetHint(e, &b.hint)
	return e
}

// put makes value (nil: absent), which is in the arena, the value of key.
func (b *buffer) put(key, value []byte) {
	e := b.touch(key)
	e.Known, e.Value, e.Ops = true, value, nil
}

func (b *buffer) set(key, value []byte) { b.put(key, b.arena.copy(value)) }

func (b *buffer) clear(key []byte) { b.put(key, nil) }

// clearRange drops the writes in the range and remembers the range itself, which hides what the
// snapshot has there. The doomed entries are collected before they are deleted, because the tree
// must not change while it is walked over. A range of one key is cheaper as a single clear.
func (b *buffer) clearRange(r KeyRange) {
	r = KeyRange{Begin: b.arena.copy(r.Begin), End: b.arena.copy(r.End)}
	b.stamped.clearRange(r)
	if r.IsPoint() {
		b.clear(r.Begin)
		return
	}
	b.gen++
	b.scratch = b.scratch[:0]
	b.probe.Key = r.Begin
	b.entries.Ascend(&b.probe, func(e *Write) bool {
		if bytes.Compare(e.Key, r.End) >= 0 {
			return false
		}
		b.scratch = append(b.scratch, e)
		return true
	})
	for _, e := range b.scratch {
		b.entries.Delete(e)
	}
	b.cleared.Add(r)
}

// atomic applies an operation at once where the value of the key is known; otherwise the operation
// waits for the commit.
func (b *buffer) atomic(o kv.AtomicOp, key, param []byte) {
	e := b.touch(key)
	param = b.arena.copy(param)
	if e.Known && len(e.Ops) == 0 {
		e.Value = Eval(o, e.Value, param)
		return
	}
	// Consecutive additions of one width are one addition: a batch adds to its counters once per
	// document.
	if n := len(e.Ops); n > 0 && o == kv.Add && e.Ops[n-1].Atomic == kv.Add && len(e.Ops[n-1].Param) == len(param) {
		e.Ops[n-1].Param = add(e.Ops[n-1].Param, param)
		return
	}
	e.Ops = append(e.Ops, Op{Atomic: o, Param: param})
}

func (b *buffer) setStampedValue(key, value []byte, offset int) {
	e := b.touch(key)
	e.Known, e.Value, e.Ops = true, nil, []Op{{Param: b.arena.copy(value), Offset: offset}}
}

func (b *buffer) setStampedKey(key []byte, offset int, value []byte) {
	b.gen++
	b.stamped.add(StampedKey{Key: b.arena.copy(key), Offset: offset, Value: b.arena.copy(value), order: b.gen})
}
