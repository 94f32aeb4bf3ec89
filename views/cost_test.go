package views

import (
	"context"
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// cost is what one call asked of the store.
type cost struct{ views, commits, gets, ranges, rows, sets, clears, atomics int64 }

// TestCosts holds down what queries and updates ask of the store. A higher number here is a slower
// settee: change it only on purpose.
func TestCosts(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	b := newBench(t, count, storage.CreateOptions{})
	b.many(t, 2000)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"},"w":{"map":"a"}}`))
	measure := func(what string, call func(), want cost) {
		t.Helper()
		count.Reset()
		call()
		c := count.Counts()
		got := cost{c.Views, c.Commits, c.Gets, c.Ranges, c.Rows, c.Sets, c.Clears + c.RangeClears, c.Atomics}
		if got.views > want.views || got.commits > want.commits || got.gets > want.gets ||
			got.ranges > want.ranges || got.rows > want.rows ||
			got.sets > want.sets || got.clears > want.clears || got.atomics > want.atomics {
			t.Errorf("%s: %+v, at most %+v", what, got, want)
		}
	}
	ask := func(options string) func() { return func() { b.query(t, "d", "v", options) } }
	measure(
		"first build",
		func() { must(t, b.views.Update(t.Context(), b.db, "_design/d")) },
		cost{views: 30, commits: 34, gets: 2400, ranges: 150, rows: 24000, sets: 4500, clears: 18, atomics: 60},
	)
	measure("one key", ask("reduce=false&key=700"), cost{views: 2, gets: 5, ranges: 7, rows: 12})
	measure("100 rows", ask("reduce=false&startkey=700&limit=100"), cost{views: 2, gets: 5, ranges: 7, rows: 111})
	measure("skip", ask("reduce=false&skip=1500&limit=1"), cost{views: 2, gets: 5, ranges: 12, rows: 147})
	measure("sum", ask(""), cost{views: 2, gets: 4, ranges: 7, rows: 82})
	measure("sum of a range", ask("startkey=123&endkey=1456"), cost{views: 2, gets: 4, ranges: 12, rows: 228})
	b.put(t, "doc000007", `{"emit":[[7,2]]}`)
	measure(
		"one changed document",
		ask("reduce=false&key=7"),
		cost{views: 4, commits: 1, gets: 20, ranges: 15, rows: 20, sets: 8},
	)
	var docs []*compat.Document
	for i := range 100 {
		docs = append(docs, newDoc(t, fmt.Sprintf("new%03d", i), "", fmt.Sprintf(`{"emit":[[%d,1]]}`, i*20)))
	}
	_, err := b.db.Update(context.Background(), docs, storage.UpdateOptions{})
	must(t, err)
	measure(
		"100 new documents",
		ask("reduce=false&key=7"),
		cost{views: 4, commits: 1, gets: 219, ranges: 19, rows: 303, sets: 266, atomics: 3},
	)
}

// TestSnapshotsTooOld: queries and builds on a store whose snapshots become too old again and again
// still give every row once.
func TestSnapshotsTooOld(t *testing.T) {
	engine := memkv.New()
	faulty := faultkv.New(engine, faultkv.Random(1, faultkv.Rates{TooOldRead: 0.001}))
	b := newBench(t, faulty, storage.CreateOptions{})
	b.many(t, 700)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_count"}}`))
	for range 10 {
		for _, options := range []string{"reduce=false", "reduce=false&descending=true"} {
			c := b.query(t, "d", "v", options)
			want(t, "rows", len(c.rows), 700)
			seen := map[string]bool{}
			for _, row := range c.rows {
				seen[row] = true
			}
			want(t, "distinct rows", len(seen), 700)
		}
		want(t, "groups", len(b.query(t, "d", "v", "group=true").rows), 700)
	}
}
