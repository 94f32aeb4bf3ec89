package memory

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Builds is what builds of indexes share for the batches that they have read and mapped and not
// committed yet. Each batch takes a part of the same size before it is read. It is safe for
// concurrent use; nil is without bound.
type Builds struct {
	free        *semaphore.Weighted
	total, each int64
}

// buildsPart is the part of the collector's limit that builds have.
const buildsPart = 4

// NewBuilds shares a quarter of the collector's limit among batches of so many bytes each, or has
// one of them at a time where that is more; memory <= 0: no bound.
func NewBuilds(memory, each int64) *Builds {
	if memory <= 0 {
		return nil
	}
	total := max(memory/buildsPart, each)
	return &Builds{semaphore.NewWeighted(total), total, each}
}

// Batches are those of one build, which are committed in the order in which they claim their parts.
// A batch is committed without a wait for any other part.
type Batches struct {
	of       *Builds
	underWay atomic.Int64
	left     chan struct{} // has one when a part was given back
}

// Batches begins a build.
func (b *Builds) Batches() *Batches { return &Batches{of: b, left: make(chan struct{}, 1)} }

// Part is what one batch has.
type Part struct {
	of    *Batches
	bytes int64
}

// Claim takes the part of the next batch. Where none of the build is under way it waits for one as
// others do, in turn; else it gets one where half of all stays free, or waits until the build has
// given one back. So nobody waits for a part of a batch that waits itself. The error is ctx's. It
// is for one goroutine at a time.
func (s *Batches) Claim(ctx context.Context) (*Part, error) {
	b := s.of
	if b == nil {
		return &Part{of: s}, nil
	}
	for {
		if s.underWay.Load() == 0 {
			if err := b.free.Acquire(ctx, b.each); err != nil {
				return nil, err
			}
			break
		}
		if b.free.TryAcquire(b.each + b.total/2) {
			b.free.Release(b.total / 2)
			break
		}
		select {
		case <-s.left:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.underWay.Add(1)
	return &Part{s, b.each}, nil
}

// Enlarge makes the part of a batch that turned out larger so many bytes, or all there is. What it
// had goes first: nobody waits who holds something. The error is ctx's.
func (p *Part) Enlarge(ctx context.Context, bytes int64) error {
	b := p.of.of
	if b == nil || bytes <= p.bytes {
		return nil
	}
	b.free.Release(p.bytes)
	p.bytes = 0
	bytes = min(bytes, b.total)
	err := b.free.Acquire(ctx, bytes)
	if err == nil {
		p.bytes = bytes
	}
	return err
}

// GiveBack gives a part back, once, from any goroutine.
func (p *Part) GiveBack() {
	if p.of.of == nil {
		return
	}
	p.of.of.free.Release(p.bytes)
	p.of.underWay.Add(-1)
	select {
	case p.of.left <- struct{}{}:
	default:
	}
}
