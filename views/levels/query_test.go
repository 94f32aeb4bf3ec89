package levels_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/views/levels"
)

// someRows fills an index with rows of many groups, large and small.
func someRows(t *testing.T, store kv.Store, x *levels.Index, n int) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := 0; i < n; i += 100 {
		rows := map[string][]byte{}
		for k := range 100 {
			key, value := rowOf(rng, i+k, true).encode()
			rows[string(key)] = value
		}
		must(t, change(t.Context(), store, x, true, rows))
	}
}

// Ranges that are reduced together give what they give one by one.
func TestReduceRanges(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	store := memkv.New()
	defer store.Close()
	slots := slotsOf(t, adder{}, allSources...)
	x := newIndex(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots)
	someRows(t, store, x, 3000)
	rng := rand.New(rand.NewPCG(6, 6))
	for _, slot := range slots {
		for _, q := range []levels.Query{{}, {Descending: true}, {RowsOnly: true}} {
			var ranges []levels.Range
			want := map[int]string{}
			for i := range 400 {
				v, err := ejson.Parse([]byte(rowOf(rng, rng.IntN(3200), true).key))
				must(t, err)
				key := collate.AppendKey(nil, v)
				ranges = append(ranges, levels.Range{Start: key, End: append(slices.Clone(key), 0xff)})
				one := q
				one.Start, one.End, one.Limit = ranges[i].Start, ranges[i].End, -1
				rows, err := answer(t.Context(), store, x, slot, one)
				must(t, err)
				if len(rows) > 0 {
					want[i] = rows[0]
				}
			}
			got := map[int]string{}
			must(t, store.View(t.Context(), func(r kv.ReadTx) error {
				return x.ReduceRanges(t.Context(), r, slot, q, ranges, func(i int, g *levels.Group) error {
					got[i] = fmt.Sprintf(`{"key":%s,"value":%s}`, g.Key, g.Value.JSON)
					return nil
				})
			}))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("slot %d: %v\nwant %v", slot.Number, got, want)
			}
		}
	}
}

// A query whose snapshot has become too old goes on in another one after the last group that it
// gave.
func TestQueriesGoOn(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	slots := slotsOf(t, adder{}, "_count", "_sum", "_stats", "function")
	x := newIndex(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots)
	someRows(t, store, x, 3000)
	var clock time.Time
	short := wrapkv.WithLimits(store, kv.Limits{ReadTime: 900}, func() time.Time {
		clock = clock.Add(time.Millisecond)
		return clock
	})
	for _, slot := range slots {
		for _, q := range []levels.Query{
			{Level: levels.Exact, Limit: -1},
			{Level: levels.Exact, Limit: 40, Skip: 3},
			{Level: 1, Limit: -1, Descending: true},
			{Level: 2, Limit: -1, Descending: true, Skip: 20},
			{Level: levels.Exact, Limit: -1, RowsOnly: true},
		} {
			want, err := answer(t.Context(), store, x, slot, q)
			must(t, err)
			var got []string
			snapshots, given := 0, 0
			for err = kv.ErrTooOld; errors.Is(err, kv.ErrTooOld) && snapshots < 1000; snapshots++ {
				err = short.View(context.Background(), func(r kv.ReadTx) error {
					return x.Reduce(context.Background(), r, slot, &q, func(g *levels.Group) error {
						if given++; given%50 == 0 { // what takes the group may read, too
							return kv.ErrTooOld
						}
						got = append(got, fmt.Sprintf(`{"key":%s,"value":%s}`, g.Key, g.Value.JSON))
						return nil
					})
				})
			}
			must(t, err)
			if !slices.Equal(got, want) {
				t.Errorf("slot %d %+v:\n%s\nwant\n%s", slot.Number, q, got, want)
			}
			if snapshots < 2 && len(want) > 60 {
				t.Errorf("slot %d: %d groups in one snapshot", slot.Number, len(want))
			}
		}
	}
}

// Levels are made and made anew in snapshots that become too old after a few reads, many of them
// before the first one.
func TestBuildAged(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	slots := slotsOf(t, adder{}, "_count", "_stats")
	x := newIndex(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots)
	someRows(t, store, x, 1000)
	aged := faultkv.New(store, faultkv.Plan{TooOld: func(r faultkv.Read) bool {
		return !r.Update && (r.N > 20 || r.Call%3 > 0)
	}})
	must(t, x.Build(t.Context(), aged, nil))
	must(t, x.RefreshAll(t.Context(), aged, nil))
	for _, slot := range slots {
		for _, q := range []levels.Query{{Level: 1, Limit: -1}, {Level: levels.Exact, Limit: -1}} {
			got, err := answer(t.Context(), store, x, slot, q)
			must(t, err)
			q.RowsOnly = true
			want, err := answer(t.Context(), store, x, slot, q)
			must(t, err)
			if !slices.Equal(got, want) {
				t.Errorf("slot %d %+v:\n%s\nwant\n%s", slot.Number, q, got, want)
			}
		}
	}
}
