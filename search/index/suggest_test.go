package index

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestSuggest: suggestions are those of a scan over the documents that are alive, however these are
// divided into segments.
func TestSuggest(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		at := w.now()
		for range 20 {
			q := &SuggestRequest{Field: w.field(), Limit: w.IntN(6), Near: w.IntN(2) == 0, Edits: w.IntN(3),
				Text: []string{"a", "ab", "", "abc", "bear", "d", "é", "the", "z"}[w.IntN(9)]}
			if w.IntN(3) == 0 {
				partition := w.word()
				q.Partition = &partition
			}
			want := w.oracle.suggest(q)
			for _, several := range []bool{false, true} {
				got, err := w.index(at, several).Suggest(context.Background(), q)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%+v: %+v %v, want %+v", q, got, err, want)
				}
			}
		}
	})
}

// suggest is Suggest by looking at each document. Partitions are the values of a field that worlds
// have.
func (o *oracle) suggest(q *SuggestRequest) (all []Suggestion) {
	counts := map[string]int64{}
	for _, d := range o.docs {
		if d.killed != "" || q.Partition != nil && d.positions("_partition", *q.Partition) == nil {
			continue
		}
		for _, term := range d.field(q.Field).Terms {
			counts[term.Term]++
		}
	}
	for term, docs := range counts {
		s := Suggestion{Term: term, Docs: docs}
		if q.Near {
			s.Edits = distance([]rune(q.Text), []rune(term))
		}
		if q.Near && s.Edits <= q.Edits || !q.Near && strings.HasPrefix(term, q.Text) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, Suggestion.compare)
	return all[:min(len(all), q.Limit)]
}
