package views

import (
	"testing"
	"time"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestRoundTripsOfBuilds holds builds to a number of round trips: what belongs together is asked
// for together. Batches adapt to the time that reads and commits take, so here nothing takes any.
func TestRoundTripsOfBuilds(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	for _, c := range []struct {
		name, language, reduces string
		most                    int64
	}{
		{"no reduce", "emitter", ``, 100},
		{"_sum", "emitter", `,"reduce":"_sum"`, 120},
		{"_stats", "emitter", `,"reduce":"_stats"`, 120},
		{"interactive", languageQuery, `,"reduce":"_count"`, 120},
		{"interactive with _sum", languageQuery, `,"reduce":"_sum"`, 160},
		{"interactive with _stats", languageQuery, `,"reduce":"_stats"`, 160},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, update := countBuild(t, c.language, c.reduces)
			// Leases are extended and counts folded by the clock: a build on a starved machine has
			// these trips besides.
			for tries := 0; tries < 3 && (first.RoundTrips > c.most || update.RoundTrips > mostOfUpdate); tries++ {
				first, update = countBuild(t, c.language, c.reduces)
			}
			if first.RoundTrips > c.most || first.TooOld > 0 {
				t.Errorf("the first build: %+v, at most %d round trips", first, c.most)
			}
			if update.RoundTrips > mostOfUpdate {
				t.Errorf("an update with 200 documents: %+v, at most %d round trips", update, mostOfUpdate)
			}
			t.Logf("%+v, %+v", first, update)
		})
	}
}

// mostOfUpdate are the round trips that an update with 200 documents may take.
const mostOfUpdate = 40

// countBuild builds the index of a view from 6,000 documents, and updates it with 200 more.
func countBuild(t *testing.T, language, reduces string) (first, update latencykv.Counts) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	b := newBench(t, engine, storage.CreateOptions{})
	began := time.Now()
	b.views.opts.now = func() time.Time { return began }
	b.many(t, 6000)
	b.put(t, "_design/d", designBody(language, `{"v":{"map":"m"`+reduces+`}}`))
	engine.Reset()
	must(t, b.views.Update(t.Context(), b.db, "_design/d"))
	first = engine.Counts()
	for i := range 200 {
		b.put(t, "doc"+string(rune('a'+i%26))+string(rune('a'+i/26)), `{"emit":[[3,1],["x",2]]}`)
	}
	engine.Reset()
	must(t, b.views.Update(t.Context(), b.db, "_design/d"))
	return first, engine.Counts()
}
