//go:build fdb

package fdbkv

import (
	"context"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

func (w *watches) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain: ", what)
		}
	}
}

// Watches of one key share one of FoundationDB, which goes with the last of them; each looks for
// what it has not seen.
func TestWatchesAreShared(t *testing.T) {
	s := openStore(t, t.Name())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 200)
	for range 100 {
		go func() { done <- s.Watch(ctx, []byte("k"), nil) }()
	}
	waiting := func() int {
		s.watches.mu.Lock()
		defer s.watches.mu.Unlock()
		n := 0
		for _, entry := range s.watches.keys {
			n += entry.waiting
		}
		return n
	}
	waitFor(t, "100 wait", func() bool { return waiting() == 100 })
	if n := s.watches.count(); n != 1 {
		t.Errorf("%d keys are watched", n)
	}
	if err := s.Watch(ctx, []byte("k"), []byte("another value")); err != nil {
		t.Errorf("with another value: %v", err)
	}
	if n := waiting(); n != 100 {
		t.Errorf("%d wait on", n)
	}
	if _, err := s.Update(ctx, func(tx kv.Tx) error { tx.Set([]byte("k"), []byte("new")); return nil }); err != nil {
		t.Fatal(err)
	}
	go func() { done <- s.Watch(ctx, []byte("k"), []byte("new")) }()
	for range 100 {
		if err := <-done; err != nil {
			t.Errorf("after the change: %v", err)
		}
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	waitFor(t, "no key is watched", func() bool { return s.watches.count() == 0 })
}
