package memory

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// One query has at most half, those of one user three quarters together, nobody half; nobody waits.
func TestSortingOfOneUser(t *testing.T) {
	b := NewSorting(160<<20, nil)
	require.EqualValues(t, 10<<20, b.Total)
	grow := func(user string, n int64) error { return NewShare(b, user).Grow(n) }
	one := NewShare(b, "a")
	require.Equal(t, error(ErrBusy), one.Grow(6<<20))
	require.NoError(t, one.Grow(5<<20))
	require.NoError(t, one.Grow(4<<20), "it has that")
	require.EqualValues(t, 5<<20, one.Held)
	for range 2 {
		require.NoError(t, grow("a", 1<<20))
	}
	require.Equal(t, error(ErrBusy), grow("a", 1<<20))
	require.NoError(t, grow("b", 2<<20))
	require.Equal(t, error(ErrBusy), grow("c", 2<<20))
	require.NoError(t, grow("", 1<<20))
	one.Release()
	require.NoError(t, grow("", 4<<20))
	require.Equal(t, error(ErrBusy), grow("", 1<<20), "nobody has half of it")
	require.NoError(t, (&Share{}).Grow(1<<40), "without a budget")
}

type client struct{ cut atomic.Bool }

func (c *client) CutOff() { c.cut.Store(true) }

// A query whose client stalls while its rows are sent keeps others out no longer than a request
// that comes.
func TestStalledQueriesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewSorting(160<<20, nil)
		var clients [3]client
		var shares [3]*Share
		for i := range shares {
			shares[i] = &Share{Budget: b, User: string(rune('a' + i)), Client: &clients[i]}
		}
		shares[2].Waiting()
		require.Zero(t, b.Usage().Slow, "it holds nothing")
		for _, s := range shares[:2] {
			require.NoError(t, s.Grow(5<<20))
			s.Waiting()
		}
		require.Equal(t, error(ErrBusy), shares[2].Grow(1<<20))
		time.Sleep(SlowAfter / 2)
		shares[1].Sent()
		time.Sleep(SlowAfter / 2)
		require.Equal(t, error(ErrBusy), shares[2].Grow(1<<20))
		require.True(t, clients[0].cut.Load())
		require.False(t, clients[1].cut.Load(), "it has taken all")
		shares[0].Release()
		require.NoError(t, shares[2].Grow(1<<20))
	})
}
