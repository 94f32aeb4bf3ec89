package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

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
