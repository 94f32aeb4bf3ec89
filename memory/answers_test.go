package memory

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Lists give what they hold back before they wait for more: they do not wait for each other, and
// all come to their end.
func TestListsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewAnswers(1, nil)
		var all sync.WaitGroup
		for user := range 20 {
			all.Go(func() {
				s := &Share{Budget: b, User: fmt.Sprint(user % 5)}
				for range 30 {
					if err := s.Hold(t.Context(), rand.Int64N(b.Total)); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
				}
				s.Release()
			})
		}
		all.Wait()
		require.Equal(t, b.Total, b.Free)
		require.Empty(t, b.users)
	})
}

// A user who holds what one may hold is in nobody else's way.
func TestAnswersOfOneUser(t *testing.T) {
	b := NewAnswers(1, nil)
	b.Resize(100 << 20)
	b.Wait = time.Millisecond
	for range 3 {
		require.NoError(t, (&Share{Budget: b, User: "greedy"}).Hold(t.Context(), 25<<20))
	}
	require.Equal(t, error(ErrBusy), (&Share{Budget: b, User: "greedy"}).Hold(t.Context(), 1<<20))
	require.NoError(t, (&Share{Budget: b, User: "other"}).Hold(t.Context(), 20<<20))
}
