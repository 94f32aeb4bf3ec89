package find_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// postJSON is the answer to a request of the administrator.
func postJSON(s *servertest.Server, path, body string) string {
	return s.Do("POST", path, body, "Content-Type", "application/json").Body.String()
}

// What is told of an index over all fields, when it is made and later; indexes of CouchDB's kinds
// are told of as by CouchDB.
func TestStateOfAutoIndex(t *testing.T) {
	s := servertest.NewAllFields(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{"a":1,"b":[2,3]}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/huge", `{"a":[`+strings.Repeat("1,", 6000)+`1]}`).Code)
	require.Equal(t, `{"result":"created","id":"_design/e","name":"all","state":"ready"}`,
		strings.TrimSpace(postJSON(s, "/db/_index", `{"index":{},"type":"auto","ddoc":"e","name":"all"}`)))
	require.Contains(
		t,
		postJSON(s, "/db/_index", `{"index":{},"type":"auto","ddoc":"e","name":"all"}`),
		`"result":"exists"`,
	)
	require.NotContains(t, postJSON(s, "/db/_index", `{"index":{"fields":["a"]},"ddoc":"j"}`), "state")
	list := s.Do("GET", "/db/_index", "").Body.String()
	require.Regexp(
		t,
		`"type":"auto","partitioned":false,"def":{},"state":"ready","entries":5,"bytes":\d+,"documents_not_indexed":1}`,
		list,
	)
	require.Equal(t, 1, strings.Count(list, "state"))
	require.Regexp(
		t,
		`"all_fields":{"all":{"state":"ready","entries":5,"bytes":\d+,"documents_not_indexed":1}}}\s*$`,
		s.Do("GET", "/db/_design/e/_info", "").Body.String(),
	)
	require.NotContains(t, s.Do("GET", "/db/_design/_x/_info", "").Body.String(), "all_fields")
}

// The settings of indexes over all fields count for new ones, where the request says nothing.
func TestSettingsOfAutoIndexes(t *testing.T) {
	s := servertest.NewAllFields(t)
	for key, value := range map[string]string{"all_fields_depth": "2", "all_fields_exclude": "log, private.notes", "all_fields_max_values": "7", "all_fields_by_default": "true"} {
		s.Set("mango", key, value)
	}
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	const complete = `"depth":2,"max_values":7,"exclude":["log","private.notes"]`
	require.Contains(t, s.Do("GET", "/db/_design/all-fields", "").Body.String(), `"auto":{"all":{`+complete+`}}`)
	for i, body := range []string{`{"a":{"b":1,"c":{"d":1}},"log":1}`, `{"many":[1,2,3,4,5,6,7]}`} {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/doc%d", i), body).Code)
	}
	kind := func(field string) string { return postJSON(s, "/db/_explain", `{"selector":{"`+field+`":1}}`) }
	require.Contains(t, kind("a.b"), `"type":"auto"`)
	for _, field := range []string{"a.c.d", "log", "private.notes"} {
		require.Contains(t, kind(field), `"type":"special"`)
		require.NotContains(
			t,
			kind(field),
			`"ddoc":"_design/all-fields","name":"all","type":"auto","partitioned":false,"def":{`+complete+`}},"partitioned"`,
		)
	}
	require.Regexp(t, `"entries":4,.*"documents_not_indexed":1`, s.Do("GET", "/db/_index", "").Body.String())
	own := postJSON(
		s,
		"/db/_index",
		`{"index":{"depth":3,"max_values":8,"exclude":[]},"type":"auto","ddoc":"own","name":"own"}`,
	)
	require.Contains(t, own, `"created"`)
	require.Contains(
		t,
		s.Do("GET", "/db/_design/own", "").Body.String(),
		`{"own":{"depth":3,"max_values":8,"exclude":[]}}`,
	)
	require.Contains(t, postJSON(s, "/db/_index", `{"index":{"depth":21},"type":"auto"}`), "invalid_index")
}
