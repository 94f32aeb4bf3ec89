package search

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/settee-db/settee/search/segment"
)

// What builds read ahead, have mapped and analyse is in memory until it is committed. All builds of
// the process share one bound for that, a quarter of its memory, and each batch takes its part
// before it is read. Functions may be slow, and nobody has to wait for those of others: a build
// that has no batch under way may read a small one without asking. A document that is larger than
// that waits for its part, which has what its terms may take. A merge of segments takes all that it
// needs before it begins.

const (
	// batchCopies is about how many times the text of a batch is in memory: as it was read, on its
	// way to the worker, as values of fields, and as terms.
	batchCopies = 4
	// rowsBytes is about what the answer of a worker takes (js.MapEach): as text, and as rows.
	rowsBytes = 8 << 20
	// freeDocs and freeBytes bound a batch that is read without asking.
	freeDocs, freeBytes = 16, 64 << 10
	// usualDocument is the text of the largest document that a batch is expected to have.
	usualDocument = 64 << 10
)

// room is what the builds of a process may hold in batches together.
type room struct {
	free  *semaphore.Weighted
	total int64
}

// newRoom makes the room of a process with so many bytes of memory.
func newRoom(memory int64) *room {
	total := memory / 4
	return &room{semaphore.NewWeighted(total), total}
}

// mostMerged is how many documents one merge may have: such that they take a quarter of the room.
func (r *room) mostMerged() int64 { return min(mostMerged, r.total/4/segment.EncodedDocument) }

// errMergeMemory is the error of a merge for which the process has not enough memory: the segments
// stay as they are.
type errMergeMemory int64

// Error implements error.
func (e errMergeMemory) Error() string {
	return fmt.Sprintf("to merge their strings takes %d MB of memory, more than all builds have", e>>20)
}

// merge takes what a merge needs, and waits for it; release gives it back. The error is
// errMergeMemory if it is more than there is.
func (r *room) merge(ctx context.Context, need int64) (release func(), err error) {
	if need > r.total {
		return nil, errMergeMemory(need)
	}
	return func() { r.free.Release(need) }, r.free.Acquire(ctx, need)
}

// batch is how many bytes of text a batch has at most, but for a single document.
func (r *room) batch() int { return int(min(batchBytes, r.total/16)) }

// need is the memory that a batch takes, by the bytes of its texts and those of its largest
// document: while the terms of that are made, they may take mostOfText times as much. A batch that
// needs more than there is has all of it.
func (r *room) need(text, largest int) int64 {
	return min(r.total, rowsBytes+batchCopies*int64(text)+mostOfText*int64(max(largest, usualDocument)))
}

// share is what one batch holds of the room: none for a small batch that did not ask.
type share struct {
	of    *build
	bytes int64
}

// giveBack gives the share back. It is called once.
func (s *share) giveBack() {
	s.of.x.room.free.Release(s.bytes)
	s.of.underWay.Add(-1)
	select {
	case s.of.left <- struct{}{}:
	default:
	}
}

// claim takes the share of the next batch: that of one of the usual size where there is room, or
// none for a small one where no batch of the build is under way. Else it waits until one of those
// has been committed.
func (b *build) claim(ctx context.Context) (*share, error) {
	r := b.x.room
	for {
		s := &share{b, r.need(r.batch(), 0)}
		if !r.free.TryAcquire(s.bytes) {
			s.bytes = 0
		}
		if s.bytes > 0 || b.underWay.Load() == 0 {
			b.underWay.Add(1)
			return s, nil
		}
		select {
		case <-b.left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// limits are how many documents, and bytes of text but for a single document, the batch may have.
func (s *share) limits() (docs, bytes int) {
	if s.bytes == 0 {
		return min(freeDocs, s.of.size), freeBytes
	}
	return s.of.size, s.of.x.room.batch()
}

// fits reports whether a batch of so many bytes of text, and its largest document, fit the share.
func (s *share) fits(text, largest int) bool {
	return s.bytes == 0 && text <= freeBytes || s.of.x.room.need(text, largest) <= s.bytes
}

// enlarge makes the share large enough for a batch. It first gives back what it has, so that nobody
// waits while holding room.
func (s *share) enlarge(ctx context.Context, text, largest int) error {
	r := s.of.x.room
	r.free.Release(s.bytes)
	s.bytes = 0
	need := r.need(text, largest)
	err := r.free.Acquire(ctx, need)
	if err == nil {
		s.bytes = need
	}
	return err
}
