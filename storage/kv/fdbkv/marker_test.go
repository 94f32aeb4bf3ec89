//go:build fdb

package fdbkv

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// increment adds one to a counter and tells how often it ran.
func increment(t *testing.T, s *Store) (stamp kv.Versionstamp, runs int) {
	t.Helper()
	stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
		runs++
		tx.Atomic(kv.Add, []byte("counter"), []byte{1})
		tx.SetVersionstampedValue([]byte("stamp"), make([]byte, kv.VersionstampSize), 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stamp, runs
}

func expectCounter(t *testing.T, s *Store, want byte, stamp kv.Versionstamp) {
	t.Helper()
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		values, err := tx.GetMany([][]byte{[]byte("counter"), []byte("stamp")})
		if err == nil &&
			(len(values[0]) != 1 || values[0][0] != want || string(values[1]) != string(stamp[:kv.VersionstampSize])) {
			t.Errorf("counter %x stamp %x, want %d and %x", values[0], values[1], want, stamp)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A commit whose outcome was lost counts once, whatever became of it, and Update knows its
// versionstamp.
func TestLostOutcome(t *testing.T) {
	for name, happens := range map[string]bool{"committed": true, "not committed": false} {
		for _, code := range []int{codeUnknownResult, codeTimedOut} {
			s := openStore(t, t.Name()+name)
			sent := 0
			s.send = func(tr fdb.Transaction) error {
				if sent++; sent > 1 {
					return commit(tr)
				}
				if happens {
					if err := commit(tr); err != nil {
						return err
					}
				}
				return fdb.Error{Code: code}
			}
			stamp, runs := increment(t, s)
			if want := map[bool]int{true: 1, false: 2}[happens]; runs != want || sent != want {
				t.Errorf("%s: ran %d times, sent %d times", name, runs, sent)
			}
			expectCounter(t, s, 1, stamp)
			stamp, _ = increment(t, s)
			expectCounter(t, s, 2, stamp)
			inCluster(t, s, func(tr fdb.Transaction) { tr.ClearRange(prefixRange(s.space.prefix)) })
			s.Close()
		}
	}
}

// A commit that was found missing cannot happen any more.
func TestLateCommit(t *testing.T) {
	s := openStore(t, t.Name())
	m := s.markers.take()
	defer s.markers.release(m)
	late, err := s.db.CreateTransaction()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.GetReadVersion().Get(); err != nil {
		t.Fatal(err)
	}
	if err := m.mark(late); err != nil {
		t.Fatal(err)
	}
	late.Set(s.space.key([]byte("a")), nil)
	if _, committed, err := m.outcome(outcomeTimeout); committed || err != nil {
		t.Fatalf("committed %v, %v", committed, err)
	}
	if err := commit(late); codeOf(err) != codeConflict {
		t.Errorf("the late commit: %v, want not_committed", err)
	}
}

func countMarkers(t *testing.T, s *Store) (n int) {
	t.Helper()
	inCluster(t, s, func(tr fdb.Transaction) {
		rows, err := tr.GetRange(s.markers.all, fdb.RangeOptions{}).GetSliceWithError()
		if err != nil {
			t.Error(err)
		}
		n = len(rows)
	})
	return n
}

// There are as many markers as Updates at once, and none after Close.
func TestMarkersDoNotPileUp(t *testing.T) {
	const callers = 4
	s := openStore(t, t.Name())
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range 10 {
				increment(t, s)
			}
		})
	}
	group.Wait()
	if n := countMarkers(t, s); n == 0 || n > callers {
		t.Errorf("%d markers", n)
	}
	s.Close()
	if n := countMarkers(t, s); n != 0 {
		t.Errorf("%d markers after Close", n)
	}
}

// Open removes the markers that dead processes have left, and those alone.
func TestSweep(t *testing.T) {
	s := openStore(t, t.Name())
	foreign := s.space.key([]byte(markerPrefix + "of another session"))
	inCluster(t, s, func(tr fdb.Transaction) {
		now := uint64(tr.GetReadVersion().MustGet())
		for i, written := range []uint64{1, now - markerAge - 1e9, now - markerAge/2, now} {
			value := make([]byte, markerSize)
			binary.BigEndian.PutUint64(value[attemptSize:], written)
			tr.Set(append(foreign[:len(foreign):len(foreign)], byte(i)), value)
		}
	})
	openStore(t, t.Name())
	// The second is from before the beginning of a cluster that is younger than a day.
	if n := countMarkers(t, s); n < 2 || n > 3 {
		t.Errorf("%d markers stay", n)
	}
}
