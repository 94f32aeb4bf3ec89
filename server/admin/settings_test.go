package admin_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/servertest"
)

// TestSettings: administrators see each setting that _config has, with the same value unless it is
// secret; nobody else sees any.
func TestSettings(t *testing.T) {
	s := servertest.New(t)
	s.Set("chttpd_auth", "secret", "hidden")
	s.Set("mine", "key", "value")
	w := s.Do("GET", "/_node/_local/_settings", "")
	require.Equal(t, 200, w.Code)
	require.NotContains(t, w.Body.String(), "hidden")
	require.NotContains(t, w.Body.String(), "pbkdf2-")
	var answer struct{ Settings []config.Known }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	shown := map[string]map[string]config.Known{}
	for _, k := range answer.Settings {
		if shown[k.Section] == nil {
			shown[k.Section] = map[string]config.Known{}
		}
		shown[k.Section][k.Key] = k
	}
	var set map[string]map[string]string
	require.NoError(t, json.Unmarshal(s.Do("GET", "/_node/_local/_config", "").Body.Bytes(), &set))
	require.Equal(t, "value", set["mine"]["key"])
	for section, keys := range set {
		for key, value := range keys {
			k := shown[section][key]
			require.Equal(t, key, k.Key)
			if !k.Secret {
				require.Equal(t, value, k.Value, "[%s] %s", section, key)
			}
		}
	}
	require.True(t, shown["admins"]["admin"].Secret)
	require.True(t, shown["feature_flags"]["partitioned||*"].Fixed)
	require.Equal(t, 401, s.Anyone("GET", "/_node/_local/_settings", "").Code)
	require.Equal(t, 404, s.Do("GET", "/_node/other@host/_settings", "").Code)
}
