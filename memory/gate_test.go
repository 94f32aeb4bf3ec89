package memory

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The gate has the heap collected, so that it does not stay closed for what nobody uses any more,
// and keeps nobody longer than its time.
func TestMemoryGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live atomic.Int64
		var garbage, collections int64
		g := NewGate(1000)
		g.live = func() int64 { return live.Load() + garbage }
		g.Collect = func() { collections++; garbage = 0 }
		require.NoError(t, g.Pass(t.Context()))
		require.Zero(t, collections)
		time.Sleep(time.Second)
		live.Store(500)
		garbage = 400
		require.NoError(t, g.Pass(t.Context()))
		require.EqualValues(t, 1, collections)

		time.Sleep(time.Second)
		live.Store(800)
		require.NoError(t, g.GoOn(t.Context()), "who is in goes on")
		live.Store(900)
		time.Sleep(time.Second)
		require.Equal(t, error(ErrBusy), g.GoOn(t.Context()))
		collections = 0
		begin := time.Now()
		require.Equal(t, error(ErrBusy), g.Pass(t.Context()))
		require.Equal(t, gateWait, time.Since(begin))
		require.Less(t, collections, int64(8), "once a second")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, context.Canceled, g.Pass(ended))
		time.AfterFunc(time.Second, func() { live.Store(100) })
		require.NoError(t, g.Pass(t.Context()))
	})
	require.NoError(t, (*Gate)(nil).Pass(t.Context()))
	runtime.GC() // before the first one nothing is known
	require.Positive(t, liveHeap())
}
