package pebblekv

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
)

// What is deleted takes space until the deletions have come down to the tables below, which Pebble
// leaves to the writes to come. Where there is no space there are none; so what transactions out of
// the reserve have written over is compacted then and there.

const (
	// defaultSpaceEvery is how often the store looks after the ballast, what was freed, and where
	// it is open for reading only, after space.
	defaultSpaceEvery = time.Second
	// spanPrefix is how many bytes the keys of a span have in common: a database's prefix and a
	// subspace of it, say.
	spanPrefix = 6
	// maxSpans bounds the spans that are remembered; more become one.
	maxSpans = 256
	// compactPiece is how large the tables are, in bytes, that CompactRange has rewritten together:
	// what a piece replaces stays until its new tables are there.
	compactPiece = 256 << 20
	// compactAtLeast is the size in bytes from which on CompactRange does something: less than that
	// shares its tables with others, which would be rewritten for it.
	compactAtLeast = 1 << 20
	// maxReclaim is the largest span that is compacted at once, in reserves: the tables of a larger
	// one take too long to be rewritten for what it may hold.
	maxReclaim = 32
	// shortGarbage is the part of large values that may be garbage while space is short; see
	// separation.
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

// add widens the span that has the same beginning, which mostly is that of one subspace of a
// database. When there are too many spans the others share one, which then covers more than was
// written.
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

// watchSpace makes the ballast again when there is space, and has compacted what was freed, until
// the store closes.
func (s *Store) watchSpace() {
	ctx, cancel := s.space.untilReleased(context.Background())
	defer cancel()
	s.space.refill()
	for s.space.pause(s.opts.spaceEvery) && s.holdPlace() == nil {
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

// CompactRange brings all that is in [begin, end) down to the last level, where nothing that was
// deleted takes space and compression is the densest, and returns when it is there. It goes
// range by range, while others write. Ranges below a megabyte are left to Pebble's own compactions.
func (s *Store) CompactRange(ctx context.Context, begin, end []byte) error {
	if !s.gate.enter() {
		return kv.ErrClosed
	}
	defer s.gate.leave()
	if err := s.writable(); err != nil {
		return err
	}
	ctx, cancel := s.space.untilReleased(ctx)
	defer cancel()
	first, last := appendStored(nil, begin), appendStored(nil, end)
	size, err := s.db.EstimateDiskUsage(first, last)
	if err != nil || size < compactAtLeast {
		return translate(err)
	}
	pieces, err := s.pieces(first, last, compactPiece)
	for _, piece := range pieces {
		if err == nil {
			err = s.db.Compact(ctx, piece.first, piece.last, false)
		}
	}
	return translate(err)
}

// pieces cuts a range where tables of the last level end that come to most bytes together.
func (s *Store) pieces(first, last []byte, most uint64) ([]span, error) {
	tables, err := s.db.SSTables(pebble.WithKeyRangeFilter(first, last))
	if err != nil {
		return nil, err
	}
	var pieces []span
	var size uint64
	for _, table := range tables[len(tables)-1] {
		size += table.Size
		cut := append(bytes.Clone(table.Largest.UserKey), 0)
		if size >= most && bytes.Compare(cut, last) < 0 {
			pieces = append(pieces, span{first, cut})
			first, size = cut, 0
		}
	}
	return append(pieces, span{first, last}), nil
}

// valueSeparation is Pebble's policy about large values. What is rewritten of them costs less than
// no space.
func (g *spaceGuard) valueSeparation() pebble.ValueSeparationPolicy {
	policy := separation
	if g.room().ordinary < 0 {
		policy.TargetGarbageRatio = shortGarbage
	}
	return policy
}
