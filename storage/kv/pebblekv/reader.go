package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// reader is the txn.Snapshot of one transaction: a shared snapshot and what the transaction holds
// of it.
type reader struct {
	ctx            context.Context // of the transaction: txn.Snapshot's methods get none
	done           <-chan struct{} // of ctx
	store          *Store
	version        uint64
	view           kv.ReadTx // what a View function gets, made once per pooled reader
	values         []byte    // room for the values of Get
	stored         []byte    // scratch, for a stored key
	previous, next *reader   // of store.snapshots.readers

	// mu is held in each call into Pebble, since the store takes iterators away in between
	// (running.go).
	mu      sync.Mutex
	snap    *snapshot        // nil once it has ended
	endable bool             // the snapshot may end before the transaction
	spare   *pebble.Iterator // kept between two ranges of the transaction
	ranges  []*rangeIterator // the first that are handed out, for reuse by the next transaction
	used    int              // how many of ranges belong to this transaction
	further *rangeIterator   // a list of those beyond pooledRanges that are open
	bounds  [2][]byte        // room that a closed one of further leaves to the next
}

// pooledRanges is how many iterators a reader keeps for the next transaction. A query of a million
// keys opens as many ranges in one transaction: those beyond are forgotten when they are closed.
const pooledRanges = 64

// maxKeptValues bounds the room for values that a pooled reader keeps.
const (
	firstValues   = 4 << 10
	maxKeptValues = 64 << 10
)

var readers = sync.Pool{New: func() any {
	r := &reader{}
	r.view = txn.ReadOnly{Snap: r}
	return r
}}

// newReader begins to read the current snapshot. The caller closes the reader.
func (s *Store) newReader(ctx context.Context, endable bool) *reader {
	r := readers.Get().(*reader)
	snap := s.snapshots.take(s.space.closed)
	r.ctx, r.done, r.store, r.version = ctx, ctx.Done(), s, 0
	if snap != nil {
		r.version = snap.version
	}
	r.mu.Lock()
	r.snap, r.endable = snap, endable
	r.mu.Unlock()
	s.snapshots.readers.add(r)
	return r
}

// close ends the transaction's reads. Iterators that the function left open are closed.
func (r *reader) close() {
	r.store.snapshots.readers.remove(r)
	r.mu.Lock()
	for _, it := range r.ranges[:r.used] {
		it.close()
		it.reset()
	}
	r.used = 0
	for r.further != nil {
		it := r.further
		it.close()
		it.reset()
	}
	if cap(r.bounds[0]) > keptValue || cap(r.bounds[1]) > keptValue {
		r.bounds = [2][]byte{}
	}
	if r.spare != nil {
		r.snap.keep(r.spare)
		r.spare = nil
	}
	if r.snap != nil {
		r.snap.release()
		r.snap = nil
	}
	r.mu.Unlock()
	r.store, r.ctx, r.done = nil, nil, nil
	if r.values = r.values[:0]; cap(r.values) > maxKeptValues {
		r.values = nil
	}
	readers.Put(r)
}

// park closes the transaction's iterators, which go on where they are when they are used again.
func (r *reader) park() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.letGo()
}

// letGo gives Pebble's iterators back but keeps where they are: each goes on in a new one when it
// is used again. The lock is held.
func (r *reader) letGo() {
	for _, it := range r.ranges[:r.used] {
		it.park()
	}
	for it := r.further; it != nil; it = it.next {
		it.park()
	}
	if r.spare != nil {
		_ = r.spare.Close()
		r.spare = nil
	}
}

// end ends the snapshot if it may end and is outdated; see snapshot.outdated. It reports whether it
// did.
func (r *reader) end(time time.Time, flushes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snap == nil || !r.endable || !r.snap.outdated(time, flushes) {
		return false
	}
	r.lose()
	return true
}

// leave ends the snapshot whatever it is, since the store is opened anew.
func (r *reader) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snap != nil && r.snap.replacedNow() {
		r.lose()
	}
}

// lose ends the snapshot for the transaction, whose next read is kv.ErrTooOld. The lock is held.
func (r *reader) lose() {
	r.letGo()
	r.snap.release()
	r.snap = nil
}

// readable begins a call: it returns why nothing can be read any more, or nil. mu is held.
func (r *reader) readable() error {
	if r.snap == nil {
		return fmt.Errorf("%w: it was replaced more than %v ago, or the store was opened anew", kv.ErrTooOld,
			r.store.snapshots.readTime)
	}
	return r.cancelled()
}

// cancelled returns the error of a context that has ended.
func (r *reader) cancelled() error {
	if r.done == nil {
		return nil
	}
	select {
	case <-r.done:
		return r.ctx.Err()
	default:
		return nil
	}
}

// Version implements txn.Snapshot.
func (r *reader) Version() uint64 { return r.version }

// Get implements txn.Snapshot. What the cache does not have is read with the transaction's
// iterator: repeated reads cost half of Pebble's Get, which builds one each time. The value is
// copied, since the iterator moves on.
func (r *reader) Get(key []byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.readable(); err != nil {
		return nil, err
	}
	cache := r.store.cache
	hash := maphash.Bytes(r.store.seed, key)
	if value, ok := cache.get(hash, key, r.version); ok {
		return value, nil
	}
	r.stored = appendStored(r.stored[:0], key)
	it, err := r.iterator(nil, nil)
	if err != nil {
		return nil, translate(err)
	}
	var value []byte
	// other keys may share its prefix
	if it.SeekPrefixGE(r.stored) && bytes.Equal(it.Key(), r.stored) {
		value, err = it.ValueAndErr()
		value = r.copy(value)
	}
	if err != nil || it.Error() != nil {
		return nil, translate(errors.Join(err, it.Close()))
	}
	r.giveBack(it)
	cache.put(hash, key, value, r.version)
	return value, nil
}

// iterator returns an iterator over the stored keys lower <= key < upper: the transaction's, or one
// of the snapshot.
func (r *reader) iterator(lower, upper []byte) (*pebble.Iterator, error) {
	if it := r.spare; it != nil {
		r.spare = nil
		it.SetBounds(lower, upper)
		return it, nil
	}
	return r.snap.iterator(lower, upper)
}

// giveBack keeps an iterator that has met no error for the next read.
func (r *reader) giveBack(it *pebble.Iterator) {
	if r.spare == nil {
		r.spare = it
		return
	}
	r.snap.keep(it)
}

// copy returns a copy of value that lives as long as the transaction.
func (r *reader) copy(value []byte) []byte {
	start := len(r.values)
	if r.values == nil || cap(r.values)-start < len(value) {
		if len(value) > maxKeptValues/4 {
			return append(make([]byte, 0, len(value)), value...)
		}
		r.values, start = make([]byte, 0, min(max(2*cap(r.values), firstValues, len(value)), maxKeptValues)), 0
	}
	r.values = append(r.values, value...)
	return r.values[start:len(r.values):len(r.values)]
}

// Range implements txn.Snapshot.
func (r *reader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	r.mu.Lock()
	defer r.mu.Unlock()
	it := r.newRange()
	it.open(r, begin, end, opts)
	return it
}

// newRange gives memory for one more iterator of this transaction. The first pooledRanges of them
// are used again by later transactions; others are left to the garbage collector, so that one large
// transaction does not make the pool large for good.
func (r *reader) newRange() *rangeIterator {
	if r.used == pooledRanges {
		it := &rangeIterator{lower: r.bounds[0][:0], upper: r.bounds[1][:0]}
		r.bounds = [2][]byte{}
		it.link(r)
		return it
	}
	if r.used == len(r.ranges) {
		slab := make([]rangeIterator, max(4, len(r.ranges)))
		for i := range slab {
			r.ranges = append(r.ranges, &slab[i])
		}
	}
	r.used++
	return r.ranges[r.used-1]
}

// SizeEstimate implements txn.Snapshot. What is still only in memory and the log is not counted.
func (r *reader) SizeEstimate(begin, end []byte) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.readable(); err != nil {
		return 0, err
	}
	size, err := r.snap.db.EstimateDiskUsage(appendStored(nil, begin), appendStored(nil, end))
	return int64(size), translate(err)
}
