package wrapkv

import "github.com/settee-db/settee/storage/kv"

// GateReads returns tx with gate asked before each read: an error of gate is the read's error.
// Iterators ask it in Next. It is for wrappers of a Store that make reads fail.
func GateReads(tx kv.ReadTx, gate func() error) kv.ReadTx { return &gatedReader{tx, gate} }

type gatedReader struct {
	tx   kv.ReadTx
	gate func() error
}

// Get implements ReadTx.
func (r *gatedReader) Get(key []byte) ([]byte, error) {
	if err := r.gate(); err != nil {
		return nil, err
	}
	return r.tx.Get(key)
}

// GetMany implements ReadTx.
func (r *gatedReader) GetMany(keys [][]byte) ([][]byte, error) {
	if err := r.gate(); err != nil {
		return nil, err
	}
	return r.tx.GetMany(keys)
}

// Range implements ReadTx.
func (r *gatedReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	return GateRows(r.tx.Range(begin, end, opts), r.gate)
}

// Snapshot implements ReadTx.
func (r *gatedReader) Snapshot() kv.ReadTx { return GateReads(r.tx.Snapshot(), r.gate) }

// ReadVersion implements ReadTx.
func (r *gatedReader) ReadVersion() (uint64, error) {
	if err := r.gate(); err != nil {
		return 0, err
	}
	return r.tx.ReadVersion()
}

// SizeEstimate implements ReadTx.
func (r *gatedReader) SizeEstimate(begin, end []byte) (int64, error) {
	if err := r.gate(); err != nil {
		return 0, err
	}
	return r.tx.SizeEstimate(begin, end)
}

// GateRows returns it with gate asked before each row: an error of gate ends it.
func GateRows(it kv.Iterator, gate func() error) kv.Iterator {
	return &gatedIterator{Iterator: it, gate: gate}
}

type gatedIterator struct {
	kv.Iterator
	gate func() error
	err  error // the error of gate
}

// Next implements Iterator.
func (it *gatedIterator) Next() bool {
	if it.err == nil {
		it.err = it.gate()
	}
	return it.err == nil && it.Iterator.Next()
}

// Err implements Iterator.
func (it *gatedIterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.Iterator.Err()
}

// Close implements Iterator.
func (it *gatedIterator) Close() error {
	if err := it.Iterator.Close(); it.err == nil {
		return err
	}
	return it.err
}
