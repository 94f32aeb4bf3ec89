package admin_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/servertest"
)

// TestReadOnlyINI: where the ini file may not be written, clear passwords are hashed and secrets
// made in memory, the set-up works, and what is set over HTTP is refused as by CouchDB, with
// nothing changed, but for what is not to be written.
func TestReadOnlyINI(t *testing.T) {
	const text = "[admins]\nanna = clear\n[chttpd_auth]\niterations = 10\n[cors]\ncredentials = true\n"
	file := servertest.ReadOnlyINI(t, text)
	servertest.AsNobody(t, func() {
		c, err := config.Load(config.Stock(), file)
		require.NoError(t, err)
		require.NoError(t, admin.HashAdmins(c))
		stored, _ := c.Get("admins", "anna")
		require.True(t, principal.CheckAdmin("clear", stored))

		s := servertest.Start(t, server.Options{Config: c})
		w := s.Do("POST", "/_session", `{"name":"anna","password":"clear"}`, "Authorization", "")
		require.Equal(t, 200, w.Code, w.Body.String())
		require.Contains(t, w.Header().Get("Set-Cookie"), "AuthSession=")

		const refused = `{"error":"bad_request","reason":"eacces"}` + "\n"
		servertest.Expect(t, s.Do("PUT", "/_node/_local/_config/cors/credentials", `"false"`), 400, refused)
		servertest.Expect(t, s.Do("DELETE", "/_node/_local/_config/cors/credentials", ""), 400, refused)
		require.True(t, c.Bool("cors", "credentials"))
		w = s.Do("PUT", "/_node/_local/_config/cors/credentials", `"false"`, "X-Couch-Persist", "false")
		servertest.Expect(t, w, 200, `"true"`+"\n")
		require.False(t, c.Bool("cors", "credentials"))

		require.Equal(t, 201, s.Do("POST", "/_cluster_setup", `{"action":"enable_single_node"}`).Code)
		require.Equal(t, 200, s.Do("POST", "/_node/_local/_config/_reload", "").Code)
		stored, _ = c.Get("admins", "anna")
		require.True(t, principal.CheckAdmin("clear", stored))
		written, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(written))
	})
}
