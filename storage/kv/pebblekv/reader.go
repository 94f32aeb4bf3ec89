package pebblekv

import (
	"context"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// reader is the txn.Snapshot of one transaction: a shared snapshot and what the transaction holds of it.
type reader struct {
	ctx    context.Context
	done   <-chan struct{} // of ctx
	snap   *snapshot
	view   kv.ReadTx        // what a View function gets, made once per pooled reader
	spare  *pebble.Iterator // kept between two ranges of the transaction
	ranges []*rangeIterator // all that were handed out, for reuse by the next transaction
	used   int              // how many of ranges belong to this transaction
	values []byte           // room for the values of Get
	lower  []byte           // scratch, for a stored key
}

// maxKeptValues bounds the room for values that a pooled reader keeps.
const (
	firstValues   = 4 << 10
	maxKeptValues = 64 << 10
)

var readers = sync.Pool{New: func() any {
	r := &reader{}
	r.view = txn.View{Snap: r}
	return r
}}

// newReader takes over the caller's reference to snap.
func newReader(ctx context.Context, snap *snapshot) *reader {
	r := readers.Get().(*reader)
	r.ctx, r.done, r.snap = ctx, ctx.Done(), snap
	return r
}

// close ends the transaction's reads. Iterators that the function left open are closed.
func (r *reader) close() {
	for _, it := range r.ranges[:r.used] {
		it.Close()
		*it = rangeIterator{lower: it.lower, upper: it.upper}
	}
	r.used = 0
	if r.spare != nil {
		r.snap.keep(r.spare)
		r.spare = nil
	}
	r.snap.release()
	r.snap, r.ctx, r.done = nil, nil, nil
	if r.values = r.values[:0]; cap(r.values) > maxKeptValues {
		r.values = nil
	}
	readers.Put(r)
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
func (r *reader) Version() uint64 { return r.snap.version }

// Get implements txn.Snapshot. It uses the transaction's iterator: repeated reads cost half of Pebble's Get, which builds
// one each time. The value is copied, since the iterator moves on.
func (r *reader) Get(key []byte) ([]byte, error) {
	if err := r.cancelled(); err != nil {
		return nil, err
	}
	r.lower = appendStored(r.lower[:0], key)
	it, err := r.iterator(nil, nil)
	if err != nil {
		return nil, translate(err)
	}
	var value []byte
	if it.SeekPrefixGE(r.lower) {
		value, err = it.ValueAndErr()
		value = r.copy(value)
	}
	if err != nil || it.Error() != nil {
		return nil, translate(errors.Join(err, it.Close()))
	}
	r.giveBack(it)
	return value, nil
}

// iterator returns an iterator over the stored keys lower <= key < upper: the transaction's, or one of the snapshot.
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
	if r.used == len(r.ranges) {
		slab := make([]rangeIterator, max(4, len(r.ranges)))
		for i := range slab {
			r.ranges = append(r.ranges, &slab[i])
		}
	}
	it := r.ranges[r.used]
	r.used++
	it.open(r, begin, end, opts)
	return it
}

// SizeEstimate implements txn.Snapshot. What is still only in memory and the log is not counted.
func (r *reader) SizeEstimate(begin, end []byte) (int64, error) {
	size, err := r.snap.db.EstimateDiskUsage(appendStored(nil, begin), appendStored(nil, end))
	return int64(size), translate(err)
}
