package levels_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
	"github.com/settee-db/settee/views/levels"
)

// benchRow is a row of the benchmarks: [group of 1000, number], value an integer.
func benchRow(i int) (key, value []byte) {
	return testRow{
		key:   fmt.Sprintf("[%d,%d]", i/1000, i),
		id:    fmt.Sprintf("doc%08d", i),
		value: fmt.Sprint(i % 977),
	}.encode()
}

func rowKeyOf(i int) []byte {
	v, _ := ejson.Parse(fmt.Appendf(nil, "[%d,%d]", i/1000, i))
	return collate.AppendKey(nil, v)
}

// fill writes n rows without levels.
func fill(t testing.TB, store kv.Store, n int) {
	for i := 0; i < n; {
		_, err := store.Update(context.Background(), func(tx kv.Tx) error {
			for k := i; k < min(n, i+5000); k++ {
				key, value := benchRow(k)
				tx.Set([]byte(rowsPrefix+string(key)), value)
			}
			return nil
		})
		must(t, err)
		i += 5000
	}
}

func benchStore(b *testing.B, rows int) (kv.Store, *levels.Index, []levels.Slot) {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	must(b, err)
	b.Cleanup(func() { store.Close() })
	slots := slotsOf(b, adder{}, "_count", "_sum", "_stats", "function")
	x := newIndex(levels.Config{Levels: 4, Fan: 32, Sums: true}, slots)
	fill(b, store, rows)
	must(b, x.Build(context.Background(), store, nil))
	return store, x, slots
}

// BenchmarkBuild makes all levels of an index of _sum, _stats and a function that costs nothing;
// LEVELS_ROWS says of how many rows.
func BenchmarkBuild(b *testing.B) {
	rows := 100_000
	if s := os.Getenv("LEVELS_ROWS"); s != "" {
		fmt.Sscan(s, &rows)
	}
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	must(b, err)
	defer store.Close()
	fill(b, store, rows)
	for _, sources := range [][]string{{"_count"}, {"_sum"}, {"_stats"}, {"function"}} {
		b.Run(sources[0], func(b *testing.B) {
			x := newIndex(
				levels.Config{Levels: 4, Fan: 32, Sums: sources[0] == "_sum"},
				slotsOf(b, adder{}, sources...),
			)
			for b.Loop() {
				must(b, x.Build(context.Background(), store, nil))
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB")
		})
	}
}

// BenchmarkQuery has one index of each size and asks it all kinds of questions.
func BenchmarkQuery(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if os.Getenv("LEVELS_ROWS") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store, x, slots := benchStore(b, n)
			rng := rand.New(rand.NewPCG(1, 1))
			ctx := context.Background()
			run := func(name string, fn func(r kv.ReadTx) error) {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						must(b, store.View(ctx, fn))
					}
				})
			}
			ask := func(slot int, q levels.Query) func(r kv.ReadTx) error {
				return func(r kv.ReadTx) error {
					q := q
					if q.Start == nil {
						lo, hi := rng.IntN(n), rng.IntN(n)
						q.Start, q.End = rowKeyOf(min(lo, hi)), rowKeyOf(max(lo, hi))
					}
					return x.Reduce(ctx, r, slots[slot], &q, func(*levels.Group) error { return nil })
				}
			}
			run("before", func(r kv.ReadTx) error {
				_, err := x.CountBefore(r, rowKeyOf(rng.IntN(n)))
				return err
			})
			run("select", func(r kv.ReadTx) error {
				_, err := x.Select(r, int64(rng.IntN(n)))
				return err
			})
			run("range_count", ask(0, levels.Query{Limit: -1}))
			run("range_sum", ask(1, levels.Query{Limit: -1}))
			run("range_stats", ask(2, levels.Query{Limit: -1}))
			run("range_function", ask(3, levels.Query{Limit: -1}))
			run("ten_groups_sum", ask(1, levels.Query{Start: rowKeyOf(n / 2), Level: 1, Limit: 10}))
			run("ten_groups_stats", ask(2, levels.Query{Start: rowKeyOf(n / 2), Level: 1, Limit: 10}))
			run("100_exact_sum", ask(1, levels.Query{Start: rowKeyOf(n / 2), Level: levels.Exact, Limit: 100}))
		})
	}
}

// BenchmarkUpdate changes 1000 random rows in a batch, as a builder does.
func BenchmarkUpdate(b *testing.B) {
	const n = 100_000
	store, _, _ := benchStore(b, n)
	for _, sources := range [][]string{{}, {"_sum"}, {"_stats"}, {"function"}} {
		b.Run(fmt.Sprint(sources), func(b *testing.B) {
			x := newIndex(
				levels.Config{Levels: 4, Fan: 32, Sums: len(sources) > 0 && sources[0] == "_sum"},
				slotsOf(b, adder{}, sources...),
			)
			must(b, x.Build(context.Background(), store, nil))
			rng := rand.New(rand.NewPCG(2, 2))
			for b.Loop() {
				rows := map[string][]byte{}
				for range 500 {
					i := rng.IntN(n)
					key, _ := benchRow(i)
					rows[string(key)] = nil
					r := testRow{
						key:   fmt.Sprintf("[%d,%d]", rng.IntN(100), i),
						id:    fmt.Sprintf("doc%08d", i),
						value: "5",
					}
					key, value := r.encode()
					rows[string(key)] = value
				}
				must(b, change(context.Background(), store, x, true, rows))
			}
		})
	}
}

// What queries and changes cost, as numbers of operations on the store: they grow with the
// logarithm of the rows.
func TestCosts(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	const levelRows = 4 * 32 * 4 // what a query may read: of each level and of the rows, two sides of a few stretches
	for _, n := range []int{2_000, 60_000} {
		count := kvtest.NewCounting(memkv.New())
		slots := slotsOf(t, adder{}, "_sum", "_stats", "function")
		x := newIndex(levels.Config{Levels: 4, Fan: 32, Sums: true}, slots)
		fill(t, count, n)
		must(t, x.Build(t.Context(), count, nil))
		rng := rand.New(rand.NewPCG(3, 3))
		const queries = 200
		for _, slot := range slots {
			count.Reset()
			for range queries {
				lo, hi := rng.IntN(n), rng.IntN(n)
				_, err := answer(
					t.Context(),
					count,
					x,
					slot,
					levels.Query{Start: rowKeyOf(min(lo, hi)), End: rowKeyOf(max(lo, hi)), Limit: -1},
				)
				must(t, err)
			}
			c := count.Counts()
			t.Logf(
				"%d rows, slot %d: %.1f ranges, %.0f rows read",
				n,
				slot.Number,
				float64(c.Ranges)/queries,
				float64(c.Rows)/queries,
			)
			if c.Ranges/queries > 22 || c.Rows/queries > levelRows {
				t.Errorf(
					"%d rows, slot %d: %d ranges and %d rows a query",
					n,
					slot.Number,
					c.Ranges/queries,
					c.Rows/queries,
				)
			}
		}
		for _, refresh := range []bool{false, true} {
			count.Reset()
			const changes = 200
			for i := range changes {
				key, value := testRow{
					key:   fmt.Sprintf("[%d,%d]", rng.IntN(n)/1000, n+i),
					id:    "new",
					value: "1",
				}.encode()
				must(t, change(t.Context(), count, x, refresh, map[string][]byte{string(key): value}))
			}
			c := count.Counts()
			t.Logf("%d rows, settle %v: a new row makes %.1f writes, %.1f ranges, %.0f rows read", n, refresh,
				float64(c.Sets+c.Atomics)/changes, float64(c.Ranges)/changes, float64(c.Rows)/changes)
			// The row itself; for each level a weight, and for two functions a mark and, if
			// settled, an aggregate.
			if (c.Sets+c.Atomics)/changes > 1+4*(1+2*2)+6 {
				t.Errorf("%d rows: %d writes for a new row", n, (c.Sets+c.Atomics)/changes)
			}
		}
	}
}
