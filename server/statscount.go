package server

import (
	"time"

	"github.com/settee-db/settee/views/js"
)

// routeStats are the counters of requests to some endpoints, by pattern: what chttpd_db, chttpd_view and couch_mrview_http count.
var routeStats = map[string]string{
	"/{db}/_bulk_docs":                          "couchdb.httpd.bulk_requests",
	"/{db}/_bulk_get":                           "couchdb.httpd.bulk_requests",
	"/{db}/_design/{name}/_view/{view}":         "couchdb.httpd.view_reads",
	"/{db}/_design/{name}/_view/{view}/queries": "couchdb.httpd.view_reads",
}

// partitionStats are those below /{db}/_partition/{partition}, by the next part of the path.
var partitionStats = map[string]string{
	"_all_docs": "couchdb.httpd.partition_all_docs_requests", "_design": "couchdb.httpd.partition_view_requests",
	"_find": "couchdb.httpd.partition_find_requests", "_explain": "couchdb.httpd.partition_explain_requests",
}

// countRequest counts a request to an endpoint that CouchDB counts.
func (c *Call) countRequest(pattern string) {
	if name, ok := routeStats[pattern]; ok {
		c.srv.stats.add(name, 1)
	} else if c.Segment(1) == "_partition" && len(c.segments) > 3 {
		c.srv.stats.add(partitionStats[c.Segment(3)], 1)
	}
}

// sample adds a value to a histogram by its dotted name.
func (s *stats) sample(name string, value float64) {
	if st := s.byName[name]; st != nil && st.samples != nil {
		st.samples.add(value)
	}
}

// took adds the time since began to a histogram of milliseconds.
func (s *stats) took(name string, began time.Time) {
	s.sample(name, float64(time.Since(began).Microseconds())/1000)
}

// serverCalls are CouchDB's names of the calls of JavaScript workers.
var serverCalls = map[string]string{
	"check": "add_fun", "map": "map", "reduce": "reduce", "filter": "ddoc_filter", "validate": "ddoc_vdu", "design": "ddoc_other", "list": "ddoc_other",
}

// takeJavaScript sets the statistics below couchdb.query_server to those of the pool.
func (s *stats) takeJavaScript(p *js.Pool) {
	if p == nil {
		return
	}
	set := func(name string, n int64) { s.byName["couchdb.query_server."+name].n.Store(n) }
	pool := p.Stats()
	set("process_starts", pool.Started)
	set("calls.spawn_proc", pool.Started)
	set("process_errors", pool.Killed)
	set("process_error_exits", pool.Killed)
	set("process_exits", pool.Started-pool.Killed-int64(pool.Running))
	all, counts, times := int64(0), map[string]int64{}, map[string]int64{}
	for command, calls := range pool.Calls {
		all += calls.Count
		counts[serverCalls[command]] += calls.Count
		times[serverCalls[command]] += calls.Took.Microseconds()
	}
	set("process_prompts", all)
	set("acquired_processes", all)
	for name, n := range counts {
		set("calls."+name, n)
		set("time."+name, times[name])
	}
}
