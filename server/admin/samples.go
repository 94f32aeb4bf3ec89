package admin

import (
	"math"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/stats"
)

// This file keeps the last hour of what the server counts, so that whoever looks sees what was
// before. A sample reads counters, and nothing of the store's data.

const (
	// sampleEvery is the time between two samples.
	sampleEvery = 10 * time.Second
	// samplesKept are those of an hour.
	samplesKept = 360
)

// samplesMemory is what they take, in bytes: a number for each measure, and the time.
var samplesMemory = samplesKept * (len(measures) + 1) * 8

// measureKind says what is shown of a number that a reading has.
type measureKind uint8

const (
	asItIs    measureKind = iota // what it is at the moment
	perSecond                    // by how much it grew, a second
	mean                         // of a histogram: the mean of what was added
)

// measure is one series of the samples. of names what a reading has of it: a metric of
// Prometheus, with the value of its label if it has one, or one of the server's own.
type measure struct {
	name string
	kind measureKind
	of   string
}

// measures are the series. What an engine does not tell has none.
var measures = []measure{
	{"requests_per_second", perSecond, "requests"},
	{"answers_2xx_per_second", perSecond, "2xx"},
	{"answers_3xx_per_second", perSecond, "3xx"},
	{"answers_4xx_per_second", perSecond, "4xx"},
	{"answers_5xx_per_second", perSecond, "5xx"},
	{"latency_p50_ms", asItIs, "p50"},
	{"latency_p95_ms", asItIs, "p95"},
	{"latency_p99_ms", asItIs, "p99"},
	{"documents_read_per_second", perSecond, "reads"},
	{"documents_written_per_second", perSecond, "writes"},
	{"bytes_in_per_second", perSecond, "received"},
	{"bytes_out_per_second", perSecond, "sent"},
	{"memory_heap_bytes", asItIs, "heap"},
	{"memory_resident_bytes", asItIs, "process_resident_memory_bytes"},
	{"memory_bodies_bytes", asItIs, "bodies"},
	{"memory_answers_bytes", asItIs, "answers"},
	{"memory_sorting_bytes", asItIs, "sorting"},
	{"processor_seconds_per_second", perSecond, "process_cpu_seconds_total"},
	{"workers_busy", asItIs, "settee_js_workers/busy"},
	{"workers_idle", asItIs, "settee_js_workers/idle"},
	{"function_workers_busy", asItIs, "settee_function_workers/busy"},
	{"function_workers_idle", asItIs, "settee_function_workers/idle"},
	{"feeds", asItIs, "feeds"},
	{"connections", asItIs, "settee_http_connections"},
	{"open_files", asItIs, "process_open_fds"},
	{"jobs_running", asItIs, "settee_jobs_running"},
	{"replications_running", asItIs, "replications running"},
	{"replications_crashed", asItIs, "replications crashed"},
	{"store_write_ms", mean, "settee_write_seconds"},
	{"store_sync_ms", mean, "settee_commit_sync_seconds"},
	{"store_group_transactions", mean, "settee_commit_group_transactions"},
	{"store_disk_bytes", asItIs, "settee_disk_bytes"},
	{"store_memtable_bytes", asItIs, "settee_memtable_bytes"},
	{"store_block_cache_bytes", asItIs, "settee_block_cache_bytes"},
	{"store_volume_free_bytes", asItIs, "settee_volume_free_bytes"},
	{"store_read_amplification", asItIs, "settee_read_amplification"},
	{"store_write_amplification", asItIs, "settee_write_amplification"},
	{"store_compacted_bytes_per_second", perSecond, "settee_compacted_bytes_total"},
	{"store_flushed_bytes_per_second", perSecond, "settee_flushed_bytes_total"},
	{"store_compaction_debt_bytes", asItIs, "settee_compaction_debt_bytes"},
}

// milliseconds are the series of means whose histograms are in seconds.
var milliseconds = map[string]float64{"store_write_ms": 1000, "store_sync_ms": 1000}

// limits are bounds of series, by their names in the answer.
var limits = map[string]string{
	"memory_bytes": "memory limit", "memory_bodies_bytes": "bodies limit",
	"memory_answers_bytes": "answers limit", "memory_sorting_bytes": "sorting limit",
	"workers": "workers limit", "connections": "settee_http_connections_max",
	"open_files": "process_max_fds", "store_volume_bytes": "settee_volume_bytes",
}

// reading are all numbers of one moment, by their names. What there is not has none.
type reading map[string]float64

// sampler takes samples of readings. It is safe for concurrent use.
type sampler struct {
	read     func() reading
	answered *stats.Interval // whose reader it is

	mu     sync.Mutex
	taken  int                  // so far
	times  [samplesKept]int64   // in seconds since 1970; a ring
	values [samplesKept]numbers // as long as measures
	last   reading              // that the next sample is compared with
	lastAt time.Time
}

// numbers are JSON's, with null for those that there are not (NaN).
type numbers []float64

// MarshalJSON implements json.Marshaler. Five digits tell what a plot can show; whole numbers are
// exact.
func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v):
			b = strconv.AppendFloat(b, v, 'f', 0, 64)
		default:
			b = strconv.AppendFloat(b, v, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}

// newSampler takes the first reading, which rates begin with.
func newSampler(read func() reading, answered *stats.Interval) *sampler {
	s := &sampler{read: read, answered: answered, last: read(), lastAt: time.Now()}
	all := make(numbers, samplesKept*len(measures))
	for i := range s.values {
		s.values[i] = all[i*len(measures) : (i+1)*len(measures)]
	}
	return s
}

// run takes samples until the server stops.
func (s *sampler) run(stopping <-chan struct{}) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.take(now)
		case <-stopping:
			return
		}
	}
}

// take adds a sample. One goroutine calls it.
func (s *sampler) take(now time.Time) {
	r := s.read()
	if ranks, ok := s.answered.Ranks(.5, .95, .99); ok {
		r["p50"], r["p95"], r["p99"] = ranks[0], ranks[1], ranks[2]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.taken % samplesKept
	seconds := now.Sub(s.lastAt).Seconds()
	for i := range measures {
		s.values[at][i] = measures[i].value(s.last, r, seconds)
	}
	s.times[at] = now.Unix()
	s.taken++
	s.last, s.lastAt = r, now
}

// value is what a measure shows of two readings, NaN for nothing.
func (m *measure) value(before, now reading, seconds float64) float64 {
	grown := func(name string) float64 {
		from, known := before[name]
		to, there := now[name]
		if !known || !there || to < from {
			return math.NaN()
		}
		return to - from
	}
	switch m.kind {
	case perSecond:
		return grown(m.of) / seconds
	case mean:
		unit := max(milliseconds[m.name], 1)
		return unit * grown(m.of+" sum") / grown(m.of+" count") // 0/0 is NaN
	}
	if v, there := now[m.of]; there {
		return v
	}
	return math.NaN()
}

// since gives the samples after a time, the oldest first. A series without a value is left out.
func (s *sampler) since(after int64) (times []int64, series map[string]numbers) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times, series = []int64{}, map[string]numbers{}
	var chosen []numbers
	for n := max(0, s.taken-samplesKept); n < s.taken; n++ {
		if at := n % samplesKept; s.times[at] > after {
			times = append(times, s.times[at])
			chosen = append(chosen, s.values[at])
		}
	}
	for i := range measures {
		column, some := make(numbers, len(chosen)), false
		for n, values := range chosen {
			column[n] = values[i]
			some = some || !math.IsNaN(values[i])
		}
		if some {
			series[measures[i].name] = column
		}
	}
	return times, series
}

// readNumbers makes what takes readings: of the collectors that only read counters, and of the
// server's own.
func readNumbers(h *Handlers, others []prometheus.Collector) func() reading {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, other := range others {
		registry.MustRegister(other) // h.metrics has taken it
	}
	return func() reading {
		r := make(reading)
		families, _ := registry.Gather() // what could be gathered is there
		for _, f := range families {
			for _, m := range f.GetMetric() {
				names := []string{f.GetName()} // the sum of those with labels
				for _, label := range m.GetLabel() {
					names = append(names, f.GetName()+"/"+label.GetValue())
				}
				for _, name := range names {
					switch {
					case m.Counter != nil:
						r[name] += m.Counter.GetValue()
					case m.Gauge != nil:
						r[name] += m.Gauge.GetValue()
					case m.Histogram != nil:
						r[name+" sum"] += m.Histogram.GetSampleSum()
						r[name+" count"] += float64(m.Histogram.GetSampleCount())
					}
				}
			}
		}
		addOwn(h, r)
		return r
	}
}

// addOwn adds what the server itself counts.
func addOwn(h *Handlers, r reading) {
	s := h.env.Stats
	r["requests"] = float64(s.Requests.Value())
	for class, n := range s.Classes() {
		r[string('0'+rune(class))+"xx"] = float64(n)
	}
	r["reads"], r["writes"] = float64(s.DatabaseReads.Value()), float64(s.DocumentWrites.Value())
	r["received"], r["sent"] = float64(s.Received.Load()), float64(s.Sent.Load())
	r["feeds"] = float64(s.OpenFeeds.Value())
	r["replications running"] = float64(s.RunningReplications.Value())
	r["replications crashed"] = float64(s.CrashedReplications.Value())
	r["heap"] = float64(h.readSystem().used)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		r["memory limit"] = float64(limit)
	}
	for name, budget := range budgets(h.env) {
		usage := budget.Usage()
		r[name], r[name+" limit"] = float64(usage.Total-usage.Free), float64(usage.Total)
	}
	if h.js != nil {
		r["workers limit"] = float64(h.js.Stats().Most)
	}
}

// budgets are those of memory that requests share, by the names that readings have for them.
func budgets(env *call.Env) map[string]*memory.Budget {
	all := map[string]*memory.Budget{"bodies": env.Bodies, "answers": env.Answers, "sorting": env.Sorting}
	for name, budget := range all {
		if budget == nil { // the process has no bound
			delete(all, name)
		}
	}
	return all
}
