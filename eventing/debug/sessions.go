package debug

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/mango/selector"
)

// Most is how many sessions a process has at a time: each has a worker process of its own.
const Most = 2

// Bounds of the time of a session.
const (
	UsualTime = 30 * time.Minute
	MostTime  = time.Hour
)

// Options say what a session is for.
type Options struct {
	Ref      definition.Ref
	Instance int64 // of the deployed function
	// ID is the document whose event is caught; empty: any. Selector is what the document has to
	// match, nil: anything.
	ID       string
	Selector *selector.Selector
	Time     time.Duration // how long the session lasts at most
}

// Sessions are the sessions of a process. They are safe for concurrent use.
type Sessions struct {
	live atomic.Int32 // how many have not ended: every event asks
	mu   sync.Mutex
	all  map[definition.Ref]*Session
}

// NewSessions makes an empty set.
func NewSessions() *Sessions { return &Sessions{all: make(map[definition.Ref]*Session)} }

// Start begins a session, which ends with ctx at the latest. The error is for clients: the function has
// one already, or there are too many.
func (s *Sessions) Start(ctx context.Context, o Options) (*Session, *definition.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.all, func(_ definition.Ref, n *Session) bool { return n.ctx.Err() != nil })
	if s.all[o.Ref] != nil {
		return nil, definition.Errorf(definition.CodeInvalidRequest, "Function: %s is being debugged already", o.Ref)
	}
	if len(s.all) >= Most {
		return nil, definition.Errorf(definition.CodeInvalidRequest, "There are %d debug sessions already", Most)
	}
	n := &Session{Options: o, Token: rand.Text(), Ends: time.Now().Add(o.Time)}
	n.room, n.arrived = make(chan struct{}), make(chan struct{}, 1)
	n.ctx, n.cancel = context.WithCancelCause(ctx)
	over := time.AfterFunc(o.Time, func() { n.cancel(errTime) })
	s.all[o.Ref] = n
	s.live.Add(1)
	context.AfterFunc(n.ctx, func() {
		over.Stop()
		s.live.Add(-1)
	})
	return n, nil
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

// ByToken is the session with a token, nil if there is none.
func (s *Sessions) ByToken(token string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.all {
		if n.ctx.Err() == nil && subtle.ConstantTimeCompare([]byte(n.Token), []byte(token)) == 1 {
			return n
		}
	}
	return nil
}

// Keep ends the sessions of functions whose deployed instance is not the one that current tells, 0 for
// none.
func (s *Sessions) Keep(current func(definition.Ref) int64) {
	s.mu.Lock()
	var gone []*Session
	for ref, n := range s.all {
		if current(ref) != n.Instance {
			gone = append(gone, n)
		}
	}
	s.mu.Unlock()
	for _, n := range gone {
		n.cancel(errGone)
	}
}
