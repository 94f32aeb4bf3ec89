package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// maxIdleIterators bounds the iterators that a snapshot keeps for the next readers.
const maxIdleIterators = 8

// snapshot is a state of the store that transactions share. It is closed when it has been replaced
// and the last of them has ended.
type snapshot struct {
	db      *pebble.DB
	next    chan struct{} // of what stands in for a snapshot while the store is opened anew: closed when that is done
	view    *pebble.Snapshot
	version uint64
	refs    atomic.Int64 // one for being current, one per transaction

	// Iterators are worth keeping: opening one costs several times a seek. They hold on to tables
	// and memtables, so they are dropped when the snapshot is replaced, and when Pebble has
	// rewritten files.
	mu       sync.Mutex
	idle     []*pebble.Iterator
	replaced bool
	since    time.Time // when it was replaced
	flushes  int64     // of the store by then
}

// snapshots are the states of the store that transactions read: the current one, and those that
// running readers still have.
type snapshots struct {
	current  atomic.Pointer[snapshot]
	readers  runningReaders
	readTime time.Duration // how long a replaced one can be read
	flushes  atomic.Int64  // memtables that the store has written
}

// take returns the current snapshot with a reference for the caller. While the store is opened anew
// it waits for the next one; nil if closing ends before that.
func (s *snapshots) take(closing <-chan struct{}) *snapshot {
	for {
		current := s.current.Load()
		if current.retain() {
			return current
		}
		if current.next != nil {
			select {
			case <-current.next:
			case <-closing:
				return nil
			}
		}
	}
}

// publish makes the state after a group of commits the current one.
func (s *snapshots) publish(next *snapshot) {
	s.current.Swap(next).replace(time.Now(), s.flushes.Load())
}

// newSnapshot takes a snapshot of what is applied now; the caller holds the one reference.
func newSnapshot(db *pebble.DB, version uint64) *snapshot {
	s := &snapshot{db: db, view: db.NewSnapshot(), version: version}
	s.refs.Store(1)
	return s
}

// retain adds a reference unless the last one is gone.
func (s *snapshot) retain() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release drops a reference.
func (s *snapshot) release() {
	if s.refs.Add(-1) == 0 {
		_ = s.view.Close()
	}
}

// replace tells that the snapshot is no longer current, and drops that reference. flushes is how
// many memtables the store has written so far.
func (s *snapshot) replace(now time.Time, flushes int64) {
	s.mu.Lock()
	s.replaced, s.since, s.flushes = true, now, flushes
	s.mu.Unlock()
	s.dropIdle()
	s.release()
}

// outdated reports whether the snapshot was replaced before that time and that number of flushes.
func (s *snapshot) outdated(time time.Time, flushes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced && s.since.Before(time) && s.flushes <= flushes
}

// replacedNow reports whether the snapshot is not the current one.
func (s *snapshot) replacedNow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced
}

// dropIdle closes the kept iterators.
func (s *snapshot) dropIdle() {
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.mu.Unlock()
	for _, it := range idle {
		_ = it.Close()
	}
}

// iterator returns an iterator over lower <= key < upper.
func (s *snapshot) iterator(lower, upper []byte) (*pebble.Iterator, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		it := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		it.SetBounds(lower, upper)
		return it, nil
	}
	s.mu.Unlock()
	return s.view.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// keep takes back an iterator that has met no error.
func (s *snapshot) keep(it *pebble.Iterator) {
	s.mu.Lock()
	if !s.replaced && len(s.idle) < maxIdleIterators {
		s.idle = append(s.idle, it)
		it = nil
	}
	s.mu.Unlock()
	if it != nil {
		_ = it.Close()
	}
}
