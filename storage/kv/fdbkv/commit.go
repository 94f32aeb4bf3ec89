//go:build fdb

package fdbkv

import (
	"encoding/binary"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// offsetSize is the size of the offset that FoundationDB wants after a key or value with a
// versionstamp.
const offsetSize = 4

// atomics sends the contract's atomic operations.
var atomics = map[kv.AtomicOp]func(tr fdb.Transaction, key fdb.KeyConvertible, param []byte){
	kv.Add:             fdb.Transaction.Add,
	kv.Max:             fdb.Transaction.Max,
	kv.Min:             fdb.Transaction.Min,
	kv.ByteMax:         fdb.Transaction.ByteMax,
	kv.ByteMin:         fdb.Transaction.ByteMin,
	kv.CompareAndClear: fdb.Transaction.CompareAndClear,
}

// filler puts what a transaction function did into a FoundationDB transaction.
type filler struct {
	tr fdb.Transaction
	space
	limits  kv.Limits
	scratch []byte // a key, for a call
	err     error  // the first write that is refused
}

// fill puts what overlay has collected into tr. A write over a limit, or out of the store's space,
// is refused.
func (s *Store) fill(tr fdb.Transaction, overlay *txn.Tx) error {
	f := &filler{tr: tr, space: s.space, limits: s.Limits()}
	read := txn.NewRangeSet(overlay.Reads())
	for _, r := range read.Ranges() {
		f.keep(tr.AddReadConflictRange(f.keyRange(r.Begin, r.End)))
	}
	for _, r := range overlay.ExplicitWriteConflicts() {
		f.keep(tr.AddWriteConflictRange(f.keyRange(r.Begin, r.End)))
	}
	f.clear(overlay.Cleared())
	stamped := overlay.StampedKeys()
	f.contested(stamped)
	overlay.Writes(func(w *txn.Write) bool {
		f.write(w)
		return true
	})
	for _, k := range stamped {
		if len(k.Clears) == 0 {
			f.stamped(k)
		}
	}
	return f.err
}

// contested sends the versionstamped keys that a later range clear may cover, in the order of
// writing: that is decided when the stamp is known. The clears come once more after them, before
// what has been written into the cleared ranges.
func (f *filler) contested(stamped []txn.StampedKey) {
	for _, k := range stamped {
		if len(k.Clears) > 0 {
			f.stamped(k)
			f.clear(k.Clears)
		}
	}
}

// keep remembers the first error: writes have no result.
func (f *filler) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// check reports whether the key and the value, with what FoundationDB wants after each, can be
// written.
func (f *filler) check(key []byte, keyExtra int, value []byte, valueExtra int) bool {
	switch {
	case isReserved(key):
		f.keep(fmt.Errorf("%w: keys from \\xff on are reserved", kv.ErrInvalidOperation))
	case len(key)+keyExtra > f.limits.KeySize:
		f.keep(fmt.Errorf("%w: %d bytes", kv.ErrKeyTooLarge, len(key)))
	case len(value)+valueExtra > f.limits.ValueSize:
		f.keep(fmt.Errorf("%w: %d bytes", kv.ErrValueTooLarge, len(value)))
	default:
		return true
	}
	return false
}

// at returns the cluster's key for key, valid until the next call.
func (f *filler) at(key []byte) fdb.Key {
	f.scratch = f.append(f.scratch[:0], key)
	return f.scratch
}

func (f *filler) clear(ranges []txn.KeyRange) {
	for _, r := range ranges {
		f.tr.ClearRange(f.keyRange(r.Begin, r.End))
	}
}

// write sends what the transaction did to one key.
func (f *filler) write(w *txn.Write) {
	if !f.check(w.Key, 0, w.Value, 0) {
		return
	}
	key := f.at(w.Key)
	switch {
	case w.Known && w.Value != nil:
		f.tr.Set(key, w.Value)
	case w.Known && len(w.Ops) == 0:
		f.tr.Clear(key)
	}
	for _, o := range w.Ops {
		if o.Atomic == 0 {
			if f.check(nil, 0, o.Param, offsetSize) {
				f.tr.SetVersionstampedValue(key, withOffset(o.Param, o.Offset))
			}
		} else if f.check(nil, 0, o.Param, 0) {
			atomics[o.Atomic](f.tr, key, o.Param)
		}
	}
}

// stamped sends a versionstamped key.
func (f *filler) stamped(k txn.StampedKey) {
	if f.check(k.Key, offsetSize, k.Value, 0) {
		f.tr.SetVersionstampedKey(fdb.Key(withOffset(f.at(k.Key), k.Offset+len(f.prefix))), k.Value)
	}
}

// withOffset returns b with the offset of the versionstamp in it.
func withOffset(b []byte, offset int) []byte {
	return binary.LittleEndian.AppendUint32(append(make([]byte, 0, len(b)+offsetSize), b...), uint32(offset))
}
