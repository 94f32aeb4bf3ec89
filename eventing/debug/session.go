package debug

import (
	"context"
	"errors"
	"sync"

	"github.com/settee-db/settee/eventing/registry"
)

// Why sessions end.
var (
	errTime    = errors.New("the time of the debug session is over")
	errGone    = errors.New("the function was undeployed or deployed anew")
	errStopped = errors.New("the debug session was stopped")
	errTaken   = errors.New("another process has caught the event")
	errEnded   = errors.New("the handler has ended")
	errDropped = errors.New("the event was thrown away")
)

// state is how far a session has come.
type state int

const (
	waiting state = iota
	claimed       // an event was chosen, which is not taken out of the others yet
	caught
)

// Session is one event of a function that is debugged, as this process knows it. It is safe for
// concurrent use.
type Session struct {
	*registry.Debugging
	Wanted

	ctx    context.Context // the session's life
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	state   state
	event   string          // what was caught: id of the document, reference of the timer
	used    map[string]bool // tickets
	effects Effects
	queue
}

// Claim reports whether an event is the one that the session waits for; then no other one is in this
// process. The id is that of the document, or the reference of the timer; matches reports what the
// selector says.
func (s *Session) Claim(kind Kind, id string, matches func() (bool, error)) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != waiting || s.ctx.Err() != nil || !s.wants(kind, id) {
		return false, nil
	}
	ok, err := matches()
	if ok && err == nil {
		s.state, s.event = claimed, id
	}
	return ok, err
}

// Rearm makes a session wait again whose event was claimed, but not caught.
func (s *Session) Rearm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == claimed {
		s.state, s.event = waiting, ""
	}
}

// Catch notes that the event is taken out of the others.
func (s *Session) Catch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = caught
}

// Event is the document of the event that was claimed or caught, or the timer's reference.
func (s *Session) Event() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.event
}

// Caught reports whether the event is taken out of the others.
func (s *Session) Caught() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == caught
}

// Stop ends the session. The event is handled as the others are, unless drop is set.
func (s *Session) Stop(drop bool) {
	if drop {
		s.cancel(errDropped)
	}
	s.cancel(errStopped)
}

// Finish ends the session because the handler has ended.
func (s *Session) Finish() { s.cancel(errEnded) }

// Dropped reports whether the session ended with the wish that its event is not handled.
func (s *Session) Dropped() bool { return errors.Is(context.Cause(s.ctx), errDropped) }

// Context ends with the session; its cause says why.
func (s *Session) Context() context.Context { return s.ctx }
