package documents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestPointer: one value of a document, as it is written there, with the document's revision.
func TestPointer(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	put := s.Do("PUT", "/db/d", `{"a":[1,{"b/c":2.50}],"":null,"m~n":"x"}`)
	for pointer, want := range map[string]string{
		"": `{"a":[1,{"b/c":2.5}],"":null,"m~n":"x"}`, "/a/1/b~1c": "2.5", "/": "null", "/m~0n": `"x"`, "/a/0": "1",
	} {
		w := s.Do("GET", "/db/d?pointer="+pointer, "")
		servertest.Expect(t, w, 200, want+"\n")
		require.Equal(t, servertest.ETag(put), servertest.ETag(w))
		require.Equal(t, servertest.ETag(w), `"`+w.Header().Get("X-Couch-Rev")+`"`)
		require.Equal(t, 304, s.Do("GET", "/db/d?pointer="+pointer, "", "If-None-Match", servertest.ETag(w)).Code)
	}
	for query, status := range map[string]int{
		"pointer=/a/2": 404, "pointer=/a/01": 404, "pointer=/a/-": 404, "pointer=/a/0/x": 404, "pointer=/_id": 404,
		"pointer=a": 400, "pointer=/~2": 400, "pointer=/a&revs=true": 400, "pointer=/a&rev=1-abc": 404,
	} {
		require.Equal(t, status, s.Do("GET", "/db/d?"+query, "").Code, query)
	}
}
