package index

import (
	"container/heap"
	"context"
	"github.com/settee-db/settee/search/segment"
	"slices"
	"strings"
)

// GroupRequest is a search whose hits are grouped by the value that a field sorts by.
type GroupRequest struct {
	Request
	Field string
	// GroupSort orders the groups, by the first document of each; Groups is how many there are.
	// Limit and Sort are for the hits of each.
	GroupSort []SortField
	Groups    int
}

// Group is the hits of one value; a null one is for those that have none.
type Group struct {
	By    SortValue
	Total int64
	Hits  []Hit
}

// GroupResult is the answer: Total hits, of which Grouped are in the groups that are answered.
type GroupResult struct {
	Total, Grouped int64
	Groups         []Group
}

// Group finds the documents of a query in two passes, so that memory is bounded by what is
// answered: the groups, and then their hits.
func (x *Index) Group(ctx context.Context, q *GroupRequest) (*GroupResult, error) {
	if q.GroupSort == nil {
		q.GroupSort, _ = x.ParseSort(nil)
	}
	sort := q.Sort
	if len(sort) == 0 {
		sort, _ = x.ParseSort(nil)
	}
	if info, ok := x.field(q.Field); ok && info.Numbers && info.Docs == 0 {
		return nil, &Error{"Group by number not supported. Group by string terms only."}
	}
	by := SortField{By: ByString, Field: q.Field}
	run, segments, w := x.begin(ctx, q.Query)
	heads := &groupHeads{kind: x.Kind, by: by, sort: q.GroupSort, limit: q.Groups, known: map[SortValue]*groupHead{}}
	// The first pass keeps the best document of each group and no others, the second one the hits
	// of those groups that are answered.
	each(segments, w, needScores(q.GroupSort, 1), q.Drilldown, heads.enter, heads.offer)
	chosen := heads.ordered()

	result, tops := &GroupResult{}, map[SortValue]*top{}
	for _, h := range chosen {
		tops[h.by] = &top{kind: x.Kind, sort: sort, limit: q.Limit}
	}
	var values *sorter
	each(segments, w, needScores(sort, q.Limit), q.Drilldown, func(s *reading) {
		values = newSorter(x.Kind, []SortField{by}, s)
		for _, t := range tops {
			t.enter(s)
		}
	}, func(doc int32, score float32) {
		result.Total++
		if t := tops[values.value(0, doc, 0)]; t != nil {
			result.Grouped++
			t.offer(doc, score)
		}
	})
	base := x.bases()
	for _, h := range chosen {
		t := tops[h.by]
		result.Groups = append(result.Groups, Group{By: h.by, Total: t.total, Hits: t.hits(segments, base)})
	}
	return result, run.Err()
}

// groupHeads keeps the groups whose first documents come first.
type groupHeads struct {
	kind   segment.Kind
	by     SortField
	sort   []SortField
	limit  int
	values *sorter
	sorter *sorter
	known  map[SortValue]*groupHead
	heap   []*groupHead // the last one on top
	// scratch has the values of a document that may not be kept.
	scratch []SortValue
}

// groupHead is a group with its first document.
type groupHead struct {
	entry
	by    SortValue
	place int // in the heap
}

func (g *groupHeads) enter(s *reading) {
	g.values, g.sorter = newSorter(g.kind, []SortField{g.by}, s), newSorter(g.kind, g.sort, s)
}

// offer: a group that falls out comes back with a document that is before those of the last one,
// and then this is its first one, since it was not before.
func (g *groupHeads) offer(doc int32, score float32) {
	if g.limit <= 0 {
		return
	}
	by := g.values.value(0, doc, 0)
	e := entry{segment: g.sorter.segment.place, doc: doc, score: score, values: g.scratch[:0]}
	for i := range g.sort {
		e.values = append(e.values, g.sorter.value(i, doc, score))
	}
	g.scratch = e.values
	if h := g.known[by]; h != nil {
		if compareEntries(g.sort, &e, &h.entry) < 0 {
			h.entry, h.values = e, slices.Clone(e.values)
			heap.Fix(g, h.place)
		}
		return
	}
	if len(g.heap) == g.limit {
		if compareEntries(g.sort, &e, &g.heap[0].entry) > 0 {
			return
		}
		delete(g.known, heap.Pop(g).(*groupHead).by)
	}
	// What is kept has memory of its own: the scratch is used again, and the text is the segment's.
	by.Text, e.values = strings.Clone(by.Text), slices.Clone(e.values)
	h := &groupHead{entry: e, by: by}
	g.known[by] = h
	heap.Push(g, h)
}

func (g *groupHeads) ordered() []*groupHead {
	all := slices.Clone(g.heap)
	slices.SortFunc(all, func(a, b *groupHead) int { return compareEntries(g.sort, &a.entry, &b.entry) })
	return all
}

// Len, Less, Swap, Push and Pop are the heap.
func (g *groupHeads) Len() int { return len(g.heap) }

// Less puts the group that comes last on top.
func (g *groupHeads) Less(i, j int) bool {
	return compareEntries(g.sort, &g.heap[i].entry, &g.heap[j].entry) > 0
}

// Swap exchanges two groups.
func (g *groupHeads) Swap(i, j int) {
	g.heap[i], g.heap[j] = g.heap[j], g.heap[i]
	g.heap[i].place, g.heap[j].place = i, j
}

// Push adds a group.
func (g *groupHeads) Push(h any) {
	head := h.(*groupHead)
	head.place = len(g.heap)
	g.heap = append(g.heap, head)
}

// Pop takes the last one out.
func (g *groupHeads) Pop() any {
	last := len(g.heap) - 1
	h := g.heap[last]
	g.heap = g.heap[:last]
	return h
}
