package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// keptBlocks keep documents of all terms that more than a few documents have, in segments of any
// size.
type keptBlocks struct {
	mapBlocks
	share int32
	mu    sync.Mutex
	kept  map[string]*Frequent
	used  int
}

func keeping(blocks mapBlocks) *keptBlocks {
	return &keptBlocks{mapBlocks: blocks, share: 10, kept: map[string]*Frequent{}}
}

func (k *keptBlocks) Kept(name string) *Frequent {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.kept[name]
	if f != nil {
		k.used++
	}
	return f
}

func (k *keptBlocks) Keep(name string, f *Frequent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[name] = f
}

func (k *keptBlocks) Worth(n, docs int32) bool { return n*k.share >= docs }

// manyWords is a segment of documents of different lengths, whose words are as frequent as those of
// a language, and of fields without norms, with other norms, and with words that follow each other
// far behind.
func manyWords(t testing.TB, kind segment.Kind, n int, rng *rand.Rand) mapBlocks {
	t.Helper()
	ram, maker := segment.NewRAM(), segment.NewMaker(kind, words)
	zipf := rand.NewZipf(rng, 1.3, 3, 300)
	for i := range n {
		var text strings.Builder
		length := 1 + rng.IntN(1+rng.IntN(60))
		if rng.IntN(100) == 0 {
			length = 700
		}
		for range length {
			fmt.Fprintf(&text, "w%d ", zipf.Uint64())
		}
		if rng.IntN(50) == 0 { // frequencies that are no bytes
			text.WriteString(strings.Repeat("often ", 200+rng.IntN(100)))
		}
		boost := []float32{1, 1, 1, 3, 0.5}[rng.IntN(5)]
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)),
			maker.Document(fmt.Sprint(rng.IntN(n*100)), []segment.Value{
				{Name: "t", Text: text.String(), Analyzed: true, Norms: true, Boost: boost},
				{Name: "u", Text: fmt.Sprintf("w%d w%d", zipf.Uint64(), zipf.Uint64()), Analyzed: true},
				{Name: "n", Number: float64(i % 10), IsNumber: true}}))
	}
	return encode(t, ram.View("9"))
}

// commonQuery is a query of words of manyWords.
func commonQuery(rng *rand.Rand, depth int) query.Node {
	word := func() string {
		switch rng.IntN(12) {
		case 0:
			return "often"
		case 1:
			return "nowhere"
		case 2, 3:
			return fmt.Sprintf("w%d", rng.IntN(200))
		}
		return fmt.Sprintf("w%d", rng.IntN(6))
	}
	field := []string{"t", "t", "t", "u"}[rng.IntN(4)]
	switch kind := rng.IntN(10); {
	case kind < 4:
		return &query.Term{Field: field, Term: word()}
	case kind < 6:
		n := &query.Phrase{Field: field}
		at := rng.IntN(2)
		for range 2 + rng.IntN(2) {
			n.Terms = append(n.Terms, query.PhraseTerm{Term: word(), Position: at})
			at += 1 + rng.IntN(2)
		}
		return n
	case kind < 7:
		return &query.Boost{Node: commonQuery(rng, depth), Factor: []float32{0, 0.5, 2}[rng.IntN(3)]}
	case kind < 8 && rng.IntN(4) == 0:
		return &query.Prefix{Field: "t", Text: "w1"}
	case depth == 0:
		return &query.Term{Field: field, Term: word()}
	}
	n := &query.Bool{NoCoord: rng.IntN(4) == 0}
	for range 1 + rng.IntN(4) {
		occur := []query.Occur{query.Should, query.Should, query.Should, query.Must, query.Must, query.MustNot,
			query.Filter}[rng.IntN(7)]
		n.Clauses = append(n.Clauses, query.BoolClause{Occur: occur, Node: commonQuery(rng, depth-1)})
	}
	if rng.IntN(4) == 0 {
		n.Min = rng.IntN(3)
	}
	return n
}

// TestTogether: hits, their order and scores, totals and pages are the same whether documents are
// counted as sets and scored where they may be among the first ones, or are found and scored one by
// one.
func TestTogether(t *testing.T) {
	rounds, queries := 6, 150
	if testing.Short() {
		rounds, queries = 2, 60
	}
	used := 0
	for _, kind := range []segment.Kind{segment.Clouseau, segment.Nouveau} {
		for round := range rounds {
			rng := rand.New(rand.NewPCG(uint64(round), uint64(kind)))
			single, sets := &Index{Kind: kind}, &Index{Kind: kind}
			var keepers []*keptBlocks
			for range 1 + rng.IntN(3) {
				n := 1 + rng.IntN(6000)
				blocks := manyWords(t, kind, n, rng)
				var live *segment.Bitmap
				if rng.IntN(2) == 0 {
					live = segment.All(int32(n))
					for range rng.IntN(n) {
						live.Clear(int32(rng.IntN(n)))
					}
				}
				kept := keeping(blocks)
				keepers = append(keepers, kept)
				single.Segments = append(single.Segments, open(t, blocks, live))
				sets.Segments = append(sets.Segments, open(t, kept, live))
			}
			for range queries {
				compareTogether(t, rng, single, sets)
			}
			for _, k := range keepers {
				used += k.used
			}
			if t.Failed() {
				t.Fatalf("kind %d, round %d", kind, round)
			}
		}
	}
	if used < 100 {
		t.Errorf("sets were used %d times", used)
	}
}

func compareTogether(t *testing.T, rng *rand.Rand, single, sets *Index) {
	t.Helper()
	q := &Request{Query: commonQuery(rng, 2), Limit: []int{0, 1, 3, 10, 200}[rng.IntN(5)]}
	if rng.IntN(3) == 0 {
		q.Sort, _ = single.ParseSort([]string{"-<score>", "n"})
		if single.Kind == segment.Nouveau {
			q.Sort, _ = single.ParseSort([]string{"relevance", "n"})
		}
	}
	for range 3 {
		want, got := mustSearch(t, single, q), mustSearch(t, sets, q)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %d hits: got %d\n%+v\nwant %d\n%+v", show(q.Query), q.Limit, got.Total, got.Hits,
				want.Total,
				want.Hits)
			return
		}
		if len(want.Hits) == 0 {
			return
		}
		last := want.Hits[len(want.Hits)-1]
		q.After = &After{last.Sort, last.Identity}
	}
}

// TestFrequentsOfDamagedSegments: sets of a damaged segment are made or not, and never panic.
func TestFrequentsOfDamagedSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	blocks := manyWords(t, segment.Nouveau, 1500, rng)
	for seed := range uint64(40) {
		s, err := segment.OpenBlocks(context.Background(), keeping(damage(blocks, seed)), nil)
		if err != nil {
			continue
		}
		x := &Index{Kind: segment.Nouveau, Segments: []segment.Segment{s}}
		for range 10 {
			_, _ = x.Search(context.Background(), &Request{Query: commonQuery(rng, 2), Limit: 3})
		}
	}
}

// TestTimeIsLookedAtBySets: a search by sets ends soon after its context, and keeps nothing that it
// has not made to the end.
func TestTimeIsLookedAtBySets(t *testing.T) {
	kept := keeping(encode(t, manyDocuments(5*segment.PostingsBetweenChecks).View("9")))
	x := &Index{Kind: segment.Clouseau, Segments: []segment.Segment{open(t, kept, nil)}}
	a, b := &query.Term{Field: "t", Term: "a"}, &query.Term{Field: "t", Term: "common"}
	for _, n := range []query.Node{a, &query.Bool{Clauses: []query.BoolClause{{Node: a}, {Node: b}}},
		&query.Phrase{Field: "t", Terms: []query.PhraseTerm{{Term: "a"}, {Term: "common", Position: 2}}}} {
		for range 2 {
			calls := 0
			ctx := &countingContext{Context: context.Background(), after: 2, calls: &calls}
			_, err := x.Search(ctx, &Request{Query: n, Limit: 1})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %d looks", show(n), err, calls)
			}
			if len(kept.kept) > 0 {
				t.Errorf("%s: an unfinished set is kept", show(n))
			}
		}
	}
	mustSearch(t, x, &Request{Query: a, Limit: 1})
	calls := 0
	ctx := &countingContext{Context: context.Background(), after: 2, calls: &calls}
	if _, err := x.Search(ctx, &Request{Query: a, Limit: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a set that is kept: %v after %d looks", err, calls)
	}
}

// manyValues is a segment with a field of many values.
type manyValues struct {
	segment.Segment
	n int
}

func (m manyValues) Strings(*segment.Run, string) segment.StringColumn { return countedColumn{m.n} }

type countedColumn struct{ n int }

func (c countedColumn) Ordinals(doc int32) []int32      { return []int32{doc} }
func (c countedColumn) Value(ordinal int32) string      { return fmt.Sprint("value", ordinal) }
func (c countedColumn) Find(value string) (int32, bool) { return 0, false }
func (c countedColumn) Len() int                        { return c.n }

// TestCountsAreBounded: what counts take in memory is bounded, in a segment and over all of them.
func TestCountsAreBounded(t *testing.T) {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Nouveau, words)
	values := []segment.Value{{Name: "s", Text: "a", Facet: true}}
	for i := range 3 {
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document(fmt.Sprint(i), values))
	}
	q := &Request{Query: &query.All{}, Counts: []string{"s"}}
	const most, three = mostCountBytes / bytesOfCount, 3 * (bytesOfValue + len("value0"))
	for n, ok := range map[int]bool{3: true, most: true, most + 1: false} {
		x := &Index{Kind: segment.Nouveau, Segments: []segment.Segment{manyValues{ram.View("9"), n}}}
		r, err := x.Search(context.Background(), q)
		var refused *Error
		if (err == nil) != ok || err != nil && !errors.As(err, &refused) {
			t.Errorf("%d values in a segment: %v", n, err)
		}
		if err == nil && len(r.Counts["s"]) != 3 {
			t.Errorf("%d values in a segment: counts are %v", n, r.Counts)
		}
	}
	for room, ok := range map[int]bool{three: true, three - 1: false} {
		run := newRun()
		f := &facets{of: q, columns: []segment.StringColumn{countedColumn{3}}, counts: [][]int64{{1, 1, 1}},
			values: []map[string]int64{{}}, bytes: mostCountBytes - room}
		f.leave(run)
		if (run.Err() == nil) != ok {
			t.Errorf("%d bytes left for values: %v", room, run.Err())
		}
	}
}
