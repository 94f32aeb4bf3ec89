package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// A full server reads, and does what makes room; all else is 507, and told again when there is
// space.
func TestFullServer(t *testing.T) {
	disk := faultkv.NewDisk(memkv.New())
	s := servertest.NewOn(t, disk)
	rev := func(id, body string) string {
		w := s.Do("PUT", "/db/"+id, body)
		require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
		var answer struct{ Rev string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return answer.Rev
	}
	for _, db := range []string{"/db", "/other"} {
		servertest.Expect(t, s.Do("PUT", db, ""), 201, `{"ok":true}`+"\n")
	}
	revs := make(map[string]string)
	for i := range 5 {
		id := fmt.Sprint("doc", i)
		revs[id] = rev(id, `{"x":1}`)
	}
	rev("_design/views", `{"language":"query","views":{}}`)
	for _, name := range []string{"a", "b"} {
		require.Equal(
			t,
			200,
			s.Do("POST", "/db/_index", `{"index":{"fields":["`+name+`"]},"ddoc":"two","name":"`+name+`"}`).Code,
		)
	}

	disk.Leave(faultkv.Reserve)
	servertest.Expect(
		t,
		s.Do("GET", "/_up", ""),
		503,
		`{"status":"unavailable","reason":"No space is left for the store: it reads, deletes, purges and compacts; other writes are refused."}`+"\n",
	)
	for _, request := range [][3]string{
		{"PUT", "/new", ""}, {"PUT", "/db/doc0?rev=" + revs["doc0"], `{"x":2}`}, {"POST", "/db", `{}`}, {"PUT", "/db/doc0/a?rev=" + revs["doc0"], `"x"`},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b"}]}`}, {"POST", "/db/_index", `{"index":{"fields":["c"]}}`},
		{"POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"doc0","_rev":"2-a","_deleted":true},{"_id":"b","_rev":"1-a"}]}`},
	} {
		w := s.Do(request[0], request[1], request[2])
		require.Equal(t, 507, w.Code, "%s: %s", request, w.Body.String())
		require.Contains(t, w.Body.String(), `{"error":"insufficient_storage","reason":"No space is left for this write`)
		require.Contains(t, w.Body.String(), "Retry")
	}
	servertest.Expect(t, s.Do("GET", "/db/doc1", ""), 200, `{"_id":"doc1","_rev":"`+revs["doc1"]+`","x":1}`+"\n")
	for _, request := range []struct {
		method, path, body string
		status             int
	}{
		{"DELETE", "/db/doc1?rev=" + revs["doc1"], "", 200},
		{"PUT", "/db/doc2?rev=" + revs["doc2"], `{"_deleted":true}`, 200},
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"doc3","_rev":"` + revs["doc3"] + `","_deleted":true},{"_id":"b"}]}`, 201},
		{"POST", "/db/_purge", `{"doc4":["` + revs["doc4"] + `"]}`, 201},
		{"PUT", "/db/_revs_limit", "5", 200},
		{"POST", "/db/_compact", "{}", 202},
		{"POST", "/db/_view_cleanup", "{}", 202},
		{"DELETE", "/db/_index/two/json/a", "", 200},
		{"DELETE", "/db/_index/two/json/b", "", 200},
		{"DELETE", "/other", "", 200},
	} {
		w := s.Do(request.method, request.path, request.body)
		require.Equal(t, request.status, w.Code, "%s %s: %s", request.method, request.path, w.Body.String())
	}
	for i := 1; i < 5; i++ {
		require.Equal(t, 404, s.Do("GET", fmt.Sprint("/db/doc", i), "").Code)
	}

	disk.Leave(faultkv.None)
	require.Equal(t, 507, s.Do("DELETE", "/db", "").Code)
	servertest.Expect(t, s.Do("GET", "/_all_dbs", ""), 200, `["db"]`+"\n")
	disk.Leave(faultkv.Roomy)
	require.Equal(t, 200, s.Do("GET", "/_up", "").Code)
	rev("new", `{}`)
}
