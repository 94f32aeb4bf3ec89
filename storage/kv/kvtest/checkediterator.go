package kvtest

import (
	"bytes"
	"fmt"
	"github.com/settee-db/settee/storage/kv"
)

// checkedIterator is the iterator of [Checked].
type checkedIterator struct {
	inner      kv.Iterator
	s          *scope
	begin, end []byte
	opts       kv.RangeOptions

	key, value []byte // copies for the caller, overwritten when the iterator moves
	last       []byte // the last key
	rows       int
	done       bool // came to its end
	overlaid   bool // a write went to what it has yet to read
	closed     bool
	err        error // instead of inner's
}

// Next implements Iterator.
func (it *checkedIterator) Next() bool {
	if it.closed || !it.s.enter("Next") {
		it.forget()
		return false
	}
	defer it.s.leave()
	it.forget()
	if it.overlaid {
		it.s.report(
			fmt.Sprintf("iterator over %.40q to %.40q goes on after a write to what it has yet to read", it.begin,
				it.end),
		)
	}
	if !it.inner.Next() {
		it.done = true
		return false
	}
	it.rows++
	it.key, it.value = append([]byte{}, it.inner.Key()...), append([]byte{}, it.inner.Value()...)
	it.verify()
	it.last = append(it.last[:0], it.key...)
	return true
}

// verify checks the engine's row.
func (it *checkedIterator) verify() {
	if bytes.Compare(it.key, it.begin) < 0 || bytes.Compare(it.key, it.end) >= 0 {
		it.s.report(fmt.Sprintf("range %.40q to %.40q has a row at %.40q", it.begin, it.end, it.key))
	}
	if c := bytes.Compare(it.key, it.last); it.rows > 1 && (c == 0 || c < 0 != it.opts.Reverse) {
		it.s.report(fmt.Sprintf("range %.40q to %.40q comes from %.40q to %.40q", it.begin, it.end, it.last, it.key))
	}
	if it.opts.Limit > 0 && it.rows > it.opts.Limit {
		it.s.report(fmt.Sprintf("range %.40q to %.40q has more than %d rows", it.begin, it.end, it.opts.Limit))
	}
	if it.inner.Key() == nil || it.inner.Value() == nil {
		it.s.report(fmt.Sprintf("row %.40q has a nil key or value", it.key))
	}
}

// forget overwrites what the caller had of the current row.
func (it *checkedIterator) forget() {
	scribble(it.key)
	scribble(it.value)
	it.key, it.value = nil, nil
}

// Key implements Iterator.
func (it *checkedIterator) Key() []byte { return it.key }

// Value implements Iterator.
func (it *checkedIterator) Value() []byte { return it.value }

// Err implements Iterator.
func (it *checkedIterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.inner.Err()
}

// Close implements Iterator.
func (it *checkedIterator) Close() error {
	it.forget()
	if it.closed {
		return it.Err()
	}
	it.closed = true
	if !it.s.enter("Close of an iterator") {
		it.err = errEnded
		return it.err
	}
	defer it.s.leave()
	return it.inner.Close()
}

// written tells the iterator of a write to [begin, end).
func (it *checkedIterator) written(begin, end []byte) {
	if it.closed || it.done {
		return
	}
	restBegin, restEnd := it.begin, it.end
	if it.rows > 0 && it.opts.Reverse {
		restEnd = it.last
	} else if it.rows > 0 {
		restBegin = kv.AppendKeyAfter(nil, it.last)
	}
	if bytes.Compare(begin, restEnd) < 0 && bytes.Compare(restBegin, end) < 0 {
		it.overlaid = true
	}
}
