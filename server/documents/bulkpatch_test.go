package documents_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

var hash = regexp.MustCompile(`-[0-9a-f]{32}`)

// TestPatchesInBulk: rows of patches among documents, in the order of the request; several patches
// of one document build on each other, whether the store takes them together or has validation
// functions look at each.
func TestPatchesInBulk(t *testing.T) {
	s := servertest.NewJS(t)
	bulk := func(docs string, more string) (int, string) {
		w := s.Do("POST", "/db/_bulk_docs", `{"docs":[`+docs+`]`+more+`}`, "Content-Type", "application/json")
		return w.Code, strings.TrimSpace(hash.ReplaceAllString(w.Body.String(), "-REV"))
	}
	status, answer := bulk(`{"_id":"a","n":1},{"_id":"a","_patch":{"m":2}},{"_id":"none","_patch":{}},{"_id":"b"},`+
		`{"_id":"a","_patch":[{"op":"test","path":"/m","value":3}]},{"_id":"a","_rev":"9-a","_patch":{"m":3}},`+
		`{"_id":"a","_patch":{"m":2}}`, "")
	require.Equal(t, 201, status)
	require.Equal(t, `[{"ok":true,"id":"a","rev":"1-REV"},{"ok":true,"id":"a","rev":"2-REV"},`+
		`{"id":"none","error":"not_found","reason":"missing"},{"ok":true,"id":"b","rev":"1-REV"},`+
		`{"id":"a","error":"conflict","reason":"test 0 failed"},`+
		`{"id":"a","error":"conflict","reason":"Document update conflict."},{"ok":true,"id":"a","rev":"2-REV"}]`, answer)

	for _, bad := range []struct{ docs, more, want string }{
		{`{"_id":"a","_patch":7}`, "", `"reason":"a patch is an object or a list of operations"`},
		{`{"_patch":{}}`, "", `"error":"illegal_docid"`},
		{`{"_id":"a","_patch":{},"n":1}`, "", `"reason":"a document with _patch has _id and _rev besides, both strings"`},
		{`{"_id":"a","_rev":1,"_patch":{}}`, "", `"error":"doc_validation"`},
		{`{"_id":"a","_rev":"1-a","_patch":{"_rev":"1-b"}}`, "", `"reason":"_rev and that of _patch have different values"`},
		{`{"_id":"a","_rev":"1-a","_patch":{}}`, `,"new_edits":false`, `"reason":"Bad special document member: _patch"`},
	} {
		status, answer := bulk(bad.docs+`,{"_id":"c"}`, bad.more)
		require.Equal(t, 400, status, bad.docs)
		require.Contains(t, answer, bad.want, bad.docs)
		require.Equal(t, 404, s.Do("GET", "/db/c", "").Code, "nothing is written")
	}
	status, answer = bulk(`{"_id":"c"},{"_id":"a","_rev":"1-a","_patch":{}}`, `,"all_or_nothing":true`)
	require.Equal(t, 417, status)
	require.Equal(t, 2, strings.Count(answer, "not_implemented"))

	count := func(want int) {
		rows := strings.Repeat(`,{"_id":"n","_patch":[{"op":"increment","path":"/n","value":1}]}`, 100)[1:]
		status, answer := bulk(rows, "")
		require.Equal(t, 201, status)
		require.Equal(t, 100, strings.Count(answer, `"ok":true`), answer)
		require.Equal(t, fmt.Sprintf(`{"_id":"n","n":%d}`, want), bodyOf(s, "/db/n"))
	}
	require.Equal(t, 201, s.Do("PUT", "/db/n", `{"n":0}`).Code)
	count(100)
	s.PutDesign("v", `{"validate_doc_update":"function(n){ if (n.n > 250) throw {forbidden: 'no'}; }"}`)
	require.Equal(t, 201, s.Do("PUT", "/db/o", `{}`).Code)
	count(200)
	rows := strings.Repeat(`,{"_id":"n","_patch":[{"op":"increment","path":"/n","value":1}]}`, 60)[1:]
	_, answer = bulk(rows, "")
	require.Equal(t, 50, strings.Count(answer, `"ok":true`), answer)
	require.Equal(t, 10, strings.Count(answer, `"error":"forbidden"`), answer)
	require.Equal(t, `{"_id":"n","n":250}`, bodyOf(s, "/db/n"))
	require.Equal(t, 404, s.Do("GET", "/none", "").Code)
	require.Equal(t, 404, s.Do("POST", "/none/_bulk_docs", `{"docs":[{"_id":"a","_patch":{}}]}`,
		"Content-Type", "application/json").Code)
}
