package index

import (
	"github.com/settee-db/settee/search/segment"
	"strings"
)

// RangeFacet is ranges of numbers of a field that are counted.
type RangeFacet struct {
	Field  string
	Ranges []LabelledRange
}

// LabelledRange is a range with the name that it has in the answer.
type LabelledRange struct {
	Label                  string
	Min, Max               float64
	MinInclude, MaxInclude bool
}

// facets counts values of hits. Counts of values are by ordinal while a segment is read, and by
// value in the end.
type facets struct {
	of *Request
	// Of the segment that is read; nil where it has no value of the field, or there is no memory
	// for counts.
	columns []segment.StringColumn
	counts  [][]int64
	values  []map[string]int64
	numbers []segment.NumberColumn
	inRange [][]int64
	// Of values that were counted in all segments, about.
	bytes int
}

// Bounds of what counts take in memory: those of the values of a segment, and of all that the
// answer has.
const (
	bytesOfCount   = 8
	bytesOfValue   = 64
	mostCountBytes = segment.MaxSetBytes
)

// take ends the search where counts become too large.
func take(r *segment.Run, bytes int, all *int) bool {
	if *all += bytes; *all > mostCountBytes {
		r.Fail(&Error{"there are too many different values to be counted"})
	}
	return r.Err() == nil
}

// newFacets checks that what is to be counted can be.
func (x *Index) newFacets(q *Request) (*facets, error) {
	f := &facets{of: q, columns: make([]segment.StringColumn, len(q.Counts)), counts: make([][]int64, len(q.Counts)),
		numbers: make([]segment.NumberColumn, len(q.Ranges))}
	for _, field := range q.Counts {
		info, ok := x.field(field)
		switch {
		case info.Strings:
		case x.Kind == segment.Clouseau:
			// The texts are those of the two servers' Lucene.
			return nil, &Error{`dim "` + field + `" does not exist`}
		case ok:
			kind := "NONE"
			if info.Numbers {
				kind = "SORTED_NUMERIC"
			}
			return nil, &Error{"unexpected docvalues type " + kind + " for field '" + field +
				"' (expected one of [SORTED, SORTED_SET]). Re-index with correct docvalues type."}
		}
		f.values = append(f.values, map[string]int64{})
	}
	for _, r := range q.Ranges {
		f.inRange = append(f.inRange, make([]int64, len(r.Ranges)))
	}
	return f, nil
}

// enter begins a segment.
func (f *facets) enter(s *reading) {
	f.leave(s.run)
	counts := f.bytes
	for i, field := range f.of.Counts {
		column := s.Strings(s.run, field)
		if column == nil || !take(s.run, bytesOfCount*column.Len(), &counts) {
			continue
		}
		f.columns[i], f.counts[i] = column, make([]int64, column.Len())
	}
	for i, r := range f.of.Ranges {
		f.numbers[i] = s.Numbers(s.run, r.Field)
	}
}

// leave adds the counts of a segment to those by value.
func (f *facets) leave(run *segment.Run) {
	for i, column := range f.columns {
		if column == nil {
			continue
		}
		for ordinal, n := range f.counts[i] {
			if n == 0 || run.Spent(1) {
				continue
			}
			value := column.Value(int32(ordinal))
			if _, known := f.values[i][value]; known || take(run, bytesOfValue+len(value), &f.bytes) {
				// The value is a part of the segment's block, which must not stay in memory because
				// of it.
				f.values[i][strings.Clone(value)] += n
			}
		}
		f.columns[i], f.counts[i] = nil, nil
	}
}

// count counts the values of a document that was found.
func (f *facets) count(doc int32) {
	for i, column := range f.columns {
		if column != nil {
			for _, ordinal := range column.Ordinals(doc) {
				f.counts[i][ordinal]++
			}
		}
	}
	for i, column := range f.numbers {
		if column != nil {
			f.countRanges(i, column.Numbers(doc))
		}
	}
}

// countRanges counts a document once in each range that one of its numbers is in.
func (f *facets) countRanges(i int, numbers []float64) {
	for j := range f.of.Ranges[i].Ranges {
		r := &f.of.Ranges[i].Ranges[j]
		for _, v := range numbers {
			if (v > r.Min || r.MinInclude && v == r.Min) && (v < r.Max || r.MaxInclude && v == r.Max) {
				f.inRange[i][j]++
				break
			}
		}
	}
}

// finish puts the counts into the answer.
func (f *facets) finish(run *segment.Run, result *Result) {
	f.leave(run)
	for i, field := range f.of.Counts {
		if result.Counts == nil {
			result.Counts = map[string]map[string]int64{}
		}
		result.Counts[field] = f.values[i]
	}
	for i, r := range f.of.Ranges {
		if result.Ranges == nil {
			result.Ranges = map[string]map[string]int64{}
		}
		if result.Ranges[r.Field] == nil {
			result.Ranges[r.Field] = map[string]int64{}
		}
		for j := range r.Ranges {
			if n := f.inRange[i][j]; n > 0 {
				result.Ranges[r.Field][r.Ranges[j].Label] += n
			}
		}
	}
}
