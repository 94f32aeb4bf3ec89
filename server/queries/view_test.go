package queries_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// newViewServer is a server with the database db of ten documents and a design document on them.
func newViewServer(t testing.TB, options string) *servertest.Server {
	t.Helper()
	s := servertest.New(t)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db"+options, "").Code)
	prefix := ""
	if options != "" {
		prefix = "p:"
	}
	for i := range 10 {
		body := fmt.Sprintf(`{"k":%d,"v":{"_id":"%sd%d"},"g":["g",%d]}`, i, prefix, (i+1)%10, i%3)
		require.Equal(t, http.StatusCreated, s.Do("PUT", fmt.Sprintf("/db/%sd%d", prefix, i), body).Code)
	}
	w := s.Do("PUT",
		"/db/_design/d",
		`{"language":"member","views":{"m":{"map":"k"},"l":{"map":"k v"},"r":{"map":"g k","reduce":"_sum"}}}`,
	)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	return s
}

// TestOtherLanguages: design documents in a language that cannot be run are stored like any other;
// using them says so.
func TestOtherLanguages(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	design := `{"language":"erlang","views":{"v":{"map":"fun({Doc}) -> Emit(1, null) end."}}}`
	require.Equal(t, 201, s.Do("PUT", "/db/_design/c", design).Code)
	require.Equal(t, 200, s.Do("GET", "/db/_design/c", "").Code)
	w := s.Do("GET", "/db/_design/c/_view/v", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"error":"unknown_query_language","reason":"erlang"`)
	require.Equal(t, 201, s.Do("PUT", "/db/a", "{}").Code) // a view of another language holds up no writes
}

func TestViewAnswers(t *testing.T) {
	s := newViewServer(t, "")
	for _, c := range []struct{ method, target, body, answer string }{
		{"GET", "m?limit=2", "", "{\"total_rows\":10,\"offset\":0,\"rows\":[\r\n{\"id\":\"d0\",\"key\":0,\"value\":null},\r\n{\"id\":\"d1\",\"key\":1,\"value\":null}\r\n]}\n"},
		{"GET", "m?key=77", "", "{\"total_rows\":10,\"offset\":10,\"rows\":[\r\n\r\n]}\n"},
		{"POST", "m?skip=9", "{}", "{\"total_rows\":10,\"offset\":9,\"rows\":[\r\n{\"id\":\"d9\",\"key\":9,\"value\":null}\r\n]}\n"},
		{"POST", "m", `{"keys":[3,1]}`, "{\"total_rows\":10,\"offset\":3,\"rows\":[\r\n{\"id\":\"d3\",\"key\":3,\"value\":null},\r\n{\"id\":\"d1\",\"key\":1,\"value\":null}\r\n]}\n"},
		{"GET", "r", "", "{\"rows\":[\r\n{\"key\":null,\"value\":45}\r\n]}\n"},
		{"GET", "r?group=true&descending=true", "", "{\"rows\":[\r\n{\"key\":[\"g\",2],\"value\":15},\r\n{\"key\":[\"g\",1],\"value\":12},\r\n{\"key\":[\"g\",0],\"value\":18}\r\n]}\n"},
		{"GET", "r?key=7", "", "{\"rows\":[\r\n\r\n]}\n"},
		{"POST", "m/queries", `{"queries":[{"limit":0},{"key":4}]}`, "{\"results\":[\r\n{\"total_rows\":10,\"offset\":0,\"rows\":[\r\n\r\n]},\r\n" +
			"{\"total_rows\":10,\"offset\":4,\"rows\":[\r\n{\"id\":\"d4\",\"key\":4,\"value\":null}\r\n]}\r\n]}\n"},
		{"POST", "m/queries", `{"queries":[]}`, "{\"results\":[\r\n]}\n"},
	} {
		w := s.Do(c.method, "/db/_design/d/_view/"+c.target, c.body)
		servertest.Expect(t, w, http.StatusOK, c.answer)
		require.Empty(t, w.Header().Get("ETag"))
		require.Equal(t, "must-revalidate", w.Header().Get("Cache-Control"))
	}
	require.Contains(t, s.Do("GET", "/db/_design/d/_view/r?update_seq=true", "").Body.String(), `{"update_seq":"`)
	require.Empty(t, s.Do("HEAD", "/db/_design/d/_view/m", "").Body.String())
}

func TestViewErrorsAndTheirOrder(t *testing.T) {
	s := newViewServer(t, "")
	for _, c := range []struct {
		method, target, body string
		status               int
		reason               string
	}{
		{"GET", "none/_view/m?limit=x", "", 404, "missing"},
		{"PUT", "none/_view/m", "", 404, "missing"},
		{"PUT", "d/_view/m", "", 405, "Only GET,POST,HEAD allowed"},
		{"GET", "d/_view", "", 405, "Only GET,POST,HEAD allowed"},
		{"GET", "d/_view/m/x", "", 405, "Only GET,POST,HEAD allowed"},
		{"GET", "d/_view/m/queries", "", 405, "Only POST allowed"},
		{"POST", "none/_info", "{}", 404, "missing"},
		{"POST", "d/_info", "{}", 405, "Only GET allowed"},
		{"GET", "d/_view/none?limit=x", "", 400, `Invalid value for integer: "x"`},
		{"GET", "d/_view/none?group=true", "", 404, "missing_named_view"},
		{"GET", "d/_view/m?group=true", "", 400, "Invalid use of grouping on a map view."},
		{"GET", "d/_view/r?include_docs=true", "", 400, "`include_docs` is invalid for reduce"},
		{"POST", "d/_view/m", "[]", 400, "Request body must be a JSON object"},
		{"POST", "d/_view/none/queries", `{"queries":[{}]}`, 404, "missing_named_view"},
		{"POST", "d/_view/m/queries", `{}`, 400, "POST body must include `queries` parameter."},
		{"GET", "d/_view/m?bookmark=x", "", 400, "Invalid value for `bookmark`."},
	} {
		w := s.Do(c.method, "/db/_design/"+c.target, c.body)
		var answer struct{ Reason string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), c.target)
		require.Equal(t, c.reason, answer.Reason, "%s %s", c.method, c.target)
		require.Equal(t, c.status, w.Code)
	}
	w := s.Do("GET", "/db/_design/d/_view/m?startkey=2&endkey=1", "")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), `"ref":`)
	w = s.Do("POST", "/db/_design/d/_view/m/queries", `{"queries":[{"startkey":2,"endkey":1}]}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.NotContains(t, w.Body.String(), `"ref":`)
}

func TestViewDocuments(t *testing.T) {
	s := newViewServer(t, "")
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("POST",
			"/db/_bulk_docs",
			`{"docs":[{"_id":"c","_rev":"1-aa","x":1},{"_id":"c","_rev":"1-bb","k":100}],"new_edits":false}`,
		).Code,
	)
	var answer struct {
		Rows []struct{ Doc map[string]any }
	}
	read := func(query string) map[string]any {
		answer.Rows = nil
		w := s.Do("GET", "/db/_design/d/_view/"+query, "")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body)
		require.Len(t, answer.Rows, 1)
		return answer.Rows[0].Doc
	}
	require.Equal(t, "d4", read("m?include_docs=true&key=4")["_id"])
	require.Equal(t, "d5", read("l?include_docs=true&key=4")["_id"])
	require.Equal(t, []any{"1-aa"}, read("m?include_docs=true&conflicts=true&key=100")["_conflicts"])
	require.NotContains(t, read("m?include_docs=true&key=100"), "_conflicts")

	var doc map[string]any
	require.NoError(t, json.Unmarshal(s.Do("GET", "/db/d5", "").Body.Bytes(), &doc))
	require.Equal(t, http.StatusOK, s.Do("DELETE", "/db/d5?rev="+doc["_rev"].(string), "").Code)
	require.Nil(t, read("l?include_docs=true&key=4"))
	for _, c := range [][2]string{{`{"_id":"d1","_rev":"x"}`, "Invalid rev format"}, {`{"_rev":1}`, "Invalid rev format"}} {
		require.Equal(
			t,
			http.StatusCreated,
			s.Do("PUT", "/db/link"+url.PathEscape(c[0]), `{"k":"link","v":`+c[0]+`}`).Code,
		)
		w := s.Do("GET", `/db/_design/d/_view/l?include_docs=true&key="link"`, "")
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), c[1])
	}
}

func TestViewPages(t *testing.T) {
	s := newViewServer(t, "")
	for query, want := range map[string]int{"m?limit=3": 10, "m?limit=5&descending=true&skip=1": 9, "r?group=true&limit=2": 3, "r?group_level=2&limit=1&descending=true": 3, "m?limit=50": 10, "m?key=3&limit=1": 1} {
		bookmark, got := "", 0
		for range 12 {
			var answer struct {
				Rows     []json.RawMessage
				Bookmark *string
			}
			w := s.Do("GET", "/db/_design/d/_view/"+query+"&bookmark="+bookmark, "")
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body)
			got += len(answer.Rows)
			if answer.Bookmark == nil {
				bookmark = "end"
				break
			}
			bookmark = *answer.Bookmark
		}
		require.Equal(t, "end", bookmark, query)
		require.Equal(t, want, got, query)
	}
}

func TestViewsOfAPartition(t *testing.T) {
	s := newViewServer(t, "?partitioned=true")
	require.Contains(t, s.Do("GET", "/db/_design/d/_view/m", "").Body.String(), "mandatory")
	for _, target := range []string{"/db/_partition/p/_design/d/_view/m?key=3", "/db/_design/d/_view/m?key=3&partition=p"} {
		servertest.Expect(t,
			s.Do("GET", target, ""),
			http.StatusOK,
			"{\"total_rows\":10,\"offset\":3,\"rows\":[\r\n{\"id\":\"p:d3\",\"key\":3,\"value\":null}\r\n]}\n",
		)
	}
	servertest.Expect(t, s.Do("GET", "/db/_partition/q/_design/d/_view/r", ""), http.StatusOK, "{\"rows\":[\r\n\r\n]}\n")
}

func TestDocumentsWhoseMapFunctionFailed(t *testing.T) {
	s := newViewServer(t, "")
	for _, id := range []string{"b1", "b2", "b3"} {
		require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/"+id, `{"k":"bad"}`).Code)
	}
	require.Contains(t, s.Do("GET", "/db/_design/d/_view/m?limit=0", "").Body.String(), `"total_rows":10`)
	servertest.Expect(t, s.Do("GET", "/db/_design/d/_view_errors/r", ""), http.StatusOK, "{\"errors\":[\r\n]}\n")
	w := s.Do("GET", `/db/_design/d/_view_errors/m?startkey="b2"&limit=1`, "")
	servertest.Expect(t, w, http.StatusOK, "{\"errors\":[\r\n{\"id\":\"b2\",\"error\":\"a bad key\"}\r\n]}\n")
	require.Equal(t, http.StatusNotFound, s.Do("GET", "/db/_design/d/_view_errors/none", "").Code)
}

func TestDesignDocumentsAreCheckedOnEveryPath(t *testing.T) {
	s := newViewServer(t, "")
	const bad = `"views":{"v":{"map":1}}`
	const reason = "`views.v.map` field must have string type"
	w := s.Do("PUT", "/db/_design/bad", "{"+bad+"}")
	servertest.Expect(t, w, http.StatusBadRequest, `{"error":"invalid_design_doc","reason":"`+reason+"\"}\n")
	w = s.Do("POST", "/db", `{"_id":"_design/bad",`+bad+`}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	for _, more := range []string{"", `,"new_edits":false`} {
		w = s.Do("POST",
			"/db/_bulk_docs",
			`{"docs":[{"_id":"_design/bad","_rev":"1-a",`+bad+`},{"_id":"good`+more[:min(1, len(more))]+`","_rev":"1-a"}]`+more+`}`,
		)
		require.Equal(t, http.StatusCreated, w.Code)
		if more != "" {
			require.Contains(t, w.Body.String(), `"error":"invalid_design_doc","reason":"`+reason)
		}
	}
	w = s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"_design/bad",`+bad+`},{"_id":"fine"}]}`)
	require.Contains(t, w.Body.String(), `{"id":"_design/bad","error":"invalid_design_doc","reason":"`+reason)
	require.Equal(t, http.StatusNotFound, s.Do("GET", "/db/_design/bad", "").Code)
	require.Equal(t, http.StatusOK, s.Do("GET", "/db/fine", "").Code)
	require.Equal(t, http.StatusConflict, s.Do("PUT", "/db/_design/d", "{"+bad+"}").Code)
	w = s.Do("PUT", "/db/_design/bad", `{"language":"member","views":{"v":{"map":"k","options":1}}}`)
	require.Contains(t, w.Body.String(), "`views.v.options` field must have object type")
}

func TestInfoCompactAndCleanup(t *testing.T) {
	s := newViewServer(t, "")
	require.Contains(
		t,
		s.Do("GET", "/db/_design/d/_info", "").Body.String(),
		`"updates_pending":{"minimum":11,"preferred":11,"total":11}`,
	)
	s.Do("GET", "/db/_design/d/_view/m", "")
	info := s.Do("GET", "/db/_design/d/_info", "").Body.String()
	require.Contains(t, info, `{"name":"d","view_index":{"updates_pending":{"minimum":0,`)
	var sizes struct {
		Index struct{ Sizes struct{ File, Active int64 } } `json:"view_index"`
		Sizes struct{ File, Active int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(info), &sizes))
	require.Greater(t, sizes.Index.Sizes.File, sizes.Index.Sizes.Active)
	require.Positive(t, sizes.Index.Sizes.Active)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/empty", "").Code)
	require.NoError(t, json.Unmarshal(s.Do("GET", "/empty", "").Body.Bytes(), &sizes))
	require.Greater(t, sizes.Sizes.File, sizes.Sizes.Active)
	require.Contains(t, info, `"language":"member","compact_running":false,"collator_versions":["153.120"]}}`)
	servertest.Expect(t, s.Do("POST", "/db/_compact/d", "{}"), http.StatusAccepted, "{\"ok\":true}\n")
	servertest.Expect(t,
		s.Do("POST", "/db/_compact/none", "{}"),
		http.StatusNotFound,
		"{\"error\":\"not_found\",\"reason\":\"missing\"}\n",
	)
	servertest.Expect(t, s.Do("POST", "/db/_view_cleanup", ""), http.StatusAccepted, "{\"ok\":true}\n")
	require.Equal(t, http.StatusNotFound, s.Do("POST", "/none/_view_cleanup", "").Code)
}

func TestEmptyRangeInsideAKey(t *testing.T) {
	s := newViewServer(t, "")
	for _, query := range []string{"inclusive_end=false&startkey_docid=d5", "inclusive_end=false&descending=true&startkey_docid=d1"} {
		servertest.Expect(t,
			s.Do("GET", "/db/_design/d/_view/r?key=[\"g\",1]&"+query, ""),
			http.StatusOK,
			"{\"rows\":[\r\n\r\n]}\n",
		)
	}
}

func TestParametersBelowAPartitionAreSorted(t *testing.T) {
	s := newViewServer(t, "?partitioned=true")
	w := s.Do("GET", "/db/_partition/p/_design/d/_view/m?update=x&stale=x", "")
	require.Contains(t, w.Body.String(), "`stale`")
	w = s.Do("GET", "/db/_partition/p/_design/d/_view/m?limit=1&limit=2", "")
	require.Equal(t, 1, strings.Count(w.Body.String(), `"id"`))
}
