package definition_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

var states = []definition.State{
	definition.Undeployed, definition.Deploying, definition.Deployed, definition.Undeploying, definition.Pausing,
	definition.Paused, definition.Resuming,
}

// TestOperations: what each operation does in each state, a state that begins or the number of an
// error.
func TestOperations(t *testing.T) {
	const deploy, undeploy, pause, resume = definition.OpDeploy, definition.OpUndeploy, definition.OpPause,
		definition.OpResume
	want := map[definition.Operation]map[definition.State]any{
		deploy: {definition.Undeployed: definition.Deploying, definition.Paused: definition.Resuming,
			definition.Deployed: 20},
		resume: {definition.Undeployed: definition.Deploying, definition.Paused: definition.Resuming,
			definition.Deployed: 20},
		pause: {definition.Undeployed: 63, definition.Paused: 64, definition.Deployed: definition.Pausing},
		undeploy: {definition.Undeployed: 12, definition.Paused: definition.Undeploying,
			definition.Deployed: definition.Undeploying},
	}
	for op, rows := range want {
		for _, from := range states {
			expected, ok := rows[from]
			if !ok {
				expected = 63 // on the way nothing is possible
			}
			to, err := from.Begin(op, "f")
			if code, refused := expected.(int); refused {
				require.Error(t, err, "%s from %s", op, from)
				require.Equal(t, definition.Code(code), definition.AsError(err).Code, "%s from %s", op, from)
				require.Equal(t, from, to)
				continue
			}
			require.NoError(t, err, "%s from %s", op, from)
			require.Equal(t, expected, to, "%s from %s", op, from)
			require.False(t, to.Settled())
		}
	}
}

func TestEnds(t *testing.T) {
	possible := map[definition.State][]definition.State{
		definition.Deploying:   {definition.Deployed, definition.Undeployed},
		definition.Resuming:    {definition.Deployed, definition.Paused},
		definition.Pausing:     {definition.Paused},
		definition.Undeploying: {definition.Undeployed},
	}
	for _, from := range states {
		require.True(t, from.Known())
		require.Equal(t, possible[from] == nil, from.Settled())
		for _, to := range states {
			require.Equal(t, slices.Contains(possible[from], to), from.MayEnd(to), "%s as %s", from, to)
		}
		if possible[from] != nil {
			require.Equal(t, possible[from][0], from.Target())
		} else {
			require.Equal(t, from, from.Target())
		}
	}
	require.False(t, definition.State("gone").Known())
}

func TestStatuses(t *testing.T) {
	for _, s := range states {
		deployment, processing := s.Statuses()
		back, err := definition.StateOf(deployment, processing)
		require.NoError(t, err)
		require.Equal(t, s.Target(), back)
		if !s.Settled() {
			continue
		}
		for _, from := range states { // what OperationTo asks for leads there, where it is possible
			if to, err := from.Begin(definition.OperationTo(s), "f"); err == nil {
				require.Equal(t, s, to.Target())
			}
		}
	}
	_, err := definition.StateOf(false, true)
	require.Equal(t, definition.CodeInvalidConfig, definition.AsError(err).Code)
}
