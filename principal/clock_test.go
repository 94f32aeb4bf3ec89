package principal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The machine's clock is a day ahead for a while. What was given out before is good again
// afterwards, what was given out meanwhile does not harm, and nobody is let in who was not before.
func TestClockJumps(t *testing.T) {
	const timeout, key = 10 * time.Minute, "secretsalt"
	right := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	ahead := right.Add(24 * time.Hour)
	left := func(begun, now time.Time) bool {
		s, err := ParseSession(NewSession("alice", key, "sha256", begun))
		require.NoError(t, err)
		_, ok := s.Left(key, []string{"sha256"}, timeout, now)
		return ok
	}
	require.False(t, left(right, ahead), "a session from before the jump lives on")
	require.True(t, left(right, right.Add(time.Minute)), "and after the jump back it does not")
	require.True(t, left(ahead, right), "a session from within the jump is not taken, as CouchDB does")
	require.False(t, left(ahead, ahead.Add(timeout)), "and does not end")

	second := &TOTP{key: []byte("12345678901234567890"), algorithm: "sha", length: 6}
	require.False(t, second.Verify(second.token(right), ahead))
	require.False(t, second.Verify(second.token(ahead), right))
	require.True(t, second.Verify(second.token(right), right))
}

// Lockouts are measured with the clock that nobody sets: neither do they end with a jump, nor last
// for one.
func TestLockoutIsNotByTheWallClock(t *testing.T) {
	l, a := newLockout(), attempt{}
	l.add(a, LockoutRules{Mode: LockoutEnforce, Threshold: 1, Lifetime: time.Minute})
	f, ok := l.counts.Get(a)
	require.True(t, ok)
	require.Contains(t, f.since.String(), "m=", "since when has lost its monotonic reading")
	require.True(t, strings.Contains(l.now().String(), "m="))
}
