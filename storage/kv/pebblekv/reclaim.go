package pebblekv

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// What is deleted takes space until the deletions have come down to the tables below, which Pebble leaves to the writes
// to come. Where there is no space there are none; so what transactions out of the reserve have written over is
// compacted then and there.

const (
	// defaultSpaceEvery is how often the store looks after the ballast, what was freed, and where it is open for
	// reading only, after space.
	defaultSpaceEvery = time.Second
	// spanPrefix is how many bytes the keys of a span have in common: a database's prefix and a subspace of it, say.
	spanPrefix = 6
	// maxSpans bounds the spans that are remembered; more become one.
	maxSpans = 256
	// maxReclaim is the largest span that is compacted at once, in reserves: the tables of a larger one take too long
	// to be rewritten for what it may hold.
	maxReclaim = 32
	// shortGarbage is the part of large values that may be garbage while space is short; see separation.
	shortGarbage = 0.05
)

// span is a range of stored keys, both ends included.
type span struct{ first, last []byte }

// freed are the ranges that transactions out of the reserve have written to.
type freed struct {
	mu    sync.Mutex
	spans map[string]*span // by the beginning of their keys
	last  time.Time
}

// note adds what a run has written.
func (f *freed) note(r *writeSet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Now()
	for i := range r.keys {
		f.add(r.keys[i].key, r.keys[i].key)
	}
	for i := range r.ranges {
		f.add(r.ranges[i].begin, r.ranges[i].end)
	}
}

func (f *freed) add(begin, end string) {
	first, last := appendStored(nil, []byte(begin)), appendStored(nil, []byte(end))
	prefix := string(first[:min(spanPrefix, len(first))])
	if f.spans == nil {
		f.spans = make(map[string]*span)
	}
	s := f.spans[prefix]
	switch {
	case s == nil && len(f.spans) < maxSpans:
		f.spans[prefix] = &span{first, last}
		return
	case s == nil:
		prefix = ""
		if s = f.spans[prefix]; s == nil {
			f.spans[prefix] = &span{first, last}
			return
		}
	}
	if bytes.Compare(first, s.first) < 0 {
		s.first = first
	}
	if bytes.Compare(last, s.last) > 0 {
		s.last = last
	}
}

// take returns the spans if nothing was added since, and forgets them.
func (f *freed) take(since time.Time) (spans []*span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.After(since) {
		return nil
	}
	for _, s := range f.spans {
		spans = append(spans, s)
	}
	f.spans = nil
	slices.SortFunc(spans, func(a, b *span) int { return bytes.Compare(a.first, b.first) })
	return spans
}

// watchSpace makes the ballast again when there is space, and has compacted what was freed, until the store closes.
func (s *Store) watchSpace() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.space.closed
		cancel()
	}()
	s.space.refill()
	for s.pause(s.opts.spaceEvery) {
		s.space.refill()
		for _, span := range s.freed.take(time.Now().Add(-s.opts.spaceEvery)) {
			if err := s.reclaim(ctx, span); err != nil && ctx.Err() == nil {
				s.opts.Log.Warn("what was freed is not compacted yet", "err", translate(err))
			}
		}
	}
}

// reclaim compacts the tables of a span.
func (s *Store) reclaim(ctx context.Context, span *span) error {
	if !s.gate.enter() {
		return nil
	}
	defer s.gate.leave()
	if s.writable() != nil {
		return nil
	}
	end := append(bytes.Clone(span.last), 0)
	size, err := s.db.EstimateDiskUsage(span.first, end)
	if err != nil || size > maxReclaim*s.space.reserve {
		_, err := s.db.AsyncFlush()
		return err
	}
	return s.db.Compact(ctx, span.first, end, true)
}

// valueSeparation is Pebble's policy about large values. What is rewritten of them costs less than no space.
func (g *spaceGuard) valueSeparation() pebble.ValueSeparationPolicy {
	policy := separation
	if g.room().ordinary < 0 {
		policy.TargetGarbageRatio = shortGarbage
	}
	return policy
}
