package index

import (
	"container/heap"
	"context"
	"math"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// Index is an index at one time: segments whose documents follow each other in the order of their
// identities. Searches only read it, so that several goroutines may search at a time.
type Index struct {
	Kind     segment.Kind
	Segments []segment.Segment
}

// Request is a search. Query has to be a resolved one, whose texts are terms already
// (query.Resolve).
type Request struct {
	Query query.Node
	// Sort is by score if there is none, see ParseSort.
	Sort []SortField
	// Limit is how many hits are answered; After are those that come behind a hit of an earlier
	// answer.
	Limit int
	After *After
	// Counts are fields whose values are counted, Ranges ranges of numbers, see Result. Drilldown
	// lists fields with values of which a hit has one, each list with the field first.
	Counts    []string
	Ranges    []RangeFacet
	Drilldown [][]string
}

// After is the hit that an answer ended with: the values that hits are sorted by, and its identity,
// which decides among equal ones.
type After struct {
	Values   []SortValue
	Identity segment.Identity
}

// Hit is a document that was found. It can be used as long as the Index that has found it.
type Hit struct {
	ID       string
	Identity segment.Identity
	Score    float32
	// Sort are the values for the fields of the sort; Order is the place of the document in the
	// index.
	Sort  []SortValue
	Order int64

	segment int
	doc     int32
}

// Result is the answer to a search: one page of hits, and the counts over all hits.
type Result struct {
	Total int64 // all hits, those of other pages included
	Hits  []Hit
	// Counts are how many hits have each value, by field; Ranges how many are in each range, by
	// field and label.
	Counts map[string]map[string]int64
	Ranges map[string]map[string]int64
}

// begin starts an evaluation: the weights of a query over the segments.
func (x *Index) begin(ctx context.Context, q query.Node) (*segment.Run, []*reading, weight) {
	run := segment.NewRun(ctx)
	p := &planner{kind: x.Kind, run: run, factors: map[string]*[256]float32{}}
	for i, s := range x.Segments {
		p.segments = append(p.segments, &reading{Segment: s, run: run, place: i})
		p.docs += int64(s.Docs())
	}
	if err := ctx.Err(); err != nil {
		run.Fail(context.Cause(ctx))
	}
	w := p.plan(q, 1)
	if x.Kind == segment.Clouseau {
		// Lucene's query norm makes scores of different queries comparable; it changes no order.
		// Where there is nothing to divide by, it is left out as 1.
		norm := float32(1 / math.Sqrt(float64(w.squares())))
		if math.IsInf(float64(norm), 0) || math.IsNaN(float64(norm)) {
			norm = 1
		}
		w.normalize(norm, 1)
	}
	return run, p.segments, w
}

// each calls found for each live document of a query in each segment, after enter for the segment.
func each(segments []*reading, w weight, scores bool, drilldown [][]string, enter func(*reading),
	found func(doc int32, score float32),
) {
	for _, s := range segments {
		eachIn(s, w, scores, drilldown, enter, found)
	}
}

// eachIn does so for one segment.
func eachIn(s *reading, w weight, scores bool, drilldown [][]string, enter func(*reading),
	found func(doc int32, score float32),
) {
	run := s.run
	if run.Err() != nil {
		return
	}
	// Sets are made for each segment; their memory is bounded by segment.
	run.ForgetSets()
	i := w.iterator(s, scores)
	drill, possible := newDrill(s, drilldown)
	if i == nil || !possible {
		return
	}
	enter(s)
	live, score := s.Live(), float32(0)
	// A query of a single term is read by groups of postings, without a call for each.
	if t, blocks := groupsOf(i); blocks != nil && len(drill.columns) == 0 {
		eachOfGroups(t, blocks, live, scores, found)
		return
	}
	for doc := i.next(); doc != segment.NoMore && run.Err() == nil; doc = i.next() {
		if live != nil && !live.Has(doc) || !drill.allows(doc) {
			continue
		}
		if scores {
			score = i.score()
		}
		found(doc, score)
	}
}

// Search finds the documents of a query. Its time is that of the context.
func (x *Index) Search(ctx context.Context, q *Request) (*Result, error) {
	sort := q.Sort
	if len(sort) == 0 {
		sort, _ = x.ParseSort(nil)
	}
	run, segments, w := x.begin(ctx, q.Query)
	facets, err := x.newFacets(q)
	if err != nil {
		return nil, err
	}
	top := &top{kind: x.Kind, sort: sort, limit: q.Limit, after: q.After}
	result := &Result{}
	base := x.bases()
	// Where nothing else is asked of each hit, many of them are counted together.
	counted := len(q.Counts)+len(q.Ranges)+len(q.Drilldown) == 0
	for _, s := range segments {
		if counted && (q.Limit <= 0 || sort[0].bestFirst()) {
			if n, ok := bySets(s, w, top); ok {
				result.Total += n
				continue
			}
		}
		eachIn(s, w, needScores(sort, q.Limit), q.Drilldown, func(s *reading) {
			facets.enter(s)
			top.enter(s)
		}, func(doc int32, score float32) {
			result.Total++
			top.offer(doc, score)
			facets.count(doc)
		})
	}
	facets.finish(run, result)
	result.Hits = top.hits(segments, base)
	if run.Err() != nil {
		return nil, run.Err()
	}
	return result, nil
}

// bases are the numbers of the first documents of segments among all.
func (x *Index) bases() []int64 {
	bases, n := make([]int64, len(x.Segments)), int64(0)
	for i, s := range x.Segments {
		bases[i] = n
		n += int64(s.Docs())
	}
	return bases
}

func needScores(sort []SortField, limit int) bool {
	for _, f := range sort {
		if f.By == ByScore {
			return limit > 0
		}
	}
	return false
}

// Stored reads the stored values of a hit, in the order in which the document gave them.
func (x *Index) Stored(ctx context.Context, h *Hit) ([]segment.Stored, error) {
	run := segment.NewRun(ctx)
	stored := x.Segments[h.segment].Stored(run, h.doc)
	return stored, run.Err()
}

// top keeps the first hits by a sort: a heap with the last one of them on top.
type top struct {
	kind   segment.Kind
	sort   []SortField
	limit  int
	after  *After
	sorter *sorter
	// The first thing that hits are sorted by is their score, the greatest first.
	best  bool
	heap  topHeap
	total int64 // that were offered
}

// entry is a hit that is kept.
type entry struct {
	values  []SortValue
	score   float32
	segment int
	doc     int32
}

func (t *top) enter(s *reading) {
	t.sorter = newSorter(t.kind, t.sort, s)
	t.best = len(t.sort) > 0 && t.sort[0].bestFirst()
}

// offer takes a document if it is among the first ones. Documents come in the order of the index,
// so that one which is equal to another comes behind it.
func (t *top) offer(doc int32, score float32) {
	t.total++
	if t.limit <= 0 {
		return
	}
	if t.after != nil && !t.behind(doc, score) {
		return
	}
	if t.heap.sort == nil {
		t.heap.sort = t.sort
	}
	full := len(t.heap.entries) == t.limit
	// Most documents end here: one comparison of numbers.
	if full && t.best && float64(score) < t.heap.entries[0].values[0].Number {
		return
	}
	if full && t.compare(doc, score, t.heap.entries[0].values) >= 0 {
		return
	}
	e := entry{score: score, segment: t.sorter.segment.place, doc: doc}
	// The values of the hit that falls out are used again.
	if full {
		e.values = t.heap.entries[0].values
	} else {
		e.values = make([]SortValue, len(t.sort))
	}
	for i := range t.sort {
		e.values[i] = t.sorter.value(i, doc, score)
	}
	if full {
		t.heap.entries[0] = e
		heap.Fix(&t.heap, 0)
	} else {
		heap.Push(&t.heap, e)
	}
}

// compare compares a document with values of another one; it looks at no more of it than it has to.
func (t *top) compare(doc int32, score float32, values []SortValue) int {
	for i := range t.sort {
		c := 0
		if t.sort[i].By == ByID {
			c = t.sorter.compareID(doc, values[i].Text)
			if t.sort[i].Reverse {
				c = -c
			}
		} else {
			c = t.sort[i].compare(t.sorter.value(i, doc, score), values[i])
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// behind reports whether a document comes after the hit that the page begins behind.
func (t *top) behind(doc int32, score float32) bool {
	// A bookmark without values has nothing to be behind of: the page begins at the first hit.
	if len(t.after.Values) != len(t.sort) {
		return true
	}
	if c := t.compare(doc, score, t.after.Values); c != 0 {
		return c > 0
	}
	// Nouveau's sort ends with the id, so that no two documents are equal.
	return t.kind == segment.Clouseau && t.sorter.segment.Identity(t.sorter.segment.run, doc) > t.after.Identity
}

// hits are the entries in order.
func (t *top) hits(segments []*reading, bases []int64) []Hit {
	t.heap.sort = t.sort
	hits := make([]Hit, len(t.heap.entries))
	// The heap gives the last one first.
	for i := len(hits) - 1; i >= 0; i-- {
		e := heap.Pop(&t.heap).(entry)
		s := segments[e.segment]
		id, identity := s.name(e.doc)
		hits[i] = Hit{ID: id, Identity: identity, Score: e.score, Sort: e.values,
			Order: bases[e.segment] + int64(e.doc), segment: e.segment, doc: e.doc}
	}
	return hits
}

// topHeap has the entry that comes last on top.
type topHeap struct {
	sort    []SortField
	entries []entry
}

func (h *topHeap) Len() int      { return len(h.entries) }
func (h *topHeap) Swap(i, j int) { h.entries[i], h.entries[j] = h.entries[j], h.entries[i] }
func (h *topHeap) Push(e any)    { h.entries = append(h.entries, e.(entry)) }
func (h *topHeap) Less(i, j int) bool {
	return compareEntries(h.sort, &h.entries[i], &h.entries[j]) > 0
}

func (h *topHeap) Pop() any {
	last := len(h.entries) - 1
	e := h.entries[last]
	h.entries = h.entries[:last]
	return e
}

// compareEntries orders hits by the fields, and those that are equal by their place in the index,
// so that the order of a query is the same each time.
func compareEntries(sort []SortField, a, b *entry) int {
	for i := range sort {
		if c := sort[i].compare(a.values[i], b.values[i]); c != 0 {
			return c
		}
	}
	if a.segment != b.segment {
		return a.segment - b.segment
	}
	return int(a.doc - b.doc)
}

// drill checks that documents have one of the values that a drilldown asks for, in each of its
// fields.
type drill struct {
	columns  []segment.StringColumn
	ordinals []map[int32]bool
}

// newDrill is the check for a segment; false if no document of it can pass.
func newDrill(s *reading, drilldown [][]string) (*drill, bool) {
	d := &drill{}
	for _, values := range drilldown {
		if len(values) == 0 {
			continue
		}
		column := s.Strings(s.run, values[0])
		if column == nil {
			return d, false
		}
		ordinals := map[int32]bool{}
		for _, v := range values[1:] {
			if ordinal, ok := column.Find(v); ok {
				ordinals[ordinal] = true
			}
		}
		if len(ordinals) == 0 && len(values) > 1 {
			return d, false
		}
		d.columns, d.ordinals = append(d.columns, column), append(d.ordinals, ordinals)
	}
	return d, true
}

// allows reports whether a document has, for each field of the drilldown, one of the values that
// were asked for.
func (d *drill) allows(doc int32) bool {
	for i, column := range d.columns {
		found := false
		for _, ordinal := range column.Ordinals(doc) {
			// A field without values asks for those that have any.
			found = found || len(d.ordinals[i]) == 0 || d.ordinals[i][ordinal]
		}
		if !found {
			return false
		}
	}
	return true
}
