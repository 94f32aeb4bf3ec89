package admin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

func TestSetupStates(t *testing.T) {
	c, err := config.Load(nil)
	require.NoError(t, err)
	state := func(complete bool, changes ...string) string {
		for i := 0; i < len(changes); i += 3 {
			_, err := c.Set(changes[i], changes[i+1], changes[i+2], false)
			require.NoError(t, err)
		}
		return setupState(c, complete)
	}
	require.Equal(t, "cluster_disabled", state(true))
	require.Equal(t, "cluster_enabled", state(false, "chttpd", "bind_address", "0.0.0.0"))
	require.Equal(t, "cluster_finished", state(true))
	require.Equal(t, "single_node_disabled", state(false, "cluster", "n", "1"))
	require.Equal(t, "single_node_enabled", state(true))
	require.Equal(t, "single_node_enabled", state(false, "couchdb", "single_node", "true"))
}
