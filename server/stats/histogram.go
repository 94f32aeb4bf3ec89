package stats

import (
	"math"
	"sync"
	"time"
)

// Histogram counts values in bins: of the last seconds, of which the moments are shown, as in
// CouchDB (couch_stats_histogram), so that an incident is not seen for ever; and all of them, for
// _prometheus.
type Histogram struct {
	mu      sync.Mutex
	start   time.Time // when the first value came
	seconds []second  // a ring; made with the first value
	count   int       // of all values ever added
	sum     float64
}

// Window is how far back the moments look, in seconds: the default of CouchDB's [stats] interval.
const Window = 10

// second holds the values of one second.
type second struct {
	at   int64 // since the start, plus 1
	bins bins
}

// bins are powers of two that are divided by eight. The first one has what is smaller, too, and the
// last one what is larger.
type bins [binCount]uint32

const (
	binBits  = 52 - 3 // of a double that do not tell bins apart
	binCount = 230
)

var (
	smallest = 0.01
	largest  = 4e6
	firstBin = math.Float64bits(smallest) >> binBits
)

// bounds are the smallest and the largest double of a bin, and what stands for its values.
func bounds(bin int) (low, high, middle float64) {
	bits := (firstBin + uint64(bin)) << binBits
	return math.Float64frombits(bits), math.Float64frombits(bits | (1<<binBits - 1)),
		math.Float64frombits(bits | 1<<(binBits-1))
}

// binOf is the bin of a value.
func binOf(v float64) uint64 {
	return math.Float64bits(min(max(v, smallest), largest))>>binBits - firstBin
}

// Add adds a value.
func (h *Histogram) Add(v float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seconds == nil {
		h.start = time.Now()
	}
	h.add(v, time.Since(h.start))
}

// add adds a value at a time since the start. h.mu is held.
func (h *Histogram) add(v float64, now time.Duration) {
	at := int64(now/time.Second) + 1
	bin := binOf(v)
	if h.seconds == nil {
		h.seconds = make([]second, Window)
	}
	s := &h.seconds[at%Window]
	if s.at != at {
		*s = second{at: at}
	}
	s.bins[bin]++
	h.count++
	h.sum += v
}

// Took adds a time, in milliseconds.
func (h *Histogram) Took(d time.Duration) { h.Add(float64(d.Microseconds()) / 1000) }

// recent returns the values of the last seconds.
func (h *Histogram) recent() bins {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at(time.Since(h.start))
}

// at returns the values of the last Window seconds before now, a time since the start. h.mu is
// held.
func (h *Histogram) at(now time.Duration) (b bins) {
	first := int64(now/time.Second) + 1 - (Window - 1)
	for i := range h.seconds {
		if s := &h.seconds[i]; s.at >= first {
			for bin, n := range s.bins {
				b[bin] += n
			}
		}
	}
	return b
}

// total returns the number and the sum of all values ever added.
func (h *Histogram) total() (count int, sum float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count, h.sum
}

// percentiles are those that CouchDB reports; 999 stands for 99.9.
var percentiles = [...]struct {
	label int
	rank  float64
}{{50, .5}, {75, .75}, {90, .9}, {95, .95}, {99, .99}, {999, .999}}

// summary are the moments of a histogram (couch_stats_math).
type summary struct {
	n                                                                            int
	min, max, mean, geometric, harmonic, variance, deviation, skewness, kurtosis float64
	percentiles                                                                  [len(percentiles)]float64
}

// summarise computes the moments and percentiles of what was measured. Bins hold counts, so each
// value stands at the middle of its bin; the first pass gives the means, and the second the powers
// of the distances from them, which is exact where sums of powers would cancel. A spread that is
// nearly zero has no skewness or kurtosis, as in CouchDB.
func (b *bins) summarise() (r summary) {
	var sum, logs, inverses float64
	for bin, count := range b {
		if count == 0 {
			continue
		}
		low, high, v := bounds(bin)
		if r.n == 0 {
			r.min = low
		}
		r.max = high
		n := float64(count)
		r.n += int(count)
		sum, logs, inverses = sum+n*v, logs+n*math.Log(v), inverses+n/v
	}
	if r.n == 0 {
		return r
	}
	n := float64(r.n)
	r.mean, r.geometric, r.harmonic = sum/n, math.Exp(logs/n), n/inverses
	var m2, m3, m4 float64
	for bin, count := range b {
		if count > 0 {
			_, _, v := bounds(bin)
			n, d := float64(count), v-r.mean
			m2, m3, m4 = m2+n*(d*d), m3+n*(d*d*d), m4+n*((d*d)*(d*d))
		}
	}
	r.variance = m2 / n
	r.deviation = math.Sqrt(r.variance)
	if d := r.variance * r.deviation; d >= 1e-12 {
		r.skewness = m3 / n / d
	}
	if d := r.variance * r.variance; d >= 1e-12 {
		r.kurtosis = m4/n/d - 3
	}
	for i, p := range percentiles {
		r.percentiles[i] = b.percentile(n * p.rank)
	}
	return r
}

// percentile is the value that as many as rank are below, taken as evenly spread in its bin.
func (b *bins) percentile(rank float64) float64 {
	for bin, count := range b {
		if rank < float64(count) {
			low, high, _ := bounds(bin)
			return low + (high-low)*rank/float64(count)
		}
		rank -= float64(count)
	}
	return 0
}
