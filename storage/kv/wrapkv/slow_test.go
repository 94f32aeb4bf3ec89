package wrapkv_test

import (
	"context"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestSlow: a transaction is told of that waits for the store, with the read that took longest; one
// whose function takes its time is not.
func TestSlow(t *testing.T) {
	const pause = 30 * time.Millisecond
	inner := memkv.New()
	defer inner.Close()
	sluggish := slowAt{inner, "slow", pause}
	var told []wrapkv.SlowTransaction
	s := wrapkv.Slow(sluggish, pause/2, func(w wrapkv.SlowTransaction) { told = append(told, w) })
	ctx := context.Background()
	for range 2 {
		if _, err := s.Update(ctx, func(tx kv.Tx) error {
			tx.Set([]byte("a"), []byte("1"))
			_, err := tx.Get([]byte("slow"))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.View(ctx, func(tx kv.ReadTx) error {
		for _, key := range []string{"a", "slow", "b"} {
			if _, err := tx.GetMany([][]byte{[]byte(key)}); err != nil {
				return err
			}
		}
		it := tx.Range([]byte("a"), []byte("b"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
		}
		return it.Err()
	}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 3 || !told[0].Update || told[2].Update {
		t.Fatalf("%+v", told)
	}
	for i, rows := range []int64{1, 1, 4} {
		w := told[i]
		if string(w.Longest) != "slow" || w.Reads < pause || w.Waited < w.Reads || w.Runs != 1 || w.Rows != rows {
			t.Errorf("%d: %+v", i, w)
		}
	}
	patient := wrapkv.Slow(inner, time.Minute, func(w wrapkv.SlowTransaction) { t.Errorf("%+v", w) })
	if err := patient.View(ctx, func(kv.ReadTx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	told = nil
	idle := wrapkv.Slow(inner, 10*time.Second, func(w wrapkv.SlowTransaction) { told = append(told, w) })
	if err := idle.View(ctx, func(kv.ReadTx) error { time.Sleep(pause); return nil }); err != nil || told != nil {
		t.Error(err, told)
	}
}

// slowAt takes its time for one key.
type slowAt struct {
	kv.Store
	key   string
	pause time.Duration
}

type slowAtReader struct {
	kv.ReadTx
	s slowAt
}

func (r slowAtReader) Get(key []byte) ([]byte, error) {
	if string(key) == r.s.key {
		time.Sleep(r.s.pause)
	}
	return r.ReadTx.Get(key)
}

func (r slowAtReader) GetMany(keys [][]byte) ([][]byte, error) {
	if string(keys[0]) == r.s.key {
		time.Sleep(r.s.pause)
	}
	return r.ReadTx.GetMany(keys)
}

func (s slowAt) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return s.Store.View(ctx, func(tx kv.ReadTx) error { return fn(slowAtReader{tx, s}) })
}

func (s slowAt) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return s.Store.Update(ctx, func(tx kv.Tx) error {
		return fn(struct {
			kv.ReadTx
			kv.Writer
		}{slowAtReader{tx, s}, tx})
	})
}

// TestSlowContract: it is an engine like others.
func TestSlowContract(t *testing.T) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store {
		return wrapkv.Slow(kvtest.OpenMem(t, disks, dir), time.Nanosecond, func(wrapkv.SlowTransaction) {})
	})
}
