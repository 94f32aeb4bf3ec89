package stats

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/views/js"
)

// statsNames are the statistics a CouchDB node reports: path, type and description, one a line. Those this server does
// not move stay at zero, so that dashboards find every name.
//
//go:embed names.tsv
var statsNames string

// stat is one statistic. Counters and gauges use n; histograms keep recent samples.
type stat struct {
	path    []string
	kind    string // counter, gauge, histogram
	desc    string
	n       atomic.Int64
	samples *samples
}

// Stats holds all statistics in the order of their names.
type Stats struct {
	Received               atomic.Uint64 // bytes of request bodies
	Sent                   atomic.Uint64 // bytes of answers' bodies
	all                    []*stat
	byName                 map[string]*stat
	request, reads, writes *stat
	total                  *stat
	fastHashes, slowHashes *stat
	authHits, authMisses   *stat
	documents              *stat // document_writes
	methods                map[string]*stat
	codes                  [600]*stat
}

// New returns counters that are all zero.
func New() *Stats {
	s := &Stats{byName: make(map[string]*stat), methods: make(map[string]*stat)}
	for _, line := range strings.Split(strings.TrimSpace(statsNames), "\n") {
		f := strings.Split(line, "\t")
		st := &stat{path: strings.Split(f[0], "."), kind: f[1], desc: f[2]}
		if st.kind == "histogram" {
			st.samples = &samples{}
		}
		s.all = append(s.all, st)
		s.byName[f[0]] = st
	}
	s.reads, s.writes = s.byName["couchdb.database_reads"], s.byName["couchdb.database_writes"]
	s.request, s.total = s.byName["couchdb.request_time"], s.byName["couchdb.httpd.requests"]
	s.documents = s.byName["couchdb.document_writes"]
	s.authHits, s.authMisses = s.byName["couchdb.auth_cache_hits"], s.byName["couchdb.auth_cache_misses"]
	s.fastHashes, s.slowHashes = s.byName["couchdb.password_hashing_fast"], s.byName["couchdb.password_hashing_slow"]
	for _, st := range s.all {
		if len(st.path) != 3 {
			continue
		}
		switch st.path[1] {
		case "httpd_request_methods":
			s.methods[st.path[2]] = st
		case "httpd_status_codes":
			if code, err := strconv.Atoi(st.path[2]); err == nil && code < len(s.codes) {
				s.codes[code] = st
			}
		}
	}
	return s
}

// Add moves a counter or gauge by its dotted name; unknown names are ignored.
func (s *Stats) Add(name string, n int64) {
	if st := s.byName[name]; st != nil {
		st.n.Add(n)
	}
}

// Value is the number of a counter or gauge by its dotted name; 0 for an unknown one.
func (s *Stats) Value(name string) int64 {
	if st := s.byName[name]; st != nil {
		return st.n.Load()
	}
	return 0
}

// AuthCache counts a question to the directory of users, by whether the answer was known.
func (s *Stats) AuthCache(hit bool) {
	if hit {
		s.authHits.n.Add(1)
	} else {
		s.authMisses.n.Add(1)
	}
}

// Hashed counts a hash of a password.
func (s *Stats) Hashed(slow bool) {
	if slow {
		s.slowHashes.n.Add(1)
	} else {
		s.fastHashes.n.Add(1)
	}
}

// Read counts documents that were read.
func (s *Stats) Read(n int) { s.reads.n.Add(int64(n)) }

// Written counts documents that were written.
func (s *Stats) Written(n int) {
	s.writes.n.Add(int64(n))
	s.documents.n.Add(int64(n))
}

// Begin counts a request.
func (s *Stats) Begin(method string) {
	s.total.n.Add(1)
	if st := s.methods[method]; st != nil {
		st.n.Add(1)
	}
}

// End counts its answer.
func (s *Stats) End(status int, took time.Duration, received, sent int64) {
	s.Received.Add(uint64(received))
	s.Sent.Add(uint64(sent))
	if status > 0 && status < len(s.codes) && s.codes[status] != nil {
		s.codes[status].n.Add(1)
	}
	s.request.samples.add(float64(took.Microseconds()) / 1000)
}

// samples keeps the newest values of a histogram.
type samples struct {
	mu     sync.Mutex
	values [1024]float64
	count  int
	sum    float64
}

func (s *samples) add(v float64) {
	s.mu.Lock()
	s.values[s.count%len(s.values)] = v
	s.count++
	s.sum += v
	s.mu.Unlock()
}

// sorted returns the kept values in ascending order, and the number and sum of all values ever added.
func (s *samples) sorted() (values []float64, count int, sum float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	values = slices.Clone(s.values[:min(s.count, len(s.values))])
	slices.Sort(values)
	return values, s.count, s.sum
}

// percentiles are those that CouchDB reports; 999 stands for 99.9.
var percentiles = []struct {
	label int
	rank  float64
}{{50, .5}, {75, .75}, {90, .9}, {95, .95}, {99, .99}, {999, .999}}

func percentile(sorted []float64, rank float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(rank*float64(len(sorted))), len(sorted)-1)]
}

// summary are the moments of a histogram, as CouchDB's bear library names them.
type summary struct {
	min, max, mean, geometric, harmonic, median, variance, deviation, skewness, kurtosis float64
}

func summarise(sorted []float64) summary {
	n := float64(len(sorted))
	if n == 0 {
		return summary{}
	}
	var sum, logs, inverses float64
	for _, v := range sorted {
		sum += v
		logs += math.Log(max(v, 1e-9))
		inverses += 1 / max(v, 1e-9)
	}
	r := summary{
		min:       sorted[0],
		max:       sorted[len(sorted)-1],
		mean:      sum / n,
		geometric: math.Exp(logs / n),
		harmonic:  n / inverses,
		median:    percentile(sorted, .5),
	}
	var m2, m3, m4 float64
	for _, v := range sorted {
		d := v - r.mean
		m2, m3, m4 = m2+d*d, m3+d*d*d, m4+d*d*d*d
	}
	if n > 1 {
		r.variance = m2 / (n - 1)
		r.deviation = math.Sqrt(r.variance)
	}
	if m2 > 0 {
		r.skewness = (m3 / n) / math.Pow(m2/n, 1.5)
		r.kurtosis = (m4/n)/math.Pow(m2/n, 2) - 3
	}
	return r
}

// Sample adds a value to a histogram by its dotted name.
func (s *Stats) Sample(name string, value float64) {
	if st := s.byName[name]; st != nil && st.samples != nil {
		st.samples.add(value)
	}
}

// Took adds the time since began to a histogram of milliseconds.
func (s *Stats) Took(name string, began time.Time) {
	s.Sample(name, float64(time.Since(began).Microseconds())/1000)
}

// serverCalls are CouchDB's names of the calls of JavaScript workers.
var serverCalls = map[string]string{
	"check": "add_fun", "map": "map", "reduce": "reduce", "filter": "ddoc_filter", "validate": "ddoc_vdu", "design": "ddoc_other", "list": "ddoc_other",
}

// TakeJavaScript sets the statistics below couchdb.query_server to those of the pool.
func (s *Stats) TakeJavaScript(p *js.Pool) {
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
