package histogram

import (
	"encoding/json"
	"math/bits"
	"slices"
	"time"
)

// Histogram counts durations in buckets that grow by an eighth of their power of two, in
// microseconds: exact below 8, within an eighth above. The zero value is empty. It is not for
// concurrent use.
type Histogram struct {
	counts []int64 // of the buckets up to the last one in which something was counted
	total  int64
	most   int64
}

// buckets is how many there are at most.
const buckets = 8 * 40

// bucket is where a number of microseconds is counted.
func bucket(us int64) int {
	if us < 8 {
		return int(max(us, 0))
	}
	power := bits.Len64(uint64(us)) - 4 // 0 for 8 to 15
	return min(8*(power+1)+int(us>>power)&7, buckets-1)
}

// bound is the smallest number of microseconds that is counted in a bucket.
func bound(i int) int64 {
	if i < 8 {
		return int64(i)
	}
	return int64(8+i&7) << (i/8 - 1)
}

// at is the count of a bucket.
func (h *Histogram) at(i int) *int64 {
	if more := i + 1 - len(h.counts); more > 0 {
		h.counts = append(h.counts, make([]int64, more)...)
	}
	return &h.counts[i]
}

// Add counts a duration; a negative one as none.
func (h *Histogram) Add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	*h.at(bucket(us))++
	h.total++
	h.most = max(h.most, us)
}

// Percentile is the time, in microseconds, that the part p (of 1) of what was counted did not
// exceed; 0 if there is nothing.
func (h *Histogram) Percentile(p float64) int64 {
	if h.total == 0 {
		return 0
	}
	want := int64(float64(h.total)*p + 0.5)
	var seen int64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= want {
			return min(bound(i+1)-1, h.most)
		}
	}
	return h.most
}

// Each calls fn for the buckets in which something was counted, ascending, with the smallest number
// of microseconds of each.
func (h *Histogram) Each(fn func(us, count int64)) {
	for i, n := range h.counts {
		if n > 0 {
			fn(bound(i), n)
		}
	}
}

// Merge adds what another histogram has.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		*h.at(i) += n
	}
	h.total += other.total
	h.most = max(h.most, other.most)
}

// Clone is a copy that changes by itself.
func (h *Histogram) Clone() Histogram {
	c := *h
	c.counts = slices.Clone(h.counts)
	return c
}

// sparse is a histogram as JSON: the buckets in which something was counted.
type sparse struct {
	Counts map[int]int64 `json:"counts,omitempty"`
	Most   int64         `json:"most,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (h Histogram) MarshalJSON() ([]byte, error) {
	s := sparse{Counts: make(map[int]int64), Most: h.most}
	for i, n := range h.counts {
		if n > 0 {
			s.Counts[i] = n
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler. Buckets that there cannot be are passed over.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var s sparse
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*h = Histogram{most: s.Most}
	for i, n := range s.Counts {
		if i >= 0 && i < buckets {
			*h.at(i) += n
			h.total += n
		}
	}
	return nil
}
