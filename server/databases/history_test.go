package databases_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestHistory: the admins of a database say how long replaced revisions are kept, its readers see
// it; what is refused changes nothing. GET of the database shows what is kept, where something is
// kept for a time; compaction leaves it.
func TestHistory(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	joe := servertest.As("joe0")
	const month, refused = `{"history":"30d"}`, `"reason":"You are not a db or server admin."}` + "\n"
	servertest.Expect(t, s.Do("PUT", "/db/_history", month, joe...), 403, `{"error":"forbidden",`+refused)
	servertest.Expect(t, s.Anyone("PUT", "/db/_history", month), 401, `{"error":"unauthorized",`+refused)
	servertest.Expect(t, s.Do("GET", "/db/_history", "", joe...), 200, "{}\n")
	for _, body := range []string{
		`{"history":30}`, `{"history":"30"}`, `{"history":"d"}`, `{"history":""}`, `{"history":"-1d"}`, `{"history":"0d"}`,
		`{"history":"30d","x":1}`, `["30d"]`, `"30d"`, `{"history":"` + strings.Repeat("0", 64) + `1d"}`, `{`,
	} {
		require.Equal(t, 400, s.Do("PUT", "/db/_history", body).Code, body)
	}
	servertest.Expect(t, s.Do("GET", "/db/_history", ""), 200, "{}\n")

	kept := func() string {
		_, rest, _ := strings.Cut(s.Do("GET", "/db", "").Body.String(), `"settee":`)
		return rest
	}
	rev := ""
	write := func() (replaced string) {
		w := s.Do("PUT", "/db/d"+rev, `{"n":1}`)
		_, rest, _ := strings.Cut(w.Body.String(), `"rev":"`)
		replaced, rev = rev, "?rev="+strings.Split(rest, `"`)[0]
		return replaced
	}
	write()
	first := write()
	require.Empty(t, kept(), "as CouchDB")
	servertest.Expect(t, s.Do("PUT", "/db/_history", month), 201, `{"ok":true}`+"\n")
	servertest.Expect(t, s.Do("GET", "/db/_history", "", joe...), 200, month+"\n")
	second := write()
	require.Regexp(t, `^\{"history_bytes":\d+,"history_revisions":2\}\}\n$`, kept())
	require.Equal(t, 202, s.Do("POST", "/db/_compact", "{}").Code)
	require.Eventually(t, func() bool {
		return !strings.Contains(s.Do("GET", "/db", "").Body.String(), `"compact_running":true`)
	}, time.Minute, time.Millisecond)
	require.Equal(t, 404, s.Do("GET", "/db/d"+first, "").Code, "replaced before anything was kept")
	require.Equal(t, 200, s.Do("GET", "/db/d"+second, "").Code)
	servertest.Expect(t, s.Do("PUT", "/db/_history", `{}`), 201, `{"ok":true}`+"\n")
	require.Empty(t, kept())
	s.Set("settee", "history", "1_hour")
	require.Contains(t, kept(), `"history_revisions":1`)
	servertest.Expect(t, s.Do("PUT", "/db/_history", `{"history":"off"}`), 201, `{"ok":true}`+"\n")
	require.Empty(t, kept())
	require.Equal(t, 405, s.Do("POST", "/db/_history", "{}").Code)
	require.Equal(t, 200, s.Do("HEAD", "/db/_history", "").Code)
	require.Equal(t, 404, s.Do("PUT", "/none/_history", "{}").Code)
}
