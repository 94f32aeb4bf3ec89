package lists_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/servertest"
)

// liveWriter measures what is live while an answer goes out. It keeps nothing of it.
type liveWriter struct {
	header http.Header
	status int
	writes int
	most   uint64
}

// Header implements http.ResponseWriter.
func (w *liveWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *liveWriter) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *liveWriter) Write(p []byte) (int, error) {
	if w.writes%40 == 0 {
		w.most = max(w.most, heapInUse())
	}
	w.writes++
	return len(p), nil
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Requests with very many keys, ids or revisions hold their body and its parsed form, and of what
// they ask for a window.
func TestManyKeysNeedLittleMemory(t *testing.T) {
	s := servertest.New(t)
	s.StopFollowers()
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/d0000001", `{"n":1}`).Code)
	design := `{"language":"member","views":{"v":{"map":"n","reduce":"_count"}}}`
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/_design/d", design).Code)
	const n = 5_000
	many := func(begin, unit, end string) string { return begin + strings.Repeat(unit+",", n) + end }
	var named strings.Builder
	for i := range n {
		fmt.Fprintf(&named, `"x%d":["1-a"],`, i)
	}
	byName := "{" + named.String() + `"y":["1-a"]}`
	for _, r := range []struct{ path, body string }{
		{"/_all_docs", many(`{"keys":[`, `"d0000001"`, `"a"]}`)},
		{"/_all_docs?descending=true&include_docs=true", many(`{"keys":[`, `"d0000001",1`, `"a"]}`)},
		{"/_all_docs/queries", many(`{"queries":[`, `{"keys":["a"]}`, `{}]}`)},
		{"/_bulk_get", many(`{"docs":[`, `{"id":"d0000001"}`, `{"id":"a"}]}`)},
		{"/_bulk_get?revs=true", many(`{"docs":[`, `{"id":"d0000001","rev":"1-a"},{}`, `{"id":"a","rev":1}]}`)},
		{"/_design/d/_view/v?reduce=false", many(`{"keys":[`, `1`, `[2]]}`)},
		{"/_design/d/_view/v?group=true", many(`{"keys":[`, `1`, `[2]]}`)},
		{"/_design/d/_view/v/queries", many(`{"queries":[`, `{"reduce":false,"keys":[1]}`, `{}]}`)},
		{"/_revs_diff", byName},
		{"/_missing_revs", byName},
		{"/_changes?filter=_doc_ids", many(`{"doc_ids":[`, `"d0000001"`, `"a"]}`)},
		{"/_purge", byName},
	} {
		request := httptest.NewRequest("POST", "/db"+r.path, strings.NewReader(r.body))
		request.SetBasicAuth("admin", "secret")
		request.Header.Set("Content-Type", "application/json")
		w := &liveWriter{header: http.Header{}, status: http.StatusOK}
		before := heapInUse()
		s.ServeHTTP(w, request)
		status := http.StatusOK
		most := 2*int64(len(r.body)) + ejson.TapeSize([]byte(r.body)) + 256<<10
		if r.path == "/_purge" {
			status = http.StatusCreated
			most += n * 400 // what was purged of each, which the request takes memory for
		}
		require.Equal(t, status, w.status, r.path)
		require.Positive(t, w.most, r.path)
		live := int64(w.most) - int64(before)
		require.Less(t, live, most, r.path)
	}
}
