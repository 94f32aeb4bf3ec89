package debug

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
)

// named is a function of the global scope.
func named(name string) definition.Ref {
	return definition.Ref{Scope: definition.Global, Name: name}
}

// self is the process of the tests, other is another one.
var self, other = nodes.ID{1}, nodes.ID{2}

// known is a session as the registry has it, of a minute.
func known(name, id string) *registry.Debugging {
	return &registry.Debugging{
		Ref: named(name), Instance: 7, ID: id, Secret: "secret of " + id, Ends: time.Now().Add(time.Minute),
	}
}

// follow takes over sessions that wait for the events of a document, or any if that is empty.
func follow(t *testing.T, s *Sessions, of string, all ...*registry.Debugging) {
	t.Helper()
	s.Follow(t.Context(), all, s.changes+1, self, func(*registry.Debugging) (Wanted, error) {
		return Wanted{Of: of}, nil
	})
}

// start begins a session of a function, which catches the events of a document, or any if that is empty.
func start(t *testing.T, s *Sessions, name, of string) *Session {
	t.Helper()
	follow(t, s, of, known(name, name+"'s"))
	return s.Of(named(name))
}

func yes() (bool, error) { return true, nil }

// claims reports whether the session takes the event of a document.
func claims(t *testing.T, n *Session, id string) bool {
	t.Helper()
	ok, err := n.Claim(Update, id, yes)
	require.NoError(t, err)
	return ok
}

// TestSessionsEnd: each way in which a session ends gives its reason to who is connected and to the worker,
// and makes room for another one; what was said before is still received.
func TestSessionsEnd(t *testing.T) {
	for why, end := range map[error]func(s *Sessions, n *Session){
		errTime:    func(*Sessions, *Session) { time.Sleep(time.Minute) },
		errStopped: func(s *Sessions, _ *Session) { s.Follow(t.Context(), nil, s.changes+1, self, nil) },
		errDropped: func(_ *Sessions, n *Session) { n.Stop(true) },
		errEnded:   func(_ *Sessions, n *Session) { n.Finish() },
		errGone:    func(s *Sessions, _ *Session) { s.Keep(func(definition.Ref) int64 { return 8 }) },
		errTaken: func(s *Sessions, n *Session) {
			d := *n.Debugging
			d.Node = other
			s.Follow(t.Context(), []*registry.Debugging{&d}, s.changes+1, self, nil)
		},
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
			require.False(t, claims(t, n, "a"), "an ended session catches nothing")
			n.Finish()
			require.Equal(t, why, context.Cause(n.Context()), "the first reason stays")
			synctest.Wait()
			require.Zero(t, s.live.Load())
			start(t, s, "f", "")
		})
	}
}

// TestFollow: a process has the sessions that the registry has, but for those whose event another
// process has; a session is begun once, and a list that is older than the last one changes nothing.
func TestFollow(t *testing.T) {
	s := NewSessions()
	first, taken := known("f", "1"), known("g", "2")
	taken.Node = other
	follow(t, s, "", first, taken)
	n := s.Of(named("f"))
	require.NotNil(t, n)
	require.Nil(t, s.Of(named("g")))
	require.True(t, claims(t, n, "a"))
	mine := *first
	mine.Node = self
	follow(t, s, "", &mine)
	require.Same(t, n, s.Of(named("f")))
	s.Follow(t.Context(), nil, s.changes-1, self, nil)
	require.Same(t, n, s.Of(named("f")))
	follow(t, s, "", known("f", "3"))
	require.Error(t, n.Context().Err())
	require.Equal(t, "3", s.Of(named("f")).ID)
	s.Follow(t.Context(), []*registry.Debugging{known("h", "4")}, s.changes+1, self,
		func(*registry.Debugging) (Wanted, error) { return Wanted{}, errors.New("what a later version asks") })
	require.Nil(t, s.Of(named("h")))
	require.Nil(t, s.Of(named("f")))
}

// TestWanted: events are told apart by kind and id.
func TestWanted(t *testing.T) {
	for _, c := range []struct {
		Wanted
		kind Kind
		id   string
		want bool
	}{
		{Wanted{}, Timer, "x", true},
		{Wanted{Kind: Delete}, Delete, "x", true},
		{Wanted{Kind: Delete}, Expiry, "x", false},
		{Wanted{Kind: Expiry, Of: "x"}, Expiry, "x", true},
		{Wanted{Kind: Expiry, Of: "x"}, Expiry, "y", false},
		{Wanted{Of: "x"}, Update, "y", false},
	} {
		require.Equal(t, c.want, c.wants(c.kind, c.id), c)
	}
}

// TestTickets: a ticket opens the session that it was made for, once, and not after its time; none of
// its bytes may differ.
func TestTickets(t *testing.T) {
	now := time.Now()
	n := start(t, NewSessions(), "f", "")
	ticket := NewTicket(n.Secret, now)
	require.NotEqual(t, ticket, NewTicket(n.Secret, now))
	for i := range len(ticket) {
		forged := []byte(ticket)
		forged[i] ^= 1
		require.False(t, n.Redeem(string(forged), now), string(forged))
		require.False(t, n.Redeem(ticket[:i], now))
	}
	require.False(t, n.Redeem(ticket+"a", now))
	require.False(t, Valid("another secret", ticket, now))
	late := now.Add(TicketTime)
	require.False(t, n.Redeem(ticket, late))
	require.True(t, Valid(n.Secret, ticket, late.Add(-time.Millisecond)))
	require.True(t, n.Redeem(ticket, now))
	require.False(t, n.Redeem(ticket, now))
	for range maxTickets - 1 {
		require.True(t, n.Redeem(NewTicket(n.Secret, now), now))
	}
	require.False(t, n.Redeem(NewTicket(n.Secret, now), now), "so many are remembered only")
	require.True(t, n.Redeem(NewTicket(n.Secret, late), late), "those that are over are forgotten")
	require.Len(t, n.used, 1)
}

// FuzzTicket: whatever is sent as a ticket, only what was made as one is valid.
func FuzzTicket(f *testing.F) {
	f.Add("")
	f.Add("..")
	f.Add("zzzzzzzzzzzzzzzzzzzz.x.y")
	f.Add(NewTicket("another secret", time.Now()))
	f.Fuzz(func(t *testing.T, ticket string) { require.False(t, Valid("secret", ticket, time.Now())) })
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
	ok, err := n.Claim(Update, "a", func() (bool, error) { return false, nil })
	require.NoError(t, err)
	require.False(t, ok)
	broken := errors.New("the selector cannot be asked")
	_, err = n.Claim(Update, "a", func() (bool, error) { return true, broken })
	require.Equal(t, broken, err)
	require.True(t, claims(t, n, "a"))
	require.False(t, claims(t, n, "a"))
	require.False(t, n.Caught(), "it is claimed, and not caught")
	n.Rearm()
	require.True(t, claims(t, n, "a"))
	n.Catch()
	n.Rearm()
	require.True(t, n.Caught())
	require.Equal(t, "a", n.Event())
	require.False(t, claims(t, n, "a"))
}

// TestEffectsAreBounded: of what a handler does only so much is kept, by number and by bytes; the rest is
// counted.
func TestEffectsAreBounded(t *testing.T) {
	for size, most := range map[int]int{1: maxEffects, maxEffectBytes / 3: 3} {
		n := start(t, NewSessions(), "f", "")
		for i := range maxEffects + 10 {
			n.Note(size, func(e *Effects) { e.Reads = append(e.Reads, Read{ID: fmt.Sprint(i)}) })
		}
		require.Len(t, n.effects.Reads, most)
		require.Equal(t, maxEffects+10-most, n.effects.LeftOff)
		text, err := n.Effects()
		require.NoError(t, err)
		require.NotContains(t, string(text), "null")
	}
}
