//go:build fdb

package fdbkv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

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

// TestOutcomeStaysUnknown: a commit that the cluster did not answer, nor what became of it, is told as such, and its
// marker is not used again.
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
