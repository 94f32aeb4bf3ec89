package users_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

func TestDatabasesOfUsers(t *testing.T) {
	s := servertest.NewWithUsers(t, 2) // joe0 and joe1 are there before it is switched on
	set := func(key, value string) { s.Set("couch_peruser", key, value) }
	const joe0, joe1 = "/userdb-6a6f6530", "/userdb-6a6f6531"
	becomes := func(status int, target string) {
		t.Helper()
		require.Eventually(
			t,
			func() bool { return s.Do("GET", target, "").Code == status },
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
		require.NoError(t, json.Unmarshal(s.Do("GET", "/_users/org.couchdb.user:"+name, "").Body.Bytes(), &doc))
		require.Equal(t, 200, s.Do("DELETE", "/_users/org.couchdb.user:"+name+"?rev="+doc.Rev, "").Code)
	}
	set("enable", "true")
	becomes(200, joe0)
	becomes(200, joe1)
	require.Equal(t, 201, s.Do("PUT", joe0+"/doc", "{}", servertest.As("joe0")...).Code)
	require.Equal(t, 403, s.Do("GET", joe0+"/doc", "", servertest.As("joe1")...).Code)
	servertest.Expect(t, s.Do("GET", joe0+"/_security", ""), 200,
		`{"members":{"roles":["_admin"],"names":["joe0"]},"admins":{"roles":["_admin"],"names":["joe0"]}}`+"\n")

	remove("joe0")
	require.Eventually(t, func() bool {
		const nobody = `{"members":{"roles":["_admin"],"names":[]},"admins":{"roles":["_admin"],"names":[]}}`
		return s.Do("GET", joe0+"/_security", "").Body.String() == nobody+"\n"
	}, time.Minute, time.Millisecond)

	set("delete_dbs", "true")
	remove("joe1")
	becomes(404, joe1)
}

// TestAnotherUsersDatabase: a database that becomes that of the users can be filled by
// administrators as they like until it has its design document, and by nobody else.
func TestAnotherUsersDatabase(t *testing.T) {
	t.Parallel()
	s := servertest.NewWithUsers(t, 1)
	require.Equal(t, 201, s.Do("PUT", "/people", "").Code)
	require.Equal(t, 200, s.Do("PUT", "/people/_security", "{}").Code)
	require.Equal(t, 201, s.Do("PUT", "/people/org.couchdb.user:joe0", `{"x":1}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/people/org.couchdb.user:ada",
		`{"name":"ada","type":"user","roles":[],"password":"apple"}`).Code)
	s.Set("chttpd_auth", "authentication_db", "people")
	const untyped = `{"name":"tom","roles":[],"password":"cat"}`
	put := func(name string, headers ...string) int {
		return s.Do("PUT", "/people/org.couchdb.user:"+name, untyped, headers...).Code
	}
	if code := put("tom"); code != 201 { // the design document came first
		require.Equal(t, 403, code)
		require.Equal(t, 200, s.Do("GET", "/people/_design/_auth", "").Code)
		require.Equal(t, 201, s.Do("PUT", "/people/org.couchdb.user:tom",
			`{"name":"tom","type":"user","roles":[],"password":"cat"}`).Code)
	}
	require.Equal(t, 403, put("tim", "Authorization", ""))
	session := s.Do("POST", "/_session", `{"name":"tom","password":"cat"}`, "Authorization", "")
	require.Equal(t, 200, session.Code, session.Body)
	require.Eventually(t, func() bool {
		return s.Do("GET", "/people/_design/_auth", "").Code == 200
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, 403, put("tim"))
}
