package pebblekv

import "sync"

// gate counts running operations and, once shut, lets no new ones in.
type gate struct {
	mu   sync.Mutex
	open int
	shut bool
	idle chan struct{} // closed when the gate is shut and nothing runs
}

func newGate() *gate { return &gate{idle: make(chan struct{})} }

// enter reports whether the operation may run; if so it must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.open++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open--; g.open == 0 && g.shut {
		close(g.idle)
	}
}

// close shuts the gate and waits for what runs; false if it was shut before.
func (g *gate) close() bool {
	g.mu.Lock()
	if g.shut {
		g.mu.Unlock()
		return false
	}
	g.shut = true
	if g.open == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	<-g.idle
	return true
}
