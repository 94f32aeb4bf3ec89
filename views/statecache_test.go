package views

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestStateCache: queries that are asked again and again, with changes and purges in between,
// answer what those do that know nothing of the state of the index; of one that is built for the
// query, and of an interactive one.
func TestStateCache(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	for _, language := range []string{"emitter", languageQuery} {
		t.Run(language, func(t *testing.T) {
			b := newBench(t, memkv.New(), storage.CreateOptions{})
			b.put(t, "_design/d", designBody(language,
				`{"sum":{"map":"a","reduce":"_sum"},"stats":{"map":"a","reduce":"_stats"},`+
					`"count":{"map":"a","reduce":"_count"}}`))
			rnd := rand.New(rand.NewPCG(7, 7))
			id := func() string { return fmt.Sprintf("doc%04d", rnd.IntN(1500)) }
			change := func() {
				n := rnd.IntN(5000)
				b.put(t, id(), fmt.Sprintf(`{"emit":[[[%d,%d],%d],["x%d",1]]}`, n%4, n, n, n%300))
			}
			for range 1500 {
				change()
			}
			ask := func() (view, options string) {
				a, z := rnd.IntN(4), rnd.IntN(5000)
				switch rnd.IntN(6) {
				case 0:
					options = fmt.Sprintf("reduce=false&startkey=[%d,%d]&limit=2", a, z)
				case 1:
					options = fmt.Sprintf("reduce=false&descending=true&startkey=[%d,%d]&limit=2&skip=%d", a, z, z%400)
				case 2:
					options = fmt.Sprintf("startkey=[%d,%d]&endkey=[%d,%d]", a, z, a+1, z)
				case 3:
					options = fmt.Sprintf("group_level=1&startkey=[%d,%d]", a, z)
				case 4:
					options = "group_level=1"
				case 5:
					options = "group_level=1&descending=true"
				}
				return []string{"sum", "stats", "count"}[rnd.IntN(3)], options
			}
			used := 0
			for round := range 6 {
				for range 80 {
					view, options := ask()
					got := b.query(t, "d", view, options)
					for _, e := range b.views.aggregates.states.states {
						if e.cache != nil {
							used++
						}
					}
					states := b.views.aggregates.states.states
					b.views.aggregates.states.states = nil
					plain := b.query(t, "d", view, options)
					b.views.aggregates.states.states = states
					if got.head != plain.head || !slices.Equal(got.rows, plain.rows) {
						t.Fatalf("%s %s:\n%+v %s\nand without the cache\n%+v %s",
							view, options, got.head, got.rows, plain.head, plain.rows)
					}
				}
				if round%2 == 0 {
					change()
					continue
				}
				purged := id()
				if doc, err := b.db.Open(t.Context(), purged, docread.OpenOptions{}); err == nil {
					_, err = b.db.Purge(t.Context(), []storage.IDRevs{{ID: purged, Revs: []compat.Rev{doc.Rev}}})
					must(t, err)
				}
			}
			if used < 100 {
				t.Errorf("%d queries used the cache", used)
			}
		})
	}
}
