package mango_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Where no index wants to know, an update does not read the body that it replaces.
func TestUpdatesWithoutIndexesLeaveBodiesAlone(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	w := openWorld(t, engine)
	queue, err := jobs.Open(
		context.Background(),
		jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true},
	)
	check(t, err)
	t.Cleanup(func() { check(t, queue.Close()) })
	fields, err := allfields.New(
		allfields.Options{Store: w.store, Jobs: queue, Split: mango.SplitField, Limits: engine.Limits()},
	)
	check(t, err)
	w.store.SetHooks(storage.Hooks{Indexer: indexers.Join(w.src.Views, fields)})
	w.begin(t, "db")
	trips := func(size int) int64 {
		fewest := int64(1000) // of some updates: the queue of jobs reads beside them
		id, rev := fmt.Sprint("of ", size), compat.Rev{}
		for range 8 {
			doc := &compat.Document{ID: id, HasID: true}
			if !rev.IsZero() {
				doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
			}
			doc.Body, err = compat.NewBody([]byte(`{"n":"` + strings.Repeat("x", size) + `"}`))
			check(t, err)
			engine.Reset()
			results, err := w.src.DB.Update(context.Background(), []*compat.Document{doc}, storage.UpdateOptions{})
			check(t, err)
			n := engine.Counts().RoundTrips
			if !rev.IsZero() {
				fewest = min(fewest, n)
			}
			rev = results[0].Rev
		}
		return fewest
	}
	if small, large := trips(10), trips(300_000); large != small {
		t.Errorf("%d round trips with a large body, %d with a small one", large, small)
	}
	w.createIndex(t, "n", `{"fields":["n"]}`)
	if small, large := trips(11), trips(300_001); large < small {
		t.Errorf("beside an index: %d round trips with a large body, %d with a small one", large, small)
	}
}

// TestChangedBeforeItIsShown: of a large document a scan reads first what the selector looks at. If it
// is written again before it is shown it is shown as it is then, if it passes still.
func TestChangedBeforeItIsShown(t *testing.T) {
	w := openWorld(t, memkv.New())
	w.begin(t, "db")
	large := func(id string, n int, last string) {
		w.put(t, id, fmt.Sprintf(`{"n":%d,"pad":%q,"last":%q}`, n, strings.Repeat("x", 300_000), last))
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		large(id, 1, "old")
	}
	plan, err := w.plan(t, `{"selector":{"n":1}}`)
	check(t, err)
	var shown []string
	_, err = plan.Find(t.Context(), w.src, func(doc []byte) error {
		v, err := ejson.Parse(doc)
		id, _ := v.Get("_id")
		last, _ := v.Get("last")
		if shown = append(shown, id.Text()+" "+last.Text()); len(shown) == 1 {
			large("b", 2, "new")
			large("c", 1, "new")
			w.put(t, "d", "")
		}
		return err
	})
	check(t, err)
	if want := []string{"a old", "c new"}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
}
