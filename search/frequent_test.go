package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// frequentOf is a set that takes about as many bytes as it is asked to.
func frequentOf(t *testing.T, docs int) *index.Frequent {
	t.Helper()
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Clouseau, func(_, text string,
		add func([]byte, int, int, int)) {
		add([]byte(text), 1, 0, len(text))
	})
	for i := range docs {
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document(fmt.Sprint(i), []segment.Value{
			{Name: "t", Text: "x", Analyzed: true}}))
	}
	b := &keptInTest{blocks: map[segment.BlockKey][]byte{}}
	must(t, segment.Encode(context.Background(), []segment.Segment{ram.View("9")},
		func(k segment.BlockKey, v []byte) error {
			b.blocks[k] = v
			return nil
		}))
	s, err := segment.OpenBlocks(context.Background(), b, nil)
	must(t, err)
	x := &index.Index{Kind: segment.Clouseau, Segments: []segment.Segment{s}}
	_, err = x.Search(context.Background(), &index.Request{Query: &query.Term{Field: "t", Term: "x"}, Limit: 1})
	must(t, err)
	if b.kept == nil {
		t.Fatal("no set was made")
	}
	return b.kept
}

type keptInTest struct {
	blocks map[segment.BlockKey][]byte
	kept   *index.Frequent
}

func (b *keptInTest) ReadBlock(k segment.BlockKey) ([]byte, error) { return b.blocks[k], nil }
func (b *keptInTest) Kept(string) *index.Frequent                  { return b.kept }
func (b *keptInTest) Keep(_ string, f *index.Frequent)             { b.kept = f }
func (b *keptInTest) Worth(int32, int32) bool                      { return true }

// TestFrequentCache: what is kept is bounded in bytes, segments are kept apart, and a set that is
// as large as half of the cache is not kept.
func TestFrequentCache(t *testing.T) {
	f := frequentOf(t, 1000)
	c := newFrequentCache(4*cachedFrequent{name: "a"}.size(f), 1)
	blocks := func(segment int) *segmentBlocks {
		return &segmentBlocks{frequent: c, id: cachedBlock{segment: int64(segment)}}
	}
	for i := range 6 {
		blocks(i).Keep("a", f)
	}
	blocks(6).Keep("a", frequentOf(t, 4000))
	for i, kept := range []bool{false, false, true, true, true, true, false} {
		want(t, fmt.Sprint("kept of segment ", i), blocks(i).Kept("a") != nil, kept)
	}
	want(t, "kept of another word", blocks(5).Kept("b") == nil, true)
	b := &segmentBlocks{frequent: newFrequentCache(1<<20, 100)}
	for _, w := range []struct {
		n, docs int32
		want    bool
	}{{100, 3200, true}, {99, 100, false}, {100, 3201, false}, {300_000, 300_000, false}} {
		want(t, fmt.Sprint(w.n, " of ", w.docs), b.Worth(w.n, w.docs), w.want)
	}
}

// checkBest asks for the best hits, which are found by sets where words are frequent: how many
// there are in all, and that those that are answered are among them, the better ones first.
func (m *model) checkBest(t tester, b *bench, def *Definition, rng *rand.Rand) {
	text := "default"
	if def.Kind == segment.Nouveau {
		text = "body"
	}
	q := randomQuery(rng, text, 2)
	total, limit := 0, 1+rng.IntN(5)
	for _, d := range m.docs {
		if q.holds(d) {
			total++
		}
	}
	must(t, b.indexes.Search(context.Background(), b.db, def, func(ctx context.Context, s *Searcher) error {
		n, err := s.Parse(q.text, "", query.Options{})
		if err != nil {
			return err
		}
		r, err := s.Index.Search(ctx, &index.Request{Query: n, Limit: limit})
		if err != nil {
			return err
		}
		want(t, q.text+": total of the best", r.Total, int64(total))
		want(t, q.text+": the best", len(r.Hits), min(limit, total))
		for i, h := range r.Hits {
			if d := m.docs[h.ID]; d == nil || !q.holds(d) || i > 0 && h.Score > r.Hits[i-1].Score {
				t.Errorf("%s: %s is hit %d", q.text, h.ID, i)
			}
		}
		return nil
	}))
}
