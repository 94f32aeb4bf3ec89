package pebblekv

import (
	"sync"
	"time"
)

// What running readers hold on to. A Pebble iterator keeps the memtables and tables that it was
// opened on, however long ago that was, so a client that reads slowly would keep all of those that
// the store has replaced meanwhile. So iterators are only lent: whenever Pebble has written or
// rewritten tables, those of all readers are closed, between two calls of theirs, and opened again
// where they were when they are used next. The rows they gave last are copies. A snapshot in turn
// keeps replaced and deleted keys from being dropped, on disk. So one that was replaced a while
// ago, and that the store has moved far away from, ends: its readers get kv.ErrTooOld. Reads of an
// Update never do, because the function would begin anew with no better prospects.

const (
	// defaultReadTime is how long a replaced snapshot can be read at least.
	defaultReadTime = time.Minute
	// endsPerReadTime is how often within that time the store looks for old snapshots.
	endsPerReadTime = 4
	// keptFlushes is how many memtables must have been written since a snapshot was replaced for it
	// to end: on a store with few writes an old one keeps next to nothing.
	keptFlushes = 4
)

// readers are the transactions that read now.
type runningReaders struct {
	mu    sync.Mutex
	first *reader
}

func (l *runningReaders) add(r *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.next = l.first; r.next != nil {
		r.next.previous = r
	}
	l.first = r
}

// remove takes a reader out of the list. The list is doubly linked because readers end in any
// order.
func (l *runningReaders) remove(r *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.previous != nil {
		r.previous.next = r.next
	} else {
		l.first = r.next
	}
	if r.next != nil {
		r.next.previous = r.previous
	}
	r.previous, r.next = nil, nil
}

// each calls fn for all readers, without the lock: some may have ended, and be other transactions'
// by then.
func (l *runningReaders) each(fn func(*reader)) {
	l.mu.Lock()
	var all []*reader
	for r := l.first; r != nil; r = r.next {
		all = append(all, r)
	}
	l.mu.Unlock()
	for _, r := range all {
		fn(r)
	}
}

// letGo closes all iterators, because Pebble has replaced files or memtables that they may hold.
func (s *Store) letGo() {
	if !s.gate.enter() {
		return
	}
	defer s.gate.leave()
	if current := s.snapshots.current.Load(); current != nil { // nil while the store is opened
		current.dropIdle()
	}
	s.snapshots.readers.each((*reader).park)
}

// endOld ends the snapshots that were replaced longer than readTime before now, and tells of how
// many readers.
func (s *snapshots) endOld(now time.Time) (ended uint64) {
	flushes := s.flushes.Load()
	s.readers.each(func(r *reader) {
		if r.end(now.Add(-s.readTime), flushes-keptFlushes) {
			ended++
		}
	})
	return ended
}

// watchAges ends old snapshots until the store closes.
func (s *Store) watchAges() {
	ticker := time.NewTicker(s.snapshots.readTime / endsPerReadTime)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.stats.ended.Add(s.snapshots.endOld(now))
		case <-s.closing:
			return
		}
	}
}
