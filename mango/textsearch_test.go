package mango

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// What an index refuses is CouchDB's error of its kind, with the reason; a query that takes too
// long is a timeout.
func TestTextSearchErrors(t *testing.T) {
	for kind, want := range map[Kind]string{
		KindText:    `400 text_search_error dim "nowhere" does not exist`,
		KindNouveau: `500 nouveau_search_error bad_request: dim "nowhere" does not exist`,
	} {
		h := &textHits{finder: &finder{ctx: t.Context(), plan: &Plan{index: &Index{Kind: kind}}, src: &Source{}}}
		s := &search.Searcher{Index: &index.Index{Kind: segment.Clouseau}}
		_, err := h.search(t.Context(), s, &index.Request{Query: &query.All{}, Counts: []string{"nowhere"}})
		e, ok := compat.AsError(err)
		if !ok {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %s %s", e.Status(), e.Word(), e.Reason); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	plan := &Plan{index: &Index{Kind: KindText}}
	h := &textHits{finder: &finder{plan: plan, src: &Source{SearchTime: time.Nanosecond}}}
	ram := segment.NewRAM()
	ram.Add("a", &segment.Document{ID: "a"})
	s := &search.Searcher{Index: &index.Index{Segments: []segment.Segment{ram.View("a")}}}
	if _, err := h.search(context.Background(), s, &index.Request{Query: &query.All{}}); err != errTime {
		t.Error(err)
	}
}
