package memory

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// The budgets count what is known to be large. What is too small to be counted adds up only where
// very many requests come together: the gate keeps large ones out while the memory that is in use,
// as the collector last saw it, is close to the server's bound. Those that are in go on a little
// longer, so that most of them end. Small requests never pass it (ADR 0024).

const (
	// gateWait is how long a request waits at the gate.
	gateWait = 5 * time.Second
	// collectAgain is how often a closed gate runs the garbage collector. While all wait, no
	// collection may start by itself, and the gate would not see that memory is free.
	collectAgain = time.Second
)

// Gate is open while little enough memory is in use. It is safe for concurrent use; nil is always
// open.
type Gate struct {
	bound   int64 // for those that come in
	last    int64 // for those that are in and take more
	Wait    time.Duration
	live    func() int64 // bytes in use after the latest collection
	Collect func()

	seen     atomic.Int64 // the last result of live
	lookedAt atomic.Int64 // when it was asked, in nanoseconds

	mu        sync.Mutex
	collected time.Time
}

// NewGate makes a gate that closes when two thirds of the collector's limit are in use, and to
// those that are in when five sixths are; memory <= 0: never.
func NewGate(memory int64) *Gate {
	if memory <= 0 {
		return nil
	}
	return &Gate{bound: memory / 3 * 2, last: memory / 6 * 5, Wait: gateWait, live: liveHeap, Collect: runtime.GC}
}

// liveHeap is what the latest collection has found in use, in bytes.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Pass waits until the gate is open to a request that has no memory yet: ErrBusy if that takes
// longer than gateWait, or ctx's error.
func (g *Gate) Pass(ctx context.Context) error {
	if g == nil {
		return nil
	}
	return g.pass(ctx, g.bound)
}

// GoOn is Pass for a request that has memory and takes more.
func (g *Gate) GoOn(ctx context.Context) error {
	if g == nil {
		return nil
	}
	return g.pass(ctx, g.last)
}

// pass waits until less than bound bytes are in use. It first has the garbage collector run: much
// of what counts as in use is often garbage. ErrBusy after Gate.Wait.
func (g *Gate) pass(ctx context.Context, bound int64) error {
	if g.inUse() <= bound {
		return nil
	}
	for late := time.After(g.Wait); ; {
		g.collectOnce()
		if g.inUse() <= bound {
			return nil
		}
		select {
		case <-time.After(lookAgain):
		case <-late:
			return ErrBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inUse is what was in use a short while ago. It asks once in a while: that takes four
// microseconds.
func (g *Gate) inUse() int64 {
	const asks = 20 * time.Millisecond
	if now := time.Now().UnixNano(); now-g.lookedAt.Load() >= int64(asks) {
		g.lookedAt.Store(now)
		g.seen.Store(g.live())
	}
	return g.seen.Load()
}

// collectOnce collects, unless that was done a short time ago.
func (g *Gate) collectOnce() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.collected) >= collectAgain {
		g.Collect()
		g.collected = time.Now()
		g.lookedAt.Store(0)
	}
}
