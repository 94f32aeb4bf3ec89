package latencykv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// With round trips that take next to nothing it is an engine like any other.
func TestContract(t *testing.T) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store {
		return latencykv.New(kvtest.OpenMem(t, disks, dir), latencykv.Options{RoundTrip: 1})
	})
}

func put(t *testing.T, s kv.Store, n, size int) {
	t.Helper()
	if _, err := s.Update(context.Background(), func(tx kv.Tx) error {
		for i := range n {
			tx.Set(fmt.Appendf(nil, "k%04d", i), make([]byte, size))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func drain(it kv.Iterator) (rows int, err error) {
	for it.Next() {
		rows++
	}
	return rows, it.Close()
}

func TestRoundTrips(t *testing.T) {
	s := latencykv.New(memkv.New(), latencykv.Options{})
	put(t, s, 1000, 995)
	begin, end := []byte("k"), []byte("l")
	for _, c := range []struct {
		name string
		read func(tx kv.ReadTx) error
		want int64
	}{
		{"nothing", func(kv.ReadTx) error { return nil }, 1},
		{"one after the other", func(tx kv.ReadTx) error {
			for range 3 {
				if _, err := tx.Get(begin); err != nil {
					return err
				}
			}
			return nil
		}, 4},
		{"together", func(tx kv.ReadTx) error { _, err := tx.GetMany([][]byte{begin, end, begin}); return err }, 2},
		{"no keys", func(tx kv.ReadTx) error { _, err := tx.GetMany(nil); return err }, 1},
		{"few rows", func(tx kv.ReadTx) error {
			_, err := drain(tx.Range(begin, end, kv.RangeOptions{Limit: 16}))
			return err
		}, 2},
		{"the rows of two ranges opened together", func(tx kv.ReadTx) error {
			a := tx.Range(begin, end, kv.RangeOptions{Limit: 2})
			b := tx.Range(begin, end, kv.RangeOptions{Limit: 2, Reverse: true})
			_, err := drain(a)
			_, err2 := drain(b)
			return errors.Join(err, err2)
		}, 2},
		{"all of 1 MB", func(tx kv.ReadTx) error {
			_, err := drain(tx.Range(begin, end, kv.RangeOptions{WantAll: true}))
			return err
		}, 1 + 13},
		{"1 MB in pieces that grow", func(tx kv.ReadTx) error {
			_, err := drain(tx.Range(begin, end, kv.RangeOptions{}))
			return err
		}, 1 + 18},
	} {
		s.Reset()
		if err := s.View(context.Background(), c.read); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := s.Reset(); got.RoundTrips != c.want || got.Views != 1 {
			t.Errorf("%s: %+v, want %d round trips in one view", c.name, got, c.want)
		}
	}
}

// Reads of a transaction older than five seconds fail, whatever took so long, and its commit too.
func TestTooOld(t *testing.T) {
	s := latencykv.New(memkv.New(), latencykv.Options{RoundTrip: 100 * time.Millisecond})
	read := func(tx kv.ReadTx) (reads int, err error) {
		for ; err == nil && reads < 100; reads++ {
			_, err = tx.Get([]byte("a"))
		}
		return reads, err
	}
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		n, err := read(tx)
		if n != 50 {
			t.Errorf("read %d failed, want the 50th: the first round trip is the read version's", n)
		}
		return err
	})
	if !errors.Is(err, kv.ErrTooOld) {
		t.Errorf("View: %v", err)
	}
	runs := 0
	_, err = s.Update(context.Background(), func(tx kv.Tx) error {
		if runs++; runs == 1 {
			s.Elapse(6 * time.Second)
		}
		tx.Set([]byte("a"), nil)
		return nil
	})
	if err != nil || runs != 2 {
		t.Errorf("Update that was slow once: %d runs, %v", runs, err)
	}
	if _, err = s.Update(context.Background(), func(kv.Tx) error { s.Elapse(6 * time.Second); return nil }); !errors.Is(
		err,
		kv.ErrTooOld,
	) {
		t.Errorf("Update that is always slow: %v", err)
	}
	if got := s.Counts(); got.TooOld != 1+1+3 {
		t.Errorf("%+v", got)
	}
}

// A second writer comes between a function and its commit.
func TestBeforeCommit(t *testing.T) {
	s := latencykv.New(memkv.New(), latencykv.Options{})
	others := 0
	s.BeforeCommit(func() {
		if others < 3 {
			others++
			put(t, s, 1, 1)
		}
	})
	if _, err := s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte("mine"), nil)
		_, err := tx.Get([]byte("k0000"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := s.Reset(); got.Updates != 4 || got.Runs != 7 || got.Commits != 4 {
		t.Errorf("%+v, want 3 updates of the other writer and 4 runs of the first", got)
	}
	s.BeforeCommit(nil)
	put(t, s, 1, 1)
	if others != 3 {
		t.Error("it was called after its end")
	}
}

func TestLimits(t *testing.T) {
	s := latencykv.New(memkv.New(), latencykv.Options{})
	if s.Limits() != kv.FDBLimits {
		t.Errorf("%+v", s.Limits())
	}
	_, err := s.Update(
		context.Background(),
		func(tx kv.Tx) error { tx.Set([]byte("a"), make([]byte, 100_001)); return nil },
	)
	if !errors.Is(err, kv.ErrValueTooLarge) {
		t.Error(err)
	}
}
