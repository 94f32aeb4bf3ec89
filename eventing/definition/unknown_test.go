package definition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// TestUnknownSettingsAreTold: settings that Couchbase had once, and those of nobody, are named in warning_info.
func TestUnknownSettingsAreTold(t *testing.T) {
	s := definition.DefaultSettings()
	require.NoError(t, s.Merge([]byte(`{"function_timeout":5,"deadline_timeout":3,"worker_count":2}`), false))
	require.Equal(t, []string{
		"there is no setting deadline_timeout: it is not stored", "there is no setting function_timeout: it is not stored",
	}, s.Warnings())
}
