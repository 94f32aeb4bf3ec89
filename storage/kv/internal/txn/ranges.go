package txn

import (
	"bytes"
	"slices"
	"sort"
)

// KeyRange is the keys from Begin (inclusive) to End (exclusive).
type KeyRange struct{ Begin, End []byte }

// Contains reports whether key is in the range.
func (r KeyRange) Contains(key []byte) bool {
	return bytes.Compare(r.Begin, key) <= 0 && bytes.Compare(key, r.End) < 0
}

// Overlaps reports whether the two ranges share a key.
func (r KeyRange) Overlaps(other KeyRange) bool {
	return bytes.Compare(r.Begin, other.End) < 0 && bytes.Compare(other.Begin, r.End) < 0
}

// IsPoint reports whether the range holds exactly one key.
func (r KeyRange) IsPoint() bool {
	n := len(r.Begin)
	return len(r.End) == n+1 && r.End[n] == 0 && bytes.Equal(r.End[:n], r.Begin)
}

// RangeSet is a set of keys: disjoint ranges in order. The zero value is empty.
type RangeSet struct {
	ranges []KeyRange
}

// NewRangeSet returns the union of ranges, whose slice it takes over and reorders.
func NewRangeSet(ranges []KeyRange) RangeSet {
	slices.SortFunc(ranges, func(a, b KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	merged := ranges[:0]
	for _, r := range ranges {
		last := len(merged) - 1
		if last >= 0 && bytes.Compare(r.Begin, merged[last].End) <= 0 {
			if bytes.Compare(r.End, merged[last].End) > 0 {
				merged[last].End = r.End
			}
			continue
		}
		merged = append(merged, r)
	}
	return RangeSet{ranges: merged}
}

// Len is the number of disjoint ranges.
func (s *RangeSet) Len() int { return len(s.ranges) }

// Ranges returns the disjoint ranges in order. They must not be modified.
func (s *RangeSet) Ranges() []KeyRange { return s.ranges }

// from returns the index of the first range that ends after key.
func (s *RangeSet) from(key []byte) int {
	return sort.Search(len(s.ranges), func(i int) bool { return bytes.Compare(s.ranges[i].End, key) > 0 })
}

// Find returns the range that holds key.
func (s *RangeSet) Find(key []byte) (KeyRange, bool) {
	if i := s.from(key); i < len(s.ranges) && s.ranges[i].Contains(key) {
		return s.ranges[i], true
	}
	return KeyRange{}, false
}

// Overlaps reports whether the set shares a key with r.
func (s *RangeSet) Overlaps(r KeyRange) bool {
	i := s.from(r.Begin)
	return i < len(s.ranges) && s.ranges[i].Overlaps(r)
}

// Add puts the keys of r into the set.
func (s *RangeSet) Add(r KeyRange) {
	// The ranges lo..hi-1 overlap r or touch it, and become one with it.
	lo := sort.Search(len(s.ranges), func(i int) bool { return bytes.Compare(s.ranges[i].End, r.Begin) >= 0 })
	hi := lo
	for hi < len(s.ranges) && bytes.Compare(s.ranges[hi].Begin, r.End) <= 0 {
		hi++
	}
	if lo < hi {
		if bytes.Compare(s.ranges[lo].Begin, r.Begin) < 0 {
			r.Begin = s.ranges[lo].Begin
		}
		if bytes.Compare(s.ranges[hi-1].End, r.End) > 0 {
			r.End = s.ranges[hi-1].End
		}
	}
	s.ranges = slices.Replace(s.ranges, lo, hi, r)
}
