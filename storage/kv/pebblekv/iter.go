package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// cancelEvery is after how many rows an iteration looks at its context.
const cancelEvery = 64

// keptValue bounds the room for a value that an iterator keeps when it is closed; room up to
// maxRoom goes to whoever reads a long value next.
const (
	keptValue = 4 << 10
	maxRoom   = 256 << 10
)

// rooms are *[]byte with room for values above keptValue.
var rooms sync.Pool

// emptyValue is what an empty value reads as: nil would mean that the key is absent.
var emptyValue = []byte{}

// rangeIterator is the kv.Iterator over a snapshot. It is reused by later transactions, never
// within one, because Close may be called twice. All but the row is guarded by the reader's mu.
type rangeIterator struct {
	r            *reader
	it           *pebble.Iterator // nil before the first row, while parked, and at the end
	lower, upper []byte           // stored keys: what is to be read, or is left of it
	key, value   []byte           // the row: copies, which stay when Pebble's iterator is closed
	room         *[]byte          // that value is in, if it is of rooms
	err          error
	rows         int
	limit        int
	reverse      bool
	placed       bool // it is at the row
	prefixed     bool // all keys of a prefix are to be read
	ended        bool

	linked         bool // it is in r.further
	previous, next *rangeIterator
}

// link puts it into the reader's list of open ones. mu is held.
func (i *rangeIterator) link(r *reader) {
	i.linked, i.next = true, r.further
	if r.further != nil {
		r.further.previous = i
	}
	r.further = i
}

// unlink takes it out of that list, where it is in, and leaves its room to the next one. mu is
// held.
func (i *rangeIterator) unlink() {
	if !i.linked {
		return
	}
	if i.previous != nil {
		i.previous.next = i.next
	} else {
		i.r.further = i.next
	}
	if i.next != nil {
		i.next.previous = i.previous
	}
	i.r.bounds = [2][]byte{i.lower[:0], i.upper[:0]}
	i.linked, i.previous, i.next, i.lower, i.upper = false, nil, nil, nil, nil
}

// open makes it stand before the first row of begin <= key < end, which is neither empty nor
// reversed. mu is held. Pebble's iterator is taken when the first row is asked for: of ranges that
// are opened together and read one after the other, all then use the transaction's one.
func (i *rangeIterator) open(r *reader, begin, end []byte, opts kv.RangeOptions) {
	i.r, i.limit, i.reverse = r, opts.Limit, opts.Reverse
	i.lower, i.upper = appendStored(i.lower, begin), appendStored(i.upper, end)
	i.prefixed = files.IsPrefix(i.lower, i.upper)
	if i.err = r.readable(); i.err != nil {
		i.ended = true
	}
}

// reset makes it ready for another transaction.
func (i *rangeIterator) reset() {
	*i = rangeIterator{lower: i.lower[:0], upper: i.upper[:0], key: i.key[:0], value: i.value[:0]}
}

// Next implements kv.Iterator.
func (i *rangeIterator) Next() bool {
	if i.r == nil {
		return false // the transaction has ended
	}
	i.r.mu.Lock()
	defer i.r.mu.Unlock()
	if i.ended || i.limit > 0 && i.rows == i.limit {
		return false
	}
	if !i.move() {
		i.close()
		return false
	}
	i.rows++
	return true
}

// move goes to the next row and copies it. False at the end, and with err after an error.
func (i *rangeIterator) move() bool {
	switch {
	case i.r.snap == nil, i.rows%cancelEvery == 0:
		if i.err = i.r.readable(); i.err != nil {
			return false
		}
	}
	if i.it == nil {
		it, err := i.r.iterator(i.lower, i.upper)
		if err != nil {
			i.err = translate(err)
			return false
		}
		i.it = it
	}
	if i.prefixed && i.reverse && i.limit == 1 {
		if found, known := i.lastOfFew(); known {
			return found
		}
	}
	if !i.step() {
		return false
	}
	return i.copyRow()
}

// mostOfPrefix is how many keys of a prefix are walked over for its last one.
const mostOfPrefix = 4

// lastOfFew goes to the last key of a prefix, if it has few: forward, since only that way tables
// without the prefix are passed over. Not known: it has many.
func (i *rangeIterator) lastOfFew() (found, known bool) {
	n := 0
	for ok := i.it.SeekPrefixGE(i.lower); ok; ok = i.it.Next() {
		if n++; n > mostOfPrefix {
			return false, false
		}
		if !i.copyRow() {
			return false, true
		}
	}
	i.placed = true
	return n > 0, true
}

// copyRow copies the row, so that it stays when Pebble's iterator is closed.
func (i *rangeIterator) copyRow() bool {
	value, err := i.it.ValueAndErr()
	if err != nil {
		i.err = translate(err)
		return false
	}
	i.key = append(i.key[:0], i.it.Key()...)
	if len(value) > cap(i.value) && len(value) > keptValue {
		i.makeRoom(len(value))
	}
	if i.value = append(i.value[:0], value...); i.value == nil {
		i.value = emptyValue
	}
	return true
}

// makeRoom makes room for a long value.
func (i *rangeIterator) makeRoom(size int) {
	i.dropRoom()
	room, _ := rooms.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	if cap(*room) < size {
		*room = make([]byte, 0, size)
	}
	i.room, i.value = room, *room
}

// dropRoom gives the room of a long value to others.
func (i *rangeIterator) dropRoom() {
	if i.room == nil {
		return
	}
	if *i.room = i.value[:0]; cap(i.value) <= maxRoom {
		rooms.Put(i.room)
	}
	i.room, i.value = nil, nil
}

// step moves the iterator. The first step is a seek, made only when somebody asks for a row: a
// range that was opened and never read costs nothing.
func (i *rangeIterator) step() bool {
	placed := i.placed
	i.placed = true
	switch {
	case !placed && i.reverse:
		return i.it.Last()
	case !placed && i.prefixed:
		return i.it.SeekPrefixGE(i.lower)
	case !placed:
		return i.it.First()
	case i.reverse:
		return i.it.Prev()
	}
	return i.it.Next()
}

// park closes Pebble's iterator; what is left of the range is read by another one, if at all. mu is
// held.
func (i *rangeIterator) park() {
	if i.it == nil {
		return
	}
	if err := i.it.Close(); err != nil {
		i.it, i.err, i.ended = nil, translate(err), true
		return
	}
	i.it = nil
	if !i.placed {
		return
	}
	i.placed = false
	if i.reverse {
		i.upper = append(i.upper[:0], i.key...)
	} else {
		i.lower = append(append(i.lower[:0], i.key...), 0)
	}
}

// close gives Pebble's iterator back. mu is held.
func (i *rangeIterator) close() {
	i.ended = true
	i.dropRoom() // a long transaction opens many ranges
	i.unlink()
	it := i.it
	if i.it = nil; it == nil {
		return
	}
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
	if len(i.key) == 0 {
		return nil
	}
	return i.key[1:] // after userSpace
}

// Value implements kv.Iterator.
func (i *rangeIterator) Value() []byte { return i.value }

// Err implements kv.Iterator.
func (i *rangeIterator) Err() error {
	if i.r == nil {
		return nil
	}
	i.r.mu.Lock()
	defer i.r.mu.Unlock()
	return i.err
}

// Close implements kv.Iterator.
func (i *rangeIterator) Close() error {
	if i.r == nil {
		return nil
	}
	i.r.mu.Lock()
	defer i.r.mu.Unlock()
	i.close()
	return i.err
}
