package levels_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views/levels"
)

// TestMovingWindow: of rows that come at one end and go at the other, boundaries and aggregates do
// not outnumber those that are there, and every query gives what the rows say, at any moment.
func TestMovingWindow(t *testing.T) {
	for _, refresh := range []bool{false, true} {
		t.Run(fmt.Sprintf("refreshed=%v", refresh), func(t *testing.T) {
			store := memkv.New()
			defer store.Close()
			slots := slotsOf(t, adder{}, "_sum", "_stats")
			x := newIndex(levels.Config{Levels: 3, Fan: 4, Sums: true}, slots)
			rng := rand.New(rand.NewPCG(1, 2))
			m := &model{rows: map[string][]byte{}}
			var alive [][]byte
			const live, step, steps = 200, 20, 60
			for n := range steps {
				rows := map[string][]byte{}
				for i := range step {
					key, value := testRow{
						key:   fmt.Sprint(n*step + i),
						id:    "d",
						value: fmt.Sprint(rng.IntN(100)),
					}.encode()
					rows[string(key)], m.rows[string(key)] = value, value
					alive = append(alive, key)
				}
				for len(alive) > live {
					rows[string(alive[0])] = nil
					delete(m.rows, string(alive[0]))
					alive = alive[1:]
				}
				must(t, change(t.Context(), store, x, refresh, rows))
				if n%20 == 19 {
					checkAll(t, store, x, slots, rng, m, 40)
				}
			}
			bounded := func(rows int) {
				t.Helper()
				// Weights, and aggregates of two slots, on levels that sum to a third of the rows.
				if keys := levelKeys(t, store, x); keys > rows+100 {
					t.Errorf("%d rows have %d keys of levels", rows, keys)
				}
			}
			bounded(live)
			must(t, x.RefreshAll(t.Context(), store, nil))
			checkAll(t, store, x, slots, rng, m, 40)
			for len(alive) > 0 {
				rows := map[string][]byte{}
				for _, key := range alive[:10] {
					rows[string(key)] = nil
				}
				alive = alive[10:]
				must(t, change(t.Context(), store, x, refresh, rows))
			}
			m.rows = nil
			bounded(0)
			checkAll(t, store, x, slots, rng, m, 5)
		})
	}
}

// levelKeys counts what the levels have stored.
func levelKeys(t *testing.T, store kv.Store, x *levels.Index) (n int) {
	must(t, store.View(context.Background(), func(r kv.ReadTx) error {
		it := r.Range(x.Levels, kv.AppendPrefixEnd(nil, x.Levels), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return it.Err()
	}))
	return n
}
