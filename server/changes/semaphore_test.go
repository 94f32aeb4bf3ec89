package changes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSemaphore: no more feeds work at a time than there are places; one that is slow loses its own
// to the next one; one that waits ends with its request.
func TestSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(semaphore, 1)
		end, err := s.acquire(t.Context())
		require.NoError(t, err)
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err = s.acquire(gone)
		require.ErrorIs(t, err, context.Canceled)

		began := time.Now()
		next, err := s.acquire(t.Context())
		require.NoError(t, err)
		require.Equal(t, maxHold, time.Since(began), "the first one is slow")
		end()
		end()
		require.Len(t, s, 1, "its end is not that of the next one")
		next()
		next()
		require.Empty(t, s)
	})
}
