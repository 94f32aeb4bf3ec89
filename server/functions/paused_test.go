package functions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// TestPausedForAReason: a function that was paused without anybody asking for it tells why, in its
// status and as a task, until it is resumed.
func TestPausedForAReason(t *testing.T) {
	x := newFixture(t)
	x.engine.empty = true
	settle := step{"settle", "", "", 0, 0, ""}
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/deploy", "", 200, 0, ""}, settle,
	})
	require.NotContains(t, x.Do("GET", "/_active_tasks", "").Body.String(), "event_function")
	r, err := x.reg.Get(t.Context(), definition.Ref{Scope: definition.Global, Name: "f"})
	require.NoError(t, err)
	_, err = x.reg.Stop(t.Context(), r, "the moon is full")
	require.NoError(t, err)
	x.run([]step{settle})
	require.Contains(t, x.Do("GET", base+"/status/f", "").Body.String(), `"reason": "the moon is full"`)
	tasks := x.Do("GET", "/_active_tasks", "").Body.String()
	require.Contains(t, tasks, `"function":"f","reason":"the moon is full"`)
	require.Contains(t, tasks, `"state":"paused"`)
	x.run([]step{{"POST", "/functions/f/resume", "", 200, 0, ""}, settle})
	require.NotContains(t, x.Do("GET", base+"/status/f", "").Body.String(), "moon")
	require.NotContains(t, x.Do("GET", "/_active_tasks", "").Body.String(), "moon")
}

// TestBacklogIsATask: a function with messages that wait, or that could not be delivered, is a task
// with how many there are.
func TestBacklogIsATask(t *testing.T) {
	x := newFixture(t)
	settle := step{"settle", "", "", 0, 0, ""}
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/deploy", "", 200, 0, ""}, settle,
	})
	tasks := x.Do("GET", "/_active_tasks", "").Body.String()
	for _, member := range []string{
		`"type":"event_function"`, `"function":"f"`, `"state":"deployed"`, `"outbox":3`, `"dead_letters":2`,
		`"outbox_bytes":1000`,
	} {
		require.Contains(t, tasks, member)
	}
	require.NotContains(t, tasks, `"reason"`)
	x.engine.empty = true
	require.Equal(t, "[]\n", x.Do("GET", "/_active_tasks", "").Body.String())
}
