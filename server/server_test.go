package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/servertest"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

func TestDatabaseDoesNotExistWins(t *testing.T) {
	s := servertest.New(t)
	const missing = `{"error":"not_found","reason":"Database does not exist."}` + "\n"
	for _, r := range [][3]string{
		{"PATCH", "/nodb", ""}, {"POST", "/nodb/_bulk_docs", "{"}, {"GET", "/nodb/_all_docs?limit=x", ""}, {"POST", "/nodb/_find", "{}"},
		{"GET", "/nodb/_local", ""}, {"POST", "/nodb/_compact", ""}, {"GET", "/nodb/_shards", ""}, {"GET", "/UPPER", ""}, {"DELETE", "/nodb", ""},
	} {
		servertest.Expect(t, s.Do(r[0], r[1], r[2]), 404, missing)
	}
	servertest.Expect(t, s.Do("GET", "/nodb/x", "", "Authorization", ""), 404, missing)
	servertest.Expect(
		t,
		s.Do("PUT", "/UPPER?q=x", ""),
		400,
		`{"error":"bad_request","reason":"The `+"`q`"+` value should be a positive integer."}`+"\n",
	)
}

func TestAccess(t *testing.T) {
	s := servertest.New(t)
	servertest.Expect(t, s.Do("PUT", "/db", ""), 201, "{\"ok\":true}\n")
	nobody := []string{"Authorization", ""}
	servertest.Expect(
		t,
		s.Do("GET", "/db", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not authorized to access this db."}`+"\n",
	)
	servertest.Expect(
		t,
		s.Do("PUT", "/db2", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not a server admin."}`+"\n",
	)
	servertest.Expect(t, s.Do("PUT", "/db/_security", "{}"), 200, "{\"ok\":true}\n")
	require.Equal(t, 200, s.Do("GET", "/db", "", nobody...).Code)
	servertest.Expect(
		t,
		s.Do("POST", "/db/_view_cleanup", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not a server or db admin."}`+"\n",
	)
	servertest.Expect(
		t,
		s.Do("GET", "/", "", "Authorization", "Basic YWRtaW46eA=="),
		401,
		`{"error":"unauthorized","reason":"Name or password is incorrect."}`+"\n",
	)
	w := s.Do("GET", "/_all_dbs", "", "Authorization", "", "Accept", "text/html")
	require.Equal(t, 302, w.Code)
	require.Equal(
		t,
		"http://example.com/_utils/session.html?return=%2F_all_dbs&reason=You%20are%20not%20a%20server%20admin.",
		w.Header().Get("Location"),
	)
}

// TestMaintenanceMode: a server out of service refuses requests to databases, and feeds do not
// wait.
func TestMaintenanceMode(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	set := func(mode string) {
		require.Equal(t, 200, s.Do("PUT", "/_node/_local/_config/couchdb/maintenance_mode", `"`+mode+`"`).Code)
	}
	set("nolb")
	require.Equal(t, 200, s.Do("GET", "/db", "").Code)
	require.Equal(t, 200, s.Do("GET", "/db/_changes?feed=longpoll&since=now", "").Code) // at once
	set("true")
	for _, path := range []string{"/db", "/db/x", "/db/_all_docs", "/db/_changes", "/db/_design/d/_view/v", "/db/_shards"} {
		w := s.Do("GET", path, "")
		require.Equal(t, 500, w.Code, path)
		require.Contains(
			t,
			w.Body.String(),
			`{"error":"internal_server_error","reason":"No DB shards could be opened.","ref":`,
		)
	}
	servertest.Expect(t, s.Do("GET", "/_all_dbs", ""), 412, `{"error":"nodedown","reason":"couchdb@127.0.0.1"}`+"\n")
	servertest.Expect(t, s.Do("GET", "/none", ""), 404, `{"error":"not_found","reason":"Database does not exist."}`+"\n")
	require.Equal(t, 201, s.Do("PUT", "/other", "").Code)
	require.Equal(t, 200, s.Do("DELETE", "/other", "").Code)
	require.Equal(t, 200, s.Do("GET", "/_uuids", "").Code)
	set("false")
	require.Equal(t, 200, s.Do("GET", "/db", "").Code)
}

func TestSettingsTakeEffectAtOnce(t *testing.T) {
	s := servertest.New(t)
	servertest.Expect(t, s.Do("PUT", "/_node/_local/_config/couchdb/maintenance_mode", `"nolb"`), 200, "\"\"\n")
	servertest.Expect(t, s.Do("GET", "/_up", ""), 404, "{\"status\":\"nolb\"}\n")
	servertest.Expect(t, s.Do("DELETE", "/_node/_local/_config/couchdb/maintenance_mode", ""), 200, "\"nolb\"\n")
	servertest.Expect(t, s.Do("GET", "/_up", ""), 200, "{\"status\":\"ok\",\"seeds\":{}}\n")
	servertest.Expect(t, s.Do("PUT", "/_node/_local/_config/chttpd/allow_jsonp", `"true"`), 200, "\"\"\n")
	servertest.Expect(t, s.Do("GET", "/_up?callback=f", ""), 200, "/* CouchDB */f({\"status\":\"ok\",\"seeds\":{}});\n")
	servertest.Expect(
		t,
		s.Do("GET", "/_up?callback=f%20g", ""),
		400,
		"{\"error\":\"bad_request\",\"reason\":\"invalid_callback\"}\n",
	)
	servertest.Expect(t, s.Do("GET", "/_all_dbs?limit=0&callback=f", ""), 200, "/* CouchDB */f([]);\n")
	servertest.Expect(t, s.Do("PUT", "/_node/_local/_config/chttpd/max_http_request_size", `"5"`), 200, "\"\"\n")
	servertest.Expect(
		t,
		s.Do("POST", "/_dbs_info", `{"keys":[]}`),
		413,
		"{\"error\":\"too_large\",\"reason\":\"the request entity is too large\"}\n",
	)
}

func TestStatisticsMove(t *testing.T) {
	s := servertest.New(t)
	servertest.Expect(t, s.Do("GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PUT/value", ""), 200, "0\n")
	s.Do("PUT", "/db", "")
	servertest.Expect(t, s.Do("GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PUT/value", ""), 200, "1\n")
	servertest.Expect(t, s.Do("GET", "/_node/_local/_stats/couchdb/httpd_status_codes/201/value", ""), 200, "1\n")
	servertest.Expect(t, s.Do("GET", "/_node/_local/_stats/nosuch", ""), 200, "null\n")
	require.Contains(
		t,
		s.Do("GET", "/_node/_local/_prometheus", "").Body.String(),
		"couchdb_httpd_status_codes{code=\"201\"} 1\n",
	)
}

// TestPanicsAreAnswered: a bug costs one request, not the server.
func TestPanicsAreAnswered(t *testing.T) {
	s := servertest.New(t)
	s.Env().Route(
		[]call.Route{{Methods: "GET", Pattern: "/", Handle: func(*call.Call) error { panic("bug") }}},
		func(c *call.Call, next call.Handler) error { return next(c) },
	)
	w := s.Do("GET", "/", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"error":"unknown_error"`)
	require.NotEmpty(t, w.Header()["X-Couch-Stack-Hash"])
}

// FuzzRequest: no target, header or body makes the server panic or answer without a status.
func FuzzRequest(f *testing.F) {
	s := servertest.New(f)
	s.Do("PUT", "/db", "")
	f.Add("GET", "/db/_all_docs?startkey=%22a%22&limit=1", "")
	f.Add("POST", "/_dbs_info", `{"keys":["db",1]}`)
	f.Add("POST", "/db/_all_docs/queries", `{"queries":[{"keys":["a",{}]},{"descending":true}]}`)
	f.Add("GET", "/db/_partition/x/_all_docs", "")
	f.Add("PUT", "/db/_security", `{"admins":{"names":[1]}}`)
	f.Add("POST", "/db/_purge", `{"a":["1-x"]}`)
	f.Add("POST", "/_reshard/jobs", `{"type":"split","shard":"shards/0-1/x.1"}`)
	f.Add("GET", "/_node/_local/_stats/couchdb", "")
	f.Fuzz(func(t *testing.T, method, target, body string) {
		if !strings.HasPrefix(target, "/") || strings.ContainsAny(method, " \r\n\x00/") || method == "" {
			return
		}
		r, err := http.NewRequest(method, "http://x/", strings.NewReader(body))
		if err != nil || strings.Contains(target, "_changes") || strings.Contains(target, "_db_updates") {
			return // feeds wait
		}
		r.RequestURI = target
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("admin", "secret")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), "see the log for request") {
			t.Fatalf("panic: %s %s %q", method, target, body)
		}
	})
}

func BenchmarkWelcome(b *testing.B)  { benchmarkGet(b, "/") }
func BenchmarkDocument(b *testing.B) { benchmarkGet(b, "/db/doc") }
func BenchmarkAllDocs(b *testing.B)  { benchmarkGet(b, "/db/_all_docs?include_docs=true") }

func benchmarkGet(b *testing.B, target string) {
	s := servertest.New(b)
	s.Do("PUT", "/db", "")
	for _, id := range []string{"doc", "a", "b", "c", "d", "e"} {
		s.Do("PUT", "/db/"+id, `{"type":"post","tags":["a","b"],"n":3,"text":"hello world hello world"}`)
	}
	r := httptest.NewRequest("GET", target, nil)
	r.SetBasicAuth("admin", "secret")
	b.ReportAllocs()
	for b.Loop() {
		w := &discard{header: make(http.Header)}
		s.ServeHTTP(w, r)
		if w.status != 200 {
			b.Fatal(w.status)
		}
	}
}

// discard is the cheapest ResponseWriter.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
