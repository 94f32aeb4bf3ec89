package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// newTestServer starts a server over an empty memory store with the admin admin:secret.
func newTestServer(t testing.TB) *Server {
	t.Helper()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	return newTestServerWith(t, c, "")
}

// newTestServerWith is newTestServer with a configuration and a directory of the web interface.
func newTestServerWith(t testing.TB, c *config.Config, web string) *Server {
	t.Helper()
	engine := memkv.New()
	store, err := storage.Open(context.Background(), storage.Options{KV: engine})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return newTestServerOn(t, engine, store, c, web)
}

// newTestServerOn is newTestServerWith on a store and its engine, which the caller closes.
func newTestServerOn(t testing.TB, engine kv.Store, store *storage.Store, c *config.Config, web string) *Server {
	t.Helper()
	v, err := views.Open(
		views.Options{
			Store:     store,
			KV:        engine,
			Languages: map[string]views.Language{"member": memberLanguage{}, mango.Language: mango.Views{}},
		},
	)
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	return startTestServer(t, Options{Store: store, Views: v, Config: c, Web: web})
}

// startTestServer starts a server with the admin admin:secret over a store whose hooks are set here.
func startTestServer(t testing.TB, o Options) *Server {
	t.Helper()
	o.Store.SetHooks(storage.Hooks{Validator: docs.NewValidator(o.Config, o.Views, o.JS), Indexer: o.Views})
	o.Log = slog.New(slog.DiscardHandler)
	hash, err := auth.HashAdmin("secret", auth.Hashing{Scheme: auth.SchemePBKDF2, PRF: "sha256", Iterations: 10})
	require.NoError(t, err)
	_, err = o.Config.Set("admins", "admin", hash, false)
	require.NoError(t, err)
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

// do runs one request of the admin.
func do(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.SetBasicAuth("admin", "secret")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// postJSON is the answer to a request of the admin.
func postJSON(s *Server, path, body string) string {
	return do(s, "POST", path, body, "Content-Type", "application/json").Body.String()
}

func setConfig(t testing.TB, s *Server, section, key, value string) {
	t.Helper()
	_, err := s.env.Config.Set(section, key, value, false)
	require.NoError(t, err)
}

// etagOf is the entity tag of an answer, whose header has CouchDB's spelling.
func etagOf(w *httptest.ResponseRecorder) string {
	for name, values := range w.Header() {
		if strings.EqualFold(name, call.HeaderETag) {
			return values[0]
		}
	}
	return ""
}

// expect checks status and body of an answer.
func expect(t testing.TB, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	require.Equal(t, body, w.Body.String())
	require.Equal(t, status, w.Code)
}

func TestDatabaseDoesNotExistWins(t *testing.T) {
	s := newTestServer(t)
	const missing = `{"error":"not_found","reason":"Database does not exist."}` + "\n"
	for _, r := range [][3]string{
		{"PATCH", "/nodb", ""}, {"POST", "/nodb/_bulk_docs", "{"}, {"GET", "/nodb/_all_docs?limit=x", ""}, {"POST", "/nodb/_find", "{}"},
		{"GET", "/nodb/_local", ""}, {"POST", "/nodb/_compact", ""}, {"GET", "/nodb/_shards", ""}, {"GET", "/UPPER", ""}, {"DELETE", "/nodb", ""},
	} {
		expect(t, do(s, r[0], r[1], r[2]), 404, missing)
	}
	expect(t, do(s, "GET", "/nodb/x", "", "Authorization", ""), 404, missing)
	expect(
		t,
		do(s, "PUT", "/UPPER?q=x", ""),
		400,
		`{"error":"bad_request","reason":"The `+"`q`"+` value should be a positive integer."}`+"\n",
	)
}

func TestAccess(t *testing.T) {
	s := newTestServer(t)
	expect(t, do(s, "PUT", "/db", ""), 201, "{\"ok\":true}\n")
	nobody := []string{"Authorization", ""}
	expect(
		t,
		do(s, "GET", "/db", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not authorized to access this db."}`+"\n",
	)
	expect(
		t,
		do(s, "PUT", "/db2", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not a server admin."}`+"\n",
	)
	expect(t, do(s, "PUT", "/db/_security", "{}"), 200, "{\"ok\":true}\n")
	require.Equal(t, 200, do(s, "GET", "/db", "", nobody...).Code)
	expect(
		t,
		do(s, "POST", "/db/_view_cleanup", "", nobody...),
		401,
		`{"error":"unauthorized","reason":"You are not a server or db admin."}`+"\n",
	)
	expect(
		t,
		do(s, "GET", "/", "", "Authorization", "Basic YWRtaW46eA=="),
		401,
		`{"error":"unauthorized","reason":"Name or password is incorrect."}`+"\n",
	)
	w := do(s, "GET", "/_all_dbs", "", "Authorization", "", "Accept", "text/html")
	require.Equal(t, 302, w.Code)
	require.Equal(
		t,
		"http://example.com/_utils/session.html?return=%2F_all_dbs&reason=You%20are%20not%20a%20server%20admin.",
		w.Header().Get("Location"),
	)
}

// TestMaintenanceMode: a server out of service refuses requests to databases, and feeds do not wait.
func TestMaintenanceMode(t *testing.T) {
	s := newTestServer(t)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	set := func(mode string) {
		require.Equal(t, 200, do(s, "PUT", "/_node/_local/_config/couchdb/maintenance_mode", `"`+mode+`"`).Code)
	}
	set("nolb")
	require.Equal(t, 200, do(s, "GET", "/db", "").Code)
	require.Equal(t, 200, do(s, "GET", "/db/_changes?feed=longpoll&since=now", "").Code) // at once
	set("true")
	for _, path := range []string{"/db", "/db/x", "/db/_all_docs", "/db/_changes", "/db/_design/d/_view/v", "/db/_shards"} {
		w := do(s, "GET", path, "")
		require.Equal(t, 500, w.Code, path)
		require.Contains(
			t,
			w.Body.String(),
			`{"error":"internal_server_error","reason":"No DB shards could be opened.","ref":`,
		)
	}
	expect(t, do(s, "GET", "/_all_dbs", ""), 412, `{"error":"nodedown","reason":"couchdb@127.0.0.1"}`+"\n")
	expect(t, do(s, "GET", "/none", ""), 404, `{"error":"not_found","reason":"Database does not exist."}`+"\n")
	require.Equal(t, 201, do(s, "PUT", "/other", "").Code)
	require.Equal(t, 200, do(s, "DELETE", "/other", "").Code)
	require.Equal(t, 200, do(s, "GET", "/_uuids", "").Code)
	set("false")
	require.Equal(t, 200, do(s, "GET", "/db", "").Code)
}

func TestSettingsTakeEffectAtOnce(t *testing.T) {
	s := newTestServer(t)
	expect(t, do(s, "PUT", "/_node/_local/_config/couchdb/maintenance_mode", `"nolb"`), 200, "\"\"\n")
	expect(t, do(s, "GET", "/_up", ""), 404, "{\"status\":\"nolb\"}\n")
	expect(t, do(s, "DELETE", "/_node/_local/_config/couchdb/maintenance_mode", ""), 200, "\"nolb\"\n")
	expect(t, do(s, "GET", "/_up", ""), 200, "{\"status\":\"ok\",\"seeds\":{}}\n")
	expect(t, do(s, "PUT", "/_node/_local/_config/chttpd/allow_jsonp", `"true"`), 200, "\"\"\n")
	expect(t, do(s, "GET", "/_up?callback=f", ""), 200, "/* CouchDB */f({\"status\":\"ok\",\"seeds\":{}});\n")
	expect(
		t,
		do(s, "GET", "/_up?callback=f%20g", ""),
		400,
		"{\"error\":\"bad_request\",\"reason\":\"invalid_callback\"}\n",
	)
	expect(t, do(s, "GET", "/_all_dbs?limit=0&callback=f", ""), 200, "/* CouchDB */f([]);\n")
	expect(t, do(s, "PUT", "/_node/_local/_config/chttpd/max_http_request_size", `"5"`), 200, "\"\"\n")
	expect(
		t,
		do(s, "POST", "/_dbs_info", `{"keys":[]}`),
		413,
		"{\"error\":\"too_large\",\"reason\":\"the request entity is too large\"}\n",
	)
}

func TestStatisticsMove(t *testing.T) {
	s := newTestServer(t)
	expect(t, do(s, "GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PUT/value", ""), 200, "0\n")
	do(s, "PUT", "/db", "")
	expect(t, do(s, "GET", "/_node/_local/_stats/couchdb/httpd_request_methods/PUT/value", ""), 200, "1\n")
	expect(t, do(s, "GET", "/_node/_local/_stats/couchdb/httpd_status_codes/201/value", ""), 200, "1\n")
	expect(t, do(s, "GET", "/_node/_local/_stats/nosuch", ""), 200, "null\n")
	require.Contains(
		t,
		do(s, "GET", "/_node/_local/_prometheus", "").Body.String(),
		"couchdb_httpd_status_codes{code=\"201\"} 1\n",
	)
}

// TestPanicsAreAnswered: a bug costs one request, not the server.
func TestPanicsAreAnswered(t *testing.T) {
	s := newTestServer(t)
	s.env.Route(
		[]call.Route{{Methods: "GET", Pattern: "/", Handle: func(*call.Call) error { panic("bug") }}},
		s.connections.enterStream,
	)
	w := do(s, "GET", "/", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), `"error":"unknown_error"`)
	require.NotEmpty(t, w.Header()["X-Couch-Stack-Hash"]) //nolint:staticcheck // CouchDB's spelling
}

// FuzzRequest: no target, header or body makes the server panic or answer without a status.
func FuzzRequest(f *testing.F) {
	s := newTestServer(f)
	do(s, "PUT", "/db", "")
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
	s := newTestServer(b)
	do(s, "PUT", "/db", "")
	for _, id := range []string{"doc", "a", "b", "c", "d", "e"} {
		do(s, "PUT", "/db/"+id, `{"type":"post","tags":["a","b"],"n":3,"text":"hello world hello world"}`)
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
