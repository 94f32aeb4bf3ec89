package changes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTurns: no more feeds work at a time than there are turns; one that is slow loses its own to the next one; one
// that waits ends with its request.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := make(turns, 1)
		end, err := turns.take(t.Context())
		require.NoError(t, err)
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err = turns.take(gone)
		require.ErrorIs(t, err, context.Canceled)

		began := time.Now()
		next, err := turns.take(t.Context())
		require.NoError(t, err)
		require.Equal(t, turnTime, time.Since(began), "the first one is slow")
		end()
		end()
		require.Len(t, turns, 1, "its end is not that of the next one")
		next()
		next()
		require.Empty(t, turns)
	})
}
