package kvtest

import "github.com/settee-db/settee/storage/kv"

// checkedWriter is the writing side of [Checked].
type checkedWriter struct {
	tx kv.Tx
	s  *scope
}

// write checks a write to key and does it.
func (w *checkedWriter) write(what string, key []byte, do func()) {
	if !w.s.enter(what) {
		return
	}
	defer w.s.leave()
	w.s.key(what, key)
	w.written(key, kv.AppendKeyAfter(nil, key))
	do()
}

// written tells open iterators of a write to [begin, end).
func (w *checkedWriter) written(begin, end []byte) {
	for _, it := range w.s.iterators {
		it.written(begin, end)
	}
}

// span checks a call with a range and does it.
func (w *checkedWriter) span(what string, begin, end []byte, do func(begin, end []byte)) {
	if !w.s.enter(what) {
		return
	}
	defer w.s.leave()
	w.s.keys(what, begin, end)
	do(begin, end)
}

// Set implements Writer.
func (w *checkedWriter) Set(key, value []byte) {
	w.write("Set", key, func() { w.tx.Set(key, value) })
}

// Clear implements Writer.
func (w *checkedWriter) Clear(key []byte) {
	w.write("Clear", key, func() { w.tx.Clear(key) })
}

// ClearRange implements Writer.
func (w *checkedWriter) ClearRange(begin, end []byte) {
	w.span("ClearRange", begin, end, func(begin, end []byte) {
		w.written(begin, end)
		w.tx.ClearRange(begin, end)
	})
}

// Atomic implements Writer.
func (w *checkedWriter) Atomic(op kv.AtomicOp, key, param []byte) {
	w.write("Atomic", key, func() { w.tx.Atomic(op, key, param) })
}

// SetVersionstampedKey implements Writer.
func (w *checkedWriter) SetVersionstampedKey(key []byte, offset int, value []byte) {
	w.write("SetVersionstampedKey", key, func() { w.tx.SetVersionstampedKey(key, offset, value) })
}

// SetVersionstampedValue implements Writer.
func (w *checkedWriter) SetVersionstampedValue(key []byte, value []byte, offset int) {
	w.write("SetVersionstampedValue", key, func() { w.tx.SetVersionstampedValue(key, value, offset) })
}

// AddReadConflictRange implements Writer.
func (w *checkedWriter) AddReadConflictRange(begin, end []byte) {
	w.span("AddReadConflictRange", begin, end, w.tx.AddReadConflictRange)
}

// AddWriteConflictRange implements Writer.
func (w *checkedWriter) AddWriteConflictRange(begin, end []byte) {
	w.span("AddWriteConflictRange", begin, end, w.tx.AddWriteConflictRange)
}

// Size implements Writer.
func (w *checkedWriter) Size() int { return w.tx.Size() }
