package main

import (
	"math"
	"testing"
)

// Servers that took nine tenths of 512 MB and of 1 GB were ended by the kernel under attack:
// workers and the kernel's buffers had 50 and 100 MB.
func TestMemoryOf(t *testing.T) {
	for limit, want := range map[int64]int64{
		10_000 << 20: 9000 << 20, 4000 << 20: 3488 << 20, 1000 << 20: 750 << 20, 512 << 20: 384 << 20,
		400 << 20: 272 << 20, 256 << 20: 128 << 20, 100 << 20: 50 << 20,
	} {
		if got := memoryOf(limit); got != want {
			t.Errorf("of %d MB: %d MB instead of %d", limit>>20, got>>20, want>>20)
		}
	}
}

// A server that was told to take 400 MB had four workers of 512 MB on a large machine.
func TestWorkersFollowTheSetting(t *testing.T) {
	for _, machine := range []int64{100 << 20, 300 << 20, 400 << 20, 900 << 20, 2 << 30, 4 << 30, 6 << 30, 64 << 30} {
		if got := machineOf(memoryOf(machine)); got < machine-16 || got > machine+16 {
			t.Errorf("what a server has of %d bytes goes with %d", machine, got)
		}
	}
	if allowed := allowedMemory(); allowance("auto") != allowed || allowance("1000000000000000") != allowed {
		t.Errorf("%d bytes are allowed; by the setting auto %d, by a large one %d", allowed, allowance("auto"),
			allowance("1000000000000000"))
	}
	if got := allowance("3000000"); got != 6_000_000 {
		t.Errorf("3 MB are half of a small machine, not of %d bytes", got)
	}
}

func TestCollectorLimit(t *testing.T) {
	for process, want := range map[int64]int64{
		10_000 << 20: 9816 << 20, 768 << 20: 616 << 20, 384 << 20: 280 << 20, 128 << 20: 64 << 20,
		100 << 20:     50 << 20,
		math.MaxInt64: math.MaxInt64,
	} {
		if got := collectorLimit(process); got != want {
			t.Errorf("of %d MB: %d MB instead of %d", process>>20, got>>20, want>>20)
		}
	}
}

func TestWorkerMemory(t *testing.T) {
	for limit, want := range map[int64]int64{
		128 << 20: 64 << 20, 256 << 20: 64 << 20, 400 << 20: 100 << 20, 512 << 20: 128 << 20,
		2 << 30: 256 << 20, 64 << 30: 512 << 20,
	} {
		if got := workerOf(limit); got != want {
			t.Errorf("of %d MB: %d MB instead of %d", limit>>20, got>>20, want>>20)
		}
	}
	if got := workerMemory("7", 1<<40); got != 7 {
		t.Errorf("as set: %d", got)
	}
}

// A container of 512 MB on a machine with many processors had a worker for each, which filled it
// though none did anything.
func TestWorkersFollowMemory(t *testing.T) {
	for _, c := range []struct {
		processors int
		limit      int64
		want       int
	}{
		{2, 256 << 20, 2}, {64, 400 << 20, 2}, {2, 512 << 20, 3}, {64, 512 << 20, 3}, {64, 1 << 30, 6}, {4, 4 << 30, 6},
		{64, 64 << 30, 66}, {1, 64 << 30, 3}, {6, math.MaxInt64, 8},
	} {
		if got := workersOf(c.processors, c.limit, workerOf(c.limit)); got != c.want {
			t.Errorf("%d processors, %d MB: %d workers instead of %d", c.processors, c.limit>>20, got, c.want)
		}
	}
	if got := workerCount(7, 128<<20, 1<<40); got != 7 {
		t.Errorf("as set: %d", got)
	}
	if got := workersOf(2, 512<<20, 1<<62); got != fewestWorkers {
		t.Errorf("of a bound beyond the memory: %d", got)
	}
}
