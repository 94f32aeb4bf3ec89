package admin

import (
	"context"
	"net/http"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// system are the numbers of the process in the terms of Erlang's run-time system: goroutines are
// processes, the heap and the stacks are their memory. What has no counterpart is 0.
type system struct {
	uptime                      int64
	other, used, reserved       uint64 // bytes: the run-time system's own, processes', what is reserved for them
	code                        uint64 // bytes of program text in memory
	runQueue                    uint64 // goroutines that wait for a processor
	contextSwitches             uint64 // of the process's threads
	allocations                 uint64 // objects, in place of reductions: work done
	collections, wordsReclaimed uint64
	bytesIn, bytesOut           uint64 // bodies of requests and answers
	workers                     int    // JavaScript processes
	goroutines                  uint64
}

// maxGoroutines stands for Erlang's limit of processes; goroutines have none.
const maxGoroutines = 262144

// readSystem takes the numbers. It does not stop the world.
func (h *Handlers) readSystem() system {
	samples := []metrics.Sample{
		{
			Name: "/memory/classes/total:bytes",
		}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{
			Name: "/memory/classes/heap/free:bytes",
		}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{
			Name: "/sched/goroutines/runnable:goroutines",
		}, {Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/frees:bytes"},
	}
	metrics.Read(samples)
	// A name that a later Go does not have counts 0 rather than ending the request.
	n := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	y := system{
		uptime: int64(time.Since(h.started).Seconds()),
		used:   n(1) + n(4), runQueue: n(6), goroutines: n(7), allocations: n(8),
		collections: n(9), wordsReclaimed: n(10) / 8,
		bytesIn: h.env.Stats.Received.Load(), bytesOut: h.env.Stats.Sent.Load(),
	}
	y.reserved = y.used + n(2) + n(3)
	y.other = n(0) - n(5) - y.reserved
	y.code, y.contextSwitches = processNumbers()
	if h.js != nil {
		y.workers = h.js.Stats().Running
	}
	return y
}

// noTreeCache stands for CouchDB's cache of nodes of its trees in files, which has no counterpart.
const noTreeCache = `"bt_engine_cache":{"shard_count":0,"max_term":0,"max_memory":0,` +
	`"misses":0,"hits":0,"full":0,"size":0,"memory":0},`

// getSystem answers them in the shape of chttpd_node:get_stats; with cluster=true, on FoundationDB,
// and with what the cluster says of itself, for which it is asked.
func (h *Handlers) getSystem(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	y := h.readSystem()
	b := []byte{'{'}
	field := func(name string, n uint64) {
		b = append(b, name...)
		b = strconv.AppendUint(b, n, 10)
	}
	field(`"uptime":`, uint64(y.uptime))
	field(`,"memory":{"other":`, y.other)
	field(`,"atom":0,"atom_used":0,"processes":`, y.reserved)
	field(`,"processes_used":`, y.used)
	field(`,"binary":0,"code":`, y.code)
	field(`,"ets":0},"run_queue":`, y.runQueue)
	field(`,"run_queue_dirty_cpu":0,"ets_table_count":0,`+noTreeCache+`"context_switches":`, y.contextSwitches)
	field(`,"reductions":`, y.allocations)
	field(`,"garbage_collection_count":`, y.collections)
	field(`,"words_reclaimed":`, y.wordsReclaimed)
	field(`,"io_input":`, y.bytesIn)
	field(`,"io_output":`, y.bytesOut)
	field(`,"os_proc_count":`, uint64(y.workers))
	field(`,"stale_proc_count":0,"process_count":`, y.goroutines)
	field(`,"process_limit":`, maxGoroutines)
	b = append(
		b,
		`,"message_queues":{"couch_file":{},"couch_db_updater":{},"couch_server":0,"index_server":0,"rexi_server":0,"rexi_buffer":0}`...)
	b = append(b, `,"internal_replication_jobs":0,"distribution":{},"distribution_events":{}`...)
	if asked, _ := c.Query.First("cluster"); asked == "true" && h.cluster != nil {
		b = append(append(b, `,"cluster":`...), h.cluster.JSON()...)
	}
	b = append(b, '}')
	return c.JSON(http.StatusOK, b)
}

// systemCollector are the numbers with CouchDB's names (couch_prometheus:get_system_stats), where
// they mean the same.
type systemCollector struct{ handlers *Handlers }

// systemMetric is a metric with the function that takes its value from the numbers of the process.
type systemMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*system) float64
}

var (
	memoryDesc = prometheus.NewDesc("couchdb_erlang_memory_bytes", "size of memory (in bytes) allocated",
		[]string{"memory_type"}, nil)
	membershipDesc = prometheus.NewDesc("couchdb_membership", "count of nodes in the cluster", []string{"nodes"}, nil)
	searchDesc     = prometheus.NewDesc("couchdb_clouseau_connected", "whether there is full-text search", nil, nil)
	databasesDesc  = prometheus.NewDesc("couchdb_database_count", "total database count", nil, nil)
	systemMetrics  = []systemMetric{
		newSystemMetric("uptime_seconds", "couchdb uptime", prometheus.CounterValue,
			func(y *system) float64 { return float64(y.uptime) }),
		newSystemMetric("erlang_io_recv_bytes_total", "bytes of request bodies", prometheus.CounterValue,
			func(y *system) float64 { return float64(y.bytesIn) }),
		newSystemMetric("erlang_io_sent_bytes_total", "bytes of bodies of answers", prometheus.CounterValue,
			func(y *system) float64 { return float64(y.bytesOut) }),
		newSystemMetric("erlang_gc_collections_total", "number of garbage collections", prometheus.CounterValue,
			func(y *system) float64 { return float64(y.collections) }),
		newSystemMetric("erlang_gc_words_reclaimed_total", "number of words reclaimed by garbage collections",
			prometheus.CounterValue, func(y *system) float64 { return float64(y.wordsReclaimed) }),
		newSystemMetric("erlang_context_switches_total", "total number of context switches", prometheus.CounterValue,
			func(y *system) float64 { return float64(y.contextSwitches) }),
		newSystemMetric("erlang_processes", "the number of goroutines", prometheus.GaugeValue,
			func(y *system) float64 { return float64(y.goroutines) }),
		newSystemMetric("erlang_process_limit", "the number of goroutines that would be worrying",
			prometheus.GaugeValue, func(*system) float64 { return maxGoroutines }),
		newSystemMetric("erlang_scheduler_queues", "goroutines that wait for a processor", prometheus.GaugeValue,
			func(y *system) float64 { return float64(y.runQueue) }),
		newSystemMetric("internal_replication_jobs", "count of internal replication changes to process",
			prometheus.GaugeValue, func(*system) float64 { return 0 }),
	}
)

func newSystemMetric(name, help string, kind prometheus.ValueType, value func(*system) float64) systemMetric {
	return systemMetric{prometheus.NewDesc("couchdb_"+name, help, nil, nil), kind, value}
}

// absent are the gauges of what CouchDB has and this server has not, so that dashboards find every
// name; always 0.
var absent = func() (zeros []prometheus.Metric) {
	for name, help := range map[string]string{
		"couchdb_bt_engine_cache_memory": "memory used by the btree cache", // the prefix is there twice in CouchDB, too
		"couchdb_bt_engine_cache_size":   "number of entries in the btree cache",
		"ioq_background_requests":        "IOQ background queue requests",
		"ioq_interactive_requests":       "IOQ interactive queue requests",
		"ioq_total_requests":             "IOQ total active requests",
		"smoosh_active_jobs":             "global total active compaction jobs",
		"smoosh_channel_count":           "total active smoosh channels",
		"smoosh_starting_jobs":           "global total starting compaction jobs",
		"smoosh_waiting_jobs":            "global total waiting compaction jobs",
	} {
		desc := prometheus.NewDesc("couchdb_"+name, help, nil, nil)
		zeros = append(zeros, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 0))
	}
	return zeros
}()

// countTime bounds the count of databases.
const countTime = 5 * time.Second

// databases counts the databases; ok is false where that takes too long.
func (h *Handlers) databases() (n int, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	err := h.env.Store.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(string) error { n++; return nil })
	return n, err == nil
}

// Describe implements prometheus.Collector.
func (m systemCollector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m systemCollector) Collect(out chan<- prometheus.Metric) {
	y := m.handlers.readSystem()
	for _, p := range systemMetrics {
		out <- prometheus.MustNewConstMetric(p.desc, p.kind, p.value(&y))
	}
	memory := map[string]uint64{
		"total": y.reserved + y.other + y.code, "system": y.other + y.code, // as erlang:memory/0 adds up
		"processes": y.reserved, "processes_used": y.used, "other": y.other, "code": y.code,
		"atom": 0, "atom_used": 0, "binary": 0, "ets": 0,
	}
	for kind, bytes := range memory {
		out <- prometheus.MustNewConstMetric(memoryDesc, prometheus.GaugeValue, float64(bytes), kind)
	}
	for _, zero := range absent {
		out <- zero
	}
	search := 0.0
	if m.handlers.search != nil {
		search = 1
	}
	out <- prometheus.MustNewConstMetric(searchDesc, prometheus.GaugeValue, search)
	if n, ok := m.handlers.databases(); ok {
		out <- prometheus.MustNewConstMetric(databasesDesc, prometheus.GaugeValue, float64(n))
	}
	there := float64(len(m.handlers.live()))
	for _, kind := range []string{"all_nodes", "cluster_nodes"} {
		out <- prometheus.MustNewConstMetric(membershipDesc, prometheus.GaugeValue, there, kind)
	}
}
