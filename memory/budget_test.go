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

// What large bodies have taken goes back to the system when none has been there for a while, and
// once more later. Small ones are not worth a collection.
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

// Large requests of one user that come together take what they need one after the other, each as it
// comes, and keep nobody else waiting.
func TestClaimsGoInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBudget(1000, 100, nil)
		claim := func(user string, n int64) *Share { return &Share{Budget: b, User: user, Claim: n} }
		first, other := claim("anna", 60), claim("berta", 20)
		require.NoError(t, first.Take(t.Context(), 10))
		waiting := make(chan *Share)
		for range 2 {
			s := claim("anna", 60)
			go func() {
				for range 6 {
					if err := s.Take(t.Context(), 10); err != nil {
						t.Error(err)
					}
				}
				waiting <- s
			}()
		}
		synctest.Wait()
		require.Equal(t, int64(90), b.Usage().Free, "the second has taken nothing")
		require.NoError(t, other.Take(t.Context(), 20))
		require.NoError(t, first.Take(t.Context(), 50), "nobody has taken it meanwhile")
		require.NoError(t, claim("anna", 10).Take(t.Context(), 10), "what has room beside it")
		b.Wait = 0
		require.ErrorIs(t, claim("anna", 60).Take(t.Context(), 10), ErrBusy)
		first.Release()
		(<-waiting).Release()
		(<-waiting).Release()
		other.Release()
		require.Empty(t, b.coming)
	})
}

// slowClient is a client that ends its request when it is cut off.
type slowClient struct{ s *Share }

func (c slowClient) CutOff() { go c.s.Release() }

// Whoever has claimed much and sends nothing more is cut off when others of the same user wait.
func TestClaimsOfSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBudget(1000, 100, nil)
		for range 5 {
			s := &Share{Budget: b, User: "anna", Claim: 15, Slow: true}
			s.Client = slowClient{s}
			s.PieceAt.Store(time.Now().UnixNano())
			require.NoError(t, s.Take(t.Context(), 1))
		}
		large := &Share{Budget: b, User: "anna", Claim: 70}
		require.NoError(t, large.Take(t.Context(), 70))
		require.Equal(t, int64(30), b.Usage().Free)
		large.Release()
		synctest.Wait()
		require.Equal(t, Usage{Total: 100, Free: 100}, b.Usage())
	})
}
