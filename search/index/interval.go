package index

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// intervalWeight is a function of intervals. Its score knows no frequencies: it is the more, up to
// 1, the more intervals there are and the shorter they are (Lucene's
// IntervalScoreFunction.saturationFunction(1)).
type intervalWeight struct {
	boost float32
	of    *query.Intervals
	// The least width that intervals of the source can have; one of just that width counts fully.
	extent int32
}

// intervals plans a function of intervals, for which the field must be indexed with positions.
func (p *planner) intervals(n *query.Intervals, boost float32) weight {
	for _, s := range p.segments {
		if info, ok := s.Field(n.Field); ok && info.Docs > 0 && !info.Positions {
			p.run.Fail(&Error{"Cannot create an IntervalIterator over field " + n.Field +
				" because it has no indexed positions"})
			break
		}
	}
	return &intervalWeight{boost: boost, of: n, extent: int32(n.Source.MinExtent())}
}

func (w *intervalWeight) squares() float32              { return w.boost * w.boost }
func (w *intervalWeight) normalize(norm, boost float32) { w.boost *= norm * boost }

func (w *intervalWeight) iterator(s *reading, _ bool) iterator {
	return &intervalIterator{run: s.run, root: intervalsOf(s, w.of.Field, w.of.Source), at: -1, boost: w.boost,
		extent: w.extent}
}

// intervalIterator is the documents that have an interval.
type intervalIterator struct {
	run  *segment.Run
	root *intervals
	at   int32
	// Spans of the current document, which score adds up.
	found  []span
	boost  float32
	extent int32
}

func (i *intervalIterator) doc() int32  { return i.at }
func (i *intervalIterator) cost() int32 { return i.root.cost }
func (i *intervalIterator) next() int32 { return i.advance(i.at + 1) }

// advance goes to the first document from target on whose positions fit: seek finds those that have
// the terms, and spans decides.
func (i *intervalIterator) advance(target int32) int32 {
	for i.at = i.root.seek(target); i.at != segment.NoMore; i.at = i.root.seek(i.at + 1) {
		if i.found = i.root.spans(i.at); i.run.Err() != nil {
			i.at = segment.NoMore
			break
		}
		if len(i.found) > 0 {
			break
		}
	}
	return i.at
}

func (i *intervalIterator) score() float32 {
	freq := float32(0)
	for _, s := range i.found {
		freq = float32(float64(freq) + 1/float64(max(s.width()-i.extent+1, 1)))
	}
	return i.boost * (1 - 1/(1+freq))
}

// span is a range of positions; gaps is how many of them no part of it has.
type span struct{ start, end, gaps int32 }

func (s span) width() int32 { return s.end - s.start + 1 }

// intervals are a source in a segment. Its spans are the smallest ones: none has another one in it,
// and both ends ascend; only extend makes others.
//
// Sources form a tree. seek moves all of it to a document that has the terms; spans then computes
// lists from the leaves up, each in time about linear in its positions.
type intervals struct {
	run      *segment.Run
	function string
	// Arguments of the function: gaps, width, how many have to match.
	numbers  []int
	sources  []*intervals
	postings segment.Postings // of a term or a pattern; nil: no document has it
	cost     int32
	at       int32
	// Memory of spans, used again for each document.
	list []span
}

// intervalsOf opens a source and those inside of it in a segment. cost is about how many documents
// have to be looked at: the sum for a source that any of its own suffices, the least where all have
// to be there, else that of the first one.
func intervalsOf(s *reading, field string, n *query.Interval) *intervals {
	i := &intervals{run: s.run, function: n.Function, numbers: n.Numbers, at: -1}
	switch n.Function {
	case "term":
		if postings, docs := s.Term(s.run, field, n.Text, true); docs > 0 {
			i.postings, i.cost = postings, docs
		}
	case "wildcard":
		i.pattern(s, field, n.Text)
	}
	for at, source := range n.Sources {
		i.sources = append(i.sources, intervalsOf(s, field, source))
		switch cost := i.sources[at].cost; {
		case at == 0:
			i.cost = cost
		case i.any():
			i.cost = int32(min(int64(i.cost)+int64(cost), segment.NoMore-1))
		case i.all():
			i.cost = min(i.cost, cost)
		}
	}
	return i
}

// mostIntervalTerms is how many terms a pattern may have.
const mostIntervalTerms = 128

// pattern opens the terms that a wildcard matches as if they were one. The number of terms is
// bounded; the error has Lucene's text.
func (i *intervals) pattern(s *reading, field, pattern string) {
	a, err := newProgram(s.run, parseWildcard(pattern))
	if err != nil {
		s.run.Fail(err)
		return
	}
	terms, found := s.Terms(s.run, field), &alternatives{at: -1}
	walk(s.run, terms, a, func(int32) {
		if len(found.all) == mostIntervalTerms {
			s.run.Fail(&Error{fmt.Sprintf("Automaton [%s] expanded to too many terms (limit %d)", pattern,
				mostIntervalTerms)})
			return
		}
		found.all = append(found.all, terms.Postings(true))
		i.cost += terms.Docs()
	})
	if len(found.all) > 0 {
		i.postings = found
	}
}

// any and all report whether a document has to have one of the sources, or each of them; else only
// the first one.
func (i *intervals) any() bool { return i.function == "or" || i.function == "atleast" }

func (i *intervals) all() bool {
	switch i.function {
	case "ordered", "unordered", "phrase", "containing", "containedBy", "overlapping", "before", "after":
		return true
	}
	return false
}

// seek gives the first document from target on that may have spans: it has the terms that are
// needed, but their positions are not looked at. It only moves forward.
func (i *intervals) seek(target int32) int32 {
	if i.at >= target {
		return i.at
	}
	switch {
	case len(i.sources) == 0:
		i.at = segment.NoMore
		if i.postings != nil && !i.run.Spent(1) {
			if i.at = i.postings.Doc(); i.at < target {
				i.at = i.postings.Advance(target)
			}
		}
	case i.any():
		i.at = segment.NoMore
		for _, s := range i.sources {
			i.at = min(i.at, s.seek(target))
		}
	case i.all():
		// Each source raises the target; it is found when none of them did.
		for i.at = target; i.at != segment.NoMore; {
			at := i.at
			for _, s := range i.sources {
				i.at = max(i.at, s.seek(i.at))
			}
			if i.at == at {
				break
			}
		}
	default:
		i.at = i.sources[0].seek(target)
	}
	return i.at
}

// spans gives the spans of a document, sorted; nil if there are none. Sources may be at documents
// before it. The slice is used again by the next call.
func (i *intervals) spans(doc int32) []span {
	i.list = i.list[:0]
	if i.seek(doc) != doc {
		return nil
	}
	if i.postings != nil {
		positions := i.postings.Positions()
		i.run.Spent(len(positions))
		for _, p := range positions {
			i.list = append(i.list, span{start: p, end: p})
		}
		return i.list
	}
	lists := make([][]span, len(i.sources))
	n := 0
	for at, s := range i.sources {
		lists[at] = s.spans(doc)
		if n += len(lists[at]); len(lists[at]) == 0 && (i.all() || at == 0 && !i.any()) {
			return nil
		}
	}
	if i.run.Spent(n) {
		return nil
	}
	switch i.function {
	case "or":
		i.either(lists)
	case "atleast":
		i.cover(lists, i.numbers[0])
	case "unordered":
		i.cover(lists, len(lists))
	case "ordered":
		i.chain(lists, false)
	case "phrase":
		i.chain(lists, true)
	case "repeated":
		i.neighbours(lists[0])
	default:
		i.filter(lists)
	}
	return i.list
}

// either are the smallest spans of several lists.
func (i *intervals) either(lists [][]span) {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.start, a.start))
	})
	// Sorted by their ends, a span has another one in it if an earlier one begins at or behind its
	// start.
	last := int32(-1)
	for _, s := range all {
		if s.start > last {
			i.list, last = append(i.list, s), s.start
		}
	}
}

// chain are the spans with one of each list in order; closed says that each begins where the one
// before ends.
func (i *intervals) chain(lists [][]span, closed bool) {
	// at has the place in each list. Starts of the first list ascend, and so do ends: no place ever
	// goes back.
	at := make([]int, len(lists))
	for _, first := range lists[0] {
		end, gaps, fits := first.end, int32(0), true
		for k := 1; k < len(lists) && fits; k++ {
			list := lists[k]
			for at[k] < len(list) && list[at[k]].start <= end {
				at[k]++
			}
			// No later span of the first list can be completed either.
			if at[k] == len(list) {
				return
			}
			s := list[at[k]]
			fits = !closed || s.start == end+1
			gaps, end = gaps+s.start-end-1, s.end
		}
		if fits {
			i.smallest(span{first.start, end, gaps})
		}
	}
}

// smallest adds a span that begins behind the last one, which it takes the place of if it is in it.
func (i *intervals) smallest(s span) {
	if n := len(i.list); n > 0 && i.list[n-1].end == s.end {
		i.list = i.list[:n-1]
	}
	i.list = append(i.list, s)
}

// cover are the smallest spans that have one of at least n lists in them, whatever the order.
func (i *intervals) cover(lists [][]span, n int) {
	type place struct {
		span
		list int
	}
	var all []place
	for k, list := range lists {
		for _, s := range list {
			all = append(all, place{s, k})
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.end, b.end) })
	var last []place // the last one of each list, the one that begins last first
	for _, s := range all {
		if i.run.Spent(len(last)) {
			return
		}
		last = slices.DeleteFunc(last, func(p place) bool { return p.list == s.list })
		at, _ := slices.BinarySearchFunc(last, s, func(a, b place) int { return cmp.Compare(b.start, a.start) })
		if last = slices.Insert(last, at, s); len(last) < n {
			continue
		}
		// The n lists whose last spans begin last make the smallest span that ends here.
		whole := span{start: last[n-1].start, end: s.end}
		// It has an earlier result in it, and is none of the smallest.
		if k := len(i.list); k > 0 && i.list[k-1].start >= whole.start {
			continue
		}
		whole.gaps = whole.width()
		for _, p := range last[:n] {
			whole.gaps -= p.width()
		}
		i.smallest(whole)
	}
}

// neighbours are the spans over some that follow each other.
func (i *intervals) neighbours(list []span) {
	n := i.numbers[0]
	for k := 0; k+n <= len(list); k++ {
		whole := span{start: list[k].start, end: list[k+n-1].end}
		whole.gaps = whole.width()
		for _, s := range list[k : k+n] {
			whole.gaps -= s.width()
		}
		i.list = append(i.list, whole)
	}
}

// filter keeps the spans of the first source that hold against the numbers, or against the second
// source.
func (i *intervals) filter(lists [][]span) {
	var others []span
	if len(lists) > 1 {
		others = lists[1]
	}
	behind := 0 // the first one of others that begins behind, or at, what a span is compared with
	from := func(start int32) int {
		for behind < len(others) && others[behind].start < start {
			behind++
		}
		return behind
	}
	for _, s := range lists[0] {
		keep := true
		switch i.function {
		case "extend":
			s.start = max(0, s.start-int32(i.numbers[0]))
			s.end = int32(min(int64(s.end)+int64(i.numbers[1]), math.MaxInt32-1))
		case "maxgaps":
			keep = int64(s.gaps) <= int64(i.numbers[0])
		case "maxwidth":
			keep = int64(s.width()) <= int64(i.numbers[0])
		case "containing":
			k := from(s.start)
			keep = k < len(others) && others[k].end <= s.end
		case "notContaining": // nor the beginning of one, nor a part of one, as in Lucene
			k := from(s.start)
			keep = (k == len(others) || others[k].start > s.end) && (k == 0 || others[k-1].end < s.end)
		case "containedBy", "notContainedBy":
			k := from(s.start + 1)
			keep = (k > 0 && others[k-1].end >= s.end) == (i.function == "containedBy")
		case "overlapping", "nonOverlapping":
			k := from(s.end + 1)
			keep = (k > 0 && others[k-1].end >= s.start) == (i.function == "overlapping")
		case "before":
			// Lucene has 0 as the position before 0.
			keep = s.end <= max(0, others[len(others)-1].start-1)
		case "after":
			keep = others[0].end < s.start
		}
		if keep {
			i.list = append(i.list, s)
		}
	}
}

// intervals marks the terms that intervals are made of, wherever they are.
func (m *marker) intervals(field string, n *query.Interval) {
	sources := n.Sources
	switch n.Function {
	case "term":
		m.where(field, func(term string) bool { return term == n.Text })
	case "wildcard":
		m.mark(&query.Wildcard{Field: field, Pattern: n.Text})
	case "notContaining", "notContainedBy", "nonOverlapping":
		sources = sources[:1]
	}
	for _, s := range sources {
		m.intervals(field, s)
	}
}
