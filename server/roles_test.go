package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestRolesOfNow: what works beside requests for a user learns at once what the user may do now.
func TestRolesOfNow(t *testing.T) {
	s := servertest.New(t)
	s.Set("chttpd_auth", "iterations", "10")
	s.Do("PUT", "/_users", "")
	roles := func(name string) any {
		list, known, err := s.Roles(t.Context(), name)
		require.NoError(t, err)
		if !known {
			return "unknown"
		}
		return list
	}
	const path = "/_users/org.couchdb.user:joe"
	require.Equal(t, "unknown", roles("joe"))
	require.Equal(t, []string{"_admin"}, roles("admin"))
	write := func(more string) string {
		w := s.Do("PUT", path, `{"name":"joe","type":"user","password":"x"`+more+`}`)
		require.Less(t, w.Code, 300, w.Body)
		return `,"_rev":` + servertest.ETag(w)
	}
	rev := write(`,"roles":["boss"]`)
	require.Equal(t, []string{"boss"}, roles("joe"))
	rev = write(`,"roles":[]` + rev)
	require.Empty(t, roles("joe"))
	write(`,"roles":["_other"],"_deleted":true` + rev)
	require.Equal(t, "unknown", roles("joe"))
	require.Equal(t, 200, s.Do("PUT", "/_node/_local/_config/admins/joe", `"secret"`).Code)
	require.Equal(t, []string{"_admin"}, roles("joe"))
}
