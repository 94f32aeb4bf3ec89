package databases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestWhoForgetsTimes: CouchDB answers 500 to those who may not.
func TestWhoForgetsTimes(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	const refused = `"reason":"You are not a db or server admin."}` + "\n"
	joe := servertest.As("joe0")
	require.Equal(t, 200, s.Do("GET", "/db/_time_seq", "", joe...).Code)
	servertest.Expect(t, s.Do("DELETE", "/db/_time_seq", "", joe...), 403, `{"error":"forbidden",`+refused)
	servertest.Expect(t, s.Anyone("DELETE", "/db/_time_seq", ""), 401, `{"error":"unauthorized",`+refused)
	require.Contains(t, s.Do("GET", "/db/_time_seq", "").Body.String(), ",1]")
	security := `{"admins":{"names":["joe1"]},"members":{"names":["joe0"]}}`
	require.Equal(t, 200, s.Do("PUT", "/db/_security", security).Code)
	require.Equal(t, 403, s.Do("DELETE", "/db/_time_seq", "", joe...).Code)
	require.Equal(t, 401, s.Anyone("GET", "/db/_time_seq", "").Code)
	servertest.Expect(t, s.Do("DELETE", "/db/_time_seq", "", servertest.As("joe1")...), 200, `{"ok":true}`+"\n")
	require.Contains(t, s.Do("GET", "/db/_time_seq", "").Body.String(), ":[]}")
}

// TestLastEventIDIsATime: the header of an event source may be a time, as the parameter.
func TestLastEventIDIsATime(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	const feed = "/db/_changes?feed=eventsource&timeout=1&since=0"
	require.NotContains(t, s.Do("GET", feed, "", "Last-Event-ID", "2099-01-01T00:00:00Z").Body.String(), `"doc"`)
	require.Contains(t, s.Do("GET", feed, "", "Last-Event-ID", "2001-01-01T00:00:00Z").Body.String(), `"doc"`)
	require.Equal(t, 400, s.Do("GET", feed, "", "Last-Event-ID", "2001-01-00T00:00:00Z").Code)
}
