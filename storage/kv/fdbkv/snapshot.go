//go:build fdb

package fdbkv

import (
	"context"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// behindPause is how long a read waits for a storage server that is behind the snapshot.
const behindPause = 10 * time.Millisecond

// snapshot is the state that a transaction reads. Its reads add no conflicts: internal/txn keeps
// account of them.
type snapshot struct {
	tr fdb.Transaction
	space
	ctx     context.Context // of the transaction: txn.Snapshot's methods get none
	version uint64
	scratch []byte                         // a key, for a call
	begun   map[string]fdb.FutureByteSlice // reads that GetMany has begun
	failed  error                          // the first error of FoundationDB that a read met
}

var _ txn.Snapshot = (*snapshot)(nil)

// Version implements txn.Snapshot.
func (s *snapshot) Version() uint64 { return s.version }

// Get implements txn.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, error) {
	if isReserved(key) {
		return nil, nil
	}
	future := s.begun[string(key)]
	for began := time.Now(); ; {
		if future == nil {
			future = s.get(key)
		}
		value, err := future.Get()
		if err == nil {
			return value, nil
		}
		if !s.waits(err) {
			return nil, s.fail(err, began)
		}
		future = nil
	}
}

// get begins a read and does not wait for it.
func (s *snapshot) get(key []byte) fdb.FutureByteSlice {
	s.scratch = s.append(s.scratch[:0], key)
	return s.tr.Snapshot().Get(fdb.Key(s.scratch))
}

// waits pauses and reports true where a read that failed with err may succeed if it is tried again.
func (s *snapshot) waits(err error) bool {
	if !isBehind(err) {
		return false
	}
	time.Sleep(behindPause)
	return true
}

// fail keeps the error of a read that began then and returns the contract's for it.
func (s *snapshot) fail(err error, began time.Time) error {
	err = stalled(err, began)
	if s.failed == nil {
		s.failed = err
	}
	return contractError(s.ctx, err)
}

// SizeEstimate implements txn.Snapshot: from FoundationDB's samples, coarse for ranges of less than
// some megabytes.
func (s *snapshot) SizeEstimate(begin, end []byte) (int64, error) {
	for began := time.Now(); ; {
		size, err := s.tr.GetEstimatedRangeSizeBytes(s.keyRange(begin, end)).Get()
		if err == nil {
			return size, nil
		}
		if !s.waits(err) {
			return 0, s.fail(err, began)
		}
	}
}

// reads is a reader over the snapshot whose GetMany begins all reads before it waits for the first.
type reads struct {
	kv.ReadTx
	snap *snapshot
}

// GetMany implements kv.ReadTx.
func (r reads) GetMany(keys [][]byte) ([][]byte, error) {
	if len(keys) > 1 {
		r.snap.begun = make(map[string]fdb.FutureByteSlice, len(keys))
		defer func() { r.snap.begun = nil }()
		for _, key := range keys {
			if !isReserved(key) && r.snap.begun[string(key)] == nil {
				r.snap.begun[string(key)] = r.snap.get(key)
			}
		}
	}
	return r.ReadTx.GetMany(keys)
}

// Snapshot implements kv.ReadTx.
func (r reads) Snapshot() kv.ReadTx { return reads{r.ReadTx.Snapshot(), r.snap} }

// writes is the writing side of a transaction.
type writes = kv.Writer

// tx is the kv.Tx that transaction functions get: the reads and the writes of one transaction.
type tx struct {
	reads
	writes
}
