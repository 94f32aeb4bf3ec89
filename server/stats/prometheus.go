package stats

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// promRenamed are the statistics whose names CouchDB does not simply take over
// (couch_prometheus_util:couch_to_prom). Where another is added, the metric is the total of
// successes and failures.
var promRenamed = map[string]struct {
	name, kind, help string
	plus             string
}{
	"couch_replicator.checkpoints.success": {
		"couch_replicator_checkpoints_total",
		"counter",
		"number of checkpoint saves",
		"couch_replicator.checkpoints.failure",
	},
	"couch_replicator.checkpoints.failure": {"couch_replicator_checkpoints_failure_total", "counter", "", ""},
	"couch_replicator.responses.success": {
		"couch_replicator_responses_total",
		"counter",
		"number of HTTP responses received by the replicator",
		"couch_replicator.responses.failure",
	},
	"couch_replicator.responses.failure": {"couch_replicator_responses_failure_total", "counter", "", ""},
	"couch_replicator.stream_responses.success": {
		"couch_replicator_stream_responses_total",
		"counter",
		"number of streaming HTTP responses received by the replicator",
		"couch_replicator.stream_responses.failure",
	},
	"couch_replicator.stream_responses.failure": {"couch_replicator_stream_responses_failure_total", "counter", "", ""},
	"couchdb.auth_cache_hits": {
		"auth_cache_requests_total",
		"counter",
		"number of authentication cache requests",
		"couchdb.auth_cache_misses",
	},
	"couchdb.auth_cache_misses":                {"auth_cache_misses_total", "counter", "", ""},
	"couchdb.open_databases":                   {"open_databases", "gauge", "", ""},
	"couchdb.open_os_files":                    {"open_os_files", "gauge", "", ""},
	"couchdb.httpd.clients_requesting_changes": {"httpd_clients_requesting_changes", "gauge", "", ""},
	"ddoc_cache.hit": {
		"ddoc_cache_requests_total",
		"counter",
		"number of design doc cache requests",
		"ddoc_cache.miss",
	},
	"ddoc_cache.miss":     {"ddoc_cache_requests_failures_total", "counter", "", ""},
	"ddoc_cache.recovery": {"ddoc_cache_requests_recovery_total", "counter", "", ""},
	"fabric.read_repairs.success": {
		"fabric_read_repairs_total",
		"counter",
		"number of fabric read repairs",
		"fabric.read_repairs.failure",
	},
	"fabric.read_repairs.failure": {"fabric_read_repairs_failures_total", "counter", "", ""},
}

// promLabels are groups of statistics that are one metric with a label.
var promLabels = map[string][3]string{
	"couch_log.level":               {"couch_log_requests_total", "level", "number of logged messages"},
	"couchdb.httpd_request_methods": {"httpd_request_methods", "method", "number of HTTP requests by method"},
	"couchdb.httpd_status_codes":    {"httpd_status_codes", "code", "number of HTTP responses by status code"},
	"rexi.streams.timeout":          {"rexi_streams_timeout_total", "stage", "number of rexi stream timeouts"},
}

// Describe implements prometheus.Collector; what is collected follows from the statistics alone.
func (s *Stats) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector with CouchDB's names.
func (s *Stats) Collect(out chan<- prometheus.Metric) {
	for _, st := range s.all {
		out <- s.promMetric(st)
	}
}

// promMetric gives a statistic the name and type that CouchDB's /_node/_local/_prometheus has for
// it: some paths are labels of one metric, some have another name or are the sum of two, and the
// rest are joined by underscores, with "_total" for counters (couch_prometheus_util:couch_to_prom).
func (s *Stats) promMetric(st *stat) prometheus.Metric {
	path := strings.Join(st.path, ".")
	if group, ok := promLabels[strings.Join(st.path[:len(st.path)-1], ".")]; ok {
		d := prometheus.NewDesc("couchdb_"+group[0], group[2], []string{group[1]}, nil)
		return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(st.n.Value()), st.path[len(st.path)-1])
	}
	name, kind, help, value := strings.Join(dropCouchDB(st.path), "_"), st.kind, st.desc, float64(st.n.Value())
	if r, ok := promRenamed[path]; ok {
		name, kind = r.name, r.kind
		if r.plus != "" {
			help = r.help
			if other := s.byName[r.plus]; other != nil {
				value += float64(other.n.Value())
			}
		}
	} else if kind == "counter" && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	switch kind {
	case "histogram":
		return st.promSummary("couchdb_" + name + "_seconds")
	case "gauge":
		return prometheus.MustNewConstMetric(prometheus.NewDesc("couchdb_"+name, help, nil, nil), prometheus.GaugeValue,
			value)
	}
	return prometheus.MustNewConstMetric(prometheus.NewDesc("couchdb_"+name, help, nil, nil), prometheus.CounterValue,
		value)
}

// dropCouchDB leaves out the first element couchdb, which the prefix says already.
func dropCouchDB(path []string) []string {
	if path[0] == "couchdb" {
		return path[1:]
	}
	return path
}

// promSummary is a histogram as a summary in seconds; the samples are milliseconds. Quantiles are
// those of the last seconds, as everywhere; count and sum are those of all values, which CouchDB
// does not keep, so that they only grow.
func (st *stat) promSummary(name string) prometheus.Metric {
	recent := st.samples.recent()
	m := recent.summarise()
	quantiles := make(map[float64]float64, len(percentiles))
	for i, p := range percentiles {
		quantiles[p.rank] = m.percentiles[i] / 1000
	}
	count, sum := st.samples.total()
	return prometheus.MustNewConstSummary(prometheus.NewDesc(name, st.desc, nil, nil), uint64(count), sum/1000,
		quantiles)
}
