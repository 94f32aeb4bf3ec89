//go:build fdb

package fdbkv

import (
	"math"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// exactRows is up to which limit all rows of a range come in one answer, however large they are.
const exactRows = 16

// iterator walks over a range of a snapshot.
type iterator struct {
	snap *snapshot
	// The range and options that were asked for; retries begin again behind last.
	asked      fdb.KeyRange
	opts       kv.RangeOptions
	rows       *fdb.RangeIterator
	last       fdb.Key // the current row's or the last one's
	key, value []byte
	done       bool
	err        error
}

// Range implements txn.Snapshot. The first part of the range is under way when it returns.
func (s *snapshot) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	opts.Limit = min(opts.Limit, math.MaxInt32)
	it := &iterator{snap: s, asked: s.keyRange(begin, end), opts: opts}
	it.open()
	return it
}

// open begins to read what is left of the range after the last row.
func (it *iterator) open() {
	left := it.asked
	switch {
	case it.last == nil:
	case it.opts.Reverse:
		left.End = it.last
	default:
		left.Begin = fdb.Key(kv.AppendKeyAfter(nil, it.last))
	}
	mode := fdb.StreamingModeIterator
	switch {
	case it.opts.Limit > 0 && it.opts.Limit <= exactRows:
		mode = fdb.StreamingModeExact
	case it.opts.WantAll:
		mode = fdb.StreamingModeWantAll
	}
	options := fdb.RangeOptions{Limit: it.opts.Limit, Mode: mode, Reverse: it.opts.Reverse}
	it.rows = it.snap.tr.Snapshot().GetRange(left, options).Iterator()
}

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	if it.done {
		return false
	}
	for began := time.Now(); it.rows.Advance(); {
		row, err := it.rows.Get()
		if err == nil {
			it.accept(row)
			return true
		}
		if !it.snap.waits(err) {
			it.err = it.snap.fail(err, began)
			break
		}
		it.open()
	}
	it.stop()
	return false
}

// accept makes row the current one.
func (it *iterator) accept(row fdb.KeyValue) {
	it.last = row.Key
	it.key, it.value = row.Key[len(it.snap.prefix):], row.Value
	if it.opts.Limit > 0 {
		it.opts.Limit--
		it.done = it.opts.Limit == 0
	}
}

func (it *iterator) stop() { it.done, it.key, it.value = true, nil, nil }

// Key implements kv.Iterator.
func (it *iterator) Key() []byte { return it.key }

// Value implements kv.Iterator.
func (it *iterator) Value() []byte { return it.value }

// Err implements kv.Iterator.
func (it *iterator) Err() error { return it.err }

// Close implements kv.Iterator.
func (it *iterator) Close() error {
	it.stop()
	return it.err
}
