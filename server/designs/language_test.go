package designs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// Every kind of function may be in CoffeeScript; the name of a language counts in any case.
func TestFunctionsInCoffeeScript(t *testing.T) {
	kvtest.Long(t)
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"language":"CoffeeScript",
		"views":{"v":{"map":"(doc) -> emit doc._id, doc.n if doc.n",
			"reduce":"(keys, values) ->\n  sum = 0\n  sum += x for x in values\n  sum"},
			"w":{"map":"(doc) -> emit doc._id, doc.n if doc.n","reduce":"_count"}},
		"shows":{"s":"(doc, req) -> \"Foo #{doc?.n}\""},
		"lists":{"l":"(head, req) ->\n  send row.value while row = getRow()\n  return"},
		"updates":{"u":"(doc, req) -> [{_id: 'made', n: 5}, 'ok']"},
		"filters":{"f":"(doc) -> doc.n > 2"},
		"indexes":{"i":{"index":"(doc) -> index 'default', 'n' + doc.n"}},
		"rewrites":"(req) -> {path: '../../a'}",
		"validate_doc_update":"(doc) -> throw {forbidden: \"not #{doc._id}\"} if doc.bad"}`)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"n":2}`).Code)
	w := s.Do("PUT", "/db/b", `{"bad":true}`)
	require.Equal(t, 403, w.Code)
	require.Contains(t, w.Body.String(), "not b")
	for _, c := range [][2]string{
		{"_update/u", "ok"},
		{"_show/s/a", "Foo 2"},
		{"_show/s", "Foo undefined"},
		{"_view/v?reduce=false", `"id":"made","key":"made","value":5`},
		{"_view/v", `{"key":null,"value":7}`},
		{"_view/w", `{"key":null,"value":2}`},
		{"_list/l/v?group=true", "25"},
		{"_rewrite/x", `"_id":"a"`},
		{"_search/i?q=n5", `"id":"made"`},
	} {
		method := "GET"
		if c[0] == "_update/u" {
			method = "POST"
		}
		w := s.Do(method, "/db/_design/d/"+c[0], "")
		require.Contains(t, w.Body.String(), c[1], c[0])
		require.Less(t, w.Code, 300, c[0])
	}
	for _, query := range []string{"filter=d/f", "filter=_view&view=d/v"} {
		w := s.Do("GET", "/db/_changes?"+query, "")
		require.Contains(t, w.Body.String(), `"id":"made"`, query)
		require.NotContains(t, w.Body.String(), `"id":"_design/d"`, query)
	}
	w = s.Do("PUT", "/db/_design/bad", `{"language":"coffeescript","views":{"v":{"map":"(doc"}}}`)
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), `SyntaxError(\"missing )\"`)

	// An index of the same text in the other language is another index.
	same := `"views":{"v":{"map":"(function (doc) { emit(1); })"}},"indexes":{"i":{"index":"(doc) -> index 'default', 'x'"}}}`
	s.PutDesign("j", `{"language":"JavaScript",`+same)
	require.Contains(t, s.Do("GET", "/db/_design/j/_view/v", "").Body.String(), `"total_rows":2`)
	require.Contains(t, s.Do("GET", "/db/_design/j/_search/i?q=x", "").Body.String(), "compilation_error")
	require.Equal(t, 400, s.Do("PUT", "/db/_design/k", `{"language":"coffeescript",`+same).Code)
}
