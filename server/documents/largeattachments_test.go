package documents_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// discarding takes an answer without keeping it, and looks at the heap meanwhile.
type discarding struct {
	httptest.ResponseRecorder
	n    int64
	most uint64
}

// Write implements io.Writer.
func (d *discarding) Write(p []byte) (int, error) {
	if d.n += int64(len(p)); d.n>>22 != (d.n-int64(len(p)))>>22 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		d.most = max(d.most, m.HeapAlloc)
	}
	return len(p), nil
}

// Attachments in JSON are sent as they are read, whatever shows them: neither a large one nor one
// that gzip makes small is in memory. The answers are those of attachments that are.
func TestAttachmentsAreNotHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes its own; one request at a time")
	}
	const size = 24_000_001
	s := servertest.NewWithUsers(t, 0)
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	put := func(path, body string, header ...string) {
		require.Equal(t, 201, s.Do("PUT", path, body, header...).Code, path)
	}
	put("/db/plain/a", string(data), "Content-Type", "image/x")
	put("/db/packed/a", packed.String(), "Content-Type", "image/x", "Content-Encoding", "gzip")
	put("/db/small", `{"_attachments":{"a":{"data":"YWJj"}}}`)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	encoded := base64.StdEncoding.EncodeToString(data)
	json := []string{"Accept", "application/json", "Content-Type", "application/json"}
	for _, doc := range []string{"plain", "packed"} {
		for _, r := range [][3]string{
			{"GET", "/db/" + doc + "?attachments=true", ""},
			{"HEAD", "/db/" + doc + "?attachments=true", ""},
			{"GET", "/db/" + doc + "?attachments=true&open_revs=all", ""},
			{"GET", `/db/_all_docs?include_docs=true&attachments=true&key="` + doc + `"`, ""},
			{"POST", "/db/_all_docs?include_docs=true&attachments=true", `{"keys":["` + doc + `"]}`},
			{"POST", "/db/_bulk_get?attachments=true", `{"docs":[{"id":"` + doc + `"}]}`},
			{"POST", "/db/_changes?include_docs=true&attachments=true&filter=_doc_ids", `{"doc_ids":["` + doc + `"]}`},
		} {
			w := &discarding{ResponseRecorder: *httptest.NewRecorder()}
			q := httptest.NewRequest(r[0], r[1], strings.NewReader(r[2]))
			q.SetBasicAuth("admin", "secret")
			for i := 0; i < len(json); i += 2 {
				q.Header.Set(json[i], json[i+1])
			}
			s.ServeHTTP(w, q)
			require.Equal(t, 200, w.Code, r)
			if r[0] == "HEAD" {
				require.Zero(t, w.n)
			} else {
				require.Greater(t, w.n, int64(len(encoded)), r)
			}
			require.Less(t, w.most, before.HeapAlloc+uint64(len(encoded))+16<<20, r) // encoded is this test's
			whole := s.Do(r[0], r[1], r[2], json...).Body.String()
			require.Equal(t, r[0] != "HEAD", strings.Contains(whole, `"data":"`+encoded+`"`), r)
		}
	}
	a := s.Do("GET", "/db/plain?attachments=true", "", json...)
	require.Equal(t, a.Header().Get("Content-Length"),
		s.Do("HEAD", "/db/plain?attachments=true", "", json...).Header().Get("Content-Length"))
	server := httptest.NewServer(s)
	defer server.Close()
	q, err := http.NewRequest("GET", server.URL+"/db/packed?attachments=true", nil)
	require.NoError(t, err)
	q.SetBasicAuth("admin", "secret")
	q.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.Equal(t, resp.ContentLength, n)

	// Where some fields of a document are shown, what is shown of attachments is in memory, and has a bound.
	fields := `{"selector":{"_id":"plain"},"fields":["_id","_attachments"]}`
	a = s.Do("POST", "/db/_changes?include_docs=true&attachments=true&filter=_selector", fields)
	require.Equal(t, 413, a.Code, "%.200s", a.Body)
	for _, other := range []string{
		strings.Replace(fields, "plain", "small", 1), strings.Replace(fields, `,"_attachments"`, "", 1),
	} {
		a = s.Do("POST", "/db/_changes?include_docs=true&attachments=true&filter=_selector", other)
		require.Equal(t, 200, a.Code, "%.200s", a.Body)
	}
}
