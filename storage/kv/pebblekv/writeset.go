package pebblekv

import (
	"cmp"
	"slices"
	"sort"
)

// writtenKey and writtenRange say at which commit version a key or all keys of a range were last
// written.
type writtenKey struct {
	key     string
	version uint64
}

type writtenRange struct {
	begin, end string
	version    uint64
}

// writeSet holds what one or several consecutive transactions wrote: keys sorted and distinct,
// ranges sorted and disjoint.
type writeSet struct {
	keys        []writtenKey
	ranges      []writtenRange
	newest      uint64 // the highest version in it
	newestRange uint64 // the highest version among its ranges
}

func (r *writeSet) len() int { return len(r.keys) + len(r.ranges) }

// setVersion stamps a write set that was built before its commit version was known.
func (r *writeSet) setVersion(version uint64) {
	for i := range r.keys {
		r.keys[i].version = version
	}
	for i := range r.ranges {
		r.ranges[i].version = version
	}
	r.newest = version
	if len(r.ranges) > 0 {
		r.newestRange = version
	}
}

// keyWrittenIn reports whether one of the ranges holds key at a version above since.
func (r *writeSet) keyWrittenIn(key string, since uint64) bool {
	i := r.rangeFrom(key)
	return i < len(r.ranges) && r.ranges[i].begin <= key && r.ranges[i].version > since
}

// rangeFrom returns the index of the first range that ends after key.
func (r *writeSet) rangeFrom(key string) int {
	return sort.Search(len(r.ranges), func(i int) bool { return r.ranges[i].end > key })
}

// written reports whether anything in begin <= key < end was written at a version above since.
func (r *writeSet) written(begin, end string, since uint64) bool {
	i := sort.Search(len(r.keys), func(i int) bool { return r.keys[i].key >= begin })
	for ; i < len(r.keys) && r.keys[i].key < end; i++ {
		if r.keys[i].version > since {
			return true
		}
	}
	for i := r.rangeFrom(begin); i < len(r.ranges) && r.ranges[i].begin < end; i++ {
		if r.ranges[i].version > since {
			return true
		}
	}
	return false
}

// mergeWriteSets returns the union of two write sets, in which the newer version of a key or range
// counts.
func mergeWriteSets(older, newer *writeSet) writeSet {
	return writeSet{
		keys:        mergeKeys(older.keys, newer.keys),
		ranges:      mergeRanges(older.ranges, newer.ranges),
		newest:      max(older.newest, newer.newest),
		newestRange: max(older.newestRange, newer.newestRange),
	}
}

// mergeKeys merges two sorted lists of keys. A key that is in both has the version of the newer
// write.
func mergeKeys(older, newer []writtenKey) []writtenKey {
	merged := make([]writtenKey, 0, len(older)+len(newer))
	for len(older) > 0 && len(newer) > 0 {
		switch c := cmp.Compare(older[0].key, newer[0].key); {
		case c < 0:
			merged, older = append(merged, older[0]), older[1:]
		case c > 0:
			merged, newer = append(merged, newer[0]), newer[1:]
		default:
			older = older[1:]
		}
	}
	return append(append(merged, older...), newer...)
}

// mergeRanges lays the newer ranges over the older ones; of an older range those parts stay that no
// newer one covers.
func mergeRanges(older, newer []writtenRange) []writtenRange {
	switch {
	case len(older) == 0:
		return newer
	case len(newer) == 0:
		return older
	}
	merged := make([]writtenRange, 0, len(older)+len(newer))
	over := newer
	for _, o := range older {
		for len(over) > 0 && over[0].end <= o.begin {
			over = over[1:]
		}
		for _, n := range over {
			if n.begin >= o.end || o.begin >= o.end {
				break
			}
			if o.begin < n.begin {
				merged = append(merged, writtenRange{o.begin, n.begin, o.version})
			}
			o.begin = n.end
		}
		if o.begin < o.end {
			merged = append(merged, o)
		}
	}
	merged = append(merged, newer...)
	slices.SortFunc(merged, compareBegin)
	return merged
}

// uniteRanges sorts the ranges of one version in place and makes them disjoint.
func uniteRanges(ranges []writtenRange) []writtenRange {
	slices.SortFunc(ranges, compareBegin)
	united := ranges[:0]
	for _, r := range ranges {
		if last := len(united) - 1; last >= 0 && r.begin < united[last].end {
			united[last].end = max(united[last].end, r.end)
			continue
		}
		united = append(united, r)
	}
	return united
}

func compareBegin(a, b writtenRange) int { return cmp.Compare(a.begin, b.begin) }
