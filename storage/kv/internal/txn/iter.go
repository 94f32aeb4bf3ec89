package txn

import (
	"bytes"

	"github.com/tidwall/btree"

	"github.com/settee-db/settee/storage/kv"
)

// iterator walks over a range of the snapshot with the buffer's writes laid over it, and records
// what it read.
type iterator struct {
	t     *Tx
	asked KeyRange // what the caller asked for
	// Rows that were read are a read conflict.
	conflicting bool
	opts        kv.RangeOptions

	rest   KeyRange // what the base has yet to yield, when it is opened again after a cleared range
	cut    bool     // rest ends where the read becomes unreadable
	base   kv.Iterator
	baseOK bool // base stands on a row that was not consumed
	// What the transaction itself has written in the range, merged into the rows of the base.
	over *overlay

	key, value []byte
	rows       int
	done       bool // no more rows; the conflict is recorded
	closed     bool
	err        error
}

// newIterator opens a range that is neither empty nor reversed.
func (t *Tx) newIterator(r KeyRange, opts kv.RangeOptions, conflicting bool) *iterator {
	it := t.slab()
	it.t, it.opts, it.conflicting = t, opts, conflicting
	it.asked = KeyRange{t.buf.arena.copy(r.Begin), t.buf.arena.copy(r.End)}
	it.rest = it.asked
	if t.buf.empty() {
		it.base = t.snap.Range(it.asked.Begin, it.asked.End, opts)
		return it
	}
	it.rest, it.cut = t.buf.stamped.clip(it.asked, opts.Reverse)
	it.over = &overlay{buf: &t.buf, reverse: opts.Reverse}
	it.openBase()
	return it
}

// openBase opens the base over rest; its limit must not be the caller's, since rows of it may be
// cleared.
func (it *iterator) openBase() {
	it.base, it.baseOK = nil, false
	if bytes.Compare(it.rest.Begin, it.rest.End) < 0 {
		opts := it.opts
		opts.Limit = 0
		it.base = it.t.snap.Range(it.rest.Begin, it.rest.End, opts)
	}
}

// Next implements kv.Iterator.
func (it *iterator) Next() bool {
	if it.done || it.closed {
		return false
	}
	if it.opts.Limit > 0 && it.rows == it.opts.Limit {
		it.finish(false)
		return false
	}
	found := false
	if it.over == nil {
		if found = it.base.Next(); found {
			it.key, it.value = it.base.Key(), it.base.Value()
		} else {
			it.err = it.base.Err()
		}
	} else {
		found = it.nextMerged()
	}
	if !found {
		it.finish(true)
		return false
	}
	it.rows++
	return true
}

// nextMerged finds the next row of base and overlay together.
func (it *iterator) nextMerged() bool {
	for {
		e := it.over.peek(it.rest, it.key) // before the base moves, because key may be in the base's memory
		if !it.advanceBase() {
			return false
		}
		order := it.compare(e)
		if order < 0 {
			it.key, it.value = it.base.Key(), it.base.Value()
			it.baseOK = false
			return true
		}
		if e == nil {
			if it.cut {
				it.err = kv.ErrUnreadable
			}
			return false
		}
		if e.unreadable() {
			it.err = kv.ErrUnreadable
			return false
		}
		var under []byte
		if order == 0 {
			under = it.base.Value()
			it.baseOK = false
		}
		it.key = e.Key // also without a row here: the next search starts after it
		if it.value = e.Eval(under, nil); it.value != nil {
			return true
		}
	}
}

// compare reports whether the base's row comes before the entry (<0), lies under it (0), or comes
// after it or is missing (>0).
func (it *iterator) compare(e *Write) int {
	switch {
	case !it.baseOK:
		return 1
	case e == nil:
		return -1
	case it.opts.Reverse:
		return bytes.Compare(e.Key, it.base.Key())
	}
	return bytes.Compare(it.base.Key(), e.Key)
}

// advanceBase moves the base to a row that was neither consumed nor cleared, or to its end; false
// on an error.
func (it *iterator) advanceBase() bool {
	for it.base != nil {
		if !it.baseOK {
			if it.baseOK = it.base.Next(); !it.baseOK {
				it.err = it.base.Err()
				return it.err == nil
			}
		}
		cleared, ok := it.t.buf.cleared.Find(it.base.Key())
		if !ok {
			return true
		}
		if it.err = it.base.Close(); it.err != nil {
			it.base = nil
			return false
		}
		skipped := it.rest
		if it.opts.Reverse {
			skipped.End = cleared.Begin
		} else {
			skipped.Begin = cleared.End
		}
		it.reopen(skipped)
	}
	return true
}

// reopen continues the base in r, without changing where the overlay ends.
func (it *iterator) reopen(r KeyRange) {
	whole := it.rest
	it.rest = r
	it.openBase()
	it.rest = whole
}

// finish ends the iteration and records the part of the range that was read: all of it, or up to
// the last row.
func (it *iterator) finish(all bool) {
	it.done = true
	if !it.conflicting || (!all && it.rows == 0) {
		return
	}
	read := it.asked
	if !all {
		last := it.t.buf.arena.point(it.key)
		if it.opts.Reverse {
			read.Begin = last.Begin
		} else {
			read.End = last.End
		}
	}
	it.t.addRead(read)
}

// Key implements kv.Iterator.
func (it *iterator) Key() []byte { return it.key }

// Value implements kv.Iterator.
func (it *iterator) Value() []byte { return it.value }

// Err implements kv.Iterator.
func (it *iterator) Err() error { return it.err }

// Close implements kv.Iterator.
func (it *iterator) Close() error {
	if it.closed {
		return it.err
	}
	if !it.done {
		it.finish(false)
	}
	it.closed = true
	it.key, it.value = nil, nil
	if it.base != nil {
		if err := it.base.Close(); it.err == nil {
			it.err = err
		}
		it.base = nil
	}
	return it.err
}

// overlay finds the entries of a buffer in the order of an iteration. It stays right when the
// buffer is written to between two calls.
type overlay struct {
	buf     *buffer
	reverse bool
	iter    btree.IterG[*Write]
	entry   *Write // where iter stands; nil: at its end
	gen     uint64 // of buf, when iter was positioned
	placed  bool
}

// peek returns the first entry of r after the key last (nil: from the start), or nil.
func (o *overlay) peek(r KeyRange, last []byte) *Write {
	if !o.placed || o.gen != o.buf.gen {
		o.seek(r, last)
	}
	for o.entry != nil && last != nil && !o.passed(o.entry.Key, last) {
		o.step(o.reverse)
	}
	if o.entry == nil || !r.Contains(o.entry.Key) {
		return nil
	}
	return o.entry
}

// passed reports whether key comes after last in the direction of the iteration.
func (o *overlay) passed(key, last []byte) bool {
	c := bytes.Compare(key, last)
	return c > 0 && !o.reverse || c < 0 && o.reverse
}

// seek places iter on the first entry of r, or near the entry after last.
func (o *overlay) seek(r KeyRange, last []byte) {
	o.placed, o.gen, o.entry = true, o.buf.gen, nil
	if o.buf.entries.Len() == 0 {
		return
	}
	o.iter.Release()
	o.iter.Init(o.buf.entries, false)
	from := r.Begin
	if o.reverse {
		from = r.End
	}
	if last != nil {
		from = last
	}
	o.buf.probe.Key = from
	switch found := o.iter.Seek(&o.buf.probe); {
	case found && o.reverse:
		o.step(true) // iter stands at or after from, which is not in the range
	case found:
		o.entry = o.iter.Item()
	case o.reverse && o.iter.Last():
		o.entry = o.iter.Item()
	}
}

// step moves to the next entry.
func (o *overlay) step(back bool) {
	moved := false
	if back {
		moved = o.iter.Prev()
	} else {
		moved = o.iter.Next()
	}
	o.entry = nil
	if moved {
		o.entry = o.iter.Item()
	}
}
