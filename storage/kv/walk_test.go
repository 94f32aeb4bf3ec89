package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

func fillWalk(t *testing.T, s kv.Store, rows int) {
	if _, err := s.Update(context.Background(), func(tx kv.Tx) error {
		for i := range rows {
			tx.Set(fmt.Appendf(nil, "k%04d", i), fmt.Append(nil, i))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Whichever reads fail, each row comes once and in order.
func TestWalk(t *testing.T) {
	for n := 1; n < 60; n++ {
		s := faultkv.New(memkv.New(), faultkv.Plan{TooOld: func(r faultkv.Read) bool { return !r.Update && r.N == n }})
		fillWalk(t, s, 40)
		next := 0
		err := kv.Walk(t.Context(), s, []byte("k"), []byte("l"), 7, func(r kv.ReadTx, window []kv.Row) error {
			if len(window) > 7 {
				t.Errorf("%d rows in a window", len(window))
			}
			for i, row := range window {
				if value, err := r.Get(row.Key); err != nil || string(value) != string(row.Value) {
					return err
				}
				if string(row.Key) != fmt.Sprintf("k%04d", next+i) {
					t.Errorf("read %d: key %s", n, row.Key)
				}
			}
			next += len(window)
			return nil
		})
		if n <= 2 { // no snapshot lives long enough for a single row
			if !errors.Is(err, kv.ErrTooOld) {
				t.Errorf("read %d: %v", n, err)
			}
		} else if err != nil || next != 40 {
			t.Errorf("read %d: %d rows, %v", n, next, err)
		}
	}
}

// Windows that are too much for a snapshot are made smaller.
func TestWalkOfSlowRows(t *testing.T) {
	s := latencykv.New(memkv.New(), latencykv.Options{RoundTrip: 100 * time.Millisecond})
	fillWalk(t, s, 300)
	rows := 0
	if err := kv.Walk(t.Context(), s, []byte("k"), []byte("l"), 100, func(r kv.ReadTx, window []kv.Row) error {
		for _, row := range window { // one by one: 50 of them fill a snapshot
			if _, err := r.Get(row.Key); err != nil {
				return err
			}
		}
		rows += len(window)
		return nil
	}); err != nil || rows != 300 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// ageing is a store whose snapshots become too old after five seconds, before a read is answered.
type ageing struct {
	kv.Store
	err   error
	views int
}

func (a *ageing) View(context.Context, func(kv.ReadTx) error) error {
	a.views++
	time.Sleep(5 * time.Second)
	return a.err
}

// Reads that become too old are made ten times; if it is because the servers do not answer, for
// eight seconds.
func TestViewAgainEnds(t *testing.T) {
	for _, c := range []struct {
		err   error
		views int
	}{
		{kv.ErrTooOld, 10},
		{fmt.Errorf("%w: %w", kv.ErrTooOld, kv.ErrUnavailable), 2},
		{kv.ErrUnavailable, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &ageing{err: c.err}
			if err := kv.ViewAgain(t.Context(), s, nil); !errors.Is(err, c.err) || s.views != c.views {
				t.Errorf("%v: %v after %d snapshots", c.err, err, s.views)
			}
		})
	}
}
