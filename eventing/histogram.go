package eventing

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that grow by an eighth of their power of two, in
// microseconds: exact below 8, within an eighth above. The zero value is empty. It is not for
// concurrent use.
type histogram struct {
	counts [8 * 40]int64
	total  int64
	most   int64
}

// bucket is where a number of microseconds is counted.
func bucket(us int64) int {
	if us < 8 {
		return int(max(us, 0))
	}
	power := bits.Len64(uint64(us)) - 4 // 0 for 8 to 15
	return min(8*(power+1)+int(us>>power)&7, len(histogram{}.counts)-1)
}

// bound is the smallest number of microseconds that is counted in a bucket.
func bound(i int) int64 {
	if i < 8 {
		return int64(i)
	}
	return int64(8+i&7) << (i/8 - 1)
}

func (h *histogram) add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	h.counts[bucket(us)]++
	h.total++
	h.most = max(h.most, us)
}

// percentile is the time, in microseconds, that the part p (of 1) of what was counted did not
// exceed; 0 if there is nothing.
func (h *histogram) percentile(p float64) int64 {
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

// each calls fn for the buckets in which something was counted, ascending, with the smallest number
// of each.
func (h *histogram) each(fn func(us, count int64)) {
	for i, n := range h.counts {
		if n > 0 {
			fn(bound(i), n)
		}
	}
}
