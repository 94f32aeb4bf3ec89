package replicator_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// TestCredentialsOfReplicationsAreHidden reads another user's replication document in every way
// there is.
func TestCredentialsOfReplicationsAreHidden(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	const db = "/team%2F_replicator"
	require.Equal(t, 201, s.Do("PUT", db, "").Code)
	require.Equal(t, 200, s.Do("PUT", db+"/_security", "{}").Code)
	const doc = `{"source":"http://me:geheim@127.0.0.1:1/a","target":{"url":"http://127.0.0.1:1/b","headers":{"x":"geheim"},"auth":{"basic":{"username":"me","password":"geheim"}}}}`
	require.Equal(t, 201, s.Do("PUT", db+"/r", doc, servertest.As("joe0")...).Code)
	require.Contains(t, s.Do("GET", db+"/r", "", servertest.As("joe0")...).Body.String(), `"owner":"joe0"`)
	rev := between(s.Do("GET", db+"/r", "").Body.String(), `"_rev":"`, `"`)
	for _, read := range [][3]string{
		{"GET", "/r", ""}, {"GET", "/r?revs=true&conflicts=true", ""}, {"GET", "/r?rev=" + rev, ""}, {"GET", "/r?open_revs=all", ""},
		{"GET", "/_all_docs?include_docs=true", ""}, {"POST", "/_all_docs?include_docs=true", `{"keys":["r"]}`},
		{"GET", "/_changes?include_docs=true", ""}, {"GET", "/_changes?include_docs=true&style=all_docs", ""},
		{"POST", "/_bulk_get", `{"docs":[{"id":"r"}]}`}, {"POST", "/_find", `{"selector":{"_id":"r"}}`},
		{"POST", "/_changes?filter=_selector&include_docs=true", `{"selector":{"_id":"r"}}`},
	} {
		w := s.Do(read[0], db+read[1], read[2], servertest.As("joe1")...)
		require.Equal(t, 200, w.Code, "%s: %s", read[1], w.Body)
		require.Contains(t, w.Body.String(), "127.0.0.1:1/a", read[1])
		require.NotContains(t, w.Body.String(), "geheim", read[1])
		require.Contains(t, s.Do(read[0], db+read[1], read[2]).Body.String(), "geheim", read[1])
	}
	require.Equal(t, 401, s.Do("GET", "/_scheduler/docs/team/_replicator", "", servertest.As("joe1")...).Code)
	require.NotContains(t, s.Do("GET", "/_scheduler/docs/team/_replicator", "").Body.String(), "geheim")
	foreign := `{"_rev":"` + rev + `","owner":"joe0",` + doc[1:]
	servertest.Expect(t, s.Do("PUT", db+"/r", foreign, servertest.As("joe1")...), 403,
		`{"error":"forbidden","reason":"Can't update replication documents from other users."}`+"\n")
}

func between(text, begin, end string) string {
	_, text, _ = strings.Cut(text, begin)
	text, _, _ = strings.Cut(text, end)
	return text
}

// TestLocalReplicationHasTheRightsOfItsUser copies only what its user may read and write.
func TestLocalReplicationHasTheRightsOfItsUser(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	for _, name := range []string{"/src", "/dst", "/closed"} {
		require.Equal(t, 201, s.Do("PUT", name, "").Code)
	}
	for _, name := range []string{"/src", "/dst"} {
		require.Equal(t, 200, s.Do("PUT", name+"/_security", "{}").Code)
	}
	require.Equal(
		t,
		201,
		s.Do("PUT", "/src/a", `{"v":1,"_attachments":{"x":{"content_type":"text/plain","data":"aGVsbG8="}}}`).Code,
	)
	require.Equal(t, 201, s.Do("PUT", "/src/_design/d", `{}`).Code)
	replicate := func(source, target string) string {
		begun := time.Now()
		w := s.Do("POST", "/_replicate", `{"source":"`+source+`","target":"`+target+`"}`, servertest.As("joe0")...)
		require.Less(t, time.Since(begun), time.Minute)
		return w.Body.String()
	}
	// the design document is for admins
	require.Contains(t, replicate("src", "dst"), `"docs_written":1,"doc_write_failures":1`)
	require.Equal(t, 404, s.Do("GET", "/dst/_design/d", "").Code)
	require.Equal(t, "hello", s.Do("GET", "/dst/a/x", "").Body.String())
	require.Contains(t, replicate("src", "closed"), `"error":"forbidden"`)
	require.Contains(t, replicate("closed", "dst"), `"error":"forbidden"`)
	require.Contains(t, replicate("_users", "dst"), `"error":"forbidden"`)
	require.Contains(t, replicate("none", "dst"), `"error":"db_not_found"`)
}

// TestFilterFunctionSeesLocalReplication looks at all that a filter function gets to see of a
// replication on this server.
func TestFilterFunctionSeesLocalReplication(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/dst", "").Code)
	const seen = `{"id":null,"method":"GET","requested_path":[],"path":["db","_changes"],"raw_path":"",` +
		`"query":{"filter":"d/mine","a":"b","feed":"normal","style":"all_docs","since":"0"},"headers":{"Host":""},"body":"undefined","peer":"","form":{},"cookie":{},` +
		`"userCtx":{"db":"db","name":"admin","roles":["_admin"]},"secObj":{"admins":{"names":["x"]},"members":{"names":[],"roles":[]}}}`
	s.PutDesign("d",
		`{"filters":{"mine":"function(doc, req) { if (!doc.seen) return false; var i = req.info.db_name, u = req.uuid.length; delete req.info; delete req.uuid; delete req.query.timeout;`+
			` if (JSON.stringify(req) != doc.seen || i != 'db' || u != 32) throw({forbidden: JSON.stringify(req)}); return true; }"}}`,
	)
	doc, err := json.Marshal(map[string]string{"seen": seen})
	require.NoError(t, err)
	require.Equal(
		t,
		200,
		s.Do("PUT", "/db/_security", `{"admins":{"names":["x"]},"members":{"names":[],"roles":[]}}`).Code,
	)
	require.Equal(t, 201, s.Do("PUT", "/db/a", string(doc)).Code)
	w := s.Do("POST", "/_replicate", `{"source":"db","target":"dst","filter":"d/mine","query_params":{"a":"b"}}`)
	require.Contains(t, w.Body.String(), `"docs_written":1`)
}

// TestFilterThatFails: the error of a replication on this server has the form of one between
// servers.
func TestFilterThatFails(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/dst", "").Code)
	s.PutDesign("d", `{"filters":{"f":"function() { throw 'no such luck'; }"}}`)
	require.Equal(t, 201, s.Do("PUT", "/db/a", "{}").Code)
	w := s.Do("POST", "/_replicate", `{"source":"db","target":"dst","filter":"d/f","retries_per_request":0}`)
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `{"error":"changes_reader_died","reason":"`)
	require.Contains(t, w.Body.String(), "no such luck")
}

// TestSchedulerDocsOptions: options of the list are checked as those of a view, whatever reduce is.
func TestSchedulerDocsOptions(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	require.Equal(t, 201, s.Do("PUT", "/_replicator", "").Code)
	for query, reason := range map[string]string{
		`keys="a"`:               "must be an array of strings",
		`keys=["a","b"]&key="a"`: "incompatible",
		`keys=["a","b"]`:         "not supported",
		`group=true`:             "Invalid use of grouping",
	} {
		w := s.Do("GET", "/_scheduler/docs?"+query, "")
		require.Equal(t, 400, w.Code, query)
		require.Contains(t, w.Body.String(), reason)
	}
	for _, query := range []string{`keys=["a"]`, `keys=[]`, `reduce=true`} {
		require.Equal(t, 200, s.Do("GET", "/_scheduler/docs?"+query, "").Code, query)
	}
}

// TestUserContextIsAnObject: a document whose user_ctx is anything else is refused before its
// endpoints are looked at, in CouchDB's words. In the body of _replicate it says nothing.
func TestUserContextIsAnObject(t *testing.T) {
	s := servertest.New(t)
	if w := s.Do("PUT", "/_replicator", ""); w.Code != 201 && w.Code != 412 {
		t.Fatal(w.Body)
	}
	for value, term := range map[string]string{
		`"x"`: `<<\"x\">>`, `5`: `5`, `null`: `null`, `["a",1]`: `[<<\"a\">>,1]`, `true`: `true`,
	} {
		servertest.Expect(t, s.Do("PUT", "/_replicator/r", `{"source":1,"target":2,"user_ctx":`+value+`}`), 403,
			`{"error":"forbidden","reason":"{error,{case_clause,`+term+`}}"}`+"\n")
	}
	const good = `{"source":"http://127.0.0.1:1/a","target":"http://127.0.0.1:1/b","user_ctx":{}}`
	require.Equal(t, 201, s.Do("PUT", "/_replicator/r", good).Code)
	require.NotContains(t, s.Do("POST", "/_replicate", `{"source":"a","target":"b","user_ctx":5}`).Body.String(), "case_clause")
}
