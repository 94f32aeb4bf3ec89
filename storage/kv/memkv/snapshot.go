package memkv

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// row is a key with its value.
type row struct{ key, value []byte }

// state is the store as of one commit; it is not modified once published.
type state struct {
	version uint64
	// A copy-on-write tree: a snapshot keeps its own while commits go on.
	rows *btree.BTreeG[row]
}

var _ txn.Snapshot = (*state)(nil)

func newState() *state {
	less := func(a, b row) bool { return bytes.Compare(a.key, b.key) < 0 }
	return &state{rows: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// Version implements txn.Snapshot.
func (s *state) Version() uint64 { return s.version }

// Get implements txn.Snapshot.
func (s *state) Get(key []byte) ([]byte, error) {
	r, _ := s.rows.Get(row{key: key})
	return r.value, nil
}

// Range implements txn.Snapshot.
func (s *state) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	it := &iterator{begin: bytes.Clone(begin), end: bytes.Clone(end), opts: opts}
	it.iter.Init(s.rows, false)
	return it
}

// SizeEstimate implements txn.Snapshot; it is exact.
func (s *state) SizeEstimate(begin, end []byte) (int64, error) {
	var size int64
	s.rows.Ascend(row{key: begin}, func(r row) bool {
		if bytes.Compare(r.key, end) >= 0 {
			return false
		}
		size += int64(len(r.key) + len(r.value))
		return true
	})
	return size, nil
}

// iterator walks over a range of a state.
type iterator struct {
	iter       btree.IterG[row]
	begin, end []byte
	opts       kv.RangeOptions
	rows       int
	row        row
	done       bool
}

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	if it.done || it.opts.Limit > 0 && it.rows == it.opts.Limit {
		return it.stop()
	}
	if !it.move() {
		return it.stop()
	}
	it.row = it.iter.Item()
	if bytes.Compare(it.row.key, it.begin) < 0 || bytes.Compare(it.row.key, it.end) >= 0 {
		return it.stop()
	}
	it.rows++
	return true
}

// move places iter on the first row of the range, or moves it to the next one.
func (it *iterator) move() bool {
	switch first := it.rows == 0; {
	case first && it.opts.Reverse:
		if it.iter.Seek(row{key: it.end}) {
			return it.iter.Prev()
		}
		return it.iter.Last()
	case first:
		return it.iter.Seek(row{key: it.begin})
	case it.opts.Reverse:
		return it.iter.Prev()
	}
	return it.iter.Next()
}

func (it *iterator) stop() bool {
	it.done, it.row = true, row{}
	return false
}

// Key implements kv.Iterator.
func (it *iterator) Key() []byte { return it.row.key }

// Value implements kv.Iterator.
func (it *iterator) Value() []byte { return it.row.value }

// Err implements kv.Iterator.
func (it *iterator) Err() error { return nil }

// Close implements kv.Iterator.
func (it *iterator) Close() error {
	it.stop()
	return nil
}
