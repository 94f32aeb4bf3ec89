package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
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
				case strings.HasSuffix(r.Users.Text, "else 403") && user != "boss": // there is no such view
					require.Contains(t, []int{401, 403}, w.Code, "%s %s as %q: %s", method, r.Pattern, user, w.Body)
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

// TestAdministratorsAskWhoSees: an administrator of the database is told whom each leaf of a document is
// for, a tombstone's list too, and what a user sees; users are told neither.
func TestAdministratorsAskWhoSees(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	expect201(t, s.Do("PUT", "/notes?access=true", ""))
	security := `{"admins":{"names":["joe1"]},"members":{"roles":["r"]}}`
	require.Equal(t, 200, s.Do("PUT", "/notes/_security", security).Code)
	boss, user := servertest.As("joe1"), servertest.As("joe0")
	for _, doc := range []string{
		`{"_id":"a","_access":["joe0"]}`, `{"_id":"b","_access":["role:sales","_users"]}`,
		`{"_id":"c"}`, `{"_id":"d","_access":["role:sales"]}`,
	} {
		expect201(t, s.Do("POST", "/notes", doc))
	}
	rev := servertest.ETag(s.Do("HEAD", "/notes/a", ""))
	require.Equal(t, 200, s.Do("DELETE", "/notes/a?rev="+strings.Trim(rev, `"`), "", user...).Code)
	for id, want := range map[string]string{
		"a": `"deleted":true,"access":["joe0"],"inherited":true}]}`,
		"b": `"access":["_users","role:sales"]}]}`,
		"c": `"access":[]}]}`,
	} {
		w := s.Do("GET", "/notes/_access/"+id, "", boss...)
		require.Equal(t, 200, w.Code)
		require.True(t, strings.HasSuffix(w.Body.String(), want+"\n"), w.Body)
		require.Equal(t, 401, s.Do("GET", "/notes/_access/"+id, "", user...).Code)
	}
	require.Equal(t, 404, s.Do("GET", "/notes/_access/x", "", boss...).Code)

	ids := func(query string) string {
		w := s.Do("GET", "/notes/_access/"+query, "", boss...)
		require.Equal(t, 200, w.Code, w.Body)
		var list struct{ Rows []struct{ ID string } }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
		all := ""
		for _, row := range list.Rows {
			all += row.ID
		}
		return all
	}
	require.Equal(t, "b", ids(`joe0/_all_docs?roles=["r"]`))
	require.Equal(t, "bd", ids(`nobody-yet/_all_docs?roles=["r","sales"]`))
	require.Equal(t, "d", ids(`ann/_all_docs?roles=["r","sales"]&start_key="c"`))
	require.Equal(t, "bcd", ids(`joe1/_all_docs?roles=["r"]`), "an administrator sees all")
	refused := s.Do("GET", `/notes/_access/ann/_all_docs?roles=["sales"]`, "", boss...)
	require.Equal(t, 403, refused.Code, "is no member")
	require.Equal(t, 401, s.Do("GET", `/notes/_access/joe0/_all_docs?roles=["r"]`, "", user...).Code)
	for _, roles := range []string{`r`, `"r"`, `[1]`, `{}`} {
		require.Equal(t, 400, s.Do("GET", "/notes/_access/joe0/_all_docs?roles="+roles, "", boss...).Code, roles)
	}
	for _, path := range []string{"doc", "joe0/_all_docs"} {
		require.Equal(t, 404, s.Do("GET", "/db/_access/"+path, "").Code, "a plain database has no such paths")
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

// asked holds what administrators are told: that lists of leaves are those that were worked out here, and
// that what a user sees is what the user is shown.
func (w *sliceWorld) asked(user string, all map[string][]sliceLeaf) {
	for id, leaves := range all {
		answer := w.do("admin", "GET", "/db/_access/"+strings.ReplaceAll(id, "/", "%2F"), "")
		if len(leaves) == 0 {
			require.Equal(w.t, http.StatusNotFound, answer.Code, w.story())
			continue
		}
		var told struct {
			Leaves []struct {
				Rev       string
				Deleted   bool
				Access    []string
				Inherited bool
			}
		}
		require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &told), answer.Body)
		require.Len(w.t, told.Leaves, len(leaves), w.story())
		for _, leaf := range told.Leaves {
			i := slices.IndexFunc(leaves, func(l sliceLeaf) bool { return l.rev == leaf.Rev })
			require.GreaterOrEqual(w.t, i, 0, w.story())
			list := slices.Compact(slices.Sorted(slices.Values(w.lists[id+" "+leaf.Rev])))
			require.ElementsMatch(w.t, list, leaf.Access, "%s %s\n%s", id, leaf.Rev, w.story())
			require.Equal(w.t, leaves[i].deleted, leaf.Deleted, id)
			require.Equal(w.t, !leaves[i].given && len(list) > 0, leaf.Inherited, id)
		}
	}
	if user == "" {
		return
	}
	roles, err := json.Marshal(append([]string{}, w.roles[user]...))
	require.NoError(w.t, err)
	query := "?include_docs=true&roles=" + url.QueryEscape(string(roles))
	told := w.do("admin", "GET", "/db/_access/"+user+"/_all_docs"+query, "")
	own := w.do(user, "GET", "/db/_all_docs?include_docs=true", "")
	require.Equal(w.t, http.StatusOK, own.Code, own.Body)
	require.Equal(w.t, own.Body.String(), told.Body.String(), "%s\n%s", user, w.story())
}

func leafRevs(leaves []sliceLeaf) (revs []string) {
	for _, leaf := range leaves {
		revs = append(revs, leaf.rev)
	}
	return revs
}
