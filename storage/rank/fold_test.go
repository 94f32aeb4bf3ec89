package rank_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/rank"
)

// Whatever part of the changes is folded, and when, the weights with the rest of them count every
// row.
func TestFoldAgainstCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		store := memkv.New()
		defer store.Close()
		o := rank.Options{Rows: []byte("r"), Fan: rapid.Uint64Range(2, 4).Draw(t, "fan")}
		for n := range 3 {
			o.Levels = append(o.Levels, fmt.Append(nil, "l", n))
		}
		o.Together = rapid.SampledFrom([]int{0, 2, kv.FDBLimits.Together}).Draw(t, "together")
		x := rank.New(o)
		type change struct {
			key   string
			delta int64
		}
		var log []change // what is not folded
		rows := map[string]bool{}
		deltas := func(list []change) *rank.Deltas {
			var b rank.Batch
			for _, c := range list {
				b.Add([]byte(c.key), rank.Weight{Rows: c.delta})
			}
			return b.Deltas()
		}
		update := func(fn func(tx kv.Tx) error) {
			if _, err := store.Update(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			update(func(tx kv.Tx) error {
				for range rapid.IntRange(1, 40).Draw(t, "changes") {
					key := fmt.Sprintf("%02d", rapid.IntRange(0, 60).Draw(t, "key"))
					if rows[key] {
						tx.Clear([]byte("r" + key))
						log = append(log, change{key, -1})
						delete(rows, key)
					} else {
						tx.Set([]byte("r"+key), nil)
						log = append(log, change{key, 1})
						rows[key] = true
					}
				}
				return nil
			})
			if n := rapid.IntRange(0, len(log)).Draw(t, "folded"); n > 0 {
				update(func(tx kv.Tx) error {
					_, err := x.Fold(tx, deltas(log[:n]), deltas(log[n:]), nil)
					return err
				})
				log = log[n:]
			}
			var keys []string
			for key := range rows {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			rest := deltas(log)
			if err := store.View(ctx, func(r kv.ReadTx) error {
				for i := range 62 {
					key := fmt.Sprintf("%02d", i)
					want, _ := slices.BinarySearch(keys, key)
					if w, err := x.Before(r, nil, []byte(key), rest); err != nil || w.Rows != int64(want) {
						t.Fatalf("%d rows before %s, want %d (%v)", w.Rows, key, want, err)
					}
				}
				if w, err := x.Before(r, nil, nil, rest); err != nil || w.Rows != int64(len(keys)) {
					t.Fatalf("%d rows, want %d (%v)", w.Rows, len(keys), err)
				}
				for i, want := range keys {
					if key, err := x.Select(r, int64(i), rest); err != nil || string(key) != want {
						t.Fatalf("row %d is %s, want %s (%v)", i, key, want, err)
					}
				}
				if key, err := x.Select(r, int64(len(keys)), rest); err != nil || key != nil {
					t.Fatalf("a row after all: %s (%v)", key, err)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := x.Check(ctx, store, rest, func(format string, args ...any) {
				t.Errorf(format, args...)
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
