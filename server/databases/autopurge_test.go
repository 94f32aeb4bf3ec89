package databases_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestWhoSetsAutoPurge: CouchDB lets whoever may read the database set how long its deleted
// documents are kept. What is refused changes nothing.
func TestWhoSetsAutoPurge(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	const refused = `"reason":"You are not a db or server admin."}` + "\n"
	const day = `{"deleted_document_ttl":"1_day"}`
	joe := servertest.As("joe0")
	servertest.Expect(t, s.Do("PUT", "/db/_auto_purge", day, joe...), 403, `{"error":"forbidden",`+refused)
	servertest.Expect(t, s.Anyone("PUT", "/db/_auto_purge", day), 401, `{"error":"unauthorized",`+refused)
	servertest.Expect(t, s.Do("GET", "/db/_auto_purge", "", joe...), 200, "{}\n")
	security := `{"admins":{"names":["joe1"]},"members":{"names":["joe0"]}}`
	require.Equal(t, 200, s.Do("PUT", "/db/_security", security).Code)
	require.Equal(t, 403, s.Do("PUT", "/db/_auto_purge", day, joe...).Code)
	require.Equal(t, 401, s.Anyone("GET", "/db/_auto_purge", "").Code)
	servertest.Expect(t, s.Do("PUT", "/db/_auto_purge", day, servertest.As("joe1")...), 201, `{"ok":true}`+"\n")
	servertest.Expect(t, s.Do("GET", "/db/_auto_purge", "", joe...), 200, day+"\n")
	long := `{"deleted_document_ttl":"` + strings.Repeat("0", 64) + `1_day"}`
	servertest.Expect(t, s.Do("PUT", "/db/_auto_purge", long), 400,
		`{"error":"bad_request","reason":"deleted_document_ttl must be a valid string"}`+"\n")
	require.Equal(t, 404, s.Do("PUT", "/db/_auto_purge/x", "{}").Code)
	post := s.Do("POST", "/db/_auto_purge", "{}")
	require.Equal(t, 405, post.Code)
	require.Equal(t, "GET,PUT,HEAD", post.Header().Get("Allow"))
	require.Equal(t, 200, s.Do("HEAD", "/db/_auto_purge", "").Code)
	servertest.Expect(t, s.Do("GET", "/db/_auto_purge/", ""), 200, day+"\n")
	require.Equal(t, 404, s.Do("PUT", "/none/_auto_purge", "{}").Code)
}
