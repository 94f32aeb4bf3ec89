package databases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestArchivesAreForServerAdmins: an archive has what nobody else may see, and is stored without
// validation.
func TestArchivesAreForServerAdmins(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 1)
	require.Equal(t, 200, s.Do("PUT", "/_users/_security", `{"admins":{"names":["joe0"]}}`).Code)
	archive := s.Do("GET", "/_users/_backup", "")
	require.Equal(t, 200, archive.Code)
	require.Contains(t, archive.Body.String(), "derived_key")
	for _, path := range []string{"/_users/_backup", "/_users/_restore", "/_users/_restore?verify=true"} {
		method, body := "POST", archive.Body.String()
		if path == "/_users/_backup" {
			method, body = "GET", ""
		}
		refused := s.Do(method, path, body, servertest.As("joe0")...)
		require.Equal(t, 401, refused.Code, path)
		require.Contains(t, refused.Body.String(), "You are not a server admin.")
	}
	require.Equal(t, 201, s.Do("POST", "/_users/_restore?settings=true", archive.Body.String()).Code)
}
