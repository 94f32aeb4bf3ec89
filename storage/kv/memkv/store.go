package memkv

import (
	"context"
	"sync"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// Store is an in-memory kv.Store.
type Store struct {
	disk    *Disk
	watches *txn.Watches

	mu      sync.Mutex
	closed  bool
	reading map[uint64]int // running transactions by the version of their snapshot
	idle    sync.Cond      // signals that reading became empty
	recent  []committed    // in the order of commit
}

// committed is what a commit wrote.
type committed struct {
	version uint64
	writes  txn.RangeSet
}

var _ kv.Store = (*Store)(nil)

// View implements kv.Store.
func (s *Store) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	snap, err := s.begin()
	if err != nil {
		return err
	}
	defer s.end(snap)
	return fn(txn.ReadOnly{Snap: snap})
}

// Update implements kv.Store.
func (s *Store) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	for {
		if err := ctx.Err(); err != nil {
			return kv.Versionstamp{}, err
		}
		stamp, committed, err := s.attempt(fn)
		if committed || err != nil {
			return stamp, err
		}
	}
}

// attempt runs fn once; false without an error means that its reads conflicted.
func (s *Store) attempt(fn func(kv.Tx) error) (stamp kv.Versionstamp, committed bool, err error) {
	snap, err := s.begin()
	if err != nil {
		return stamp, false, err
	}
	defer s.end(snap)
	t := txn.New(snap)
	if err := fn(t); err != nil {
		return stamp, false, err
	}
	if err := t.Finish(); err != nil {
		return stamp, false, err
	}
	if t.ReadOnly() {
		return stamp, true, nil
	}
	return s.commit(t, snap.version)
}

// begin registers a running transaction on the newest state.
func (s *Store) begin() (*state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, kv.ErrClosed
	}
	snap := s.disk.current.Load()
	s.reading[snap.version]++
	return snap, nil
}

// end ends the reading of a snapshot. What was committed lately is needed only by transactions that
// began before: with none running it is forgotten.
func (s *Store) end(snap *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading[snap.version]--; s.reading[snap.version] == 0 {
		delete(s.reading, snap.version)
	}
	if len(s.reading) == 0 {
		s.recent = nil
		s.idle.Broadcast()
	}
}

// Watch implements kv.Store.
func (s *Store) Watch(ctx context.Context, key, seen []byte) error {
	return s.watches.Wait(ctx, key, seen, func(key []byte) (value []byte, err error) {
		err = s.View(ctx, func(tx kv.ReadTx) error {
			value, err = tx.Get(key)
			return err
		})
		return value, err
	})
}

// Health implements kv.Store.
func (s *Store) Health(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return kv.ErrClosed
	}
	return nil
}

// Limits implements kv.Store: there are none.
func (s *Store) Limits() kv.Limits { return kv.Limits{} }

// Close implements kv.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return kv.ErrClosed
	}
	s.closed = true
	s.watches.Close()
	for len(s.reading) > 0 {
		s.idle.Wait()
	}
	s.disk.inUse.Unlock()
	return nil
}
