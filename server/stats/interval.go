package stats

import (
	"sync/atomic"
	"time"
)

// Interval counts times in the bins of a Histogram, for one reader that asks from time to time what
// came since it asked last. Adding is safe for concurrent use, and takes no lock.
type Interval struct {
	counts [binCount]atomic.Uint32
	seen   bins // what the reader has been told
}

// Took adds a time.
func (i *Interval) Took(d time.Duration) { i.counts[binOf(float64(d.Microseconds())/1000)].Add(1) }

// Ranks are the times, in milliseconds, below which the given parts of those lie that came since
// the last call; false where there was none. One goroutine calls it.
func (i *Interval) Ranks(parts ...float64) (times []float64, ok bool) {
	var since bins
	n := 0
	for bin := range i.counts {
		now := i.counts[bin].Load()
		since[bin] = now - i.seen[bin] // right also where it has begun again at 0
		i.seen[bin] = now
		n += int(since[bin])
	}
	for _, part := range parts {
		times = append(times, since.percentile(float64(n)*part))
	}
	return times, n > 0
}
