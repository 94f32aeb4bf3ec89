package allfields

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// How many entries a range has is told by samples: the entries of one document in SampleFan are
// stored a second time on the first level, those of one of them in SampleFan on the second, and so
// on. Which documents these are follows from their ids alone, so that writers share nothing and
// what a write costs grows by one key in thirty. A range that has too many entries to be counted
// has as many times fewer on a level.
const (
	SampleLevels = 4
	SampleFan    = 32
)

// sampleHeight is the number of levels that a document's entries are on.
func sampleHeight(id string) int {
	hash := xxhash.Sum64String(id)
	for n := range SampleLevels {
		if hash%SampleFan != 0 {
			return n
		}
		hash /= SampleFan
	}
	return SampleLevels
}

// sample is the prefix of a level.
func (sp space) sample(number uint64, level int) []byte {
	return tuple.AppendInt(sp.sub(number, keySamples), int64(level))
}

// appendEntries is the prefix of the entries, or of those of a level.
func (sp space) appendEntries(number uint64, level int) []byte {
	if level == 0 {
		return sp.sub(number, keyRows)
	}
	return sp.sample(number, level)
}

// setSamples writes an entry, or removes it, on the levels of its document. suffix is the entry's
// key after the prefix.
func (sp space) setSamples(tx kv.Tx, number uint64, height int, suffix, value []byte, remove bool) {
	for level := 1; level <= height; level++ {
		key := append(sp.sample(number, level), suffix...)
		if remove {
			tx.Clear(key)
		} else {
			tx.Set(key, value)
		}
	}
}

const (
	// countedAtOnce is how many ranges are counted together.
	countedAtOnce = 64
	// sampleLimit is how many entries of a sample are enough for an estimate.
	sampleLimit = 256
)

// CountUpTo counts the entries of ranges, of values outside arrays and of elements alike, up to a
// limit for each.
func (x *Index) CountUpTo(ranges []Range, limit int) ([]int64, error) {
	return x.count(ranges, []int{0}, limit)
}

// Estimate tells about how many entries ranges have, from one sample of each: that of the lowest
// level that has few enough of them to be counted. All levels are read together, since the higher
// ones have hardly anything to read.
func (x *Index) Estimate(ranges []Range) ([]int64, error) {
	levels := make([]int, SampleLevels)
	for i := range levels {
		levels[i] = i + 1
	}
	counts, err := x.count(ranges, levels, sampleLimit)
	if err != nil {
		return nil, err
	}
	estimates := make([]int64, len(ranges))
	for i := range estimates {
		// Each level stands for SampleFan times as many entries as the one below. The first level
		// with fewer than the limit is exact enough; levels below it give a lower bound.
		factor := int64(SampleFan)
		for _, n := range counts[i*SampleLevels : (i+1)*SampleLevels] {
			if estimates[i] = max(estimates[i], n*factor); n < sampleLimit {
				break
			}
			factor *= SampleFan
		}
	}
	return estimates, nil
}

// count counts the entries of each range on each of some levels, up to a limit.
func (x *Index) count(ranges []Range, levels []int, limit int) ([]int64, error) {
	counts := make([]int64, 0, len(ranges)*len(levels))
	open := make([]kv.Iterator, 0, countedAtOnce)
	read := func() (failed error) {
		for _, it := range open {
			n := int64(0)
			for failed == nil && it.Next() {
				n++
			}
			if err := it.Close(); failed == nil {
				failed = err
			}
			counts = append(counts, n)
		}
		open = open[:0]
		return failed
	}
	for i := range ranges {
		begin, end := ranges[i].keys()
		// Start is above End: the range is empty.
		if bytes.Compare(begin, end) > 0 {
			end = begin
		}
		for _, level := range levels {
			base := x.sp.appendEntries(x.number, level)
			open = append(open, x.s.KV().Range(concat(base, begin), concat(base, end), kv.RangeOptions{Limit: limit}))
		}
		if len(open)+len(levels) > countedAtOnce {
			if err := read(); err != nil {
				return nil, err
			}
		}
	}
	err := read()
	return counts, err
}

func concat(a, b []byte) []byte { return append(a[:len(a):len(a)], b...) }
