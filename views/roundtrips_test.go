package views

import (
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestRoundTripsOfBuilds holds builds to a number of round trips: what belongs together is asked for together. How many
// there are differs from run to run, since batches adapt to the time that commits take: about 300 on an idle machine,
// up to twice that on a busy one.
func TestRoundTripsOfBuilds(t *testing.T) {
	for _, c := range []struct {
		name, language, reduces string
		most                    int64
	}{
		{"no reduce", "emitter", ``, 700},
		{"_sum", "emitter", `,"reduce":"_sum"`, 700},
		{"_stats", "emitter", `,"reduce":"_stats"`, 700},
		{"interactive", languageQuery, `,"reduce":"_count"`, 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine := latencykv.New(memkv.New(), latencykv.Options{})
			b := newBench(t, engine, storage.CreateOptions{})
			b.many(t, 6000)
			b.put(t, "_design/d", designBody(c.language, `{"v":{"map":"m"`+c.reduces+`}}`))
			engine.Reset()
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			if n := engine.Counts(); n.RoundTrips > c.most || n.TooOld > 0 {
				t.Errorf("the first build: %+v, at most %d round trips", n, c.most)
			} else {
				t.Logf("%+v", n)
			}
			for i := range 200 {
				b.put(t, "doc"+string(rune('a'+i%26))+string(rune('a'+i/26)), `{"emit":[[3,1],["x",2]]}`)
			}
			engine.Reset()
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			if n := engine.Counts(); n.RoundTrips > 200 {
				t.Errorf("an update with 200 documents: %+v", n)
			} else {
				t.Logf("%+v", n)
			}
		})
	}
}
