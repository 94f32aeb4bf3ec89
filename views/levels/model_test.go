package levels_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// adder stands for a JavaScript function that adds up the lengths of the values.
type adder struct{}

func (adder) Reduce(_ context.Context, _ string, groups [][]reduce.Row) ([]reduce.Value, error) {
	out := make([]reduce.Value, len(groups))
	for i, g := range groups {
		n := 0
		for _, r := range g {
			n += len(r.Value)
		}
		out[i].JSON = strconv.AppendInt(nil, int64(n), 10)
	}
	return out, nil
}

func (adder) Rereduce(_ context.Context, _, _ string, groups [][][]byte) ([]reduce.Value, error) {
	out := make([]reduce.Value, len(groups))
	for i, g := range groups {
		n := 0
		for _, v := range g {
			k, err := strconv.Atoi(string(v))
			if err != nil {
				return nil, err
			}
			n += k
		}
		out[i].JSON = strconv.AppendInt(nil, int64(n), 10)
	}
	return out, nil
}

var allSources = []string{
	"_count",
	"_sum",
	"_stats",
	"_approx_count_distinct",
	"_top_3",
	"_bottom_2",
	"_first",
	"_last",
	"function",
}

// engines are the stores that the properties hold on.
var must = storagetest.Must

// numberText is any of the values that sum exactly in any order.
func numberText(n int) string {
	switch {
	case n%17 == 0:
		return strconv.Itoa(n) + ".5"
	case n%29 == 0:
		return "[" + strconv.Itoa(n) + "]"
	}
	return strconv.Itoa(n)
}

// rowOf makes a row of a document; keys are arrays, numbers and texts.
func rowOf(rng *rand.Rand, doc int, plain bool) testRow {
	value := strconv.Itoa(rng.IntN(1000) - 300)
	if !plain {
		value = numberText(rng.IntN(1000))
	}
	keys := []string{
		fmt.Sprintf(
			`[%d,%d,"x"]`,
			doc%2,
			doc%11,
		), fmt.Sprintf(`[%d]`, doc%4), fmt.Sprintf(`%d`, doc%7), fmt.Sprintf(`"k%d"`, doc%50), `[]`,
	}
	return testRow{key: keys[doc%len(keys)], id: fmt.Sprintf("d%04d", doc), value: value, dup: uint64(doc % 2)}
}

// model is the rows as they should be.
type model struct {
	mu   sync.Mutex
	rows map[string][]byte
}

func (m *model) sorted() []string {
	keys := make([]string, 0, len(m.rows))
	for k := range m.rows {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Every query gives the same as over the rows alone.
func checkAll(t fataler, store kv.Store, x *levels.Index, slots []levels.Slot, rng *rand.Rand, m *model, queries int) {
	ctx := context.Background()
	keys := m.sorted()
	if err := x.Check(ctx, store, t.Fatalf); err != nil {
		t.Fatalf("%v", err)
	}
	for i := 0; i < len(keys); i += 1 + len(keys)/150 {
		key := keys[i]
		// A snapshot of each row: one of all of them may be older than FoundationDB allows.
		if err := store.View(ctx, func(r kv.ReadTx) error {
			n, err := x.CountBefore(r, []byte(key))
			if err != nil {
				return err
			}
			if n != int64(i) {
				t.Fatalf("%d rows before %q, want %d", n, key, i)
			}
			row, err := x.Select(r, int64(i))
			if err != nil {
				return err
			}
			if string(row) != key {
				t.Fatalf("row %d is %q, want %q", i, row, key)
			}
			return nil
		}); err != nil {
			t.Fatalf("%v", err)
		}
	}
	bound := func() []byte {
		switch rng.IntN(4) {
		case 0:
			return nil
		case 1:
			if len(keys) > 0 {
				return []byte(keys[rng.IntN(len(keys))])
			}
		}
		v, _ := ejson.Parse([]byte(rowOf(rng, rng.IntN(100), true).key))
		return collate.AppendKey(nil, v)
	}
	for range queries {
		q := levels.Query{Start: bound(), End: bound(), Descending: rng.IntN(2) == 0, Level: rng.IntN(4) - 1, Limit: -1}
		if q.End != nil && bytes.Compare(q.Start, q.End) > 0 {
			q.Start, q.End = q.End, q.Start
		}
		if rng.IntN(3) == 0 {
			q.Skip, q.Limit = int64(rng.IntN(4)), int64(rng.IntN(5))
		}
		slot := slots[rng.IntN(len(slots))]
		got, err := answer(ctx, store, x, slot, q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		q.RowsOnly = true
		want, err := answer(ctx, store, x, slot, q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("slot %d, %+v:\n%s\nwant\n%s", slot.Number, q, got, want)
		}
	}
}

// statable are the functions whose values may be of one kind only.
func config(rng *rand.Rand, sums bool) levels.Config {
	return levels.Config{Levels: 2 + rng.IntN(3), Fan: 2 + rng.IntN(6), Sums: sums}
}

// Random changes, refreshed at once, later or never, and rebuilt: every query equals that over the
// rows. Each round has one of the engines.
func TestQueriesEqualRows(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	stores := map[string]kv.Store{}
	for name, open := range storagetest.Engines {
		stores[name] = open(t)
		defer stores[name].Close()
	}
	rapid.Check(t, func(t *rapid.T) {
		store := stores[rapid.SampledFrom([]string{"memory", "memory", "faults", "limits", "pebble"}).Draw(t, "engine")]
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ctx := context.Background()
		clearAll(ctx, t, store)
		plain, slots := slotsFor(t, rng)
		x := newIndexOf(config(rng, rng.IntN(3) > 0), slots, rng.IntN(2) == 0)
		m := &model{rows: map[string][]byte{}}
		refresh := rng.IntN(2) == 0
		for range 1 + rng.IntN(6) {
			rows := m.randomRows(rng, 1+rng.IntN(400), plain)
			if err := change(ctx, store, x, refresh, rows); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				if err := fold(ctx, store, x, false); err != nil {
					t.Fatal(err)
				}
			}
			if rng.IntN(4) == 0 {
				if err := x.RefreshAll(ctx, store, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkAll(t, store, x, slots, rng, m, 15)
		if err := fold(ctx, store, x, true); err != nil {
			t.Fatal(err)
		}
		checkAll(t, store, x, slots, rng, m, 15)
		if err := x.RefreshAll(ctx, store, nil); err != nil {
			t.Fatal(err)
		}
		for _, slot := range slots {
			q := levels.Query{Level: 1, Limit: -1}
			if err := store.View(ctx, func(r kv.ReadTx) error {
				return x.Reduce(ctx, r, slot, &q, func(*levels.Group) error { return nil })
			}); err != nil || q.Stale != 0 {
				t.Fatalf("%d stale aggregates, %v", q.Stale, err)
			}
		}
		checkAll(t, store, x, slots, rng, m, 15)
		if err := x.Build(ctx, store, nil); err != nil {
			t.Fatal(err)
		}
		checkAll(t, store, x, slots, rng, m, 15)
	})
}

// Concurrent writers, with folding and refreshing going on between them, leave an index that is
// right, and so it is for readers meanwhile.
func TestConcurrentWriters(t *testing.T) {
	t.Run("one at a time", func(t *testing.T) { testConcurrentWriters(t, false) })
	t.Run("logged", func(t *testing.T) { testConcurrentWriters(t, true) })
}

func testConcurrentWriters(t *testing.T, shared bool) {
	storagetest.OnEngines(t, func(t *testing.T, store kv.Store) {
		defer store.Close()
		slots := slotsOf(t, adder{}, allSources...)
		x := newIndexOf(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots, shared)
		m := &model{rows: map[string][]byte{}}
		var writers, others sync.WaitGroup
		done := make(chan struct{})
		for w := range 6 {
			writers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(w), 7))
				for range 40 {
					rows := map[string][]byte{}
					for range 1 + rng.IntN(3) {
						key, value := rowOf(rng, rng.IntN(100)*6+w, true).encode()
						if rng.IntN(4) == 0 {
							value = nil
						}
						rows[string(key)] = value
					}
					if err := change(t.Context(), store, x, false, rows); err != nil {
						t.Error(err)
					}
					m.mu.Lock()
					for key, value := range rows {
						if m.rows[key] = value; value == nil {
							delete(m.rows, key)
						}
					}
					m.mu.Unlock()
				}
			})
		}
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := fold(t.Context(), store, x, false); err != nil {
					t.Error(err)
					return
				}
				if err := x.RefreshAll(t.Context(), store, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
		writers.Wait()
		close(done)
		others.Wait()
		rng := rand.New(rand.NewPCG(1, 1))
		checkAll(t, store, x, slots, rng, m, 100)
		must(t, fold(t.Context(), store, x, true))
		must(t, x.RefreshAll(t.Context(), store, nil))
		checkAll(t, store, x, slots, rng, m, 100)
		must(t, x.Build(t.Context(), store, nil))
		checkAll(t, store, x, slots, rng, m, 100)
	})
}

// clearAll empties a store.
func clearAll(ctx context.Context, t *rapid.T, store kv.Store) {
	if _, err := store.Update(ctx, func(tx kv.Tx) error {
		tx.ClearRange([]byte{0}, []byte{0xff})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// slotsFor are the slots of all reduces; where values are not plain, without the one that takes no
// arrays.
func slotsFor(t *rapid.T, rng *rand.Rand) (plain bool, slots []levels.Slot) {
	plain = rng.IntN(2) == 0
	slots = slotsOf(t, adder{}, allSources...)
	if !plain { // with arrays among the values
		slots = slices.DeleteFunc(slots, func(s levels.Slot) bool { return s.Number == 3 })
	}
	return plain, slots
}

// randomRows makes n changes of rows, of which some remove one, and has the model know them.
func (m *model) randomRows(rng *rand.Rand, n int, plain bool) map[string][]byte {
	rows := map[string][]byte{}
	for range n {
		key, value := rowOf(rng, rng.IntN(2000), plain).encode()
		if rng.IntN(4) == 0 {
			value = nil
		}
		rows[string(key)] = value
		if m.rows[string(key)] = value; value == nil {
			delete(m.rows, string(key))
		}
	}
	return rows
}
