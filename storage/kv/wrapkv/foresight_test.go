package wrapkv_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestForesight: what is read is what the snapshot has, whatever was read by others of the kind before, and what
// writers do meanwhile; reads that begin with the same keys cost one round trip.
func TestForesight(t *testing.T) {
	ctx := context.Background()
	store := latencykv.New(memkv.New(), latencykv.Options{})
	defer store.Close()
	write := func(n int) error {
		_, err := store.Update(ctx, func(tx kv.Tx) error {
			for i := range 20 {
				if key := fmt.Append(nil, "k", i); (i+n)%7 == 0 {
					tx.Clear(key)
				} else {
					tx.Set(key, fmt.Append(nil, n))
				}
			}
			tx.Set([]byte("n"), fmt.Append(nil, n))
			return nil
		})
		return err
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	var f wrapkv.Foresight
	view := func(kind string, fn func(get func(keys ...int) error) error) error {
		return store.View(ctx, func(plain kv.ReadTx) error {
			return f.View(kind, plain, func(r kv.ReadTx) error {
				return fn(func(list ...int) error {
					var keys [][]byte
					for _, i := range list {
						keys = append(keys, fmt.Append(nil, "k", i))
					}
					got, err := r.GetMany(keys)
					if err != nil {
						return err
					}
					want, err := plain.GetMany(keys)
					if err != nil {
						return err
					}
					for i := range keys {
						if string(got[i]) != string(want[i]) || (got[i] == nil) != (want[i] == nil) {
							return fmt.Errorf("%s is %q, and was read as %q", keys[i], want[i], got[i])
						}
					}
					if one, err := r.Snapshot().Get(keys[0]); err != nil || string(one) != string(want[0]) {
						return fmt.Errorf("%s is %q, and was read as %q (%v)", keys[0], want[0], one, err)
					}
					return nil
				})
			})
		})
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 200 {
			if err := write(n); err != nil {
				t.Error(err)
			}
		}
	})
	for w := range 4 {
		wg.Go(func() {
			for range 300 {
				kind := fmt.Sprint(rand.IntN(3))
				if err := view(kind, func(get func(keys ...int) error) error {
					for range rand.IntN(8) {
						keys := []int{rand.IntN(20)}
						for range rand.IntN(4) {
							keys = append(keys, rand.IntN(20))
						}
						if err := get(keys...); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Errorf("reader %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	trips := func() int64 {
		store.Reset()
		if err := store.View(ctx, func(r kv.ReadTx) error {
			return f.View("steady", r, func(r kv.ReadTx) error {
				for i := range 6 {
					if _, err := r.Get(fmt.Append(nil, "k", i)); err != nil {
						return err
					}
				}
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		return store.Reset().RoundTrips
	}
	if first, second := trips(), trips(); first != 7 || second != 2 {
		t.Errorf("%d round trips, then %d", first, second)
	}
}
