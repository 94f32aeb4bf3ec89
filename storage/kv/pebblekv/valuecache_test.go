package pebblekv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// TestKnownValues: while few keys are written in every way, what Get gives of them is what a range
// of the same snapshot has, which never comes from the cache; and values do come from it.
func TestKnownValues(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	const keys = 24
	name := func(n int) []byte { return fmt.Appendf(nil, "key%02d", n) }
	var ended atomic.Bool
	var writers, readers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for n := range 400 {
				_, err := s.Update(ctx, func(tx kv.Tx) error {
					key := name(rnd.IntN(keys))
					switch value := fmt.Appendf(nil, "%d-%d", w, n); rnd.IntN(12) {
					case 0:
						tx.Clear(key)
					case 1:
						tx.ClearRange(name(rnd.IntN(keys/2)), name(keys/2+rnd.IntN(keys/2)))
					case 2, 3:
						tx.Atomic(kv.Add, key, []byte{1})
					case 4, 5:
						tx.SetVersionstampedValue(key, append(make([]byte, 10), value...), 0)
					case 6: // reads what others write
						old, err := tx.Get(name(rnd.IntN(keys)))
						if err != nil {
							return err
						}
						tx.Set(key, append(bytes.Clone(value), old[:min(len(old), 5)]...))
					default:
						tx.Set(key, value)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	check := func(rnd *rand.Rand) error {
		return s.View(ctx, func(r kv.ReadTx) error {
			there := make(map[string][]byte)
			for range 2 { // later ones in a snapshot that is replaced by then
				clear(there)
				it := r.Range(name(0), name(keys), kv.RangeOptions{})
				for it.Next() {
					there[string(it.Key())] = bytes.Clone(it.Value())
				}
				if err := it.Close(); err != nil {
					return err
				}
				for range 2 * keys {
					key := name(rnd.IntN(keys))
					value, err := r.Get(key)
					if err != nil {
						return err
					}
					want, ok := there[string(key)]
					if ok != (value != nil) || !bytes.Equal(value, want) {
						return fmt.Errorf("%s is %q, and %q in a range of the same snapshot", key, value, want)
					}
				}
			}
			return nil
		})
	}
	for w := range 3 {
		readers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 2))
			for !ended.Load() {
				if err := check(rnd); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	ended.Store(true)
	readers.Wait()
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 8 {
		if err := check(rnd); err != nil {
			t.Fatal(err)
		}
	}
	cached := 0
	for i := range s.cache.values {
		if s.cache.values[i].Load() != nil {
			cached++
		}
	}
	if cached < keys/2 {
		t.Errorf("%d values of %d keys are cached", cached, keys)
	}
}
