package wrapkv

import (
	"bytes"
	"context"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// SlowTransaction is the report of Slow about one transaction.
type SlowTransaction struct {
	Update bool
	// Waited is the time that the transaction spent in the store, all runs together; Begin, Reads
	// and Commit are its parts.
	Waited, Begin, Reads, Commit time.Duration
	Runs                         int
	Rows                         int64 // keys and rows that were read
	// Longest is the key, or the begin of the range, of the read that took longest; nil if there
	// was none.
	Longest []byte
}

// Slow returns store with a report of each transaction that spends more than limit in it. What its
// function does between reads does not count: that may be a client that takes its time.
func Slow(store kv.Store, limit time.Duration, report func(SlowTransaction)) kv.Store {
	return &slowStore{store, limit, report}
}

type slowStore struct {
	kv.Store
	limit  time.Duration
	report func(SlowTransaction)
}

// stopwatch measures one transaction.
type stopwatch struct {
	SlowTransaction
	longest time.Duration
}

// read notes a read that began then.
func (w *stopwatch) read(key []byte, began time.Time) {
	took := time.Since(began)
	w.Reads += took
	if took > w.longest {
		w.longest, w.Longest = took, append(w.Longest[:0], key...)
	}
}

// end reports a transaction that took too long. Longest is cloned only then: it points into memory
// of the caller.
func (s *slowStore) end(w *stopwatch) {
	if w.Waited = w.Begin + w.Reads + w.Commit; w.Waited > s.limit {
		w.Longest = bytes.Clone(w.Longest)
		s.report(w.SlowTransaction)
	}
}

// View implements kv.Store.
func (s *slowStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	w := &stopwatch{}
	defer s.end(w)
	asked := time.Now()
	return s.Store.View(ctx, func(tx kv.ReadTx) error {
		w.Begin, w.Runs = time.Since(asked), 1
		return fn(&slowReader{tx, w})
	})
}

// Update implements kv.Store.
func (s *slowStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	w := &stopwatch{SlowTransaction: SlowTransaction{Update: true}}
	defer s.end(w)
	left := time.Now() // when the store was given the word
	stamp, err := s.Store.Update(ctx, func(tx kv.Tx) error {
		if w.Runs++; w.Runs == 1 {
			w.Begin += time.Since(left)
		} else {
			w.Commit += time.Since(left) // one that failed, and the next begin
		}
		defer func() { left = time.Now() }()
		return fn(&slowTx{slowReader{tx, w}, tx})
	})
	w.Commit += time.Since(left)
	return stamp, err
}

type slowTx struct {
	slowReader
	kv.Writer
}

type slowReader struct {
	kv.ReadTx
	watch *stopwatch
}

// Get implements ReadTx.
func (r *slowReader) Get(key []byte) ([]byte, error) {
	began := time.Now()
	defer r.watch.read(key, began)
	r.watch.Rows++
	return r.ReadTx.Get(key)
}

// GetMany implements ReadTx.
func (r *slowReader) GetMany(keys [][]byte) ([][]byte, error) {
	if len(keys) == 0 {
		return r.ReadTx.GetMany(keys)
	}
	began := time.Now()
	defer r.watch.read(keys[0], began)
	r.watch.Rows += int64(len(keys))
	return r.ReadTx.GetMany(keys)
}

// Range implements ReadTx.
func (r *slowReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	return &slowRows{r.ReadTx.Range(begin, end, opts), r.watch, bytes.Clone(begin)}
}

// Snapshot implements ReadTx.
func (r *slowReader) Snapshot() kv.ReadTx { return &slowReader{r.ReadTx.Snapshot(), r.watch} }

type slowRows struct {
	kv.Iterator
	watch *stopwatch
	begin []byte
}

// Next implements Iterator.
func (it *slowRows) Next() bool {
	began := time.Now()
	defer it.watch.read(it.begin, began)
	if !it.Iterator.Next() {
		return false
	}
	it.watch.Rows++
	return true
}
