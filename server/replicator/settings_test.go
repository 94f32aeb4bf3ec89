package replicator

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/stats"
)

// TestCounters: all that replications count is in the statistics, each in its own.
func TestCounters(t *testing.T) {
	v := reflect.ValueOf(counters(&call.Env{Stats: stats.New()}))
	seen := make(map[any]string)
	for i := range v.NumField() {
		name, to := v.Type().Field(i).Name, v.Field(i).Interface().(replication.Counter).To
		require.NotNil(t, to, name)
		require.Empty(t, seen[to], name)
		seen[to] = name
	}
}
