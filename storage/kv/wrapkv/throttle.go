package wrapkv

import (
	"context"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// leastSlice is what a snapshot of a throttled store may read in any case, in bytes: what belongs
// together has to fit.
const leastSlice = 16 << 20

// throttledReadTime is the limit of the age of snapshots that a throttled store tells, in
// milliseconds, where the one within has none.
const throttledReadTime = 5000

// Throttled returns store with Views that read so many bytes a second together. None holds a
// snapshot while it waits: one that has read what a second allows becomes too old (kv.ErrTooOld),
// and the next View waits before it begins. So it is for readers that go on in another snapshot.
// Updates are not bounded.
func Throttled(store kv.Store, bytesPerSecond int64) kv.Store {
	return &throttled{Store: store, rate: max(1, bytesPerSecond)}
}

type throttled struct {
	kv.Store
	rate int64

	mu   sync.Mutex
	paid time.Time // when the bytes read so far are within the rate
}

// View implements kv.Store.
func (s *throttled) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	r := slice{left: max(leastSlice, s.rate)}
	all := r.left
	defer func() { s.took(all - r.left) }()
	return s.Store.View(ctx, func(tx kv.ReadTx) error { return fn(&throttledReader{tx, &r}) })
}

// Limits implements kv.Store.
func (s *throttled) Limits() kv.Limits {
	limits := s.Store.Limits()
	if limits.ReadTime == 0 {
		limits.ReadTime = throttledReadTime
	}
	return limits
}

// wait waits until the bytes read so far are within the rate.
func (s *throttled) wait(ctx context.Context) error {
	s.mu.Lock()
	pause := time.Until(s.paid)
	s.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// took notes that so many bytes were read.
func (s *throttled) took(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.paid.Before(now) {
		s.paid = now
	}
	s.paid = s.paid.Add(time.Duration(float64(bytes) / float64(s.rate) * float64(time.Second)))
}

// slice is what a snapshot may read.
type slice struct{ left int64 }

// take notes what was read; once nothing is left the snapshot is too old.
func (s *slice) take(bytes int) { s.left -= int64(bytes) }

// check fails the reads of a transaction that has read its share, as if its snapshot had become too
// old: a reader that goes on in a new snapshot does so later.
func (s *slice) check() error {
	if s.left <= 0 {
		return kv.ErrTooOld
	}
	return nil
}

type throttledReader struct {
	kv.ReadTx
	slice *slice
}

// Get implements ReadTx.
func (r *throttledReader) Get(key []byte) ([]byte, error) {
	if err := r.slice.check(); err != nil {
		return nil, err
	}
	value, err := r.ReadTx.Get(key)
	r.slice.take(len(key) + len(value))
	return value, err
}

// GetMany implements ReadTx.
func (r *throttledReader) GetMany(keys [][]byte) ([][]byte, error) {
	if err := r.slice.check(); err != nil {
		return nil, err
	}
	values, err := r.ReadTx.GetMany(keys)
	for i, value := range values {
		r.slice.take(len(keys[i]) + len(value))
	}
	return values, err
}

// Range implements ReadTx.
func (r *throttledReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	return &throttledRows{GateRows(r.ReadTx.Range(begin, end, opts), r.slice.check), r.slice}
}

// Snapshot implements ReadTx.
func (r *throttledReader) Snapshot() kv.ReadTx { return &throttledReader{r.ReadTx.Snapshot(), r.slice} }

type throttledRows struct {
	kv.Iterator
	slice *slice
}

// Next implements Iterator.
func (it *throttledRows) Next() bool {
	if !it.Iterator.Next() {
		return false
	}
	it.slice.take(len(it.Key()) + len(it.Value()))
	return true
}
