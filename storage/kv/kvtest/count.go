package kvtest

import (
	"context"
	"sync/atomic"

	"github.com/settee-db/settee/storage/kv"
)

// Counts are numbers of calls, keys and bytes. They include the transactions that were run again or
// rolled back.
type Counts struct {
	Views   int64 // calls of View
	Updates int64 // calls of Update
	Runs    int64 // runs of the functions of Update; more than Updates after conflicts
	Commits int64 // Updates that wrote
	Watches int64 // calls of Watch

	Gets      int64 // keys read by Get and GetMany
	GetManys  int64 // calls of GetMany
	Ranges    int64 // calls of Range
	Rows      int64 // rows read by iterators
	BytesRead int64 // keys and values of what was read

	Sets         int64 // Set, SetVersionstampedKey, SetVersionstampedValue
	Clears       int64 // Clear
	RangeClears  int64 // ClearRange
	Atomics      int64 // Atomic
	BytesWritten int64 // keys and values of Set, SetVersionstamped… and Atomic
}

// Counting is a Store that counts what is asked of it, for tests of what an operation costs. It is
// safe for concurrent use.
type Counting struct {
	kv.Store
	counts atomicCounts
}

// atomicCounts is Counts with atomic fields, in the same order.
type atomicCounts struct {
	views, updates, runs, commits, watches           atomic.Int64
	gets, getManys, ranges, rows, bytesRead          atomic.Int64
	sets, clears, rangeClears, atomics, bytesWritten atomic.Int64
}

// NewCounting returns store with counters at zero.
func NewCounting(store kv.Store) *Counting { return &Counting{Store: store} }

// Counts returns the counts since the last Reset.
func (c *Counting) Counts() Counts { return c.each((*atomic.Int64).Load) }

// Reset sets all counts to zero and returns what they were.
func (c *Counting) Reset() Counts {
	return c.each(func(n *atomic.Int64) int64 { return n.Swap(0) })
}

// each makes Counts of all counters, by reading them or by taking them back to 0.
func (c *Counting) each(read func(*atomic.Int64) int64) Counts {
	n := &c.counts
	return Counts{
		Views: read(&n.views), Updates: read(&n.updates), Runs: read(&n.runs),
		Commits: read(&n.commits), Watches: read(&n.watches),
		Gets: read(&n.gets), GetManys: read(&n.getManys), Ranges: read(&n.ranges),
		Rows: read(&n.rows), BytesRead: read(&n.bytesRead),
		Sets: read(&n.sets), Clears: read(&n.clears), RangeClears: read(&n.rangeClears), Atomics: read(&n.atomics),
		BytesWritten: read(&n.bytesWritten),
	}
}

// View implements Store.
func (c *Counting) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	c.counts.views.Add(1)
	return c.Store.View(ctx, func(tx kv.ReadTx) error { return fn(&countedReader{tx, &c.counts}) })
}

// Update implements Store.
func (c *Counting) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	c.counts.updates.Add(1)
	stamp, err := c.Store.Update(ctx, func(tx kv.Tx) error {
		c.counts.runs.Add(1)
		return fn(&countedTx{&countedReader{tx, &c.counts}, &countedWriter{tx, &c.counts}})
	})
	if stamp != (kv.Versionstamp{}) {
		c.counts.commits.Add(1)
	}
	return stamp, err
}

// Watch implements Store.
func (c *Counting) Watch(ctx context.Context, key, seen []byte) error {
	c.counts.watches.Add(1)
	return c.Store.Watch(ctx, key, seen)
}

// countedTx is the kv.Tx that transaction functions get from Counting.
type countedTx struct {
	*countedReader
	*countedWriter
}

type countedReader struct {
	kv.ReadTx
	counts *atomicCounts
}

// Get implements ReadTx.
func (r *countedReader) Get(key []byte) ([]byte, error) {
	r.counts.gets.Add(1)
	value, err := r.ReadTx.Get(key)
	r.counts.bytesRead.Add(int64(len(key) + len(value)))
	return value, err
}

// GetMany implements ReadTx.
func (r *countedReader) GetMany(keys [][]byte) ([][]byte, error) {
	r.counts.getManys.Add(1)
	r.counts.gets.Add(int64(len(keys)))
	values, err := r.ReadTx.GetMany(keys)
	for i, value := range values {
		r.counts.bytesRead.Add(int64(len(keys[i]) + len(value)))
	}
	return values, err
}

// Range implements ReadTx.
func (r *countedReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	r.counts.ranges.Add(1)
	return &countedIterator{r.ReadTx.Range(begin, end, opts), r.counts}
}

// Snapshot implements ReadTx.
func (r *countedReader) Snapshot() kv.ReadTx { return &countedReader{r.ReadTx.Snapshot(), r.counts} }

type countedIterator struct {
	kv.Iterator
	counts *atomicCounts
}

// Next implements Iterator.
func (it *countedIterator) Next() bool {
	if !it.Iterator.Next() {
		return false
	}
	it.counts.rows.Add(1)
	it.counts.bytesRead.Add(int64(len(it.Key()) + len(it.Value())))
	return true
}

type countedWriter struct {
	kv.Writer
	counts *atomicCounts
}

func (w *countedWriter) count(n *atomic.Int64, key, value []byte) {
	n.Add(1)
	w.counts.bytesWritten.Add(int64(len(key) + len(value)))
}

// Set implements Writer.
func (w *countedWriter) Set(key, value []byte) {
	w.count(&w.counts.sets, key, value)
	w.Writer.Set(key, value)
}

// Clear implements Writer.
func (w *countedWriter) Clear(key []byte) {
	w.counts.clears.Add(1)
	w.Writer.Clear(key)
}

// ClearRange implements Writer.
func (w *countedWriter) ClearRange(begin, end []byte) {
	w.counts.rangeClears.Add(1)
	w.Writer.ClearRange(begin, end)
}

// Atomic implements Writer.
func (w *countedWriter) Atomic(op kv.AtomicOp, key, param []byte) {
	w.count(&w.counts.atomics, key, param)
	w.Writer.Atomic(op, key, param)
}

// SetVersionstampedKey implements Writer.
func (w *countedWriter) SetVersionstampedKey(key []byte, offset int, value []byte) {
	w.count(&w.counts.sets, key, value)
	w.Writer.SetVersionstampedKey(key, offset, value)
}

// SetVersionstampedValue implements Writer.
func (w *countedWriter) SetVersionstampedValue(key []byte, value []byte, offset int) {
	w.count(&w.counts.sets, key, value)
	w.Writer.SetVersionstampedValue(key, value, offset)
}
