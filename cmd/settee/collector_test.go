package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestFunctionWorkersAreCounted: the workers of event functions have numbers of their own, and a
// series.
func TestFunctionWorkersAreCounted(t *testing.T) {
	kvtest.Long(t) // the first sample comes after ten seconds
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	base, stop := startServe(t, t.TempDir())
	defer stop()
	metrics := body(t, base+"/_node/_local/_prometheus")
	for _, state := range []string{"idle", "busy"} {
		require.Contains(t, metrics, "settee_function_workers{state=\""+state+"\"} 0")
		require.Contains(t, metrics, "settee_js_workers{state=\""+state+"\"}")
	}
	require.Eventually(t, func() bool {
		var answer struct{ Series map[string][]any }
		require.NoError(t, json.Unmarshal([]byte(body(t, base+"/_node/_local/_overview")), &answer))
		_, idle := answer.Series["function_workers_idle"]
		_, busy := answer.Series["function_workers_busy"]
		return idle && busy
	}, time.Minute, 100*time.Millisecond)
}

func TestPercentOf(t *testing.T) {
	for _, c := range []struct {
		live, blocks int64
		want         int
	}{
		{0, 0, 100}, {10 << 20, 0, 100}, {200 << 20, 0, 100},
		{200 << 20, 128 << 20, 36}, // 72 MB of room for 72 MB in use
		{140 << 20, 128 << 20, 22}, // the least room
		{100 << 20, 128 << 20, 32}, // blocks that came after the collector ran
		{30 << 20, 25 << 20, 100},  // never more than by default
	} {
		if got := percentOf(c.live, c.blocks); got != c.want {
			t.Errorf("%d MB in use, %d of them blocks: %d %%, want %d", c.live>>20, c.blocks>>20, got, c.want)
		}
	}
}

// The collector's percentage follows the blocks, and is the default again at the end.
func TestPacer(t *testing.T) {
	t.Setenv("GOGC", "")
	percent := func() int { // reading sets it for a moment
		n := debug.SetGCPercent(usualPercent)
		debug.SetGCPercent(n)
		return n
	}
	block := make([]byte, 128<<20)
	p := paceCollector(func() int64 { return int64(len(block)) })
	for deadline := time.Now().Add(time.Minute); percent() > 50 && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n := percent(); n > 50 {
		t.Errorf("%d %% for a heap that is nearly all blocks", n)
	}
	runtime.KeepAlive(block)
	p.end()
	if n := percent(); n != usualPercent {
		t.Errorf("%d %% at the end", n)
	}
}
