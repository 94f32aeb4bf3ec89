package allfields

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// How many entries a range has is told by samples: the entries of one document in SampleFan are stored a second time on
// the first level, those of one of them in SampleFan on the second, and so on. Which documents these are follows from
// their ids alone, so that writers share nothing and what a write costs grows by one key in thirty. A range that has
// too many entries to be counted has as many times fewer on a level.
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

// setSamples writes an entry, or removes it, on the levels of its document. suffix is the entry's key after the prefix.
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

// probesAtOnce is how many ranges Probe reads together.
const probesAtOnce = 64

// Probe counts the entries of ranges, of values outside arrays and of elements alike, up to a limit for each; on a
// level above 0 it counts those of one document in SampleFan to the power of level. A range with as many as the limit
// may have more. Ranges are read together.
func (x *Index) Probe(ranges []Range, level, limit int) ([]int, error) {
	base := x.sp.appendEntries(x.number, level)
	counts := make([]int, len(ranges))
	open := make([]kv.Iterator, 0, probesAtOnce)
	for first := 0; first < len(ranges); first += probesAtOnce {
		open = open[:0]
		for _, r := range ranges[first:min(first+probesAtOnce, len(ranges))] {
			begin, end := r.keys()
			if bytes.Compare(begin, end) > 0 {
				end = begin
			}
			open = append(open, x.s.KV().Range(concat(base, begin), concat(base, end), kv.RangeOptions{Limit: limit}))
		}
		var failed error
		for i, it := range open {
			for failed == nil && it.Next() {
				counts[first+i]++
			}
			if err := it.Close(); failed == nil {
				failed = err
			}
		}
		if failed != nil {
			return nil, failed
		}
	}
	return counts, nil
}

func concat(a, b []byte) []byte { return append(a[:len(a):len(a)], b...) }
