package index

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// TestKnownScores: what Lucene answers for an index of three documents, worked out by hand from its
// formulas.
func TestKnownScores(t *testing.T) {
	for _, kind := range []segment.Kind{segment.Nouveau, segment.Clouseau} {
		ram, maker := segment.NewRAM(), segment.NewMaker(kind, words)
		for i, text := range []string{"a b c d", "b c d e", "c d e f"} {
			ram.Add(segment.Identity(fmt.Sprint(i)), maker.Document(fmt.Sprint(i),
				[]segment.Value{{Name: "t", Text: text,
					Analyzed: true, Norms: true}}))
		}
		x := &Index{Kind: kind, Segments: []segment.Segment{ram.View("9")}}
		r := mustSearch(t, x, &Request{Query: &query.Term{Field: "t", Term: "a"}, Limit: 1})
		idf := math.Log(1 + (3-1+0.5)/(1+0.5))
		want := float32((math.Log(3.0/2) + 1) / 2)
		if kind == segment.Nouveau {
			want = float32(idf / 2.2)
		}
		if got := r.Hits[0].Score; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
}

// TestRecords: a document is what its record says.
func TestRecords(t *testing.T) {
	forWorlds(t, 10, func(t *testing.T, w *world) {
		d := w.maker.Document("é", w.values())
		got, err := segment.ReadRecord(segment.AppendRecord(nil, d))
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%+v is %+v, %v", d, got, err)
		}
	})
}

func FuzzRecord(f *testing.F) {
	for seed := range uint64(4) {
		w := newWorld(seed, segment.Kind(seed%2))
		f.Add(segment.AppendRecord(nil, w.maker.Document("id", w.values())))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := segment.ReadRecord(b)
		if err != nil {
			return
		}
		again, err := segment.ReadRecord(segment.AppendRecord(nil, d))
		same := err == nil && bytes.Equal(segment.AppendRecord(nil, d), segment.AppendRecord(nil, again))
		if !same {
			t.Fatalf("%+v is %+v, %v", d, again, err)
		}
	})
}

// TestPatterns: Lucene's regular expressions.
func TestPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{`ab*c`, "ac abbc", "ab xac acx"},
		{`a|bc`, "a bc", "ac abc"},
		{`(a|b)c`, "ac bc", "a c"},
		{`a.c`, "abc aéc", "ac abbc"},
		{`[a-c]x`, "ax cx", "dx x"},
		{`[^a-c]x`, "dx éx", "ax"},
		{`[a\]-]`, "a ] -", "b"},
		{`a{2}`, "aa", "a aaa"},
		{`a{2,}`, "aa aaaa", "a"},
		{`a{1,2}`, "a aa", "aaa"},
		{`a**`, "aa", "b"},
		{`a@`, "a abc", "ba"},
		{`"a*"b`, "a*b", "aab"},
		{`a\*`, "a*", "aa"},
		{`a()b`, "ab", "a()b"},
		{`a#`, "", "a a#"},
		{`x?y+`, "y xyy", "x"},
		{`\.`, ".", "a"},
	} {
		re, err := parseRegexp(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		a, err := newProgram(newRun(), re)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for term := range strings.FieldsSeq(c.yes) {
			if !matches(a, term) {
				t.Errorf("%s does not match %s", c.pattern, term)
			}
		}
		for term := range strings.FieldsSeq(c.no) {
			if matches(a, term) {
				t.Errorf("%s matches %s", c.pattern, term)
			}
		}
	}
	for _, in := range []string{"(", ")", "[", "[a", "[b-a]", "a{", "a{x}", "a{2,1}", "*", `"a`, "a&b", "~a",
		"<1-2>", `\`,
		strings.Repeat("(", 200), strings.Repeat("a{900}", 2), "a{70000}", "a" + strings.Repeat("*", 200)} {
		if re, err := parseRegexp(in); err == nil {
			t.Errorf("%s is %v", in, re)
		}
	}
}

func FuzzRegexp(f *testing.F) {
	f.Add(`a(b|[c-e]){2,3}.*`, "abd")
	f.Add(`"x"@#\c[^]]`, "x")
	f.Fuzz(func(t *testing.T, pattern, term string) {
		re, err := parseRegexp(pattern)
		if err != nil || len(pattern) > 100 || len(term) > 100 {
			return
		}
		if a, err := newProgram(newRun(), re); err == nil {
			matches(a, term)
		}
	})
}

// TestHighlights: fragments are those of Lucene's highlighter.
func TestHighlights(t *testing.T) {
	term := func(s string) query.Node { return &query.Term{Field: "t", Term: s} }
	should := func(all ...query.Node) query.Node {
		b := &query.Bool{}
		for _, n := range all {
			b.Clauses = append(b.Clauses, query.BoolClause{Node: n})
		}
		return b
	}
	phrase := &query.Phrase{Field: "t", Terms: []query.PhraseTerm{{Term: "quick"}, {Term: "fox", Position: 1}}}
	for _, c := range []struct {
		query        query.Node
		size, number int
		text         string
		want         []string
	}{
		{term("fox"), 0, 1, "The Fox!", []string{"The <em>Fox</em>!"}},
		{term("cat"), 0, 1, "The Fox!", nil},
		{phrase, 0, 1, "fox quick fox", []string{"fox <em>quick</em> <em>fox</em>"}},
		{phrase, 0, 1, "quick red fox", nil},
		{should(term("a"), term("b")), 4, 1, "a x y z a b q", []string{" <em>a</em> <em>b</em>"}},
		{should(term("a"), term("b")), 4, 2, "a x y z a b q", []string{" <em>a</em> <em>b</em>", "<em>a</em> x"}},
		{&query.Prefix{Field: "t", Text: "fo"}, 0, 1, "foo for bar", []string{"<em>foo</em> <em>for</em> bar"}},
		{&query.Fuzzy{Field: "t", Text: "bear", Edits: 1}, 0, 1, "beer bee", []string{"<em>beer</em> bee"}},
		{&query.Wildcard{Field: "t", Pattern: "b?e*"}, 0, 1, "beer boo", []string{"<em>beer</em> boo"}},
		{&query.Regexp{Field: "t", Pattern: "b.+r"}, 0, 1, "beer boo", []string{"<em>beer</em> boo"}},
		{&query.Term{Field: "u", Term: "fox"}, 0, 1, "fox", nil},
	} {
		h := &Highlighter{Query: c.query, Analyze: words, Pre: "<em>", Post: "</em>", Size: c.size, Number: c.number}
		got, err := h.Fragments(context.Background(), "t", c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s in %q: %q %v, want %q", show(c.query), c.text, got, err, c.want)
		}
	}
	h := &Highlighter{Query: term("x"), Analyze: words, Number: 3}
	if got, _ := h.Fragments(context.Background(), "t", strings.Repeat("é", highlightedText)+" x"); got != nil {
		t.Errorf("a term far behind is marked: %d", len(got))
	}
}

// TestAddingWhileSearching is for the race detector.
func TestAddingWhileSearching(t *testing.T) {
	w := newWorld(1, segment.Clouseau)
	for range 30 {
		w.step()
	}
	queries := make([]query.Node, 200)
	for i := range queries {
		queries[i] = w.query(2, false)
	}
	at := w.now()
	ram := w.whole
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for _, n := range queries {
				x := &Index{Kind: segment.Clouseau, Segments: []segment.Segment{ram.View(at)}}
				if _, err := x.Search(context.Background(), &Request{Query: n, Limit: 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		w.step()
	}
	wait.Wait()
}

// TestDistances: kilometres and miles on a sphere.
func TestDistances(t *testing.T) {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Clouseau, words)
	for id, at := range map[string][2]float64{"berlin": {13.4, 52.52}} {
		ram.Add("1", maker.Document(id, []segment.Value{{Name: "x", Number: at[0], IsNumber: true}, {Name: "y",
			Number: at[1], IsNumber: true}}))
	}
	ram.Add("2", maker.Document("nowhere", []segment.Value{{Name: "z", Text: "z"}}))
	x := &Index{Kind: segment.Clouseau, Segments: []segment.Segment{ram.View("9")}}
	for text, want := range map[string][2]float64{"<distance,x,y,2.35,48.86,km>": {878.0, 20037.5},
		"-<distance,x,y,2.35,48.86,mi>": {12450.7, 545.5}} {
		sort, err := x.ParseSort([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		r := mustSearch(t, x, &Request{Query: &query.All{}, Sort: sort, Limit: 2})
		for i, h := range r.Hits {
			if math.Abs(h.Sort[0].Number-want[i]) > 2 {
				t.Errorf("%s: %s is %v away", text, h.ID, h.Sort[0].Number)
			}
		}
	}
}

// TestTextsToHits: from text of both languages to hits.
func TestTextsToHits(t *testing.T) {
	for _, c := range []struct {
		dialect query.Dialect
		in      string
		want    string
	}{
		{query.Classic, `brown AND dog`, "2"}, {query.Classic, `t:"quick fox"~1`, "1"}, {query.Classic,
			`n:[2 TO *]`, "2 3"},
		{query.Classic, `bro*n OR lazy`, "3 1 2"}, {query.Classic, `n:3`, "3"}, {query.Classic, `the`, ""},
		{query.Flexible, `brown AND dog`, "2"}, {query.Flexible, `n>=2`, "2 3"}, {query.Flexible,
			`(quick dog lazy)@2`, "3"},
		{query.Flexible, `foxx~1 AND NOT dog`, "1"}, {query.Flexible, `n:[* TO *] -n:2`, "1 3"},
	} {
		kind := segment.Kind(c.dialect)
		ram, maker := segment.NewRAM(), segment.NewMaker(kind, words)
		for i, text := range []string{"the quick brown fox", "brown dog brown", "lazy dog, lazy owner"} {
			ram.Add(segment.Identity(fmt.Sprint(i)), maker.Document(fmt.Sprint(i+1), []segment.Value{
				{Name: "t", Text: text, Analyzed: true, Norms: true}, {Name: "n", Number: float64(i + 1),
					IsNumber: true}}))
		}
		x := &Index{Kind: kind, Segments: []segment.Segment{ram.View("9")}}
		n, err := query.Parse(c.in, query.Options{Dialect: c.dialect, DefaultField: "t"})
		if err == nil {
			n, err = query.Resolve(n, c.in, c.dialect, wordSchema{})
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		var ids []string
		for _, h := range mustSearch(t, x, &Request{Query: n, Limit: 10}).Hits {
			ids = append(ids, h.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s finds %q, want %q", c.in, got, c.want)
		}
	}
}

// wordSchema is the analyzer words for query.Resolve.
type wordSchema struct{}

func (wordSchema) Tokens(field, text string) []query.Token {
	var all []query.Token
	at := -1
	words(field, text, func(term []byte, increment, _, _ int) {
		at += increment
		all = append(all, query.Token{Term: string(term), Position: at})
	})
	return all
}

func (wordSchema) Normalize(_, text string) string { return strings.ToLower(text) }
func (wordSchema) IsDouble(field string) bool      { return field == "n" }
func (wordSchema) Locale() query.Locale            { return query.Locale{} }

// hugeSegment says that it has so many documents that a set of them takes 1 MB.
type hugeSegment struct{ segment.Segment }

func (hugeSegment) Docs() int32 { return 8 << 20 }

// TestManyPatterns: a query does not take memory without bound by having many small parts.
func TestManyPatterns(t *testing.T) {
	r := newRun()
	large, sets := hugeSegment{segment.NewRAM().View("9")}, 0
	for newSet(r, large) != nil {
		sets++
	}
	if r.Err() == nil || sets != segment.MaxSetBytes>>20 {
		t.Errorf("%d sets of 1 MB, %v", sets, r.Err())
	}
	many := newRun()
	for i := 0; i < 100 && many.Err() == nil; i++ {
		re, _ := parseRegexp("(a|b)*a(a|b){10}")
		a, err := newProgram(many, re)
		if err != nil {
			t.Fatal(err)
		}
		for term := range 1 << 11 {
			matches(a, strings.NewReplacer("0", "a", "1", "b").Replace(fmt.Sprintf("%014b", term)))
		}
	}
	if many.Err() == nil || many.States > mostStatesTogether+100 {
		t.Errorf("%d states, %v", many.States, many.Err())
	}
}
