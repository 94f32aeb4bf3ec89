package memory

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBuildsEndWithinTheirMemory: builds that read ahead, in any number and with batches of any
// size, hold never more than there is, and all come to their ends.
func TestBuildsEndWithinTheirMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		each := rapid.Int64Range(1, 30).Draw(r, "each")
		memory := rapid.Int64Range(1, 400).Draw(r, "memory")
		builds := rapid.IntRange(1, 6).Draw(r, "builds")
		ahead := rapid.IntRange(0, 3).Draw(r, "ahead")
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 80), 1, 12).Draw(r, "sizes")
		synctest.Test(t, func(t *testing.T) {
			b := NewBuilds(memory, each)
			require.Equal(t, max(memory/4, each), b.total)
			var held, most atomic.Int64
			hold := func(n int64) {
				now := held.Add(n)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
			}
			var all sync.WaitGroup
			for range builds {
				all.Go(func() {
					s := b.Batches()
					queue := make(chan *Part, ahead)
					all.Go(func() {
						defer close(queue)
						for _, size := range sizes {
							p, err := s.Claim(t.Context())
							if err != nil {
								t.Error(err)
								return
							}
							hold(p.bytes)
							time.Sleep(time.Duration(size)) // it reads
							if size > p.bytes {
								hold(-p.bytes)
								if err := p.Enlarge(t.Context(), size); err != nil {
									t.Error(err)
								}
								hold(p.bytes)
							}
							queue <- p
						}
					})
					for p := range queue { // in their order, as commits are
						time.Sleep(3 * time.Nanosecond)
						hold(-p.bytes)
						p.GiveBack()
					}
				})
			}
			all.Wait()
			require.LessOrEqual(t, most.Load(), b.total)
			require.True(t, b.free.TryAcquire(b.total), "a part was kept")
		})
	})
}

// TestBuildsThatEnd: who waits for a part ends with its context and leaves nothing behind, and
// without a bound nobody waits.
func TestBuildsThatEnd(t *testing.T) {
	b := NewBuilds(4, 1)
	first, second := b.Batches(), b.Batches()
	p, err := first.Claim(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = second.Claim(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = first.Claim(ctx)
	require.ErrorIs(t, err, context.Canceled)
	p.GiveBack()
	require.True(t, b.free.TryAcquire(b.total))
	free := NewBuilds(0, 1).Batches()
	for range 10 {
		p, err := free.Claim(t.Context())
		require.NoError(t, err)
		require.NoError(t, p.Enlarge(t.Context(), 1<<60))
		defer p.GiveBack()
	}
}
