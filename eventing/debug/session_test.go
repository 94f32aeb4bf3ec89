package debug

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// named is a function of the global scope.
func named(name string) definition.Ref {
	return definition.Ref{Scope: definition.Global, Name: name}
}

// start begins a session of a function, which catches the events of a document, or any if that is empty.
func start(t *testing.T, s *Sessions, name, id string) *Session {
	t.Helper()
	n, failed := s.Start(t.Context(), Options{Ref: named(name), Instance: 7, ID: id, Time: time.Minute})
	require.Nil(t, failed)
	return n
}

func yes() (bool, error) { return true, nil }

// claims reports whether the session takes the event of a document.
func claims(t *testing.T, n *Session, id string) bool {
	t.Helper()
	ok, err := n.Claim(id, yes)
	require.NoError(t, err)
	return ok
}

// TestSessionsEnd: each way in which a session ends gives its reason to who is connected and to the worker,
// and makes room for another one; what was said before is still received.
func TestSessionsEnd(t *testing.T) {
	for why, end := range map[error]func(s *Sessions, n *Session){
		errTime:    func(*Sessions, *Session) { time.Sleep(time.Minute) },
		errStopped: func(_ *Sessions, n *Session) { n.Stop(false) },
		errDropped: func(_ *Sessions, n *Session) { n.Stop(true) },
		errEnded:   func(_ *Sessions, n *Session) { n.Finish() },
		errGone:    func(s *Sessions, _ *Session) { s.Keep(func(definition.Ref) int64 { return 8 }) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewSessions()
			n := start(t, s, "f", "")
			c := n.Connect()
			_, err := n.Exchange(t.Context(), [][]byte{[]byte("said before")}, false)
			require.NoError(t, err)
			s.Keep(func(definition.Ref) int64 { return 7 })
			require.Same(t, n, s.Of(named("f")))
			asked := make(chan error)
			go func() {
				var err error
				for err == nil { // the first answer says that a client has come
					_, err = n.Exchange(context.Background(), nil, true)
				}
				asked <- err
			}()
			synctest.Wait()
			end(s, n)
			require.Equal(t, why, <-asked)
			require.Equal(t, why, context.Cause(n.Context()))
			require.Equal(t, why == errDropped, n.Dropped())
			text, err := c.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, "said before", string(text))
			_, err = c.Receive(t.Context())
			require.Equal(t, why, err)
			require.Nil(t, s.Of(named("f")))
			require.Nil(t, s.ByToken(n.Token))
			require.False(t, claims(t, n, "a"), "an ended session catches nothing")
			n.Finish()
			require.Equal(t, why, context.Cause(n.Context()), "the first reason stays")
			synctest.Wait()
			require.Zero(t, s.live.Load())
			start(t, s, "f", "")
		})
	}
}

// TestSessionsAreFew: a function has one session and a process has Most, until some end.
func TestSessionsAreFew(t *testing.T) {
	s := NewSessions()
	var all []*Session
	for i := range Most {
		all = append(all, start(t, s, fmt.Sprint(i), ""))
	}
	for _, name := range []string{"0", "other"} {
		_, failed := s.Start(t.Context(), Options{Ref: named(name), Time: time.Minute})
		require.NotNil(t, failed, name)
	}
	require.NotEqual(t, all[0].Token, all[1].Token)
	require.Same(t, all[1], s.ByToken(all[1].Token))
	require.Nil(t, s.ByToken(""))
	require.Nil(t, s.Of(named("other")))
	all[0].Stop(false)
	require.Nil(t, s.Of(named("0")))
	start(t, s, "other", "")
}

// TestNobodyWaitsWithoutSessions: where no function is debugged, an event takes no lock to learn that.
func TestNobodyWaitsWithoutSessions(t *testing.T) {
	s := NewSessions()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Nil(t, s.Of(named("f")))
}

// TestSessionCatchesOneEvent: of all events that match one is claimed; another one may be where that was
// not taken out of the others, and none where it was.
func TestSessionCatchesOneEvent(t *testing.T) {
	n := start(t, NewSessions(), "f", "a")
	require.False(t, claims(t, n, "b"), "another document")
	ok, err := n.Claim("a", func() (bool, error) { return false, nil })
	require.NoError(t, err)
	require.False(t, ok)
	broken := errors.New("the selector cannot be asked")
	_, err = n.Claim("a", func() (bool, error) { return true, broken })
	require.Equal(t, broken, err)
	require.True(t, claims(t, n, "a"))
	require.False(t, claims(t, n, "a"))
	require.Empty(t, n.Caught(), "it is claimed, and not caught")
	n.Rearm()
	require.True(t, claims(t, n, "a"))
	n.Catch()
	n.Rearm()
	require.Equal(t, "a", n.Caught())
	require.False(t, claims(t, n, "a"))
}
