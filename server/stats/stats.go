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
)

// statsNames are the statistics a CouchDB node reports: path, type and description, one a line. Those this server does
// not move stay at zero, so that dashboards find every name.
//
//go:embed names.tsv
var statsNames string

// Counter is a counter or gauge.
type Counter struct{ n atomic.Int64 }

// Add moves it.
func (c *Counter) Add(n int64) { c.n.Add(n) }

func (c *Counter) set(n int64) { c.n.Store(n) }

// Value is its number.
func (c *Counter) Value() int64 { return c.n.Load() }

// stat is one statistic. Counters and gauges use n; histograms keep recent samples.
type stat struct {
	path    []string
	kind    string // counter, gauge, histogram
	desc    string
	n       Counter
	samples *Histogram
}

// Stats holds all statistics in the order of their names. Those that the server moves are its fields, so that there is
// no name to mistype; the others stay at zero.
type Stats struct {
	Received atomic.Uint64 // bytes of request bodies
	Sent     atomic.Uint64 // bytes of answers' bodies
	Moved
	all      []*stat
	byName   map[string]*stat
	methods  map[string]*stat
	codes    [600]*stat
	workers  javaScript
	unlisted []string // names that fields were to have, and that are not in names.tsv: a test looks for them
}

// New returns counters that are all zero.
func New() *Stats {
	s := &Stats{byName: make(map[string]*stat), methods: make(map[string]*stat)}
	for _, line := range strings.Split(strings.TrimSpace(statsNames), "\n") {
		f := strings.Split(line, "\t")
		st := &stat{path: strings.Split(f[0], "."), kind: f[1], desc: f[2]}
		if st.kind == "histogram" {
			st.samples = &Histogram{}
		}
		s.all = append(s.all, st)
		s.byName[f[0]] = st
	}
	s.register()
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

// AuthCache counts a question to the directory of users, by whether the answer was known.
func (s *Stats) AuthCache(hit bool) {
	if hit {
		s.AuthCacheHits.Add(1)
	} else {
		s.AuthCacheMisses.Add(1)
	}
}

// Hashed counts a hash of a password.
func (s *Stats) Hashed(slow bool) {
	if slow {
		s.SlowHashes.Add(1)
	} else {
		s.FastHashes.Add(1)
	}
}

// Read counts documents that were read.
func (s *Stats) Read(n int) { s.DatabaseReads.Add(int64(n)) }

// Written counts documents that were written.
func (s *Stats) Written(n int) {
	s.DatabaseWrites.Add(int64(n))
	s.DocumentWrites.Add(int64(n))
}

// Begin counts a request.
func (s *Stats) Begin(method string) {
	s.Requests.Add(1)
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
	s.RequestTime.Took(took)
}

// Histogram keeps the newest values.
type Histogram struct {
	mu     sync.Mutex
	values [1024]float64
	count  int
	sum    float64
}

// Add adds a value.
func (h *Histogram) Add(v float64) {
	h.mu.Lock()
	h.values[h.count%len(h.values)] = v
	h.count++
	h.sum += v
	h.mu.Unlock()
}

// Took adds a time, in milliseconds.
func (h *Histogram) Took(d time.Duration) { h.Add(float64(d.Microseconds()) / 1000) }

// sorted returns the kept values in ascending order, and the number and sum of all values ever added.
func (h *Histogram) sorted() (values []float64, count int, sum float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	values = slices.Clone(h.values[:min(h.count, len(h.values))])
	slices.Sort(values)
	return values, h.count, h.sum
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
