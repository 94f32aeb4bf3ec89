package memory

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

func TestBodyBudget(t *testing.T) {
	ctx := context.Background()
	b := NewBodies(1, nil)
	b.Resize(1000 << 20)
	b.Wait = time.Millisecond
	a, other, nobody := Share{Budget: b, User: "a"}, Share{Budget: b, User: "o"}, Share{Budget: b}
	require.Equal(t, compat.ErrRequestTooLarge, a.Take(ctx, 1000<<20+1), "more than there is at all")
	require.Equal(t, compat.ErrRequestTooLarge, nobody.Take(ctx, 501<<20), "nobody has half of it")
	require.NoError(t, a.Take(ctx, 900<<20))
	require.Equal(t, compat.ErrRequestTooLarge, a.Take(ctx, 101<<20), "with what it has already")
	require.Equal(t, error(ErrBusy), other.Take(ctx, 200<<20))
	require.NoError(t, nobody.Take(ctx, 100<<20), "who fits goes first")
	require.Equal(t, error(ErrBusy), other.Take(ctx, 1))
	nobody.Release()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, context.Canceled, other.Take(ended, 200<<20))

	b.Wait = time.Minute
	require.NoError(t, nobody.Take(ctx, 50<<20))
	waits := make(chan error)
	go func() { waits <- nobody.Take(ctx, 90<<20) }()
	require.Eventually(
		t,
		func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.growing == &nobody },
		time.Minute,
		time.Millisecond,
	)
	require.NoError(t, other.Take(ctx, 50<<20))
	require.Equal(t, error(ErrBusy), other.Take(ctx, 1), "two that have something do not wait for each other")
	other.Release()
	require.NoError(t, a.Take(ctx, 10<<20), "what fits needs no waiting")
	a.Release()
	require.NoError(t, <-waits)
	require.Nil(t, b.growing)
	nobody.Release()
	require.Equal(t, b.Total, b.Free)
	require.NoError(t, (&Share{}).Take(ctx, 1<<40), "without a budget")
}

// What large bodies have taken goes back to the system when none has been there for a while, and once more later.
// Small ones are not worth a collection.
func TestMemoryOfBodiesGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var tidied atomic.Int64
		b := NewBodies(800<<20, nil)
		var lasts atomic.Int64
		b.Forget = func(last bool) {
			if tidied.Add(1); last {
				lasts.Add(1)
			}
		}
		b.tidy = func() { tidied.Add(10) } // after it
		hold := func(n int64, d time.Duration) {
			s := Share{Budget: b}
			require.NoError(t, s.Take(ctx, n))
			time.Sleep(d)
			s.Release()
		}
		hold(1<<20, time.Second)
		time.Sleep(time.Minute)
		require.Zero(t, tidied.Load())
		hold(100<<20, time.Second)
		for range 20 { // others keep coming
			time.Sleep(tidyAfter - time.Second)
			hold(1<<20, 2*time.Second)
			require.Zero(t, tidied.Load())
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, 11, tidied.Load())
		require.Zero(t, lasts.Load())
		time.Sleep(tidyAgain)
		require.EqualValues(t, 1, lasts.Load())
		require.EqualValues(t, 22, tidied.Load())
		time.Sleep(time.Hour)
		require.EqualValues(t, 22, tidied.Load())
	})
}

// The requests of one user leave a quarter of the budget to others, one alone may have all of it.
func TestBodiesOfOneUser(t *testing.T) {
	b := NewBodies(1, nil)
	b.Resize(400 << 20)
	b.Wait = time.Millisecond
	share := func(user string) *Share { return &Share{Budget: b, User: user} }
	one, two, other := share("a"), share("a"), share("b")
	require.NoError(t, one.Take(t.Context(), 290<<20))
	require.Equal(t, error(ErrBusy), two.Take(t.Context(), 20<<20))
	require.NoError(t, other.Take(t.Context(), 90<<20))
	other.Release()
	require.NoError(t, one.Take(t.Context(), 110<<20))
	one.Release()
	require.Equal(t, b.Total, b.Free)
}
