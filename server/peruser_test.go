package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDatabasesOfUsers(t *testing.T) {
	s := openServer(t, 2) // joe0 and joe1 are there before it is switched on
	set := func(key, value string) {
		_, err := s.env.Config.Set("couch_peruser", key, value, false)
		require.NoError(t, err)
	}
	const joe0, joe1 = "/userdb-6a6f6530", "/userdb-6a6f6531"
	becomes := func(status int, target string) {
		t.Helper()
		require.Eventually(
			t,
			func() bool { return do(s, "GET", target, "").Code == status },
			time.Minute,
			time.Millisecond,
			target,
		)
	}
	remove := func(name string) {
		t.Helper()
		var doc struct {
			Rev string `json:"_rev"`
		}
		require.NoError(t, json.Unmarshal(do(s, "GET", "/_users/org.couchdb.user:"+name, "").Body.Bytes(), &doc))
		require.Equal(t, 200, do(s, "DELETE", "/_users/org.couchdb.user:"+name+"?rev="+doc.Rev, "").Code)
	}
	set("enable", "true")
	becomes(200, joe0)
	becomes(200, joe1)
	require.Equal(t, 201, do(s, "PUT", joe0+"/doc", "{}", as("joe0")...).Code)
	require.Equal(t, 403, do(s, "GET", joe0+"/doc", "", as("joe1")...).Code)
	expect(t, do(s, "GET", joe0+"/_security", ""), 200,
		`{"members":{"roles":["_admin"],"names":["joe0"]},"admins":{"roles":["_admin"],"names":["joe0"]}}`+"\n")

	remove("joe0")
	require.Eventually(t, func() bool {
		return do(
			s,
			"GET",
			joe0+"/_security",
			"",
		).Body.String() == `{"members":{"roles":["_admin"],"names":[]},"admins":{"roles":["_admin"],"names":[]}}`+"\n"
	}, time.Minute, time.Millisecond)

	set("delete_dbs", "true")
	remove("joe1")
	becomes(404, joe1)
}
