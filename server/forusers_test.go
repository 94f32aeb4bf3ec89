package server_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

const accessFile = "../docs/access.md"

// TestEveryRowSaysWhatUsersGet: each row below /{db} has its line, no line is of a row that there is
// not, and the manual has the table.
func TestEveryRowSaysWhatUsersGet(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range server.Routes() {
		name := r.Methods + " " + r.Pattern
		if !strings.HasPrefix(r.Pattern, "/{db}") {
			continue
		}
		rows[name] = true
		require.NotEmpty(t, r.Users.Text, "%s: what do users get where access is for each document?", name)
	}
	for name := range server.ForUsers {
		require.True(t, rows[name], "%s is no row", name)
	}
	text, err := os.ReadFile(accessFile)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), "| path | methods | administrators |")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "\n\n")
	require.True(t, found)
	want := before + server.UsersTable() + "\n" + after
	if *update {
		require.NoError(t, os.WriteFile(accessFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "stale: run go test ./server -run TestEveryRowSaysWhatUsersGet -update")
}

// TestUsersGetWhatTheTableSays asks each row in a database with access for each document, as a user
// and as nobody: what the table refuses is 403 with its reason, whatever else the row would say;
// administrators of the database are not refused for it.
func TestUsersGetWhatTheTableSays(t *testing.T) {
	s := matrixServer(t)
	for _, name := range []string{"ann", "boss"} {
		expect201(t, s.Do("PUT", "/_users/org.couchdb.user:"+name,
			`{"name":"`+name+`","type":"user","roles":[],"password":"p"}`))
	}
	admin, _ := s.Config.Get("admins", "admin")
	refused, open := 0, 0
	for _, r := range server.Routes() {
		if !strings.HasPrefix(r.Pattern, "/{db}") {
			continue
		}
		for _, method := range strings.Split(strings.ReplaceAll(r.Methods, "*", "GET"), ",") {
			for _, user := range []string{"ann", "", "boss"} {
				s.Set("admins", "admin", admin)
				if s.Do("HEAD", "/db", "").Code != 200 {
					expect201(t, s.Do("PUT", "/db?access=true", ""))
				}
				require.Equal(t, 200, s.Do("PUT", "/db/_security", `{"admins":{"names":["boss"]}}`).Code)
				headers := []string{"Authorization", "", "Accept", "application/json"}
				if user != "" {
					headers[1] = servertest.Basic(user, "p")
				}
				target := matrixTarget(r.Pattern)
				if strings.HasPrefix(r.Pattern, "/{db}/_changes") {
					target += "?feed=normal"
				}
				w := s.Do(method, target, "{}", headers...)
				says := strings.Contains(w.Body.String(), "access for each document")
				switch {
				case method == http.MethodHead:
					require.Equal(t, user != "boss" && !r.Users.Open, w.Code == 403 || w.Code == 401,
						"%s %s as %q", method, r.Pattern, user)
				case r.Users.Open, user == "boss":
					open++
					require.False(t, says, "%s %s as %q: %s", method, r.Pattern, user, w.Body)
				case w.Code != http.StatusUnauthorized: // for administrators in every database
					refused++
					require.Equal(t, 403, w.Code, "%s %s as %q: %s", method, r.Pattern, user, w.Body)
					require.Contains(t, w.Body.String(), r.Users.Text)
				}
			}
		}
	}
	require.Greater(t, refused, 100)
	require.Greater(t, open, 200)
}

// TestAccessOption: what creates a database with access for each document, and shows and sets it.
func TestAccessOption(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	bad := `{"error":"bad_request","reason":"The ` + "`access`" + ` value should be a boolean."}` + "\n"
	servertest.Expect(t, s.Do("PUT", "/a?access=yes", ""), 400, bad)
	require.Equal(t, 401, s.Do("PUT", "/a?access=true", "", servertest.As("joe0")...).Code)
	expect201(t, s.Do("PUT", "/a?access=true", ""))
	require.Equal(t, 412, s.Do("PUT", "/a?access=true", "").Code)
	expect201(t, s.Do("PUT", "/plain?access=false", ""))
	expect201(t, s.Do("PUT", "/both?access=true&partitioned=true", ""))
	for _, name := range []string{"_replicator", "x%2F_replicator", "_users"} {
		require.Equal(t, 400, s.Do("PUT", "/"+name+"?access=true", "").Code, name)
	}
	require.Contains(t, s.Do("GET", "/a", "").Body.String(), `"props":{"access":true}`)
	require.Contains(t, s.Do("GET", "/both", "").Body.String(), `"props":{"partitioned":true,"access":true}`)
	require.Contains(t, s.Do("GET", "/plain", "").Body.String(), `"props":{}`)

	require.Equal(t, 200, s.Do("PUT", "/a/_security", `{"admins":{"names":["joe1"]}}`).Code)
	servertest.Expect(t, s.Do("GET", "/a/_access", "", servertest.As("joe0")...), 200, `{"share":"self"}`+"\n")
	require.Equal(t, 403, s.Do("PUT", "/a/_access", `{"share":"any"}`, servertest.As("joe0")...).Code)
	for _, body := range []string{`{}`, `{"share":"all"}`, `{"share":1}`, `{"share":"any","x":1}`, `[]`, `"any"`} {
		require.Equal(t, 400, s.Do("PUT", "/a/_access", body).Code, body)
	}
	w := s.Do("PUT", "/a/_access", `{"share":"any"}`, servertest.As("joe1")...)
	servertest.Expect(t, w, 200, `{"ok":true}`+"\n")
	servertest.Expect(t, s.Do("GET", "/a/_access", ""), 200, `{"share":"any"}`+"\n")

	for method, status := range map[string]int{"GET": 404, "PUT": 400} { // as of any such name
		w, other := s.Do(method, "/plain/_access", "{}"), s.Do(method, "/plain/_xccess", "{}")
		servertest.Expect(t, w, status, other.Body.String())
	}
}

// TestDesignsAreForAllOrAdmins: a design document may be for everybody who has signed in, or for
// administrators, who alone write it.
func TestDesignsAreForAllOrAdmins(t *testing.T) {
	s := matrixServer(t)
	expect201(t, s.Do("PUT", "/notes?access=true", ""))
	expect201(t, s.Do("PUT", "/notes/_design/none", `{}`))
	expect201(t, s.Do("PUT", "/notes/_design/empty", `{"_access":[]}`))
	expect201(t, s.Do("PUT", "/notes/_design/all", `{"_access":["_users"]}`))
	for _, list := range []string{`["ann"]`, `["role:sales"]`, `["_users","ann"]`, `["ann","_users"]`} {
		w := s.Do("PUT", "/notes/_design/some", `{"_access":`+list+`}`)
		require.Equal(t, http.StatusBadRequest, w.Code, list)
		require.Contains(t, w.Body.String(), `"error":"invalid_access"`, list)
		expect201(t, s.Do("POST", "/notes", `{"_access":`+list+`}`)) // another document may be
	}
	require.Equal(t, http.StatusNotFound, s.Do("GET", "/notes/_design/some", "").Code)
}
