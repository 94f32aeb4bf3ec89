package call

// routeStats are the counters of requests to some endpoints, by pattern: what chttpd_db, chttpd_view and
// couch_mrview_http count.
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
		c.Env.Stats.Add(name, 1)
	} else if c.Segment(1) == "_partition" && len(c.Segments) > 3 {
		c.Env.Stats.Add(partitionStats[c.Segment(3)], 1)
	}
}
