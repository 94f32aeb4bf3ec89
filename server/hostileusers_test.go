package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// Users of a database with access for each document who look for what is not theirs.

// secretServer has users, and a database in which all that is not bob's or for everybody has the
// word secret in it: ids, bodies, names of attachments, conflicts, what was deleted, _local
// documents. bob and nobody are let in.
func secretServer(t *testing.T) *servertest.Server {
	s := matrixServer(t)
	for _, name := range []string{"ann", "bob"} {
		expect201(t, s.Do("PUT", "/_users/org.couchdb.user:"+name,
			`{"name":"`+name+`","type":"user","roles":["r"],"password":"p"}`))
	}
	expect201(t, s.Do("PUT", "/db?access=true", ""))
	require.Equal(t, 200, s.Do("PUT", "/db/_security", "{}").Code)
	ann := append(servertest.As("ann"), "Accept", "application/json")
	for _, doc := range []string{
		`{"_id":"secret1","_access":["ann"],"word":"secret","k":1}`,
		`{"_id":"secret2","_access":["ann"],
			"_attachments":{"secret.txt":{"content_type":"text/plain","data":"c2VjcmV0"}}}`,
		`{"_id":"secret3","_access":["ann"],"_deleted":false}`,
	} {
		expect201(t, s.Do("POST", "/db", doc, ann...))
	}
	gone := s.Do("GET", "/db/secret3", "", ann...)
	gone = s.Do("DELETE", "/db/secret3?rev="+strings.Trim(servertest.ETag(gone), `"`), "", ann...)
	require.Equal(t, 200, gone.Code)
	expect201(t, s.Do("PUT", "/db/_local/secret", `{"word":"secret"}`, ann...))
	expect201(t, s.Do("PUT", "/db/_local/secretadmin", `{"word":"secret"}`))
	expect201(t, s.Do("PUT", "/db/_design/secret", `{"views":{"v":{"map":"function(doc){emit(doc.word)}"}}}`))
	expect201(t, s.Do("PUT", "/db/_design/d", `{"_access":["_users"],"x":1}`))
	// A document of both, one of whose leaves is ann's.
	for _, leaf := range []string{
		`"_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"_access":["bob"]`,
		`"_rev":"2-secret","_revisions":{"start":2,"ids":["secret","a"]},"_access":["ann"],"word":"secret"`,
		`"_rev":"9-secret","_revisions":{"start":9,"ids":["secret"]},"_access":[],"word":"secret"`,
	} {
		w := s.Do("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"both",`+leaf+`}]}`)
		servertest.Expect(t, w, 201, "[]\n")
	}
	expect201(t, s.Do("PUT", "/db/x", `{"_access":["bob"],"k":1}`, servertest.As("bob")...))
	return s
}

// allOf is an answer with its headers.
func allOf(w *httptest.ResponseRecorder) string {
	return fmt.Sprint(w.Code, " ", w.Header(), " ", w.Body)
}

// TestHostileUsers: whatever row a user or nobody asks, with whatever options, no answer has
// anything of others in it.
func TestHostileUsers(t *testing.T) {
	s := secretServer(t)
	s.Set("chttpd", "admin_only_all_dbs", "false")
	queries := []string{
		"", "include_docs=true&conflicts=true&deleted_conflicts=true&attachments=true&limit=100",
		"revs_info=true&conflicts=true&deleted_conflicts=true&local_seq=true&meta=true",
		"open_revs=all&revs=true", "style=all_docs&include_docs=true&since=0",
		"style=all_docs&descending=true&conflicts=true&include_docs=true", "filter=_view&view=secre/v", "filter=_design",
		"startkey=%22s%22&include_docs=true", "rev=9-xx&latest=true", "feed=longpoll&timeout=1", "feed=continuous&timeout=1",
		"feed=eventsource&timeout=1", "update_seq=true&reduce=false",
	}
	bodies := []string{
		"", "{}", `{"keys":["x","both"],"include_docs":true}`, `{"selector":{"word":{"$gt":null}}}`,
		`{"docs":[{"id":"both"},{"id":"x"}]}`,
		`{"both":["1-a","2-b","3-c"],"x":["1-a"]}`, `{"queries":[{"include_docs":true}]}`, `{"doc_ids":["both"]}`,
		`{"keys":["db"]}`, `{"docs":[{"_id":"both","_rev":"2-b","_access":["bob"]}]}`,
	}
	admin, _ := s.Config.Get("admins", "admin")
	asked := 0
	for _, r := range server.Routes() {
		for _, method := range strings.Split(strings.ReplaceAll(r.Methods, "*", "GET"), ",") {
			if r.Pattern == "/_session" && method != "GET" || strings.HasPrefix(r.Pattern, "/_utils") ||
				strings.HasPrefix(r.Pattern, "/_console") || r.Pattern == "/_replicate" {
				continue
			}
			for _, id := range []string{"x", "both"} {
				target := strings.ReplaceAll(strings.ReplaceAll(matrixTarget(r.Pattern), "/db/x", "/db/"+id), "{", "")
				if id == "both" && !strings.Contains(target, "both") {
					continue
				}
				for _, query := range queries {
					for _, body := range bodies {
						if body != "" && !slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
							continue
						}
						for _, user := range []string{"bob", ""} {
							s.Set("admins", "admin", admin)
							headers := []string{"Authorization", "", "Accept", "application/json"}
							if user != "" {
								headers[1] = servertest.Basic(user, "p")
							}
							w := s.Do(method, target+"?"+query, body, headers...)
							require.NotContains(t, allOf(w), "secret",
								"%s %s?%s %s as %q", method, target, query, body, user)
							asked++
						}
					}
				}
			}
		}
	}
	require.Greater(t, asked, 5000)
	for _, id := range []string{"secret1", "secret2", "both"} {
		require.Equal(t, 200, s.Do("GET", "/db/"+id, "", servertest.As("ann")...).Code, id)
	}
}

// TestGuessedIDs: who guesses the id of another's document, or even a revision, reads what is read
// of an id that there is not.
func TestGuessedIDs(t *testing.T) {
	s := secretServer(t)
	rev := strings.Trim(servertest.ETag(s.Do("GET", "/db/secret1", "")), `"`)
	for _, id := range []string{"secret1", "secret2", "secret3", "_design/secret", "_local/secret", "_local/secretadmin"} {
		other := strings.Replace(id, "secret", "nosuch", 1)
		for _, path := range []string{
			"", "?rev=" + rev, "?rev=" + rev + "&latest=true", "?open_revs=all", "?open_revs=%5B%22" + rev + "%22%5D",
			"?revs_info=true&conflicts=true", "/secret.txt", "/secret.txt?rev=" + rev, "?deleted=true", "?fields=%5B%22word%22%5D",
		} {
			for _, method := range []string{"GET", "HEAD"} {
				same(t, s, method, "/db/"+id+path, "", id, other)
			}
		}
		for _, method := range []string{"DELETE", "PATCH", "COPY"} {
			if strings.HasPrefix(id, "_") {
				continue
			}
			target := "/db/" + id
			w := s.Do(method, target, `{"a":1}`,
				append(servertest.As("bob"), "Destination", "y", "Accept", "application/json")...)
			require.Contains(t, []int{403, 404}, w.Code, "%s %s: %s", method, target, w.Body)
		}
		for path, body := range map[string]string{
			"/_bulk_get?revs=true":                     `{"docs":[{"id":"ID"},{"id":"ID","rev":"` + rev + `"}]}`,
			"/_bulk_get?latest=true":                   `{"docs":[{"id":"ID","rev":"` + rev + `"}]}`,
			"/_revs_diff":                              `{"ID":["` + rev + `","2-x"]}`,
			"/_missing_revs":                           `{"ID":["` + rev + `"]}`,
			"/_all_docs?include_docs=true":             `{"keys":["ID"]}`,
			"/_all_docs/queries":                       `{"queries":[{"keys":["ID"]},{"key":"ID"}]}`,
			"/_changes?filter=_doc_ids&style=all_docs": `{"doc_ids":["ID"]}`,
			"/_changes?filter=_selector":               `{"selector":{"_id":"ID"}}`,
		} {
			same(t, s, "POST", "/db"+path, body, id, other)
		}
	}
	// To write over a taken id is refused, which tells that it is taken: by each way in the same words.
	for method, target := range map[string]string{"PUT": "/db/secret1", "POST": "/db"} {
		w := s.Do(method, target, `{"_id":"secret1","_access":["bob"]}`, servertest.As("bob")...)
		servertest.Expect(t, w, 403, `{"error":"forbidden","reason":"access"}`+"\n")
	}
	docs := `{"docs":[{"_id":"secret1","_access":["bob"]},{"_id":"new","_access":["bob"]}]}`
	rows := s.Do("POST", "/db/_bulk_docs", docs, servertest.As("bob")...)
	var written []struct {
		OK            bool
		Error, Reason string
	}
	require.NoError(t, json.Unmarshal(rows.Body.Bytes(), &written), rows.Body)
	require.Len(t, written, 2)
	require.Equal(t, "forbidden access", written[0].Error+" "+written[0].Reason)
	require.True(t, written[1].OK)
}

// same asks bob's question about an id and about another that there is not.
func same(t *testing.T, s *servertest.Server, method, target, body, id, other string) {
	t.Helper()
	headers := append(servertest.As("bob"), "Accept", "application/json", "X-Couch-Request-Id", "r")
	ask := func(id, with string) string {
		w := s.Do(method, strings.ReplaceAll(target, id, with), strings.ReplaceAll(body, "ID", with), headers...)
		w.Header().Del("Date")
		w.Header().Del("X-CouchDB-Body-Time")
		return strings.ReplaceAll(allOf(w), with, "ID")
	}
	require.Equal(t, ask(id, other), ask(id, id), "%s %s %s", method, target, body)
}

// TestTooManyRoles: 64 roles count; more are refused, and of other databases nobody asks how many.
func TestTooManyRoles(t *testing.T) {
	s := secretServer(t)
	expect201(t, s.Do("PUT", "/plain", ""))
	require.Equal(t, 200, s.Do("PUT", "/plain/_security", "{}").Code)
	for n, status := range map[int]int{64: 200, 65: 403} {
		roles := make([]string, n)
		for i := range roles {
			roles[i] = fmt.Sprintf(`"r%d"`, i)
		}
		name := fmt.Sprint("many", n)
		expect201(t, s.Do("PUT", "/_users/org.couchdb.user:"+name,
			`{"name":"`+name+`","type":"user","roles":[`+strings.Join(roles, ",")+`],"password":"p"}`))
		w := s.Do("GET", "/db/_all_docs", "", servertest.As(name)...)
		require.Equal(t, status, w.Code, w.Body)
		require.Equal(t, n > 64, strings.Contains(w.Body.String(), "too_many_roles"))
		require.Equal(t, 200, s.Do("GET", "/plain/_all_docs", "", servertest.As(name)...).Code)
	}
}

// TestReplicationAsUser: a replication of this server sees what its user sees, and takes back what
// the user may write.
func TestReplicationAsUser(t *testing.T) {
	s := secretServer(t)
	expect201(t, s.Do("PUT", "/mine", ""))
	require.Equal(t, 200, s.Do("PUT", "/mine/_security", "{}").Code)
	bob := servertest.As("bob")
	pull := s.Do("POST", "/_replicate", `{"source":"db","target":"mine"}`, bob...)
	require.Equal(t, 200, pull.Code, pull.Body)
	for _, path := range []string{"/mine/_all_docs?include_docs=true&conflicts=true", "/mine/_changes?style=all_docs"} {
		w := s.Do("GET", path, "")
		require.NotContains(t, w.Body.String(), "secret")
		require.Contains(t, w.Body.String(), `"both"`)
		require.Contains(t, w.Body.String(), `"x"`)
	}
	expect201(t, s.Do("PUT", "/mine/new", `{"_access":["bob"]}`))
	expect201(t, s.Do("PUT", "/mine/secret1", `{"_access":["bob"]}`))
	push := s.Do("POST", "/_replicate", `{"source":"mine","target":"db"}`, bob...)
	require.Equal(t, 200, push.Code, push.Body)
	require.Contains(t, push.Body.String(), `"doc_write_failures":1`)
	require.Equal(t, 200, s.Do("GET", "/db/new", "", bob...).Code)
	require.Equal(t, 404, s.Do("GET", "/db/secret1", "", bob...).Code)
}
