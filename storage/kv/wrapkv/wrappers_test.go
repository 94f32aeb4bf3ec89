package wrapkv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// wrapped runs the contract suite on memkv inside a wrapper.
func wrapped(t *testing.T, wrap func(kv.Store) kv.Store) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store { return wrap(kvtest.OpenMem(t, disks, dir)) })
}

func TestLimitsContract(t *testing.T) {
	wrapped(t, func(s kv.Store) kv.Store { return wrapkv.WithLimits(s, kv.FDBLimits, time.Now) })
}

func update(t testing.TB, s kv.Store, fn func(kv.Tx)) error {
	t.Helper()
	_, err := s.Update(context.Background(), func(tx kv.Tx) error { fn(tx); return nil })
	return err
}

func TestLimitsOfWrites(t *testing.T) {
	s := wrapkv.WithLimits(memkv.New(), kv.Limits{KeySize: 4, ValueSize: 5, TransactionSize: 1000}, time.Now)
	tighter := wrapkv.WithLimits(s, kv.Limits{KeySize: 9, ValueSize: 3}, time.Now)
	if got, want := tighter.Limits(), (kv.Limits{KeySize: 4, ValueSize: 3, TransactionSize: 1000}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
	long, value := []byte("12345"), []byte("123456")
	for name, test := range map[string]struct {
		write func(kv.Tx)
		want  error
	}{
		"fits":           {func(tx kv.Tx) { tx.Set(long[:4], value[:5]) }, nil},
		"key":            {func(tx kv.Tx) { tx.Set(long, nil) }, kv.ErrKeyTooLarge},
		"value":          {func(tx kv.Tx) { tx.Set(nil, value) }, kv.ErrValueTooLarge},
		"first error":    {func(tx kv.Tx) { tx.Set(nil, value); tx.Set(long, nil) }, kv.ErrValueTooLarge},
		"atomic":         {func(tx kv.Tx) { tx.Atomic(kv.ByteMax, nil, value) }, kv.ErrValueTooLarge},
		"stamped key":    {func(tx kv.Tx) { tx.SetVersionstampedKey(make([]byte, 10), 0, nil) }, kv.ErrKeyTooLarge},
		"stamped value":  {func(tx kv.Tx) { tx.SetVersionstampedValue(nil, make([]byte, 10), 0) }, kv.ErrValueTooLarge},
		"long key reads": {func(tx kv.Tx) { tx.Get(long); tx.Clear(long); tx.ClearRange(long, value) }, nil},
		"transaction": {func(tx kv.Tx) {
			for range 300 {
				tx.Set(nil, nil)
			}
		}, kv.ErrTooLarge},
	} {
		if err := update(t, s, test.write); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// A snapshot can be read for ReadTime from its first read on.
func TestLimitOfReadTime(t *testing.T) {
	now := time.Unix(0, 0)
	s := wrapkv.WithLimits(memkv.New(), kv.Limits{ReadTime: 1000}, func() time.Time { return now })
	if err := update(t, s, func(tx kv.Tx) { tx.Set([]byte("a"), nil); tx.Set([]byte("b"), nil) }); err != nil {
		t.Fatal(err)
	}
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		now = now.Add(time.Hour) // no read so far
		it := tx.Range(nil, []byte("z"), kv.RangeOptions{})
		defer it.Close()
		if !it.Next() {
			t.Fatal(it.Err())
		}
		now = now.Add(time.Second)
		if _, err := tx.Get([]byte("a")); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		now = now.Add(time.Millisecond)
		if _, err := tx.Snapshot().Get([]byte("a")); !errors.Is(err, kv.ErrTooOld) {
			t.Errorf("after the limit: %v", err)
		}
		if it.Next() || !errors.Is(it.Err(), kv.ErrTooOld) || !errors.Is(it.Close(), kv.ErrTooOld) {
			t.Errorf("iterator after the limit: %v", it.Err())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for slow, want := range map[int]error{1: nil, 2: nil, 99: kv.ErrTooOld} {
		runs := 0
		err := update(t, s, func(tx kv.Tx) {
			runs++
			tx.Get([]byte("a"))
			if runs <= slow {
				now = now.Add(time.Minute)
			}
			tx.Set([]byte("c"), nil)
		})
		if !errors.Is(err, want) || runs > 3 {
			t.Errorf("slow %d times: ran %d times, %v", slow, runs, err)
		}
	}
	if err := update(t, s, func(tx kv.Tx) { now = now.Add(time.Hour); tx.Set([]byte("a"), nil) }); err != nil {
		t.Errorf("without a read: %v", err)
	}
}
