package server

import (
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
		"couchdb_auth_cache_requests_total", "couchdb_couch_replicator_checkpoints_total", "go_goroutines ",
	} {
		require.Contains(t, text, "\n"+line, line)
	}
	require.NotContains(t, text, "couchdb_couchdb")
}
