package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Go's collector gives a heap as much room to grow as is in use. In builds without cgo the store's
// blocks are in the heap, up to 128 MB of bytes that it need not look into: they would get as much
// room again, which nothing but garbage fills. A pacer gives room for what is in use besides: as
// often as with the blocks elsewhere, the collector then runs.
type pacer struct {
	blocks func() int64 // bytes
	live   [1]metrics.Sample

	mu      sync.Mutex
	percent int // the collector's, as it was set last
	ended   bool
}

const (
	usualPercent = 100
	// leastRoom is how many bytes are allocated between two runs at least: with a small heap, more
	// frequent runs cost more than they bring.
	leastRoom = 32 << 20
	// steps in which the percentage is set: each setting stops the process for a moment.
	percentStep = 5
)

// paceCollector begins to follow the blocks, unless the operator has said how often the collector
// is to run (GOGC).
func paceCollector(blocks func() int64) *pacer {
	p := &pacer{blocks: blocks, percent: usualPercent}
	p.live[0].Name = "/gc/heap/live:bytes"
	if os.Getenv("GOGC") == "" {
		p.await()
	}
	return p
}

// end leaves the collector as it is by default. The pacer may be nil.
func (p *pacer) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.set(usualPercent)
}

func (p *pacer) set(percent int) {
	if percent != p.percent {
		debug.SetGCPercent(percent)
		p.percent = percent
	}
}

// await has pace called once the collector has run.
func (p *pacer) await() {
	type sentinel struct{ p *pacer }
	runtime.AddCleanup(&sentinel{p}, (*pacer).pace, p)
}

// pace sets the collector by what is in use now: caches that are not Go's count as memory as well.
// Small changes are not worth a collection.
func (p *pacer) pace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	metrics.Read(p.live[:])
	percent := percentOf(int64(p.live[0].Value.Uint64()), p.blocks())
	if percent-p.percent >= percentStep || p.percent-percent >= percentStep {
		p.set(percent)
	}
	p.await()
}

// percentOf is the collector's percentage for so many bytes that are in use, blocks among them.
func percentOf(live, blocks int64) int {
	if live <= 0 {
		return usualPercent
	}
	room := max(live-blocks, leastRoom)
	return int(min(room*100/live, usualPercent))
}
