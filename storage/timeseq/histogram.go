package timeseq

import "slices"

// Bin counts the updates of a stretch of time.
type Bin struct {
	Second  int64 // when it begins
	Updates uint64
}

// maxBins is how many bins a histogram has at most, bin how wide they are in seconds, and wider
// what older ones are merged to while there are more: the numbers are those of couch_time_seq.
const (
	maxBins = 60
	bin     = 3 * 3600
	day     = 24 * 3600
)

var wider = []int64{6 * 3600, 12 * 3600, day, 10 * day, 30 * day, 180 * day, 365 * day, 730 * day, 1460 * day,
	2920 * day, 5840 * day}

// Histogram counts updates in stretches of time, as GET /db/_time_seq of CouchDB does. Updates
// before the first mark are in a bin that begins in 1970.
type Histogram struct{ bins []Bin } // Updates are those before the bin

// Add takes in a mark. Those that are not after all others add nothing. There is no error.
func (h *Histogram) Add(m Mark) error {
	second := m.Second / bin * bin
	if n := len(h.bins); n == 0 || second > h.bins[n-1].Second {
		h.bins = append(h.bins, Bin{second, m.Updates})
	}
	return nil
}

// Bins are the counts, where the database has so many updates in all.
func (h *Histogram) Bins(updates uint64) []Bin {
	bins := h.bins
	for _, width := range wider {
		bins = merge(bins, width)
	}
	if excess := len(bins) - maxBins; excess > 0 {
		bins = slices.Delete(bins, 1, 1+excess)
	}
	if len(bins) > 0 && bins[0].Updates > 0 {
		bins = slices.Insert(bins, 0, Bin{})
	}
	for i := range bins {
		until := updates
		if i+1 < len(bins) {
			until = bins[i+1].Updates
		}
		bins[i].Updates = until - bins[i].Updates
	}
	return bins
}

// merge makes neighbours one that begin in the same stretch of a width, the oldest first, as long
// as there are too many.
func merge(bins []Bin, width int64) []Bin {
	excess := len(bins) - maxBins
	merged := bins[:0]
	for _, b := range bins {
		n := len(merged)
		if excess > 0 && n > 0 && merged[n-1].Second/width == b.Second/width {
			excess--
			continue
		}
		merged = append(merged, b)
	}
	return merged
}
