package js

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEventsUntilEnough: a caller that has enough of a call, when it takes a result or when it is
// asked for something, costs no worker, and what was left of the call has no part in the next one.
func TestEventsUntilEnough(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	host := newEventHost()
	pause := time.Duration(0) // before the caller says that it has enough
	run := func(code string, most int, events []Event) (taken int, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		err = p.RunEvents(ctx, NewEventProgram(eventOptions(code)), events, host, func(int, *EventResult) error {
			if taken++; taken == most {
				time.Sleep(pause)
				return ErrEnough
			}
			return nil
		})
		return taken, err
	}
	many := updates(make([]string, 50)...)
	for i := range many {
		many[i].Doc = []byte(`{}`)
	}
	for range 5 {
		taken, err := run(`function OnUpdate(doc, meta) { log(meta.id) }`, 10, many)
		require.ErrorIs(t, err, ErrEnough)
		require.Equal(t, 10, taken)
	}
	// The first result comes alone here, and the worker is told while handlers are left.
	const slow = `function OnUpdate(doc, meta) {
		for (var end = Date.now() + 150; meta.id === "m1" && Date.now() < end; ) ;
		src[meta.id];
	}`
	taken, err := run(slow, 1, many)
	require.ErrorIs(t, err, ErrEnough)
	require.Equal(t, 1, taken)
	require.Equal(t, []string{"m1"}, host.gets, "handlers ran on")
	for range 5 { // asked for something, which no handler can catch
		taken, err = run(`function OnUpdate(doc, meta) { try { src.enough } catch (e) {} log("caught") }`, 0, many)
		require.ErrorIs(t, err, ErrEnough)
		require.Zero(t, taken)
	}
	taken, err = run(`function OnUpdate(doc, meta) { log(meta.id) }`, 0, many)
	require.NoError(t, err)
	require.Equal(t, 50, taken)
	require.EqualValues(t, 1, p.Stats().Started)
	require.Zero(t, p.Stats().Killed)
	// One that does not come to an end is killed, and nobody is blamed.
	const endless = `function OnUpdate(doc, meta) {
		for (var end = Date.now() + 150; meta.id === "m2" || Date.now() < end; ) ;
	}`
	pause = time.Second / 2 // so that the worker has begun the one that does not end
	taken, err = run(endless, 1, many)
	require.ErrorIs(t, err, ErrEnough)
	require.Equal(t, 1, taken)
	require.Zero(t, p.Stats().Running)
	require.Empty(t, p.blamed)
}
