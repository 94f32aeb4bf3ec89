//go:build fdb

package fdbkv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// away is a cluster that does not answer.
func away(t *testing.T) fdb.Database {
	t.Helper()
	needCluster(t) // this one needs the client's library only
	file := filepath.Join(t.TempDir(), "fdb.cluster")
	if err := os.WriteFile(file, []byte("nobody:nobody@127.0.0.1:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(file)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestClusterAway: no call waits for ever for a cluster that does not answer.
func TestClusterAway(t *testing.T) {
	db, sp := away(t), space{[]byte("away")}
	s := &Store{db: db, space: sp, send: commit, markers: newMarkers(db, sp), watches: newWatches(db)}
	var calls sync.WaitGroup
	for name, call := range map[string]func() error{
		"View":   func() error { return s.View(context.Background(), func(kv.ReadTx) error { return nil }) },
		"Health": func() error { return s.Health(context.Background()) },
		"Update": func() error { return set(s) },
	} {
		calls.Go(func() {
			if err := call(); !errors.Is(err, kv.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	calls.Wait()
}

func set(s *Store) error {
	_, err := s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte("a"), nil)
		return nil
	})
	return err
}

// TestOneWaitAway: of the calls of one request only the first waits as long as a call may.
func TestOneWaitAway(t *testing.T) {
	db, sp := away(t), space{[]byte("away")}
	s := &Store{db: db, space: sp, send: commit, markers: newMarkers(db, sp), watches: newWatches(db)}
	ctx := kv.WithOneWait(t.Context())
	kv.Waited(ctx, time.Now().Add(-waitBound), false)
	began := time.Now()
	if err := s.View(ctx, func(kv.ReadTx) error { return nil }); !errors.Is(err, kv.ErrUnavailable) {
		t.Error(err)
	}
	if waited := time.Since(began); waited >= beginTimeout {
		t.Errorf("the second call waited %v", waited)
	}
}

// TestOutcomeStaysUnknown: a commit that the cluster did not answer, nor what became of it, is told
// as such, and its marker is not used again.
func TestOutcomeStaysUnknown(t *testing.T) {
	s := openStore(t, t.Name())
	there := s.markers.db
	s.markers.db = away(t)
	s.send = func(fdb.Transaction) error { return fdb.Error{Code: codeTimedOut} }
	if err := set(s); !errors.Is(err, kv.ErrUnavailable) {
		t.Error(err)
	}
	if len(s.markers.free) != 0 {
		t.Error("a marker whose outcome is unknown is used again")
	}
	s.markers.db, s.send = there, commit
	if err := set(s); err != nil {
		t.Error(err)
	}
}

// TestRetryAfterTimeout: a transaction whose time has passed when FoundationDB asks for another
// attempt gets one, in the state that a new one has.
func TestRetryAfterTimeout(t *testing.T) {
	s := openStore(t, t.Name())
	for _, code := range []int{codeConflict, codeUnknownResult, codeTooOld, codeTimedOut} {
		tr, err := s.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.timeout(time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for passed := false; !passed; time.Sleep(time.Millisecond) {
			_, err := tr.Get(s.space.key([]byte("a"))).Get()
			passed = codeOf(err) == codeTimedOut
		}
		if err := tr.retry(t.Context(), fdb.Error{Code: code}); err != nil {
			t.Errorf("error %d: %v", code, err)
		} else if _, err := tr.begin(t.Context()); err != nil {
			t.Errorf("after error %d: %v", code, err)
		}
		tr.release()
	}
}

// TestStalled: of what made a transaction too old, only a long wait for the servers is said to be
// their fault.
func TestStalled(t *testing.T) {
	for _, c := range []struct {
		code   int
		waited time.Duration
		want   bool
	}{
		{codeTooOld, 0, false},
		{codeTooOld, time.Hour, true},
		{codeTimedOut, time.Hour, true},
		{codeConflict, time.Hour, false},
	} {
		err := contractError(t.Context(), stalled(fdb.Error{Code: c.code}, time.Now().Add(-c.waited)))
		if errors.Is(err, kv.ErrUnavailable) != c.want || codeOf(err) != c.code {
			t.Errorf("%d after %v: %v", c.code, c.waited, err)
		}
	}
}
