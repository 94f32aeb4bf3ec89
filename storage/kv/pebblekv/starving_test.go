package pebblekv

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// writeBulk commits 100 keys, which are numbered from n on.
func writeBulk(t *testing.T, s *Store, n int64) {
	mustUpdate(t, s, func(tx kv.Tx) error {
		for i := range int64(100) {
			tx.Set(fmt.Appendf(nil, "bulk%08d", n+i), []byte("x"))
		}
		return nil
	})
}

// beside runs fn beside a writer that commits 100 keys at a time without a pause.
func beside(t *testing.T, s *Store, fn func(written *atomic.Int64)) {
	var written atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			writeBulk(t, s, written.Load())
			written.Add(100)
		}
	})
	fn(&written)
	cancel()
	wg.Wait()
}

// TestSlowTransactionKeepsItsWindow: what is written while a slow transaction runs is remembered
// for it: it conflicts with nobody and ends in its first run, although others began and ended
// generations of the window meanwhile.
func TestSlowTransactionKeepsItsWindow(t *testing.T) {
	s := opener(Options{fs: vfs.NewMem(), conflictKeys: 1000})(t, "store").(*Store)
	defer s.Close()
	runs := 0
	mustUpdate(t, s, func(tx kv.Tx) error {
		if runs++; runs > 1 {
			return nil // the fault is seen; nobody could write beside its turn
		}
		if _, err := tx.Get([]byte("mine")); err != nil {
			return err
		}
		for i := range int64(25) { // of 100 keys: two and a half generations
			writeBulk(t, s, i*100)
		}
		tx.Set([]byte("mine"), []byte("x"))
		return nil
	})
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

// TestSlowTransactionGetsItsTurn: a transaction that always takes longer than the window reaches
// back gets a turn that is long enough.
func TestSlowTransactionGetsItsTurn(t *testing.T) {
	s := opener(Options{fs: vfs.NewMem(), conflictKeys: 100})(t, "store").(*Store)
	defer s.Close()
	beside(t, s, func(written *atomic.Int64) {
		runs := 0
		mustUpdate(t, s, func(tx kv.Tx) error {
			runs++
			if _, err := tx.Get([]byte("mine")); err != nil {
				return err
			}
			// In a turn nobody writes, so it would be as long as a second allows.
			began, end := time.Now(), written.Load()+5000
			for written.Load() < end && time.Since(began) < 600*time.Millisecond {
				time.Sleep(time.Millisecond)
			}
			tx.Set([]byte("mine"), []byte("x"))
			return nil
		})
		if runs != 2 {
			t.Errorf("%d runs, want one without and one with a turn", runs)
		}
	})
}

// A turn is as long as the transaction took in it the time before, so that it ends in the second
// turn at the latest.
func TestLengthOfTurns(t *testing.T) {
	var p prospects
	for range starvingAfter {
		if p.starving() {
			t.Fatal("too early")
		}
		p.note(time.Millisecond, false)
	}
	if !p.starving() || p.turn() >= 2*time.Second {
		t.Error(p)
	}
	p = prospects{}
	p.note(5*time.Second, true)
	if !p.starving() || p.turn() != 16*time.Second {
		t.Error(p, p.turn())
	}
	p.note(time.Hour, false)
	if p.turn() != longestTurn {
		t.Error(p.turn())
	}
	var b beginnings
	for _, version := range []uint64{7, 5, 7, 9} {
		b.begin(version)
	}
	for _, c := range []struct{ end, oldest uint64 }{{5, 7}, {7, 7}, {7, 9}, {9, 100}} {
		b.end(c.end)
		if got := b.oldest(100); got != c.oldest {
			t.Errorf("after the end of %d the oldest is %d, want %d", c.end, got, c.oldest)
		}
	}
}
