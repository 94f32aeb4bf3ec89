package server

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// statsNames are the statistics a CouchDB node reports: path, type and description, one a line. Those this server does not
// move stay at zero, so that dashboards find every name.
//
//go:embed stats_names.tsv
var statsNames string

// stat is one statistic. Counters and gauges use n; histograms keep recent samples.
type stat struct {
	path    []string
	kind    string // counter, gauge, histogram
	desc    string
	n       atomic.Int64
	samples *samples
}

// stats holds all statistics in the order of their names.
type stats struct {
	received               atomic.Uint64 // bytes of request bodies
	sent                   atomic.Uint64 // bytes of answers' bodies
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

func newStats() *stats {
	s := &stats{byName: make(map[string]*stat), methods: make(map[string]*stat)}
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

// add moves a counter or gauge by its dotted name; unknown names are ignored.
func (s *stats) add(name string, n int64) {
	if st := s.byName[name]; st != nil {
		st.n.Add(n)
	}
}

// hashed counts a hash of a password.
func (s *stats) hashed(slow bool) {
	if slow {
		s.slowHashes.n.Add(1)
	} else {
		s.fastHashes.n.Add(1)
	}
}

// read counts documents that were read.
func (s *stats) read(n int) { s.reads.n.Add(int64(n)) }

// written counts documents that were written.
func (s *stats) written(n int) {
	s.writes.n.Add(int64(n))
	s.documents.n.Add(int64(n))
}

// begin counts a request.
func (s *stats) begin(method string) {
	s.total.n.Add(1)
	if st := s.methods[method]; st != nil {
		st.n.Add(1)
	}
}

// end counts its answer.
func (s *stats) end(status int, took time.Duration, received, sent int64) {
	s.received.Add(uint64(received))
	s.sent.Add(uint64(sent))
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
	r := summary{min: sorted[0], max: sorted[len(sorted)-1], mean: sum / n, geometric: math.Exp(logs / n), harmonic: n / inverses, median: percentile(sorted, .5)}
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
