package admin_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// TestPrometheusNames: names that dashboards made for CouchDB ask for.
func TestPrometheusNames(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", "{}").Code)
	w := s.Do("GET", "/_node/_local/_prometheus", "")
	require.Equal(t, 200, w.Code)
	text := w.Body.String()
	for _, line := range []string{
		`couchdb_httpd_request_methods{method="PUT"} 2`, `couchdb_httpd_status_codes{code="201"} 2`, "couchdb_database_writes_total 1",
		"# TYPE couchdb_httpd_clients_requesting_changes gauge", "# TYPE couchdb_request_time_seconds summary",
		`couchdb_request_time_seconds{quantile="0.5"}`, "couchdb_request_time_seconds_count 2", "couchdb_uptime_seconds ",
		`couchdb_erlang_memory_bytes{memory_type="processes"} `, `couchdb_erlang_memory_bytes{memory_type="total"} `,
		`couchdb_couch_log_requests_total{level="error"} `, "couchdb_erlang_processes ", `couchdb_membership{nodes="all_nodes"} 1`,
		"couchdb_database_count 1", "couchdb_maintenance_mode 0", "couchdb_upgrade_in_progress 0", "couchdb_clouseau_connected 0",
		"couchdb_query_server_process_count 0", "couchdb_couchdb_bt_engine_cache_memory 0", "couchdb_couchdb_bt_engine_cache_size 0",
		"couchdb_bt_engine_cache_hits_total 0", "couchdb_bt_engine_cache_misses_total 0", "couchdb_bt_engine_cache_full_total 0",
		"couchdb_ioq_background_requests 0", "couchdb_ioq_interactive_requests 0", "couchdb_ioq_total_requests 0",
		"couchdb_smoosh_active_jobs 0", "couchdb_smoosh_channel_count 0", "couchdb_smoosh_starting_jobs 0", "couchdb_smoosh_waiting_jobs 0",
		"couchdb_auto_purge_start_total 0", "couchdb_auto_purge_complete_total 0", "couchdb_auto_purge_db_open_total 0",
		"couchdb_auto_purge_purge_total 0", "couchdb_couch_replicator_connect_to_applied_total 0",
		"couchdb_couch_server_all_dbs_active_total 0", "# HELP couchdb_maintenance_mode set to 1 when node is in maintenance mode\n# TYPE ",
		"couchdb_auth_cache_requests_total", "couchdb_couch_replicator_checkpoints_total", "go_goroutines ",
	} {
		require.Contains(t, text, "\n"+line, line)
	}
	require.NotContains(t, strings.ReplaceAll(text, "couchdb_couchdb_bt_engine_cache_", ""), "couchdb_couchdb")
}

// TestModesAreGauges: what settings say of the node is a gauge at once.
func TestModesAreGauges(t *testing.T) {
	s := servertest.New(t)
	gauge := func(name string) string {
		return strings.TrimSpace(s.Do("GET", "/_node/_local/_stats/couchdb/"+name+"/value", "").Body.String())
	}
	for _, mode := range []string{"true", "nolb"} {
		s.Set("couchdb", "maintenance_mode", mode)
		require.Equal(t, "1", gauge("maintenance_mode"), mode)
	}
	s.Set("couchdb", "upgrade_in_progress", "true")
	require.Equal(t, "1", gauge("upgrade_in_progress"))
	s.Set("couchdb", "maintenance_mode", "false")
	s.Set("couchdb", "upgrade_in_progress", "false")
	require.Equal(t, "0", gauge("maintenance_mode"))
	require.Equal(t, "0", gauge("upgrade_in_progress"))
}

// TestMetricsPort: the additional port shows the metrics to everyone, and nothing else.
func TestMetricsPort(t *testing.T) {
	s := servertest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.ServeMetrics(l) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{
		"/_node/_local/_prometheus":               `200 text/plain; version=2.0 # HELP`,
		"//_node/couchdb@127.0.0.1/_prometheus/?": `200 text/plain; version=2.0 # HELP`,
		"/":                        `404 application/json {"error":"not_found","reason":""}`,
		"/_all_dbs":                `404 application/json {"error":"not_found","reason":""}`,
		"/_node/other/_prometheus": `500 application/json {"error":"server_error","reason":"throw:{not_found,<<\"no such node: other\">>}"}`,
	} {
		r, err := client.Get("http://" + l.Addr().String() + path)
		require.NoError(t, err)
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		got := fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("Content-Type"), body)
		require.True(t, strings.HasPrefix(got, want), "%s: %.200s", path, got)
	}
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, <-done)
}

// TestSystem: every number of the tree that settee knows is there.
func TestSystem(t *testing.T) {
	s := servertest.New(t)
	body := s.Do("GET", "/_node/_local/_system", "").Body.String()
	require.Contains(t, body, `"os_proc_count":0,`)
	for _, name := range []string{"other", "processes", "processes_used", "code", "reductions", "process_count"} {
		require.Regexp(t, `"`+name+`":[1-9]`, body)
	}
}

// TestHashCounters: a login costs a slow hash once, then fast ones; so does a new administrator's
// password.
func TestHashCounters(t *testing.T) {
	s := servertest.New(t)
	count := func(kind string) string {
		return strings.TrimSpace(
			s.Do("GET", "/_node/_local/_stats/couchdb/password_hashing_"+kind+"/value", "").Body.String(),
		)
	}
	require.Equal(t, "1", count("slow"))
	require.Equal(t, "2", count("fast"))
	require.Equal(t, 200, s.Do("PUT", "/_node/_local/_config/admins/eve", `"secret"`).Code)
	require.Equal(t, "2", count("slow"))
	require.Equal(t, 200, s.Do("PUT", "/_node/_local/_config/admins/adam", `"-hashed-0,0"`).Code)
	require.Equal(t, "2", count("slow"))
}

// TestRequestCounters: requests that CouchDB counts by kind.
func TestRequestCounters(t *testing.T) {
	pool := js.NewPool(js.Options{})
	t.Cleanup(pool.Close)
	s := servertest.Start(t, server.Options{JS: pool})
	s.PutViews("?partitioned=true")
	for _, r := range [][3]string{
		{"POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:x"}]}`}, {"POST", "/db/_bulk_get", `{"docs":[]}`}, {"GET", "/db/_partition/p/_design/d/_view/m", ""},
		{"GET", "/db/_partition/p/_all_docs", ""}, {"GET", "/db", ""},
		{"POST", "/db/_purge", `{"p:x":["1-967a00dff5e02add41819138abb3284d"]}`},
		{"POST", "/db/_find", `{"selector":{}}`},
	} {
		w := s.Do(r[0], r[1], r[2])
		require.Less(t, w.Code, 300, "%s: %s", r[1], w.Body)
	}
	for name, want := range map[string]string{
		"httpd/bulk_requests/value": "2", "httpd/bulk_docs/value/n": "null", "httpd/partition_view_requests/value": "1",
		"httpd/partition_all_docs_requests/value": "1", "document_writes/value": "12", "document_inserts/value": "12", "query_server/process_starts/value": "0",
		"document_purges/success/value": "1", "database_purges/value": "1",
	} {
		require.Equal(t, want+"\n", s.Do("GET", "/_node/_local/_stats/couchdb/"+name, "").Body.String(), name)
	}
	require.Contains(t, s.Do("GET", "/_node/_local/_stats/couchdb/dbinfo/value", "").Body.String(), `"n":1,`)
	require.Contains(t, s.Do("GET", "/_node/_local/_stats/mango/query_time/value", "").Body.String(), `"n":1,`)
	evaluated := func() string {
		return s.Do("GET", "/_node/_local/_stats/mango/evaluate_selector/value", "").Body.String()
	}
	require.Equal(t, "10\n", evaluated())
	require.Equal(t, 200, s.Do("POST", "/db/_changes?filter=_selector", `{"selector":{"k":1}}`).Code)
	require.Equal(t, "21\n", evaluated())
	if runtime.GOOS == "linux" {
		require.NotEqual(t, "0\n", s.Do("GET", "/_node/_local/_stats/couchdb/open_os_files/value", "").Body.String())
	}
	require.Contains(
		t,
		s.Do("GET", "/_node/_local/_stats/couchdb/httpd/bulk_docs/value", "").Body.String(),
		`"n":1,"min":1.0,`,
	)
}

// TestWriteCounters: documents count when they are stored, local ones apart, and as inserted when
// there was none.
func TestWriteCounters(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for i, step := range []struct {
		body string
		adds string // to documents, inserts, local documents, updates
	}{
		{`{"docs":[{"_id":"a"},{"_id":"b"},{"_id":"a"},{"_id":"_local/a"}]}`, "2 2 1 1"},
		{`{"docs":[{"_id":"a"}]}`, "0 0 0 1"}, // a conflict
		{`{"docs":[{"_id":"a","_rev":"1-x"},{"_id":"c","_rev":"1-x"}],"new_edits":false}`, "2 1 0 1"},
		{`{"docs":[{"_id":"c","_rev":"1-x"}],"new_edits":false}`, "0 0 0 1"}, // known
	} {
		count := func() (n [4]int) {
			for i, name := range []string{"document_writes", "document_inserts", "local_document_writes", "database_writes"} {
				body := s.Do("GET", "/_node/_local/_stats/couchdb/"+name+"/value", "").Body.String()
				n[i], _ = strconv.Atoi(strings.TrimSpace(body))
			}
			return n
		}
		before := count()
		require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", step.body).Code)
		after := count()
		for i := range after {
			after[i] -= before[i]
		}
		require.Equal(t, "["+step.adds+"]", fmt.Sprint(after), "step %d", i)
	}
}
