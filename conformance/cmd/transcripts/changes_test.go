package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const recorded = `{"area":"a","scenarios":[{"name":"s","about":"","steps":[
 {"do":"PUT /$db","ignore":true},
 {"do":"GET /$db/doc?rev=1","expect":{"status":200,"headers":{},"body":"{\"v\":1}"}},
 {"do":"GET /$db/_design/d/_view/v/x","background":"b"},
 {"join":"b","expect":{"status":200,"headers":{},"body":"{\"v\":1}"}},
 {"do":"DELETE /$db2/other","expect":{"status":200,"headers":{},"body":"{\"v\": 1}"}},
 {"do":"GET /$db/another","expect":{"status":200,"headers":{},"body":"{\"v\":2}"}}
 ]},{"name":"broken","about":"","steps":[
 {"do":"GET /_hang_up","expect":{"status":200,"headers":{},"body":""}}
 ]}]}`

// The report has the server's version, the changed steps, and them only, below their routes, and
// the counts. The recordings stay as they were.
func TestChanged(t *testing.T) {
	newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"v":1}`
		w.Header()["Content-Type"] = nil
		switch {
		case r.URL.Path == "/":
			body = `{"couchdb":"Welcome","version":"4.0.0"}`
		case r.URL.Path == "/_hang_up":
			panic(http.ErrAbortHandler)
		case strings.Contains(r.URL.Path, "_view"):
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(body))
	}))
	defer newer.Close()
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(path, []byte(recorded), 0o600))
	var report strings.Builder
	require.NoError(t, run(t.Context(), []string{"changed", newer.URL, path}, &report))

	text := report.String()
	require.True(t, strings.HasPrefix(text, "What CouchDB 4.0.0 at "))
	var found []string
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, " steps\n") || strings.Contains(line, "#") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	require.Equal(t, []string{
		"GET /_hang_up: 1 of 1 steps",
		"a/broken#0 GET /_hang_up: differs",
		"GET /{db}/_design/{name}/_view/{name}/{name}: 1 of 1 steps",
		"a/s#3 join b: differs",
		"DELETE /{db}/{name}: 1 of 1 steps",
		"a/s#4 DELETE /$db2/other: json",
		"GET /{db}/{name}: 1 of 2 steps",
		"a/s#5 GET /$db/another: differs",
	}, found)
	require.Contains(t, text, "5 steps     1 exact    1 json    3 differ")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, recorded, string(after))

	// Whoever has enough gets the report of what was performed to its end.
	cut, stop := context.WithCancel(t.Context())
	hangs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_hang_up" {
			stop()
		}
		_, _ = w.Write([]byte(`{"version":"4.0.0"}`))
	}))
	defer hangs.Close()
	report.Reset()
	require.ErrorIs(t, run(cut, []string{"changed", hangs.URL, path, path}, &report), context.Canceled)
	require.Contains(t, report.String(), "a/s#1")
	require.Contains(t, report.String(), "4 steps     0 exact    0 json    4 differ")
}
