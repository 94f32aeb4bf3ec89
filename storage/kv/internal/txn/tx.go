package txn

import (
	"bytes"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
)

// Snapshot is a consistent state of the store, as the engine keeps it. It is used by one goroutine
// at a time. What it returns may be read until the engine releases it, after the transaction
// function has returned.
type Snapshot interface {
	// Version is the commit version of the snapshot.
	Version() uint64
	// Get returns the value of key: nil when absent, not nil when empty.
	Get(key []byte) ([]byte, error)
	// Range iterates over [begin, end), which is neither empty nor reversed, and honours all of
	// opts.
	Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator
	// SizeEstimate returns about how many bytes [begin, end) takes on disk.
	SizeEstimate(begin, end []byte) (int64, error)
}

// What a conflict range and a write add to Size beyond their bytes; about FoundationDB's own. And
// what a write adds to Data: its kind, two lengths.
const (
	rangeOverhead = 24
	writeOverhead = 32
	dataOverhead  = 8
)

// Tx is a read-write transaction on a snapshot: it implements kv.Tx and collects what the engine
// needs to commit it.
type Tx struct {
	reader           // reads with conflicts
	unchecked reader // reads without

	snap   Snapshot
	buf    buffer
	reads  []KeyRange // read conflicts, in no order
	writes []KeyRange // explicit write conflicts
	iters  []*iterator
	free   []iterator // where new iterators are made, several at once
	// About what the transaction takes at the commit, in bytes, as FoundationDB counts it.
	size int
	data int   // what the writes take in a log
	err  error // the first error of a write
}

var _ kv.Tx = (*Tx)(nil)

// New begins a transaction on snap.
func New(snap Snapshot) *Tx {
	t := &Tx{snap: snap, buf: newBuffer()}
	t.reader = reader{t: t, conflicting: true}
	t.unchecked = reader{t: t}
	return t
}

// Reset begins another transaction, on snap, in the memory of t: all that t and its iterators have
// handed out becomes invalid.
func (t *Tx) Reset(snap Snapshot) {
	t.snap = snap
	t.buf.reset()
	t.reads, t.writes = t.reads[:0], t.writes[:0]
	t.iters, t.free = t.iters[:0], t.free[:0]
	t.size, t.data, t.err = 0, 0, nil
}

// Finish ends what the transaction function left open, and returns the first error of its writes.
// The engine calls it after the function returned nil and before it looks at the conflicts.
func (t *Tx) Finish() error {
	for _, it := range t.iters {
		_ = it.Close()
	}
	t.iters = t.iters[:0]
	return t.err
}

// ReadOnly tells that there is nothing to commit: no write and no write conflict.
func (t *Tx) ReadOnly() bool { return t.buf.empty() && len(t.writes) == 0 }

// Reads returns the read conflict ranges, in no order, overlaps possible.
func (t *Tx) Reads() []KeyRange { return t.reads }

// Size implements kv.Tx. It only grows: writing a key again counts again.
func (t *Tx) Size() int { return t.size }

// Data is about how many bytes the writes take in an engine's log: less than Size, which counts
// conflicts.
func (t *Tx) Data() int { return t.data }

// fail keeps the first error of a write for Finish.
func (t *Tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// count adds a write of value to the key range of n bytes to the size.
func (t *Tx) count(key, value, conflict int) {
	t.size += writeOverhead + key + value + rangeOverhead + conflict
	t.data += dataOverhead + key + value
}

// Set implements kv.Tx.
func (t *Tx) Set(key, value []byte) {
	t.count(len(key), len(value), 2*len(key)+1)
	t.buf.set(key, value)
}

// SetOwned is Set without a copy of the value; see kv.SetOwned.
func (t *Tx) SetOwned(key, value []byte) {
	if value == nil {
		value = []byte{} // nil is absent
	}
	t.count(len(key), len(value), 2*len(key)+1)
	t.buf.put(key, value)
}

// Clear implements kv.Tx.
func (t *Tx) Clear(key []byte) {
	t.count(2*len(key)+1, 0, 2*len(key)+1)
	t.buf.clear(key)
}

// ClearRange implements kv.Tx. A range that begins after its end fails the commit with
// kv.ErrInvalidRange.
func (t *Tx) ClearRange(begin, end []byte) {
	if c := bytes.Compare(begin, end); c >= 0 {
		if c > 0 {
			t.fail(kv.ErrInvalidRange)
		}
		return
	}
	t.count(len(begin)+len(end), 0, len(begin)+len(end))
	t.buf.clearRange(KeyRange{begin, end})
}

// Atomic implements kv.Tx. An unknown operation fails the commit with kv.ErrInvalidOperation.
func (t *Tx) Atomic(op kv.AtomicOp, key, param []byte) {
	if !validOp(op) {
		t.fail(fmt.Errorf("%w: atomic operation %d", kv.ErrInvalidOperation, op))
		return
	}
	t.count(len(key), len(param), 2*len(key)+1)
	t.buf.atomic(op, key, param)
}

// SetVersionstampedKey implements kv.Tx. An offset without room for the stamp fails the commit with
// kv.ErrInvalidOperation.
func (t *Tx) SetVersionstampedKey(key []byte, offset int, value []byte) {
	if t.stampFits(key, offset) {
		t.count(len(key), len(value), 2*len(key)+1)
		t.buf.setStampedKey(key, offset, value)
	}
}

// SetVersionstampedValue implements kv.Tx. An offset without room for the stamp fails the commit
// with kv.ErrInvalidOperation.
func (t *Tx) SetVersionstampedValue(key []byte, value []byte, offset int) {
	if t.stampFits(value, offset) {
		t.count(len(key), len(value), 2*len(key)+1)
		t.buf.setStampedValue(key, value, offset)
	}
}

// stampFits refuses an offset that leaves no room for a versionstamp.
func (t *Tx) stampFits(b []byte, offset int) bool {
	if offset >= 0 && offset <= len(b)-kv.VersionstampSize {
		return true
	}
	t.fail(fmt.Errorf("%w: versionstamp at offset %d of %d bytes", kv.ErrInvalidOperation, offset, len(b)))
	return false
}

// AddReadConflictRange implements kv.Tx.
func (t *Tx) AddReadConflictRange(begin, end []byte) {
	if r, ok := t.conflict(begin, end); ok {
		t.addRead(r)
	}
}

// AddWriteConflictRange implements kv.Tx.
func (t *Tx) AddWriteConflictRange(begin, end []byte) {
	if r, ok := t.conflict(begin, end); ok {
		t.size += rangeOverhead + len(r.Begin) + len(r.End)
		t.writes = append(t.writes, r)
	}
}

// conflict copies an explicit conflict range; an empty one is none.
func (t *Tx) conflict(begin, end []byte) (KeyRange, bool) {
	c := bytes.Compare(begin, end)
	if c > 0 {
		t.fail(kv.ErrInvalidRange)
	}
	if c >= 0 {
		return KeyRange{}, false
	}
	return KeyRange{t.buf.arena.copy(begin), t.buf.arena.copy(end)}, true
}

// addRead adds a read conflict, whose memory the Tx owns.
func (t *Tx) addRead(r KeyRange) {
	t.size += rangeOverhead + len(r.Begin) + len(r.End)
	t.reads = append(t.reads, r)
}

// slab returns a new iterator, which Finish will close.
func (t *Tx) slab() *iterator {
	if len(t.free) == cap(t.free) {
		t.free = make([]iterator, 0, min(max(2*cap(t.free), 4), 64))
	}
	t.free = append(t.free, iterator{})
	it := &t.free[len(t.free)-1]
	t.iters = append(t.iters, it)
	return it
}
