package server

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrometheusNames: names that dashboards made for CouchDB ask for.
func TestPrometheusNames(t *testing.T) {
	s := newTestServer(t)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/db/x", "{}").Code)
	w := do(s, "GET", "/_node/_local/_prometheus", "")
	require.Equal(t, 200, w.Code)
	text := w.Body.String()
	for _, line := range []string{
		`couchdb_httpd_request_methods{method="PUT"} 2`, `couchdb_httpd_status_codes{code="201"} 2`, "couchdb_database_writes_total 1",
		"# TYPE couchdb_httpd_clients_requesting_changes gauge", "# TYPE couchdb_request_time_seconds summary",
		`couchdb_request_time_seconds{quantile="0.5"}`, "couchdb_request_time_seconds_count 2", "couchdb_uptime_seconds ",
		`couchdb_erlang_memory_bytes{memory_type="processes"} `, "couchdb_erlang_processes ", `couchdb_membership{nodes="all_nodes"} 1`,
		"couchdb_auth_cache_requests_total", "couchdb_couch_replicator_checkpoints_total", "go_goroutines ",
	} {
		require.Contains(t, text, "\n"+line, line)
	}
	require.NotContains(t, text, "couchdb_couchdb")
}

// TestMetricsPort: the additional port shows the metrics to everyone, and nothing else.
func TestMetricsPort(t *testing.T) {
	s := newTestServer(t)
	for path, want := range map[string]string{
		"/_node/_local/_prometheus":               `200 text/plain; version=2.0 # HELP`,
		"//_node/couchdb@127.0.0.1/_prometheus/?": `200 text/plain; version=2.0 # HELP`,
		"/":                        `404 application/json {"error":"not_found","reason":""}`,
		"/_all_dbs":                `404 application/json {"error":"not_found","reason":""}`,
		"/_node/other/_prometheus": `500 application/json {"error":"server_error","reason":"throw:{not_found,<<\"no such node: other\">>}"}`,
	} {
		w := httptest.NewRecorder()
		s.serveMetrics(w, httptest.NewRequest("GET", path, nil))
		got := fmt.Sprintf("%d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
		require.True(t, strings.HasPrefix(got, want), "%s: %.200s", path, got)
	}
}

// TestSystem: every number of the tree that settee knows is there.
func TestSystem(t *testing.T) {
	s := newTestServer(t)
	body := do(s, "GET", "/_node/_local/_system", "").Body.String()
	require.Contains(t, body, `"os_proc_count":0,`)
	for _, name := range []string{"other", "processes", "processes_used", "code", "reductions", "process_count"} {
		require.Regexp(t, `"`+name+`":[1-9]`, body)
	}
}

// TestHashCounters: a login costs a slow hash once, then fast ones; so does a new administrator's password.
func TestHashCounters(t *testing.T) {
	s := newTestServer(t)
	count := func(kind string) string {
		return strings.TrimSpace(do(s, "GET", "/_node/_local/_stats/couchdb/password_hashing_"+kind+"/value", "").Body.String())
	}
	require.Equal(t, "1", count("slow"))
	require.Equal(t, "2", count("fast"))
	require.Equal(t, 200, do(s, "PUT", "/_node/_local/_config/admins/eve", `"secret"`).Code)
	require.Equal(t, "2", count("slow"))
	require.Equal(t, 200, do(s, "PUT", "/_node/_local/_config/admins/adam", `"-hashed-0,0"`).Code)
	require.Equal(t, "2", count("slow"))
}
