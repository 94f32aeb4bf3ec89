package wrapkv

import (
	"bytes"
	"context"
	"errors"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/storage/kv"
)

const (
	// cachedKeys bounds the cache of keys that are read by kv.GetCached.
	cachedKeys = 4096
	// prefetchKinds is of how many kinds of reads the first keys are remembered, firstKeys how many
	// keys of each.
	prefetchKinds = 4096
	firstKeys     = 8
)

// Prefetching returns store with fewer waits, for an engine across a network; any other store comes
// back as it is.
//
// A transaction that asks for a key by kv.GetCached gets the value that the key had the last time,
// while the key is read. The first read after it waits for both. If the value was another one,
// nothing of what was read is given, and the function runs again: a View's in the same snapshot, an
// Update's in another transaction. So the function never sees anything that goes with a wrong
// value, except for that value.
//
// Views with a kind (kv.WithPrefetch) that begin with the same keys each time, one after the other,
// read these together. The cache affects only when something is read, never the result.
func Prefetching(store kv.Store) kv.Store {
	if store.Limits().Together <= 1 {
		return store
	}
	p := &prefetching{Store: store}
	p.values, _ = lru.New[string, []byte](cachedKeys) // it only fails for a size below 1
	p.firsts, _ = lru.New[kindOfReads, []string](prefetchKinds)
	return p
}

type prefetching struct {
	kv.Store
	// Values that were read lately, by key, and the keys that Views of a kind have begun with.
	values *lru.Cache[string, []byte]
	firsts *lru.Cache[kindOfReads, []string]
}

// kindOfReads are Views with the same name that depend on the same cached key.
type kindOfReads struct{ name, key string }

// errStale ends a function that was given a cached value which the key does not have.
var errStale = errors.New("wrapkv: a key does not have the value that was cached")

// View implements kv.Store.
func (p *prefetching) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return p.Store.View(ctx, func(tx kv.ReadTx) error {
		for {
			r := &prefetchReader{tx, &prefetched{store: p, kind: kindOfReads{name: kv.PrefetchKind(ctx)}}}
			err := r.run(func() error { return fn(r) })
			if err == nil {
				r.remember()
			}
			if !errors.Is(err, errStale) {
				return err
			}
		}
	})
}

// Update implements kv.Store.
func (p *prefetching) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	for {
		stamp, err := p.Store.Update(ctx, func(tx kv.Tx) error {
			t := &prefetchTx{prefetchReader{tx, &prefetched{store: p}}, tx}
			return t.run(func() error { return fn(t) })
		})
		if !errors.Is(err, errStale) {
			return stamp, err
		}
	}
}

// prefetched are the reads that one run of a function has begun ahead, and the cached values that
// it was given.
type prefetched struct {
	store   *prefetching
	pending []cachedValue // given, but not confirmed yet
	failed  error         // of confirming

	kind    kindOfReads
	first   []string          // the keys that a View of the kind begins with
	fetched map[string][]byte // their values, once one of them was asked for
	asked   []string          // the first keys that were asked for
	missed  bool              // some of these are not among first
}

// cachedValue is a value that was given before the key was read.
type cachedValue struct {
	key, value []byte
	read       kv.Iterator // of the key alone
}

// run runs a function and confirms what it was given, whatever it made of that.
func (s *prefetched) run(fn func() error) error {
	defer s.close()
	err := fn()
	if failed := s.confirm(); failed != nil {
		return failed
	}
	return err
}

// confirm waits until it is known that the values which were given are right. A wrong one is
// forgotten, and the run of the function is void.
func (s *prefetched) confirm() error {
	for _, c := range s.pending {
		same := c.read.Next() && bytes.Equal(c.read.Value(), c.value)
		switch err := c.read.Err(); {
		case err != nil:
			s.failed = err
		case !same:
			s.failed = errStale
			s.store.values.Remove(string(c.key))
		}
	}
	s.close()
	return s.failed
}

func (s *prefetched) close() {
	for _, c := range s.pending {
		_ = c.read.Close()
	}
	s.pending = nil
}

// remember stores the keys that this run began with, for later runs of its kind, if none were
// stored.
func (s *prefetched) remember() {
	if s.missed && s.kind.key != "" {
		s.store.firsts.Add(s.kind, s.asked)
	}
}

// ask notes which keys a View reads first, and reports whether all of keys are among those of its
// kind.
func (s *prefetched) ask(keys [][]byte) bool {
	known := true
	for _, key := range keys {
		if len(s.asked) < firstKeys && !slices.Contains(s.asked, string(key)) {
			s.asked = append(s.asked, string(key))
		}
		known = known && slices.Contains(s.first, string(key))
	}
	s.missed = s.missed || !known
	return known
}

// prefetchTx is the kv.Tx that transaction functions get: prefetching reads, and the writes.
type prefetchTx struct {
	prefetchReader
	kv.Writer
}

// Set implements kv.Writer.
func (t *prefetchTx) Set(key, value []byte) {
	t.settle(key)
	t.Writer.Set(key, value)
}

// Clear implements kv.Writer.
func (t *prefetchTx) Clear(key []byte) {
	t.settle(key)
	t.Writer.Clear(key)
}

// settle confirms a cached key before it is written, since its read would see that. What was wrong
// fails the run in the end.
func (s *prefetched) settle(key []byte) {
	if slices.ContainsFunc(s.pending, func(c cachedValue) bool { return bytes.Equal(c.key, key) }) {
		_ = s.confirm()
	}
}

// prefetchReader gives what it has read once the cached values are confirmed. Its reads are under
// way by then.
type prefetchReader struct {
	kv.ReadTx
	*prefetched
}

// GetCached implements kv.GetCached.
func (r *prefetchReader) GetCached(key []byte) ([]byte, error) {
	if name := r.kind.name; name != "" && r.kind.key == "" {
		r.kind.key = string(key)
		r.first, _ = r.store.firsts.Get(r.kind)
	}
	if value, ok := r.store.values.Get(string(key)); ok {
		key = bytes.Clone(key)
		read := r.ReadTx.Range(key, kv.AppendKeyAfter(nil, key), kv.RangeOptions{Limit: 1})
		r.pending = append(r.pending, cachedValue{key, value, read})
		return value, nil
	}
	value, err := r.ReadTx.Get(key)
	if err == nil && value != nil {
		r.store.values.Add(string(key), bytes.Clone(value))
	}
	if failed := r.confirm(); failed != nil {
		return nil, failed
	}
	return value, err
}

// Get implements kv.ReadTx.
func (r *prefetchReader) Get(key []byte) ([]byte, error) {
	values, err := r.getMany([][]byte{key}, func() ([][]byte, error) {
		value, err := r.ReadTx.Get(key)
		return [][]byte{value}, err
	})
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// GetMany implements kv.ReadTx.
func (r *prefetchReader) GetMany(keys [][]byte) ([][]byte, error) {
	return r.getMany(keys, func() ([][]byte, error) { return r.ReadTx.GetMany(keys) })
}

// getMany reads keys by read, or from what is read together at the first of them.
func (r *prefetchReader) getMany(keys [][]byte, read func() ([][]byte, error)) (values [][]byte, err error) {
	// a list of many keys is not what reads of a kind have in common
	if r.kind.key != "" && len(keys) <= firstKeys && r.ask(keys) {
		values, err = r.fetch(keys)
	} else {
		values, err = read()
	}
	if failed := r.confirm(); failed != nil {
		return nil, failed
	}
	return values, err
}

// fetch reads all first keys, unless that was done, and picks keys out of them.
func (r *prefetchReader) fetch(keys [][]byte) ([][]byte, error) {
	if r.fetched == nil {
		all := make([][]byte, len(r.first))
		for i, key := range r.first {
			all[i] = []byte(key)
		}
		values, err := r.ReadTx.GetMany(all)
		if err != nil {
			return nil, err
		}
		r.fetched = make(map[string][]byte, len(all))
		for i, key := range r.first {
			r.fetched[key] = values[i]
		}
	}
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = r.fetched[string(key)]
	}
	return values, nil
}

// Range implements kv.ReadTx.
func (r *prefetchReader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	it := r.ReadTx.Range(begin, end, opts)
	if len(r.pending) == 0 && r.failed == nil {
		return it
	}
	return GateRows(it, r.confirm)
}

// Snapshot implements kv.ReadTx.
func (r *prefetchReader) Snapshot() kv.ReadTx {
	return &prefetchReader{r.ReadTx.Snapshot(), r.prefetched}
}

// SizeEstimate implements kv.ReadTx.
func (r *prefetchReader) SizeEstimate(begin, end []byte) (int64, error) {
	size, err := r.ReadTx.SizeEstimate(begin, end)
	if failed := r.confirm(); failed != nil {
		return 0, failed
	}
	return size, err
}
