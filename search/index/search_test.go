package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

func mustSearch(t *testing.T, x *Index, q *Request) *Result {
	t.Helper()
	r, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("%v: %s", err, show(q.Query))
	}
	return r
}

// show prints a query for failures.
func show(n query.Node) string {
	switch n := n.(type) {
	case *query.Bool:
		s := "("
		for _, c := range n.Clauses {
			s += []string{" ", " +", " -", " #"}[c.Occur] + show(c.Node)
		}
		return fmt.Sprintf("%s)@%d", s, n.Min)
	case *query.Boost:
		return fmt.Sprintf("%s^%v", show(n.Node), n.Factor)
	}
	return fmt.Sprintf("%T%+v", n, reflect.ValueOf(n).Elem().Interface())
}

func identities(hits []Hit) []string {
	all := []string{}
	for _, h := range hits {
		all = append(all, string(h.Identity))
	}
	return all
}

// TestAgainstTheOracle: hits, totals and scores are those of a scan, however documents are divided
// into segments.
func TestAgainstTheOracle(t *testing.T) {
	forWorlds(t, 60, func(t *testing.T, w *world) {
		at := segment.Identity(fmt.Sprintf("%013d", 1+w.IntN(w.last)))
		o := w.oracle.at(at)
		for range 25 {
			exact := w.IntN(4) > 0
			q := &Request{Query: w.query(3, exact), Limit: 1000}
			whole := mustSearch(t, w.index(at, false), q)
			parts := mustSearch(t, w.index(at, true), q)
			for i := range parts.Hits {
				parts.Hits[i].segment, parts.Hits[i].doc = whole.Hits[i].segment, whole.Hits[i].doc
			}
			if !reflect.DeepEqual(whole, parts) {
				t.Errorf("segments make a difference: %s\n%+v\n%+v", show(q.Query), whole.Hits, parts.Hits)
				return
			}
			checkHits(t, o, q.Query, whole, exact)
		}
	})
}

func checkHits(t *testing.T, o *oracle, n query.Node, r *Result, exact bool) {
	t.Helper()
	want := []string{}
	scores := map[segment.Identity]float64{}
	norm := 1.0
	if o.kind == segment.Clouseau {
		if norm = 1 / math.Sqrt(o.squares(n, 1)); math.IsInf(norm, 0) || math.IsNaN(norm) {
			norm = 1
		}
	}
	for _, d := range o.found(n) {
		want = append(want, string(d.identity))
		scores[d.identity] = o.score(n, d, 1, norm)
	}
	got := identities(r.Hits)
	slices.Sort(got)
	if !slices.Equal(got, want) || r.Total != int64(len(want)) {
		t.Errorf("%s: got %v, want %v", show(n), got, want)
		return
	}
	for i, h := range r.Hits {
		if want := scores[h.Identity]; exact && math.Abs(float64(h.Score)-want) > 1e-4*(1+want) {
			t.Errorf("%s: score of %s is %v, want %v", show(n), h.ID, h.Score, want)
		}
		if i == 0 {
			continue
		}
		before := r.Hits[i-1]
		ordered := before.Score > h.Score
		if before.Score == h.Score {
			ordered = o.kind == segment.Clouseau && before.Identity < h.Identity || o.kind == segment.Nouveau &&
				before.ID < h.ID
		}
		if !ordered {
			t.Errorf("%s: %v comes before %v", show(n), before, h)
		}
	}
}

// TestSnapshotsStay: what a view answers is the same after more documents and kills.
func TestSnapshotsStay(t *testing.T) {
	forWorlds(t, 30, func(t *testing.T, w *world) {
		x := w.index(w.now(), true)
		later := w.now()
		var queries []*Request
		var before []*Result
		for range 5 {
			q := &Request{Query: w.query(2, false), Limit: 20, Ranges: []RangeFacet{{"n", []LabelledRange{{"r", 0,
				2, true, true}}}}}
			queries, before = append(queries, q), append(before, mustSearch(t, x, q))
		}
		for range 50 {
			w.step()
		}
		for i, q := range queries {
			for _, x := range []*Index{x, w.index(later, true)} {
				if after := mustSearch(t, x, q); len(w.parts) == len(x.Segments) && !reflect.DeepEqual(before[i],
					after) {
					t.Errorf("%s: %+v, then %+v", show(q.Query), before[i], after)
				}
			}
		}
	})
}

// sorts are what hits may be sorted by in tests.
func sorts(w *world, x *Index) []string {
	all := []string{"n", "-n", "<score>", "-<score>", "<distance,x,y,3,4,km>", "-<distance,x,y,3,4,mi>", "none"}
	if x.Kind == segment.Clouseau {
		all = append(all, "s<string>", "-s<string>", "t<string>", "<doc>", "-<doc>", "none<string>")
	} else {
		all = append(all, "s", "-s", "_id", "-_id")
	}
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+w.IntN(3)]
}

// TestPages: pages together are what one page of all hits is, and in the order of the sort.
func TestPages(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		x := w.index(w.now(), true)
		for range 10 {
			texts := sorts(w, x)
			sort, err := x.ParseSort(texts)
			if err != nil {
				// A sort by a field that this world has nothing of for it.
				continue
			}
			n := w.query(2, false)
			all := mustSearch(t, x, &Request{Query: n, Sort: sort, Limit: 1000})
			checkOrder(t, sort, x.Kind, all.Hits)
			var pages []Hit
			page := &Request{Query: n, Sort: sort, Limit: 1 + w.IntN(4)}
			for {
				r := mustSearch(t, x, page)
				if r.Total != all.Total {
					t.Errorf("%v: total %d, then %d", texts, all.Total, r.Total)
				}
				if len(r.Hits) == 0 {
					break
				}
				pages = append(pages, r.Hits...)
				last := r.Hits[len(r.Hits)-1]
				page.After = &After{last.Sort, last.Identity}
			}
			if !slices.Equal(identities(pages), identities(all.Hits)) {
				t.Errorf("%v %s: pages have %v, all is %v", texts, show(n), identities(pages), identities(all.Hits))
			}
		}
	})
}

func checkOrder(t *testing.T, sort []SortField, kind segment.Kind, hits []Hit) {
	t.Helper()
	for i := 1; i < len(hits); i++ {
		c := compareEntries(sort, &entry{values: hits[i-1].Sort}, &entry{values: hits[i].Sort})
		if c > 0 || c == 0 && (kind == segment.Nouveau || hits[i-1].Identity >= hits[i].Identity) {
			t.Errorf("%+v: %+v before %+v", sort, hits[i-1], hits[i])
		}
	}
}

// TestPagesWithWritesBetween: documents that stay are on one page each, none is answered twice.
func TestPagesWithWritesBetween(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		before := w.oracle.at(w.now())
		sort, err := w.index(w.now(), true).ParseSort([]string{"n"})
		if err != nil {
			return
		}
		page := &Request{Query: &query.All{}, Sort: sort, Limit: 1 + w.IntN(5)}
		seen := map[string]bool{}
		for {
			r := mustSearch(t, w.index(w.now(), true), page)
			if len(r.Hits) == 0 {
				break
			}
			for _, h := range r.Hits {
				if seen[string(h.Identity)] {
					t.Errorf("%s is answered twice", h.ID)
				}
				seen[string(h.Identity)] = true
			}
			last := r.Hits[len(r.Hits)-1]
			page.After = &After{last.Sort, last.Identity}
			if w.IntN(2) == 0 {
				w.step()
			}
		}
		after := w.oracle.at(w.now())
		for _, d := range after.docs[:len(before.docs)] {
			if d.killed == "" && !seen[string(d.identity)] {
				t.Errorf("%s is on no page", d.ID)
			}
		}
	})
}

// TestFacets: counts, ranges and drilldown are those of a scan.
func TestFacets(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		x, o := w.index(w.now(), true), w.oracle.at(w.now())
		if info, _ := x.field("s"); !info.Strings {
			return
		}
		for range 10 {
			n := w.query(2, false)
			q := &Request{Query: n, Limit: 2, Counts: []string{"s"}, Ranges: []RangeFacet{
				{"n", []LabelledRange{{"low", math.Inf(-1), 1, true, false}, {"high", 1, 3, true, true}}}}}
			if w.IntN(2) == 0 {
				q.Drilldown = [][]string{{"s", w.word(), w.word()}}
			}
			r := mustSearch(t, x, q)
			counts, ranges, total := map[string]int64{}, map[string]int64{}, int64(0)
			for _, d := range o.found(n) {
				values := d.field("s").Strings
				if len(q.Drilldown) > 0 && !slices.ContainsFunc(values, func(v string) bool {
					return slices.Contains(q.Drilldown[0][1:], v)
				}) {
					continue
				}
				total++
				for _, v := range values {
					counts[v]++
				}
				for _, f := range q.Ranges[0].Ranges {
					in := &query.NumRange{Field: "n", Min: f.Min, Max: f.Max, MinInclude: f.MinInclude,
						MaxInclude: f.MaxInclude}
					if o.holds(in, d) {
						ranges[f.Label]++
					}
				}
			}
			if !maps.Equal(r.Counts["s"], counts) || !maps.Equal(r.Ranges["n"], ranges) || r.Total != total {
				t.Errorf("%s %v: %v %v %d, want %v %v %d", show(n), q.Drilldown, r.Counts, r.Ranges, r.Total,
					counts, ranges,
					total)
			}
		}
	})
}

// TestGroups: groups are those of all hits in the order of the groups' sort.
func TestGroups(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		x := w.index(w.now(), true)
		by := SortField{By: ByString, Field: "s"}
		for range 5 {
			n := w.query(2, false)
			groupSort, err := x.ParseSort([]string{"-n"})
			if err != nil {
				return
			}
			q := &GroupRequest{Request: Request{Query: n, Limit: 2}, Field: "s", GroupSort: groupSort,
				Groups: 1 + w.IntN(4)}
			got, err := x.Group(context.Background(), q)
			if err != nil {
				t.Error(err)
				return
			}
			all := mustSearch(t, x, &Request{Query: n, Sort: groupSort, Limit: 1000})
			values := mustSearch(t, x, &Request{Query: n, Sort: []SortField{by}, Limit: 1000})
			of := map[segment.Identity]SortValue{}
			for _, h := range values.Hits {
				of[h.Identity] = h.Sort[0]
			}
			var want []SortValue
			totals, grouped := map[SortValue]int64{}, int64(0)
			for _, h := range all.Hits {
				v := of[h.Identity]
				if totals[v]++; totals[v] == 1 && len(want) < q.Groups {
					want = append(want, v)
				}
			}
			var bys []SortValue
			for _, g := range got.Groups {
				bys = append(bys, g.By)
				grouped += g.Total
				if g.Total != totals[g.By] || len(g.Hits) != int(min(g.Total, 2)) {
					t.Errorf("group %+v has %d, want %d", g.By, g.Total, totals[g.By])
				}
				for _, h := range g.Hits {
					if of[h.Identity] != g.By {
						t.Errorf("%s is not in %+v", h.ID, g.By)
					}
				}
			}
			if !slices.Equal(bys, want) || got.Total != all.Total || got.Grouped != grouped {
				t.Errorf("%s: groups %+v, want %+v", show(n), bys, want)
			}
		}
	})
}

// TestTimeIsUp: a search whose context has ended fails with its cause.
func TestTimeIsUp(t *testing.T) {
	w := newWorld(1, segment.Clouseau)
	for range 50 {
		w.step()
	}
	late := errors.New("too late")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(late)
	if _, err := w.index(w.now(), true).Search(ctx, &Request{Query: &query.All{}, Limit: 1}); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
}

// TestTimeIsLookedAt: evaluation of each kind of node ends soon after its context.
func TestTimeIsLookedAt(t *testing.T) {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Clouseau, words)
	for i := range 3 * segment.PostingsBetweenChecks {
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document(fmt.Sprint(i), []segment.Value{
			{Name: "t", Text: fmt.Sprintf("a b a w%d", i), Analyzed: true}, {Name: "n", Number: float64(i),
				IsNumber: true}}))
	}
	x := &Index{Kind: segment.Clouseau, Segments: []segment.Segment{ram.View("9")}}
	a, b := &query.Term{Field: "t", Term: "a"}, &query.Term{Field: "t", Term: "b"}
	for _, n := range []query.Node{a, &query.All{}, &query.Prefix{Field: "t", Text: "w"},
		&query.Wildcard{Field: "t", Pattern: "*9"},
		&query.Regexp{Field: "t", Pattern: "w.*"}, &query.Fuzzy{Field: "t", Text: "w12345", Edits: 2},
		&query.Range{Field: "t", Lower: "a", UpperOpen: true},
		&query.NumRange{Field: "n", Min: -5, Max: -1}, &query.Phrase{Field: "t",
			Terms: []query.PhraseTerm{{Term: "b"}, {Term: "b", Position: 1}}},
		&query.Bool{Clauses: []query.BoolClause{{Node: a}, {Node: b}}},
		&query.Bool{Clauses: []query.BoolClause{{Occur: query.Must, Node: a}, {Occur: query.MustNot, Node: b}}}} {
		calls := 0
		ctx := &countingContext{Context: context.Background(), after: 2, calls: &calls}
		if _, err := x.Search(ctx, &Request{Query: n, Limit: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v after %d looks", show(n), err, calls)
		}
	}
}

// countingContext ends after it was asked some times.
type countingContext struct {
	context.Context
	after int
	calls *int
}

func (c *countingContext) Err() error {
	if *c.calls++; *c.calls > c.after {
		return context.DeadlineExceeded
	}
	return nil
}

// TestErrorsOfQueries: what Lucene refuses once it looks into the index.
func TestErrorsOfQueries(t *testing.T) {
	w := newWorld(3, segment.Nouveau)
	for range 60 {
		w.step()
	}
	x := w.index(w.now(), true)
	for want, n := range map[string]query.Node{
		`field "s" was indexed without position data; cannot run PhraseQuery (phrase=s:"a b")`: &query.Phrase{Field: "s",
			Terms: []query.PhraseTerm{{Term: "a"}, {Term: "b", Position: 1}}},
		`Invalid regular expression "a~b": the operator ~ is not supported`: &query.Regexp{Field: "t",
			Pattern: "a~b"},
		`Invalid regular expression "a{9}{999}": more than 1000 repetitions`: &query.Regexp{Field: "t",
			Pattern: "a{9}{999}"},
		`Determinizing automaton would require more than 10000 states.`: &query.Regexp{Field: "big",
			Pattern: "(a|b)*a(a|b){14}"},
	} {
		if strings.HasPrefix(want, "Det") {
			ram, maker := segment.NewRAM(), segment.NewMaker(segment.Nouveau, words)
			for i := range 1 << 14 {
				text := strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%014b", i))
				ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document("x",
					[]segment.Value{{Name: "big", Text: text}}))
			}
			x = &Index{Kind: segment.Nouveau, Segments: []segment.Segment{ram.View("9")}}
		}
		if _, err := x.Search(context.Background(), &Request{Query: n, Limit: 1}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		x = w.index(w.now(), true)
	}
	for text, want := range map[string]string{"a b": "a b is not a valid sort parameter",
		"t": "can't sort on field t"} {
		if _, err := x.ParseSort([]string{text}); err == nil || err.Error() != want {
			t.Errorf("sort by %s: %v", text, err)
		}
	}
	x.Kind = segment.Clouseau
	for text, want := range map[string]string{"a b": "Unrecognized sort parameter: a b",
		"n<x>": "Unrecognized type: x",
		"t":    "cannot sort string field as numeric field"} {
		if _, err := x.ParseSort([]string{text}); err == nil || err.Error() != want {
			t.Errorf("sort by %s: %v", text, err)
		}
	}
	if _, err := x.Search(context.Background(), &Request{Query: &query.All{}, Counts: []string{"zz"}}); err == nil ||
		err.Error() != `dim "zz" does not exist` {
		t.Errorf("counts: %v", err)
	}
}
