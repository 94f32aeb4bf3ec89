package levels_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// With cached sums before the boundaries of any level every query gives what it gives over the
// rows; also where boundaries are open, aggregates stale, and a log is not folded, or folded
// meanwhile.
func TestCacheEqualsRows(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	store := storagetest.Engines["memory"](t)
	defer store.Close()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ctx := context.Background()
		clearAll(ctx, t, store)
		plain, slots := slotsFor(t, rng)
		shape := config(rng, rng.IntN(3) > 0)
		x := newIndexOf(shape, slots, rng.IntN(2) == 0)
		m := &model{rows: map[string][]byte{}}
		refresh := rng.IntN(2) == 0
		for range 1 + rng.IntN(4) {
			rows := m.randomRows(rng, 200+rng.IntN(400), plain)
			if err := change(ctx, store, x, refresh, rows); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				if err := fold(ctx, store, x, rng.IntN(2) == 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		for level := 1; level <= shape.Levels; level++ {
			var cache *levels.Cache
			if err := store.View(ctx, func(r kv.ReadTx) (err error) {
				cache, err = x.ReadCache(r, level, 1<<20)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			checkAll(t, store, x.With(cache), slots, rng, m, 15)
			if rng.IntN(4) == 0 { // the rows stay as they are
				if err := fold(ctx, store, x, rng.IntN(2) == 0); err != nil {
					t.Fatal(err)
				}
				checkAll(t, store, x.With(cache), slots, rng, m, 15)
			}
		}
	})
}

// Fewer boundaries than there are give nothing.
func TestCacheIsBounded(t *testing.T) {
	store := storagetest.Engines["memory"](t)
	defer store.Close()
	slots := slotsOf(t, adder{}, "_count")
	x := newIndex(levels.Config{Levels: 3, Fan: 4}, slots)
	someRows(t, store, x, 3000)
	must(t, store.View(t.Context(), func(r kv.ReadTx) error {
		all, err := x.ReadCache(r, 1, 1<<20)
		must(t, err)
		if all.Len() < 200 {
			t.Errorf("%d boundaries of 3000 rows with a fan of 4", all.Len())
		}
		for _, most := range []int{all.Len(), all.Len() - 1} {
			cache, err := x.ReadCache(r, 1, most)
			must(t, err)
			if (cache != nil) != (most == all.Len()) {
				t.Errorf("of %d boundaries %d were wanted: %v", all.Len(), most, cache)
			}
		}
		return nil
	}))
}

// Functions whose queries have read as many aggregates as there are have them in memory: then only
// rows are read. Those of a function whose aggregates are large are read as before.
func TestCacheAggregates(t *testing.T) {
	for _, one := range []struct {
		source string
		js     reduce.JavaScript
		kept   bool
	}{{"_stats", nil, true}, {"function", adder{}, true}, {"function", wide{}, false}} {
		t.Run(fmt.Sprintf("%s %T", one.source, one.js), func(t *testing.T) {
			store := kvtest.NewCounting(memkv.New())
			defer store.Close()
			slots := slotsOf(t, one.js, one.source)
			x := newIndex(levels.Config{Levels: 3, Fan: 8}, slots)
			someRows(t, store, x, 3000)
			must(t, store.View(t.Context(), func(r kv.ReadTx) error {
				cache, err := x.ReadCache(r, 1, 1<<20)
				must(t, err)
				x = x.With(cache)
				return nil
			}))
			rng := rand.New(rand.NewPCG(7, 7))
			cost := func() float64 { // ranges read for a query
				store.Reset()
				const queries = 100
				for range queries {
					v, err := ejson.Parse([]byte(rowOf(rng, rng.IntN(3000), true).key))
					must(t, err)
					q := levels.Query{Start: collate.AppendKey(nil, v), Limit: -1}
					_, err = answer(t.Context(), store, x, slots[0], q)
					must(t, err)
				}
				return float64(store.Counts().Ranges) / queries
			}
			first, then := cost(), cost()
			t.Logf("%.2f ranges a query, then %.2f", first, then)
			if one.kept != (then <= 2) { // the rows at one end, and those that show that they are many
				t.Errorf("%.2f ranges are read for a query, then %.2f", first, then)
			}
		})
	}
}

// wide has large aggregates.
type wide struct{}

func (wide) Reduce(_ context.Context, _ string, groups [][]reduce.Row) ([]reduce.Value, error) {
	return wideValues(len(groups)), nil
}

func (wide) Rereduce(_ context.Context, _, _ string, groups [][][]byte) ([]reduce.Value, error) {
	return wideValues(len(groups)), nil
}

func wideValues(n int) []reduce.Value {
	return slices.Repeat([]reduce.Value{{JSON: []byte(`"` + strings.Repeat("x", 500) + `"`)}}, n)
}
