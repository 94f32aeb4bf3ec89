package cache

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestLoadsAreShared: those who ask for one value together get what one of them makes; where that
// fails or panics each of the others tries once by itself, and the next ones share again.
func TestLoadsAreShared(t *testing.T) {
	failed := errors.New("failed")
	ways := map[string]func(load func() (int, error)) (int, error){}
	plain, stamps := New[string, int](9), NewStamped[string, int, int](9)
	ways["plain"] = func(load func() (int, error)) (int, error) { return plain.Load("a", load) }
	ways["stamped"] = func(load func() (int, error)) (int, error) { return stamps.Load("a", 1, load) }
	for name, way := range ways {
		for _, end := range []string{"panics", "fails", "is made", "is there"} {
			synctest.Test(t, func(t *testing.T) {
				var loads, good atomic.Int64
				end1 := make(chan struct{})
				ask := func() {
					defer func() { _ = recover() }()
					value, err := way(func() (int, error) {
						first := loads.Add(1) == 1
						<-end1
						switch {
						case first && end == "panics":
							panic("of the first")
						case end == "fails" || end == "panics":
							return 0, failed
						}
						return 7, nil
					})
					if err == nil && value == 7 {
						good.Add(1)
					} else if !errors.Is(err, failed) {
						t.Error(value, err)
					}
				}
				var all sync.WaitGroup
				for range 20 {
					all.Go(ask)
				}
				synctest.Wait()
				close(end1)
				all.Wait()
				want := map[string]int64{"panics": 20, "fails": 20, "is made": 1, "is there": 0}
				require.Equal(t, want[end], loads.Load(), "%s %s", name, end)
				if end == "is made" || end == "is there" {
					require.EqualValues(t, 20, good.Load())
				}
			})
		}
		require.Empty(t, plain.loads.going)
		require.Empty(t, stamps.loads.going)
	}
	// Another stamp is another value.
	value, err := stamps.Load("a", 2, func() (int, error) {
		return stamps.Load("a", 3, func() (int, error) { return 8, nil })
	})
	require.NoError(t, err)
	require.Equal(t, 8, value)
}
