package stats

import (
	_ "embed"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// statsNames are the statistics a CouchDB node reports: path, type and description, one a line.
// Those this server does not move stay at zero, so that dashboards find every name.
//
//go:embed names.tsv
var statsNames string

// Counter is a counter or gauge.
type Counter struct{ n atomic.Int64 }

// Add adds n, which is negative when a gauge falls.
func (c *Counter) Add(n int64) { c.n.Add(n) }

func (c *Counter) set(n int64) { c.n.Store(n) }

// Value returns the current number.
func (c *Counter) Value() int64 { return c.n.Load() }

// stat is one statistic. Counters and gauges use n, histograms samples.
type stat struct {
	path    []string
	kind    string // counter, gauge, histogram
	desc    string
	n       Counter
	samples *Histogram
}

// Stats holds all statistics in the order of their names. Those that the server records are its
// fields, so that there is no name to mistype; the others stay at zero.
type Stats struct {
	Received atomic.Uint64 // bytes of request bodies
	Sent     atomic.Uint64 // bytes of answers' bodies
	// Answered is how long answers took, but for feeds, whose clients decide that; CouchDB's
	// request_time counts these, too. Its reader is the sampler of the statistics.
	Answered Interval
	Recorded
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

// AuthCache counts a lookup in the directory of users as a hit or as a miss.
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

// Written counts an update of a database: the documents that it stored, those of them that are new,
// and the local ones besides.
func (s *Stats) Written(documents, inserts, local int) {
	s.DatabaseWrites.Add(1)
	s.DocumentWrites.Add(int64(documents))
	s.DocumentInserts.Add(int64(inserts))
	s.LocalWrites.Add(int64(local))
}

// Evaluated counts documents that were matched with a selector.
func (s *Stats) Evaluated(n int) { s.EvaluatedSelectors.Add(int64(n)) }

// Rejected counts a document that validate_doc_update has refused.
func (s *Stats) Rejected() { s.RejectedDocuments.Add(1) }

// Purged counts a purge that was asked for, with the documents that it names.
func (s *Stats) Purged(documents int) {
	s.DatabasePurges.Add(1)
	s.DocumentPurges.Add(int64(documents))
	s.DocumentsGone.Add(int64(documents))
}

// Logged counts a line of the log, by CouchDB's name of its level.
func (s *Stats) Logged(level string) {
	if st := s.byName["couch_log.level."+level]; st != nil {
		st.n.Add(1)
	}
}

// TakeOpenFiles sets how many files the process has open.
func (s *Stats) TakeOpenFiles(n int) { s.OpenFiles.set(int64(n)) }

// TakeModes sets whether the node is in maintenance mode, and whether an upgrade is said to be in
// progress.
func (s *Stats) TakeModes(maintenance, upgrading bool) {
	for c, on := range map[*Counter]bool{s.Maintenance: maintenance, s.Upgrading: upgrading} {
		c.set(0)
		if on {
			c.set(1)
		}
	}
}

// Classes are the answers by the first digit of their status.
func (s *Stats) Classes() (n [6]int64) {
	for code, st := range s.codes {
		if st != nil {
			n[code/100] += st.n.Value()
		}
	}
	return n
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
