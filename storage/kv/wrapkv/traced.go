package wrapkv

import (
	"context"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
)

// Traced returns store with a span for each transaction below a span that is recorded: how often
// its function ran, what it read and wrote. Other transactions pass it without a wrapper of their
// own.
func Traced(store kv.Store) kv.Store { return &tracedStore{store} }

type tracedStore struct{ kv.Store }

// counted is what a transaction has done, all runs together. A transaction belongs to one goroutine
// at a time.
type counted struct {
	span                 tracing.Span
	runs, keys, rows     int64 // keys asked for, rows of ranges
	read, written, write int64 // bytes of values that came, and of keys and values set; how many were set
}

func (c *counted) end(err error) {
	c.span.Int("settee.runs", c.runs)
	c.span.Int("settee.keys", c.keys)
	c.span.Int("settee.rows", c.rows)
	c.span.Int("settee.bytes_read", c.read)
	if c.write > 0 {
		c.span.Int("settee.writes", c.write)
		c.span.Int("settee.bytes_written", c.written)
	}
	c.span.End(err)
}

// View implements kv.Store.
func (s *tracedStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	ctx, span := tracing.Start(ctx, "store read")
	if !span.Recorded() {
		return s.Store.View(ctx, fn)
	}
	c := &counted{span: span}
	err := s.Store.View(ctx, func(tx kv.ReadTx) error {
		c.runs++
		return fn(&tracedReader{tx, c})
	})
	c.end(err)
	return err
}

// Update implements kv.Store.
func (s *tracedStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	ctx, span := tracing.Start(ctx, "store update")
	if !span.Recorded() {
		return s.Store.Update(ctx, fn)
	}
	c := &counted{span: span}
	stamp, err := s.Store.Update(ctx, func(tx kv.Tx) error {
		c.runs++
		return fn(&tracedTx{tracedReader{tx, c}, tx})
	})
	c.end(err)
	return stamp, err
}

type tracedTx struct {
	tracedReader
	kv.Writer
}

func (t *tracedTx) wrote(key, value []byte) {
	t.count.write++
	t.count.written += int64(len(key) + len(value))
}

// Set implements kv.Writer.
func (t *tracedTx) Set(key, value []byte) {
	t.wrote(key, value)
	t.Writer.Set(key, value)
}

// SetOwned is what kv.SetOwned looks for.
func (t *tracedTx) SetOwned(key, value []byte) {
	t.wrote(key, value)
	kv.SetOwned(t.Writer, key, value)
}

// SetVersionstampedKey implements kv.Writer.
func (t *tracedTx) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.wrote(key, value)
	t.Writer.SetVersionstampedKey(key, offset, value)
}

// SetVersionstampedValue implements kv.Writer.
func (t *tracedTx) SetVersionstampedValue(key, value []byte, offset int) {
	t.wrote(key, value)
	t.Writer.SetVersionstampedValue(key, value, offset)
}

type tracedReader struct {
	kv.ReadTx
	count *counted
}

// Get implements kv.ReadTx.
func (r *tracedReader) Get(key []byte) ([]byte, error) {
	value, err := r.ReadTx.Get(key)
	r.count.keys++
	r.count.read += int64(len(value))
	return value, err
}

// GetCached is what kv.GetCached looks for.
func (r *tracedReader) GetCached(key []byte) ([]byte, error) { return kv.GetCached(r.ReadTx, key) }

// GetMany implements kv.ReadTx.
func (r *tracedReader) GetMany(keys [][]byte) ([][]byte, error) {
	values, err := r.ReadTx.GetMany(keys)
	r.count.keys += int64(len(keys))
	for _, value := range values {
		r.count.read += int64(len(value))
	}
	return values, err
}

// Range implements kv.ReadTx.
func (r *tracedReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	return &tracedRows{r.ReadTx.Range(begin, end, opts), r.count}
}

// Snapshot implements kv.ReadTx.
func (r *tracedReader) Snapshot() kv.ReadTx { return &tracedReader{r.ReadTx.Snapshot(), r.count} }

type tracedRows struct {
	kv.Iterator
	count *counted
}

// Next implements kv.Iterator.
func (it *tracedRows) Next() bool {
	if !it.Iterator.Next() {
		return false
	}
	it.count.rows++
	it.count.read += int64(len(it.Key()) + len(it.Value()))
	return true
}
