package wrapkv_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

func TestPrefetchingContract(t *testing.T) {
	wrapped(t, func(s kv.Store) kv.Store {
		return wrapkv.Prefetching(latencykv.New(s, latencykv.Options{RoundTrip: 1}))
	})
}

// A store whose reads gain nothing from being asked for together stays as it is.
func TestNothingIsPrefetchedHere(t *testing.T) {
	if s := kv.Store(memkv.New()); wrapkv.Prefetching(s) != s {
		t.Error("it is wrapped")
	}
}

// TestPrefetchedKinds: what is read is what the snapshot has, whatever was read by others of the
// kind before, and what writers do meanwhile; reads that begin with the same keys cost one round
// trip.
func TestPrefetchedKinds(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	defer engine.Close()
	store := wrapkv.Prefetching(engine)
	write := func(n int) error {
		return update(t, engine, func(tx kv.Tx) {
			for i := range 20 {
				if key := fmt.Append(nil, "k", i); (i+n)%7 == 0 {
					tx.Clear(key)
				} else {
					tx.Set(key, fmt.Append(nil, n))
				}
			}
			tx.Set([]byte("n"), fmt.Append(nil, n/10))
		})
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	// get compares what r gives of keys with what a range of the snapshot has, which nothing is
	// prefetched for.
	get := func(r kv.ReadTx, list ...int) error {
		var keys [][]byte
		for _, i := range list {
			keys = append(keys, fmt.Append(nil, "k", i))
		}
		got, err := r.GetMany(keys)
		if err != nil {
			return err
		}
		for i, key := range keys {
			it := r.Range(key, kv.AppendKeyAfter(nil, key), kv.RangeOptions{})
			found := it.Next()
			if found != (got[i] != nil) || found && string(got[i]) != string(it.Value()) {
				err = fmt.Errorf("%s is there: %v, and was read as %q", key, found, got[i])
			}
			if err := errors.Join(err, it.Close()); err != nil {
				return err
			}
		}
		if one, err := r.Snapshot().Get(keys[0]); err != nil || string(one) != string(got[0]) {
			return fmt.Errorf("%s is %q, and was read as %q (%v)", keys[0], got[0], one, err)
		}
		return nil
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
				ctx := kv.WithPrefetch(t.Context(), fmt.Sprint(rand.IntN(3)))
				if err := store.View(ctx, func(r kv.ReadTx) error {
					if _, err := kv.GetCached(r, []byte("n")); err != nil {
						return err
					}
					for range rand.IntN(8) {
						keys := []int{rand.IntN(20)}
						for range rand.IntN(4) {
							keys = append(keys, rand.IntN(20))
						}
						if err := get(r, keys...); err != nil {
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
		engine.Reset()
		if err := store.View(kv.WithPrefetch(t.Context(), "steady"), func(r kv.ReadTx) error {
			_, err := kv.GetCached(r, []byte("n"))
			for i := 0; i < 6 && err == nil; i++ {
				_, err = r.Get(fmt.Append(nil, "k", i))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return engine.Reset().RoundTrips
	}
	trips() // the cached value may be an old one
	if again := trips(); again != 2 {
		t.Errorf("%d round trips for reads of a kind that are known", again)
	}
}

// TestCachedKeys: what goes with a cached value is given only if the key has it, whoever has
// written it meanwhile, and a transaction that began with another value changes nothing.
func TestCachedKeys(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	defer engine.Close()
	checked := kvtest.Checked(engine, func(violation string) { t.Error(violation) })
	a, b := wrapkv.Prefetching(checked), wrapkv.Prefetching(checked)
	key := []byte("current")
	item := func(n string) []byte { return []byte("item/" + n) }
	change := func(s kv.Store, n int) error { // only the current item is there
		return update(t, s, func(tx kv.Tx) {
			tx.ClearRange([]byte("item/"), []byte("item0"))
			tx.Set(item(fmt.Sprint(n)), nil)
			tx.Set(key, fmt.Append(nil, n))
		})
	}
	if err := change(b, 0); err != nil {
		t.Fatal(err)
	}
	// found gets the current item, in each way that a reader has.
	found := func(r kv.ReadTx) (bool, error) {
		current, err := kv.GetCached(r, key)
		if err != nil {
			return false, err
		}
		at := item(string(current))
		switch rand.IntN(3) {
		case 0:
			value, err := r.Snapshot().Get(at)
			return value != nil, err
		case 1:
			values, err := r.GetMany([][]byte{at, key})
			return err != nil || values[0] != nil && string(values[1]) == string(current), err
		}
		it := r.Range(at, kv.AppendKeyAfter(nil, at), kv.RangeOptions{})
		defer it.Close()
		return it.Next(), it.Err()
	}
	view := func(s kv.Store) (runs int, err error) {
		return runs, s.View(t.Context(), func(r kv.ReadTx) error {
			runs++
			if there, err := found(r); err != nil || !there {
				return fmt.Errorf("the current item is there: %v, %w", there, err)
			}
			return nil
		})
	}
	for n, want := range []int64{3, 2} { // the transaction's, the key's, the item's
		engine.Reset()
		_, err := view(a)
		if got := engine.Reset().RoundTrips; err != nil || got != want {
			t.Errorf("view %d: %d round trips instead of %d, %v", n, got, want, err)
		}
	}
	if err := change(b, 1); err != nil {
		t.Fatal(err)
	}
	last := ""
	if err := a.View(t.Context(), func(r kv.ReadTx) error { // it reads nothing else
		value, err := kv.GetCached(r, key)
		last = string(value)
		return err
	}); err != nil || last != "1" {
		t.Errorf("the last run had %q, %v", last, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 100 {
			if err := change([]kv.Store{a, b}[n%2], n); err != nil {
				t.Error(err)
			}
		}
	})
	for _, s := range []kv.Store{a, b, a, b} {
		wg.Go(func() {
			for range 100 {
				if _, err := view(s); err != nil {
					t.Error(err)
				}
				_, err := s.Update(context.Background(), func(tx kv.Tx) error {
					current, err := kv.GetCached(tx, key)
					if err == nil {
						tx.Atomic(kv.Add, []byte("writes/"+string(current)), []byte{1})
						tx.Set([]byte("with"), current)
						tx.Set(key, current)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := engine.View(t.Context(), func(r kv.ReadTx) error {
		there, err := found(r)
		if err == nil && !there {
			err = errors.New("a transaction has written a value that was not there any more")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
