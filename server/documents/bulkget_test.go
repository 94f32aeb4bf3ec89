package documents_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// heldWriter notes how much more was read than sent.
type heldWriter struct {
	*httptest.ResponseRecorder
	store *kvtest.Counting
	most  int64
}

// Write implements http.ResponseWriter.
func (w *heldWriter) Write(p []byte) (int, error) {
	w.most = max(w.most, w.store.Counts().BytesRead-int64(w.Body.Len()))
	return w.ResponseRecorder.Write(p)
}

// countingServer has an empty database db in a store that counts what is read.
func countingServer(t *testing.T) (*servertest.Server, *kvtest.Counting) {
	counting := kvtest.NewCounting(memkv.New())
	s := servertest.NewQuiet(t, counting)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	return s, counting
}

// doHeld asks a server and notes what is held meanwhile.
func doHeld(s *servertest.Server, store *kvtest.Counting, method, target, body, accept string) *heldWriter {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.SetBasicAuth("admin", "secret")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	store.Reset()
	w := &heldWriter{ResponseRecorder: httptest.NewRecorder(), store: store}
	s.ServeHTTP(w, r)
	return w
}

// Answers with many large revisions of a document go out as these are read, whatever the form of
// the answer and of the request. Held whole, 60 of 7.5 MB ended a server with 400 MB.
func TestRevisionsAreSentAsTheyAreRead(t *testing.T) {
	kvtest.Long(t)
	s, counting := countingServer(t)
	const leaves, size = 24, 1 << 20
	for i := range leaves {
		body := fmt.Sprintf(`{"_id":"t","_rev":"1-%032x","pad":%q}`, i, strings.Repeat("x", size))
		require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/t?new_edits=false", body).Code)
	}
	for _, request := range []struct{ method, target, body, accept string }{
		{"GET", "/db/t?open_revs=all", "", "application/json"},
		{"GET", "/db/t?open_revs=all", "", "multipart/mixed"},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"t"}]}`, "application/json"},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"t"}]}`, "multipart/mixed"},
	} {
		w := doHeld(s, counting, request.method, request.target, request.body, request.accept)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, leaves, strings.Count(w.Body.String(), `"_rev":"1-`), request)
		require.LessOrEqual(t, w.most, int64(6*size), request)
		if request.accept == "application/json" {
			require.True(t, json.Valid(w.Body.Bytes()))
		}
	}
}

// Lists and queries give each large document before they read many others, whichever way they go.
// Rows of views had all of theirs read first, 128 of 7.5 MB.
func TestDocumentsOfRowsAreSentAsTheyAreRead(t *testing.T) {
	kvtest.Long(t)
	s, counting := countingServer(t)
	const docs, size = 18, 600_000
	var small, locals []string
	for i := range 300 {
		small = append(small, fmt.Sprintf(`{"_id":"a%d"}`, i))
	}
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(small, ",")+`]}`).Code,
	)
	pad := strings.Repeat("x", size)
	for i := range docs {
		require.Equal(
			t,
			http.StatusCreated,
			s.Do("PUT", fmt.Sprintf("/db/d%02d", i), fmt.Sprintf(`{"k":%d,"pad":%q}`, i, pad)).Code,
		)
		require.Equal(
			t,
			http.StatusCreated,
			s.Do("PUT", fmt.Sprintf("/db/_local/d%02d", i), fmt.Sprintf(`{"k":%d,"pad":%q}`, i, pad)).Code,
		)
		locals = append(locals, fmt.Sprintf(`"_local/d%02d"`, i))
	}
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("PUT", "/db/_design/d", `{"language":"member","views":{"v":{"map":"k"}}}`).Code,
	)
	require.Contains(t, s.Do("POST", "/db/_index", `{"index":{"fields":["k"]},"ddoc":"j","name":"j"}`).Body.String(), `"created"`)
	require.Contains(t, s.Do("POST", "/db/_index", `{"index":{},"type":"auto","ddoc":"e","name":"all"}`).Body.String(), `"created"`)
	require.Equal(t, http.StatusOK, s.Do("GET", "/db/_design/d/_view/v?limit=0", "").Code) // the index is up to date
	for _, request := range [][3]string{
		{"GET", "/db/_design/d/_view/v?include_docs=true", ""},
		{"GET", "/db/_design/d/_view/v?include_docs=true&conflicts=true&descending=true", ""},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":[` + strings.Join(locals, ",") + `]}`},
		{"POST", "/db/_find", `{"selector":{"k":{"$gte":0}},"use_index":"j","limit":1000}`},
		{"POST", "/db/_find", `{"selector":{"k":{"$gte":0}},"use_index":"j","limit":1000,"conflicts":true}`},
		{"POST", "/db/_find", `{"selector":{"k":{"$gte":0}},"use_index":"e","limit":1000}`},
		{"POST", "/db/_find", `{"selector":{"pad":{"$exists":true}},"use_index":"_all_docs","limit":1000}`},
	} {
		w := doHeld(s, counting, request[0], request[1], request[2], "application/json")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.Equal(t, docs, strings.Count(w.Body.String(), pad), request)
		require.LessOrEqual(t, w.most, int64(5<<20), request)
		require.True(t, json.Valid(w.Body.Bytes()))
	}
}

// TestBulkGetLength: an answer that fits the buffer has its length, as all have in CouchDB; a long
// one is chunked.
func TestBulkGetLength(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/long", `{"v":"`+strings.Repeat("x", 1<<20)+`"}`).Code)
	for ids, chunked := range map[string]bool{``: false, `{"id":"nobody"}`: false, `{"id":"long"}`: true} {
		w := s.Do("POST", "/db/_bulk_get", `{"docs":[`+ids+`]}`)
		require.Equal(t, 200, w.Code)
		length := w.Header().Get("Content-Length")
		if chunked {
			require.Empty(t, length)
		} else {
			require.Equal(t, strconv.Itoa(w.Body.Len()), length)
		}
	}
}

// TestLocalETag: the entity tag of a local document is in upper case, as all that
// couch_httpd:make_etag makes, and changes with its body.
func TestLocalETag(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	first := servertest.ETag(s.Do("PUT", "/db/_local/x", `{"v":1}`))
	require.Regexp(t, `^"[0-9A-Z]{15,25}"$`, first)
	require.Equal(t, first, servertest.ETag(s.Do("GET", "/db/_local/x", "")))
	require.Equal(t, 304, s.Do("GET", "/db/_local/x", "", "If-None-Match", first).Code)
	require.NotEqual(t, first, servertest.ETag(s.Do("PUT", "/db/_local/x", `{"_rev":"0-1","v":2}`)))
}

// Leaves have no _local_seq, whatever the query asks for.
func TestBulkGetLocalSeq(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`).Code)
	w := s.Do("POST", "/db/_bulk_get?local_seq=true", `{"docs":[{"id":"a"}]}`)
	servertest.Expect(t, w, 200,
		`{"results":[{"id":"a","docs":[{"ok":{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d"}}]}]}`+"\n")
}
