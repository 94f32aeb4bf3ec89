package measure

import (
	"math/bits"
	"time"
)

// subBuckets is how many buckets there are for each doubling; a percentile is off by at most
// 1/subBuckets.
const subBuckets = 64

// histogram counts durations in buckets of constant relative width. The zero value is empty. Not
// safe for concurrent use.
type histogram struct {
	counts [64 * subBuckets]int64
	total  int64
}

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < subBuckets {
		return int(n)
	}
	shift := bits.Len64(n) - bits.Len64(subBuckets)
	return (shift+1)*subBuckets + int(n>>shift) - subBuckets
}

// bucketTop is the largest duration of a bucket.
func bucketTop(i int) time.Duration {
	if i < subBuckets {
		return time.Duration(i)
	}
	shift := i/subBuckets - 1
	return time.Duration(uint64(i%subBuckets+subBuckets+1)<<shift - 1)
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile returns the duration that the share q (0 to 1) of all is not above; 0 when there are
// none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(1, int64(q*float64(h.total)+0.999999))
	for i, n := range h.counts {
		if rank -= n; rank <= 0 {
			return bucketTop(i)
		}
	}
	return bucketTop(len(h.counts) - 1)
}
