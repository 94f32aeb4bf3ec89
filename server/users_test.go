package server

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/auth"
)

// openUsers opens the users database to everyone, with the users of openServer.
func openUsers(t *testing.T) *Server {
	s := openServer(t, 2)
	_, err := s.config.Set("couchdb", "users_db_security_editable", "true", false)
	require.NoError(t, err)
	require.Equal(t, 200, do(s, "PUT", "/_users/_security", "{}").Code)
	return s
}

func as(name string) []string {
	return []string{"Authorization", basic(name, "p")}
}

func TestForeignUserDocumentsAreHidden(t *testing.T) {
	s := openUsers(t)
	const path = "/_users/org.couchdb.user:joe0"
	const missing = `{"error":"not_found","reason":"missing"}` + "\n"
	require.Equal(t, 201, do(s, "PUT", "/_users/_design/d", "{}").Code)
	for _, target := range []string{path, path + "?open_revs=all", path + "?revs_info=true", path + "/att", "/_users/org.couchdb.user:nobody"} {
		expect(t, do(s, "GET", target, "", as("joe1")...), 404, missing)
	}
	require.NotContains(t, do(s, "POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:joe0"}]}`, as("joe1")...).Body.String(), "derived_key")
	require.Equal(t, 403, do(s, "GET", "/_users/_design/d", "", as("joe1")...).Code)
	require.Equal(t, 403, do(s, "GET", "/_users/_design_docs?include_docs=true", "", as("joe1")...).Code)
	for _, target := range []string{"/_users/_all_docs", "/_users/_changes", "/_users/_all_docs/queries"} {
		require.Equal(t, 401, do(s, "GET", target, "", as("joe1")...).Code, target)
	}
	require.Contains(t, do(s, "GET", path, "", as("joe0")...).Body.String(), "derived_key")

	_, err := s.config.Set("chttpd_auth", "public_fields", "name, type", false)
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(do(s, "GET", path, "", as("joe1")...).Body.Bytes(), &doc))
	delete(doc, "_rev")
	require.Equal(t, map[string]any{"_id": "org.couchdb.user:joe0", "name": "joe0", "type": "user"}, doc)
	expect(t, do(s, "PUT", path, `{"_rev":"1-x","name":"joe0","type":"user","roles":[],"password":"stolen"}`, as("joe1")...), 404, missing)
}

// A changed password, role or document counts with the next request.
func TestUserChangesCountAtOnce(t *testing.T) {
	s := openServer(t, 1)
	const path = "/_users/org.couchdb.user:joe0"
	for i, password := range []string{"one", "two", "three"} {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(do(s, "GET", path, "").Body.Bytes(), &doc))
		doc["password"], doc["roles"] = password, []string{password}
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		require.Equal(t, 201, do(s, "PUT", path, string(text)).Code)
		w := do(s, "GET", "/_session", "", "Authorization", basic("joe0", password))
		require.Contains(t, w.Body.String(), `"roles":["`+password+`"]`, i)
		require.Equal(t, 401, do(s, "GET", "/_session", "", as("joe0")...).Code)
	}
}

func TestHashIsUpgradedAtLogin(t *testing.T) {
	s := openServer(t, 0)
	require.Equal(t, 201, do(s, "PUT", "/_users/org.couchdb.user:old", `{"name":"old","type":"user","roles":[],"password_scheme":"simple","salt":"salt","password_sha":"8152bc582f58c854f580cb101d3182813dec4afe","x":1}`).Code)
	login := func() int { return do(s, "GET", "/_session", "", "Authorization", basic("old", "secret")).Code }
	require.Equal(t, 200, login())
	require.Eventually(t, func() bool {
		return strings.Contains(do(s, "GET", "/_users/org.couchdb.user:old", "").Body.String(), `"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"salt"`)
	}, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, 200, login())
	require.Contains(t, do(s, "GET", "/_users/org.couchdb.user:old", "").Body.String(), `"x":1`)
}

// The body of a request and the security object that decides about it must not share a parser.
func TestDBAdminSetsSecurity(t *testing.T) {
	s := openServer(t, 1)
	require.Equal(t, 200, do(s, "PUT", "/db/_security", `{"admins":{"names":["joe0"]}}`).Code)
	require.Equal(t, 200, do(s, "PUT", "/db/_security", `{"admins":{"names":["joe0"]},"x":[1,2]}`, as("joe0")...).Code)
	expect(t, do(s, "GET", "/db/_security", ""), 200, `{"admins":{"names":["joe0"]},"x":[1,2]}`+"\n")
	require.Equal(t, 200, do(s, "PUT", "/db/_revs_limit", "7", as("joe0")...).Code)
	expect(t, do(s, "GET", "/db/_revs_limit", ""), 200, "7\n")
}

func TestPeer(t *testing.T) {
	s := openServer(t, 0)
	for _, c := range []struct{ remote, forwarded, want string }{
		{"8.8.8.8:1", "1.2.3.4", "8.8.8.8"}, {"127.0.0.1:1", "", "127.0.0.1"}, {"127.0.0.1:1", "6.6.6.6, 1.2.3.4", "1.2.3.4"},
		{"[::1]:1", "1.2.3.4", "1.2.3.4"}, {"192.168.1.1:1", strings.Repeat("x", 65), "192.168.1.1"}, {"pipe", "", "pipe"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Forwarded-For", c.forwarded)
		require.Equal(t, c.want, (&Call{srv: s, r: r}).peer(), c)
	}
}

func FuzzWithMember(f *testing.F) {
	f.Add(`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`, "joe")
	f.Add(`{"x":1,"admins":{"names":["joe","jim"]}}`, "jim")
	f.Fuzz(func(t *testing.T, text, user string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object || !utf8.ValidString(user) { // ids of documents are UTF-8
			return
		}
		next, _ := withMember(v, user, true)
		added, err := ejson.Parse(next)
		require.NoError(t, err)
		if again, changed := withMember(added, user, true); changed && !slices.Equal(again, next) {
			t.Fatalf("%s, %s", next, again)
		}
		removed, _ := withMember(added, user, false)
		_, err = ejson.Parse(removed)
		require.NoError(t, err)
	})
}

func FuzzParseHandlers(f *testing.F) {
	f.Add("{chttpd_auth, cookie_authentication_handler}, {x,y}")
	f.Fuzz(func(t *testing.T, setting string) {
		if len(parseHandlers(setting)) == 0 {
			t.Fatal("no handler is left")
		}
		auth.ParseClaims(setting)
		auth.ParsePath(setting)
		auth.ParsePolicy(setting)
	})
}
