package nodes

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestPresentIsNotGone: whatever two processes do and however long either stands still, one that
// the other has taken for gone does not think that it is present, until it has caught up.
func TestPresentIsNotGone(t *testing.T) {
	gone, back := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		store := memkv.New()
		a, b := member(store, "a"), member(store, "b")
		now := time.Now()
		clock := func() time.Time { return now }
		a.now, b.now = clock, clock
		nothing := func(context.Context) error { return nil }
		caughtUp := func() { require.NoError(t, b.CaughtUp(t.Context(), nothing)) }
		require.NoError(t, a.look(t.Context()))
		caughtUp()
		missed := false // something has been changed that did not wait for b
		for range 60 {
			switch r.IntN(8) {
			case 0, 1, 2:
				require.NoError(t, a.look(t.Context())) // as a change does before it goes on
				if a.isGone(b.self) {
					missed = true
					gone++
				}
			case 3, 4:
				require.NoError(t, b.look(t.Context()))
			case 5:
				now = now.Add(time.Duration(r.Int64N(int64(lease / 5))))
			case 6:
				now = now.Add(time.Duration(r.Int64N(int64(2 * lease))))
			default:
				if missed {
					back++
				}
				caughtUp()
				missed = false
			}
			require.False(t, missed && b.Present(), "seed %d", seed)
		}
	}
	require.Greater(t, gone, 100)
	require.Greater(t, back, 100)
}

// isGone is whether a change would not wait for a process, as AwaitSeen looks at it.
func (m *Members) isGone(id ID) bool {
	for _, other := range m.Known() {
		if other.ID == id {
			return false
		}
	}
	return true
}

// TestStoodStill: a process that has stood still catches up before it is present, once for all who
// ask; what it is by is any clock that has noticed: its own, the calendar, or the others' beats.
func TestStoodStill(t *testing.T) {
	for name, sleep := range map[string]func(now time.Time) time.Time{
		"awake": func(now time.Time) time.Time { return now.Add(lease) },
		// the monotonic clock has stood still, as in a machine that was suspended
		"suspended": func(now time.Time) time.Time { return now.Round(0).Add(lease) },
	} {
		store := memkv.New()
		m := member(store, "m")
		now := time.Now()
		m.now = func() time.Time { return now }
		reads := 0
		read := func(context.Context) error { reads++; return nil }
		require.False(t, m.Present(), "it has read nothing yet")
		for range 3 {
			require.NoError(t, m.CaughtUp(t.Context(), read))
			require.True(t, m.Present(), name)
		}
		require.Equal(t, 1, reads)
		now = sleep(now)
		require.False(t, m.Present(), name)
		require.NoError(t, m.look(t.Context()))
		require.False(t, m.Present(), "a sign of life alone reads nothing")
		failing := errors.New("no answer")
		err := m.CaughtUp(t.Context(), func(context.Context) error { return failing })
		require.ErrorIs(t, err, failing)
		require.False(t, m.Present())
		err = m.CaughtUp(t.Context(), func(context.Context) error { now = now.Add(lease); return nil })
		require.ErrorIs(t, err, kv.ErrUnavailable, "it took too long")
		require.NoError(t, m.CaughtUp(t.Context(), read))
		require.True(t, m.Present())
		require.Equal(t, 2, reads)
	}
}

// TestStoodStillWithoutNoticing: where no clock of a machine has noticed that it stood still, the
// others' beats tell with the next look.
func TestStoodStillWithoutNoticing(t *testing.T) {
	store := memkv.New()
	a, b := member(store, "a"), member(store, "b")
	now := time.Now()
	a.now, b.now = func() time.Time { return now }, func() time.Time { return now }
	nothing := func(context.Context) error { return nil }
	for _, m := range []*Members{a, b, b} {
		require.NoError(t, m.CaughtUp(t.Context(), nothing))
		require.NoError(t, m.look(t.Context()))
	}
	stopped := now
	for range beatsPerLease {
		now = now.Add(lease / beatsPerLease)
		require.NoError(t, a.look(t.Context()))
	}
	require.True(t, a.isGone(b.self))
	b.now = func() time.Time { return stopped }
	require.NoError(t, b.look(t.Context()))
	require.False(t, b.Present())
	require.NoError(t, b.CaughtUp(t.Context(), nothing))
	require.True(t, b.Present())
}

// TestStoodStillWithoutTheStore: of many who ask while the store does not answer one waits for it,
// and the others have its error. Who asks later asks the store again.
func TestStoodStillWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := member(memkv.New(), "m")
		attempts := 0
		catchUp := func(context.Context) error {
			attempts++
			time.Sleep(18 * time.Second)
			return kv.ErrUnavailable
		}
		begin, fails := time.Now(), make(chan error, 10)
		for range cap(fails) {
			go func() { fails <- m.CaughtUp(t.Context(), catchUp) }()
		}
		for range cap(fails) {
			require.ErrorIs(t, <-fails, kv.ErrUnavailable)
		}
		require.Equal(t, 1, attempts)
		require.Equal(t, 18*time.Second, time.Since(begin))
		require.NoError(t, m.CaughtUp(t.Context(), func(context.Context) error { return nil }))
	})
}
