package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

func parseIntervals(t *testing.T, text string) query.Node {
	t.Helper()
	n, err := query.Parse(text, query.Options{Dialect: query.Flexible, DefaultField: "t"})
	if err == nil {
		n, err = query.Resolve(n, text, query.Flexible, wordSchema{})
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// TestIntervals: what the functions find in a text, by their description in Lucene's documentation.
func TestIntervals(t *testing.T) {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Nouveau, words)
	texts := []string{"a b c d", "a c b x d", "b a", "a x x b", "a a", "the a the b", "ab abc x", "c a b"}
	for i, text := range texts {
		ram.Add(segment.Identity(fmt.Sprint(i)), maker.Document(fmt.Sprint(i),
			[]segment.Value{{Name: "t", Text: text, Analyzed: true},
				{Name: "s", Text: text}}))
	}
	x := &Index{Kind: segment.Nouveau, Segments: []segment.Segment{ram.View("9")}}
	for in, want := range map[string]string{
		`fn:ordered(a b)`:                                 "01357",
		`fn:unordered(a b)`:                               "012357",
		`fn:unordered(a a)`:                               "4",
		`fn:ordered(a a)`:                                 "4",
		`fn:phrase(a b)`:                                  "07",
		`fn:ordered("a b" c)`:                             "0",
		`fn:ordered("a the b")`:                           "15",
		`fn:maxgaps(1 fn:ordered(a b))`:                   "0157",
		`fn:maxgaps(0 fn:unordered(a b))`:                 "027",
		`fn:maxwidth(3 fn:ordered(a b))`:                  "0157",
		`fn:unorderedNoOverlaps(b a)`:                     "012357",
		`fn:or(x d)`:                                      "0136",
		`fn:atleast(3 a b x d)`:                           "013",
		`fn:wildcard(ab*)`:                                "6",
		`fn:phrase(fn:wildcard("?b") fn:wildcard(ab?))`:   "6",
		`fn:phrase(fn:or(a "a b") c)`:                     "01",
		`fn:before(a b)`:                                  "01357",
		`fn:after(a b)`:                                   "2",
		`fn:containing(fn:ordered(a b) c)`:                "1",
		`fn:notContaining(fn:ordered(a b) x)`:             "0157",
		`fn:containedBy(c fn:ordered(a b))`:               "1",
		`fn:notContainedBy(c fn:ordered(a b))`:            "07",
		`fn:within(a 1 b)`:                                "027",
		`fn:notWithin(a 1 b)`:                             "1345",
		`fn:overlapping(fn:ordered(a c) fn:ordered(b d))`: "0",
		`fn:nonOverlapping(a fn:ordered(c b))`:            "012345",
		`fn:extend(a 1 1)`:                                "0123457",
		`fn:overlapping(c fn:extend(a 0 1))`:              "1",
		`fn:ordered(the a)`:                               "",
		`fn:atleast(3 a b)`:                               "",
		`d AND NOT fn:phrase(a b)`:                        "1",
		`t:fn:ordered(a b)`:                               "01357",
		`u:fn:ordered(a b)`:                               "",
	} {
		got := ""
		q := &Request{Query: parseIntervals(t, in), Limit: 10, Sort: []SortField{{By: ByID}}}
		for _, h := range mustSearch(t, x, q).Hits {
			got += h.ID
		}
		if got != want {
			t.Errorf("%s finds %q, want %q", in, got, want)
		}
	}
	_, err := x.Search(context.Background(), &Request{Query: parseIntervals(t, "s:fn:ordered(a b)")})
	want := "Cannot create an IntervalIterator over field s because it has no indexed positions"
	if err == nil || err.Error() != want {
		t.Errorf("a field without positions: %v", err)
	}
	h := &Highlighter{Query: parseIntervals(t, "fn:notContaining(fn:ordered(a b) x)"), Analyze: words,
		Pre: "[", Post: "]", Number: 1}
	if got, err := h.Fragments(context.Background(), "t", "a x b"); err != nil || fmt.Sprint(got) != "[[a] x [b]]" {
		t.Errorf("highlighted: %v %v", got, err)
	}
}

// TestIntervalScores: worked out by hand from Lucene's formula: 1/(1+1/freq), freq the sum over the
// intervals.
func TestIntervalScores(t *testing.T) {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Nouveau, words)
	ram.Add("0", maker.Document("0", []segment.Value{{Name: "t", Text: "a b x a x b", Analyzed: true}}))
	x := &Index{Kind: segment.Nouveau, Segments: []segment.Segment{ram.View("9")}}
	for in, freq := range map[string]float64{`fn:ordered(a b)`: 1.5, `fn:phrase(a b)`: 1, `fn:or(a b)`: 4,
		`fn:extend(x 1 1)`: 2, `fn:containing(fn:ordered(a b) x)`: 0.5} {
		hits := mustSearch(t, x, &Request{Query: parseIntervals(t, in), Limit: 10}).Hits
		if want := freq / (1 + freq); len(hits) != 1 || math.Abs(float64(hits[0].Score)-want) > 1e-6 {
			t.Errorf("%s: %+v, want %v", in, hits, want)
		}
	}
}

// spansOf are the smallest intervals of a function in a document, by trying all combinations.
func (d *oracleDoc) spansOf(field string, n *query.Interval) []span {
	lists := make([][]span, len(n.Sources))
	for i, s := range n.Sources {
		lists[i] = d.spansOf(field, s)
	}
	any := func(list []span, ok func(span) bool) bool { return slices.ContainsFunc(list, ok) }
	var all []span
	each := func(k int, ok func(chosen []span) bool) { // one of each of k different lists
		var choose func(from int, chosen []span)
		choose = func(from int, chosen []span) {
			if len(chosen) == k {
				if ok(chosen) {
					s := span{start: chosen[0].start, end: chosen[0].end}
					for _, c := range chosen {
						s.start, s.end = min(s.start, c.start), max(s.end, c.end)
					}
					s.gaps = s.width()
					for _, c := range chosen {
						s.gaps -= c.width()
					}
					all = append(all, s)
				}
				return
			}
			for i := from; i < len(lists); i++ {
				for _, s := range lists[i] {
					choose(i+1, append(slices.Clone(chosen), s))
				}
			}
		}
		choose(0, nil)
	}
	follows := func(closed bool) func([]span) bool {
		return func(chosen []span) bool {
			for i := 1; i < len(chosen); i++ {
				if chosen[i].start <= chosen[i-1].end || closed && chosen[i].start != chosen[i-1].end+1 {
					return false
				}
			}
			return true
		}
	}
	whatever := func([]span) bool { return true }
	keep := func(ok func(s span) bool) []span {
		return slices.DeleteFunc(slices.Clone(lists[0]), func(s span) bool { return !ok(s) })
	}
	switch n.Function {
	case "term":
		for _, p := range d.positions(field, n.Text) {
			all = append(all, span{start: p, end: p})
		}
		return all
	case "none":
		return nil
	case "or":
		all = slices.Concat(lists...)
	case "ordered":
		each(len(lists), follows(false))
	case "phrase":
		each(len(lists), follows(true))
	case "unordered":
		each(len(lists), whatever)
	case "atleast":
		each(n.Numbers[0], whatever)
	case "repeated":
		for len(lists) < n.Numbers[0] {
			lists = append(lists, lists[0])
		}
		each(n.Numbers[0], follows(false))
	case "maxgaps":
		return keep(func(s span) bool { return int(s.gaps) <= n.Numbers[0] })
	case "maxwidth":
		return keep(func(s span) bool { return int(s.width()) <= n.Numbers[0] })
	case "extend":
		for _, s := range lists[0] {
			all = append(all, span{max(0, s.start-int32(n.Numbers[0])), s.end + int32(n.Numbers[1]), s.gaps})
		}
		return all
	default:
		holds := map[string]func(s, o span) bool{
			"containing":  func(s, o span) bool { return s.start <= o.start && o.end <= s.end },
			"containedBy": func(s, o span) bool { return o.start <= s.start && s.end <= o.end },
			"overlapping": func(s, o span) bool { return s.start <= o.end && o.start <= s.end },
			"before":      func(s, o span) bool { return s.end < o.start || s.end == 0 },
			"beginning":   func(s, o span) bool { return o.start <= s.end && (o.start >= s.start || o.end >= s.end) },
			"after":       func(s, o span) bool { return s.start > o.end },
		}
		not := map[string]string{"notContaining": "beginning", "notContainedBy": "containedBy",
			"nonOverlapping": "overlapping"}[n.Function]
		return keep(func(s span) bool {
			if not != "" {
				return !any(lists[1], func(o span) bool { return holds[not](s, o) })
			}
			return any(lists[1], func(o span) bool { return holds[n.Function](s, o) })
		})
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.start - b.start) })
	var smallest []span
	for i, s := range all {
		inside := func(o span) bool {
			return s.start <= o.start && o.end <= s.end && (o.start != s.start || o.end != s.end)
		}
		if !any(all, inside) && !any(all[:i], func(o span) bool { return o.start == s.start && o.end == s.end }) {
			smallest = append(smallest, s)
		}
	}
	return smallest
}

var intervalFunctions = strings.Fields(`ordered unordered or phrase atleast maxgaps maxwidth extend within notWithin
	containing notContaining containedBy notContainedBy overlapping nonOverlapping before after unorderedNoOverlaps`)

// function is a random function of intervals as text.
func (g generator) function(depth int) string {
	word := func() string { return strings.Fields("a b c ab abc deer 7")[g.IntN(7)] }
	if depth == 0 || g.IntN(4) == 0 {
		if g.IntN(4) == 0 {
			return `"` + word() + " " + word() + `"`
		}
		return word()
	}
	sources := func(n int) (s string) {
		for range n {
			s += " " + g.function(depth-1)
		}
		return s
	}
	switch name := intervalFunctions[g.IntN(len(intervalFunctions))]; name {
	case "ordered", "unordered", "or", "phrase":
		return "fn:" + name + "(" + sources(1+g.IntN(3)) + ")"
	case "atleast":
		return fmt.Sprintf("fn:atleast(%d%s)", 1+g.IntN(3), sources(2+g.IntN(2)))
	case "maxgaps": // gaps of intervals that are made of the same terms are the same
		return fmt.Sprintf("fn:maxgaps(%d fn:ordered(%s %s))", g.IntN(4), word(), word())
	case "maxwidth":
		return fmt.Sprintf("fn:maxwidth(%d%s)", g.IntN(8), sources(1))
	case "extend":
		return fmt.Sprintf("fn:extend(%s %d %d)", word(), g.IntN(3), g.IntN(3))
	case "within", "notWithin":
		return fmt.Sprintf("fn:%s(%s %d %s)", name, g.function(depth-1), g.IntN(3), word())
	default:
		return "fn:" + name + "(" + sources(2) + ")"
	}
}

// TestIntervalsAgainstTheOracle: documents and scores of functions are those of trying all
// combinations.
func TestIntervalsAgainstTheOracle(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		if w.oracle.kind != segment.Nouveau {
			return
		}
		for range 60 {
			text := "fn:or(" + w.function(2) + ")"
			n, ok := parseIntervals(t, text).(*query.Intervals)
			if !ok {
				t.Fatalf("%s is no function", text)
			}
			want := map[string]float64{}
			for _, d := range w.oracle.docs {
				freq := 0.0
				for _, s := range d.spansOf("t", n.Source) {
					freq += 1 / float64(max(int(s.width())-n.Source.MinExtent()+1, 1))
				}
				if freq > 0 && d.killed == "" {
					want[d.ID] = freq / (1 + freq)
				}
			}
			r := mustSearch(t, w.index(w.now(), true), &Request{Query: n, Limit: 1000})
			for _, h := range r.Hits {
				if math.Abs(want[h.ID]-float64(h.Score)) > 1e-5 {
					t.Errorf("%s: %s has %v, want %v", text, h.ID, h.Score, want[h.ID])
				}
			}
			if len(r.Hits) != len(want) {
				t.Errorf("%s: %d documents, want %d", text, len(r.Hits), len(want))
			}
		}
	})
}
