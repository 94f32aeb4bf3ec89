package txn

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// reader is the reading side of a Tx: the snapshot with the transaction's writes laid over it.
type reader struct {
	t           *Tx
	conflicting bool // whether reads add conflicts
}

// Get implements kv.ReadTx.
func (r *reader) Get(key []byte) ([]byte, error) {
	t := r.t
	if t.buf.empty() {
		return r.base(key)
	}
	if t.buf.stamped.unreadable(key) {
		return nil, kv.ErrUnreadable
	}
	e := t.buf.find(key)
	switch {
	case e == nil:
		if _, cleared := t.buf.cleared.Find(key); cleared {
			return nil, nil
		}
		return r.base(key)
	case e.unreadable():
		return nil, kv.ErrUnreadable
	case e.Known:
		return e.Eval(nil, nil), nil
	}
	base, err := r.base(key)
	if err != nil {
		return nil, err
	}
	return e.Eval(base, nil), nil
}

// base reads key in the snapshot.
func (r *reader) base(key []byte) ([]byte, error) {
	if r.conflicting {
		r.t.addRead(r.t.buf.arena.point(key))
	}
	return r.t.snap.Get(key)
}

// GetMany implements kv.ReadTx.
func (r *reader) GetMany(keys [][]byte) ([][]byte, error) {
	return getMany(r, keys)
}

// getMany reads keys one after the other, for engines that have nothing better.
func getMany(r kv.ReadTx, keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		value, err := r.Get(key)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// Range implements kv.ReadTx.
func (r *reader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	switch c := bytes.Compare(begin, end); {
	case c > 0:
		return &noRows{err: kv.ErrInvalidRange}
	case c == 0:
		return &noRows{}
	}
	return r.t.newIterator(KeyRange{begin, end}, opts, r.conflicting)
}

// Snapshot implements kv.ReadTx.
func (r *reader) Snapshot() kv.ReadTx { return &r.t.unchecked }

// ReadVersion implements kv.ReadTx.
func (r *reader) ReadVersion() (uint64, error) { return r.t.snap.Version(), nil }

// SizeEstimate implements kv.ReadTx; the transaction's own writes are not counted.
func (r *reader) SizeEstimate(begin, end []byte) (int64, error) {
	return sizeEstimate(r.t.snap, begin, end)
}

func sizeEstimate(snap Snapshot, begin, end []byte) (int64, error) {
	switch c := bytes.Compare(begin, end); {
	case c > 0:
		return 0, kv.ErrInvalidRange
	case c == 0:
		return 0, nil
	}
	return snap.SizeEstimate(begin, end)
}

// ReadOnly is the kv.ReadTx of a read-only transaction: the snapshot alone.
type ReadOnly struct{ Snap Snapshot }

var _ kv.ReadTx = ReadOnly{}

// Get implements kv.ReadTx.
func (v ReadOnly) Get(key []byte) ([]byte, error) { return v.Snap.Get(key) }

// GetMany implements kv.ReadTx.
func (v ReadOnly) GetMany(keys [][]byte) ([][]byte, error) { return getMany(v, keys) }

// Range implements kv.ReadTx.
func (v ReadOnly) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	switch c := bytes.Compare(begin, end); {
	case c > 0:
		return &noRows{err: kv.ErrInvalidRange}
	case c == 0:
		return &noRows{}
	}
	return v.Snap.Range(begin, end, opts)
}

// Snapshot implements kv.ReadTx.
func (v ReadOnly) Snapshot() kv.ReadTx { return v }

// ReadVersion implements kv.ReadTx.
func (v ReadOnly) ReadVersion() (uint64, error) { return v.Snap.Version(), nil }

// SizeEstimate implements kv.ReadTx.
func (v ReadOnly) SizeEstimate(begin, end []byte) (int64, error) {
	return sizeEstimate(v.Snap, begin, end)
}

// noRows is the iterator over nothing, or of an error.
type noRows struct{ err error }

func (n *noRows) Next() bool    { return false }
func (n *noRows) Key() []byte   { return nil }
func (n *noRows) Value() []byte { return nil }
func (n *noRows) Err() error    { return n.err }
func (n *noRows) Close() error  { return n.err }
