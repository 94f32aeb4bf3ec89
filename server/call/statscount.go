package call

import "github.com/settee-db/settee/server/stats"

// countRequest counts a request to an endpoint that CouchDB counts: what chttpd_db, chttpd_view and
// couch_mrview_http count. pattern is that of its route.
func (h *Head) countRequest(pattern string) {
	if counter := h.requestCounter(pattern); counter != nil {
		counter.Add(1)
	}
}

// requestCounter is the counter that CouchDB keeps for a pattern beside those of all requests, or
// nil. CouchDB counts requests to a partition by the resource behind the name, whatever follows it.
func (h *Head) requestCounter(pattern string) *stats.Counter {
	s := h.Env.Stats
	switch pattern {
	case "/{db}/_bulk_docs", "/{db}/_bulk_get":
		return s.BulkRequests
	case "/{db}/_design/{name}/_view/{view}", "/{db}/_design/{name}/_view/{view}/queries":
		return s.ViewReads
	}
	if h.Segment(1) != "_partition" || len(h.Segments) <= 3 {
		return nil
	}
	switch h.Segment(3) {
	case "_all_docs":
		return s.PartitionAllDocs
	case "_design":
		return s.PartitionViews
	case "_find":
		return s.PartitionFinds
	case "_explain":
		return s.PartitionExplains
	}
	return nil
}
