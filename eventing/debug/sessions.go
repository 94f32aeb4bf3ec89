package debug

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
)

// Most is how many sessions a store has at a time: each has a worker process of its own.
const Most = 2

// Bounds of the time of a session.
const (
	UsualTime = 30 * time.Minute
	MostTime  = time.Hour
)

// Sessions are the sessions that a process knows. They are safe for concurrent use.
type Sessions struct {
	live    atomic.Int32 // how many have not ended: every event asks
	mu      sync.Mutex
	all     map[definition.Ref]*Session
	changes uint64 // of the registry, that Follow has seen
}

// NewSessions makes an empty set.
func NewSessions() *Sessions { return &Sessions{all: make(map[definition.Ref]*Session)} }

// Follow takes over the sessions that the registry has after so many changes: it begins those that are
// new, which end with ctx at the latest, and ends those that are gone or that another process than self
// has an event of. An older list than the last one is ignored. wanted reads what a session catches.
func (s *Sessions) Follow(
	ctx context.Context, known []*registry.Debugging, changes uint64, self nodes.ID,
	wanted func(*registry.Debugging) (Wanted, error),
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changes < s.changes {
		return
	}
	s.changes = changes
	of := make(map[definition.Ref]*registry.Debugging, len(known))
	for _, d := range known {
		of[d.Ref] = d
	}
	for ref, n := range s.all {
		switch d := of[ref]; {
		case d == nil || d.ID != n.ID:
			n.cancel(errStopped)
			delete(s.all, ref)
		case d.Node != (nodes.ID{}) && d.Node != self:
			n.cancel(errTaken)
			delete(s.all, ref)
		}
	}
	for ref, d := range of {
		if s.all[ref] != nil || d.Node != (nodes.ID{}) {
			continue
		}
		if w, err := wanted(d); err == nil { // else another version of the program has begun it
			s.begin(ctx, d, w)
		}
	}
}

// begin adds a session. The mutex is held.
func (s *Sessions) begin(ctx context.Context, d *registry.Debugging, w Wanted) {
	n := &Session{Debugging: d, Wanted: w}
	n.room, n.arrived = make(chan struct{}), make(chan struct{}, 1)
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	over := time.AfterFunc(time.Until(d.Ends), func() { n.cancel(errTime) })
	s.all[d.Ref] = n
	s.live.Add(1)
	context.AfterFunc(n.ctx, func() {
		over.Stop()
		s.live.Add(-1)
	})
}

// Of is the session of a function, nil if there is none.
func (s *Sessions) Of(ref definition.Ref) *Session {
	if s.live.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.all[ref]; n != nil && n.ctx.Err() == nil {
		return n
	}
	return nil
}

// Keep ends the sessions of functions whose deployed instance is not the one that current tells, 0 for
// none.
func (s *Sessions) Keep(current func(definition.Ref) int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, n := range s.all {
		if current(ref) != n.Instance {
			n.cancel(errGone)
		}
	}
}
