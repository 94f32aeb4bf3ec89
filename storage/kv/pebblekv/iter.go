package pebblekv

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
)

// cancelEvery is after how many rows an iteration looks at its context.
const cancelEvery = 64

// emptyValue is what an empty value reads as: nil would mean that the key is absent.
var emptyValue = []byte{}

// rangeIterator is the kv.Iterator over a snapshot. It is reused by later transactions, never within one, because Close
// may be called twice.
type rangeIterator struct {
	r       *reader
	lower   []byte           // until the first row is asked for, with upper: the stored keys
	upper   []byte           //
	waiting bool             // Pebble's iterator is not there yet
	it      *pebble.Iterator // nil: at the end, or waiting
	value   []byte
	err     error
	rows    int
	limit   int
	reverse bool
	placed  bool
}

// open places it before the first row of begin <= key < end, which is neither empty nor reversed. Pebble's iterator is taken when the
// first row is asked for: of ranges that are opened together and read one after the other, all then use the transaction's one.
func (i *rangeIterator) open(r *reader, begin, end []byte, opts kv.RangeOptions) {
	*i = rangeIterator{r: r, limit: opts.Limit, reverse: opts.Reverse, waiting: true,
		lower: appendStored(i.lower[:0], begin), upper: appendStored(i.upper[:0], end)}
	if i.err = r.cancelled(); i.err != nil {
		i.waiting = false
	}
}

// begin takes Pebble's iterator.
func (i *rangeIterator) begin() {
	i.waiting = false
	it, err := i.r.iterator(i.lower, i.upper)
	if err != nil {
		i.err = translate(err)
		return
	}
	i.it = it
}

// Next implements kv.Iterator.
func (i *rangeIterator) Next() bool {
	if i.waiting {
		i.begin()
	}
	if i.it == nil || (i.limit > 0 && i.rows == i.limit) {
		return false
	}
	if i.rows%cancelEvery == cancelEvery-1 {
		if i.err = i.r.cancelled(); i.err != nil {
			i.end()
			return false
		}
	}
	if !i.move() {
		i.end()
		return false
	}
	if i.value, i.err = i.it.ValueAndErr(); i.err != nil {
		i.err = translate(i.err)
		i.end()
		return false
	}
	if i.value == nil {
		i.value = emptyValue
	}
	i.rows++
	return true
}

func (i *rangeIterator) move() bool {
	switch {
	case !i.placed && i.reverse:
		i.placed = true
		return i.it.Last()
	case !i.placed:
		i.placed = true
		return i.it.First()
	case i.reverse:
		return i.it.Prev()
	}
	return i.it.Next()
}

// end gives Pebble's iterator back.
func (i *rangeIterator) end() {
	it := i.it
	i.it, i.value = nil, nil
	if err := it.Error(); err != nil || i.err != nil {
		if closeErr := it.Close(); err == nil {
			err = closeErr
		}
		if i.err == nil {
			i.err = translate(err)
		}
		return
	}
	i.r.giveBack(it)
}

// Key implements kv.Iterator.
func (i *rangeIterator) Key() []byte {
	if i.it == nil {
		return nil
	}
	return i.it.Key()[1:] // behind userSpace
}

// Value implements kv.Iterator.
func (i *rangeIterator) Value() []byte { return i.value }

// Err implements kv.Iterator.
func (i *rangeIterator) Err() error { return i.err }

// Close implements kv.Iterator.
func (i *rangeIterator) Close() error {
	i.waiting = false
	if i.it != nil {
		i.end()
	}
	return i.err
}
