package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/conformance"
)

// usage is what the server has at a moment.
type usage struct {
	goroutines  int // a CouchDB's processes of Erlang
	descriptors int
	memory      int64 // resident and its own, in bytes
}

// usage asks the server and looks at its process.
func (t *target) usage(ctx context.Context) (usage, error) {
	r, err := t.ask(ctx, request{method: "GET", path: "/_node/_local/_system", as: admin, whole: true})
	var system struct {
		Goroutines int `json:"process_count"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(r.start), &system)
	}
	if err != nil {
		return usage{}, fmt.Errorf("/_node/_local/_system: %w", err)
	}
	u := usage{goroutines: system.Goroutines}
	if t.pid == 0 {
		return u, nil
	}
	p, err := conformance.UsageOfProcess(t.pid)
	u.descriptors, u.memory = p.Descriptors, p.Own
	return u, err
}

// What a server may have more than before: idle connections of the innocents, files that the store
// has opened since.
const (
	moreGoroutines  = 20
	moreDescriptors = 60
)

// leaks lists the counts that have grown beyond what is allowed: goroutines and descriptors.
func (u usage) leaks(before usage) string {
	if u.goroutines > before.goroutines+moreGoroutines || u.descriptors > before.descriptors+moreDescriptors {
		return fmt.Sprintf("%d goroutines and %d descriptors are left of an attack, with %d and %d before it",
			u.goroutines, u.descriptors, before.goroutines, before.descriptors)
	}
	return ""
}

// settle waits until the server has given back goroutines and descriptors.
func (t *target) settle(ctx context.Context, before usage, limit time.Duration) (usage, error) {
	t.client.CloseIdleConnections()
	return t.until(ctx, limit, func(u usage) bool { return u.leaks(before) == "" })
}

// memoryBack is the part of the first memory that the server may have at the end.
const memoryBack = 1.2

// settleMemory waits until the server has given back memory.
func (t *target) settleMemory(ctx context.Context, before usage, limit time.Duration) (usage, error) {
	return t.until(ctx, limit, func(u usage) bool { return float64(u.memory) <= memoryBack*float64(before.memory) })
}

// until waits for a usage, no longer than limit, and returns the last one.
func (t *target) until(ctx context.Context, limit time.Duration, good func(usage) bool) (usage, error) {
	for deadline := time.Now().Add(limit); ; {
		now, err := t.usage(ctx)
		if err != nil || good(now) || time.Now().After(deadline) {
			return now, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// peaks are the most memory that was resident, in bytes.
type peaks struct{ server, workers int64 }

// meter watches the memory of the server and of its workers.
type meter struct {
	t   *target
	end func()

	mu    sync.Mutex // held while it measures, too: no peak of one request counts for the next
	reset bool       // whether the kernel keeps the peak
	most  peaks
}

// newMeter samples memory ten times a second until m.end is called, beside the peak that the kernel
// keeps: that peak knows the server alone, and the samples know its JavaScript workers too. Without
// a process to look at it measures nothing.
func (t *target) newMeter() *meter {
	m := &meter{t: t, end: func() {}}
	if t.pid == 0 {
		return m
	}
	m.reset = resetPeak(t.pid) == nil
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			m.sample()
			select {
			case <-tick.C:
			case <-done:
				tick.Stop()
				return
			}
		}
	})
	m.end = func() { close(done); group.Wait(); m.sample() }
	return m
}

func (m *meter) sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.measure()
}

// measure is called with m.mu held.
func (m *meter) measure() {
	now := peaks{workers: workersMemory(m.t.pid)}
	if u, err := conformance.UsageOfProcess(m.t.pid); err == nil {
		now.server = u.Resident
		if m.reset {
			now.server = u.Peak
		}
	}
	m.most = peaks{max(m.most.server, now.server), max(m.most.workers, now.workers)}
}

// take returns the peaks since the last call and begins anew.
func (m *meter) take() peaks {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.measure()
	most := m.most
	m.most = peaks{}
	m.reset = m.t.pid != 0 && resetPeak(m.t.pid) == nil
	return most
}

// resetPeak makes the process's peak what is resident now, where the kernel lets it.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// workersMemory sums up what the children of a process have resident, in bytes.
func workersMemory(pid int) (total int64) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for _, child := range strings.Fields(string(text)) {
			var number int
			if _, err := fmt.Sscan(child, &number); err == nil {
				if u, err := conformance.UsageOfProcess(number); err == nil {
					total += u.Resident
				}
			}
		}
	}
	return total
}
