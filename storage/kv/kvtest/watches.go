package kvtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// patience is how long something that must happen may take.
	patience = 20 * time.Second
	// doubt is how long a test waits to see that something does not happen.
	doubt = 30 * time.Millisecond
)

// watch starts a watch and returns where its error will arrive.
func (s *store) watch(ctx context.Context, key string, seen []byte) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Watch(ctx, []byte(key), seen) }()
	return done
}

// expectReturn waits for a watch to return, with patience as the bound against a hang.
func expectReturn(t testing.TB, what string, done <-chan error, want error) {
	t.Helper()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Errorf("%s: watch returned %v, want %v", what, err, want)
		}
	case <-time.After(patience):
		t.Fatalf("%s: watch did not return", what)
	}
}

// expectWaiting fails if a watch returns within doubt.
func expectWaiting(t testing.TB, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Errorf("%s: watch returned %v", what, err)
	case <-time.After(doubt):
	}
}

// Each kind of change ends a watch; a value that differs from the start ends it at once.
func testWatchWakes(t *testing.T, s *store) {
	for name, write := range map[string]func(kv.Tx){
		"set":                 func(tx kv.Tx) { tx.Set([]byte("k"), []byte("new")) },
		"set to empty":        func(tx kv.Tx) { tx.Set([]byte("k"), nil) },
		"clear":               func(tx kv.Tx) { tx.Clear([]byte("k")) },
		"range clear":         func(tx kv.Tx) { tx.ClearRange([]byte("a"), []byte("z")) },
		"atomic":              func(tx kv.Tx) { tx.Atomic(kv.Add, []byte("k"), []byte{1, 0, 0}) },
		"versionstamped":      func(tx kv.Tx) { tx.SetVersionstampedValue([]byte("k"), make([]byte, 10), 0) },
		"clear and set again": func(tx kv.Tx) { tx.Clear([]byte("k")); tx.Set([]byte("k"), []byte("new")) },
	} {
		s.set("k", "old")
		done := s.watch(context.Background(), "k", []byte("old"))
		expectWaiting(t, name+", before", done)
		s.update(write)
		expectReturn(t, name, done, nil)
		expectReturn(t, name+", too late", s.watch(context.Background(), "k", []byte("old")), nil)
	}
	s.set("empty", "")
	expectReturn(t, "absent, seen empty", s.watch(context.Background(), "none", []byte{}), nil)
	expectReturn(t, "empty, seen absent", s.watch(context.Background(), "empty", nil), nil)
	done := s.watch(context.Background(), "none", nil)
	s.update(func(tx kv.Tx) {
		key, _ := tuple.AppendVersionstampHole([]byte("none"), 0)
		tx.SetVersionstampedKey(key, 5, nil)
		tx.Set([]byte("none"), nil)
	})
	expectReturn(t, "absent becomes empty", done, nil)
}

// Writing the same value, or other keys, or in a transaction that fails, ends no watch.
func testWatchWaits(t *testing.T, s *store) {
	s.set("k", "same", "l", "")
	done := s.watch(context.Background(), "k", []byte("same"))
	absent := s.watch(context.Background(), "none", nil)
	expectWaiting(t, "at first", done)
	s.set("k", "same", "k\x00", "", "j", "")
	s.update(func(tx kv.Tx) { tx.ClearRange([]byte("k\x00"), []byte("z")) })
	s.update(func(tx kv.Tx) { tx.Clear([]byte("none")) })
	s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte("k"), []byte("new"))
		return errors.New("rolled back")
	})
	expectWaiting(t, "same value", done)
	expectWaiting(t, "still absent", absent)
	s.set("k", "new", "none", "")
	expectReturn(t, "in the end", done, nil)
	expectReturn(t, "in the end", absent, nil)
}

// Many watches, on one key and on many, all end.
func testWatchMany(t *testing.T, s *store) {
	const n = 100
	var one, each []<-chan error
	for i := range n {
		one = append(one, s.watch(context.Background(), "shared", nil))
		each = append(each, s.watch(context.Background(), fmt.Sprint("own", i), nil))
	}
	expectWaiting(t, "all", one[n-1])
	s.set("shared", "x")
	for _, done := range one {
		expectReturn(t, "shared", done, nil)
	}
	s.update(func(tx kv.Tx) {
		for i := range n {
			tx.Set(fmt.Append(nil, "own", i), nil)
		}
	})
	for _, done := range each {
		expectReturn(t, "own", done, nil)
	}
}

// A loop of reading and watching sees the last of many changes.
func testWatchMissesNothing(t *testing.T, s *store) {
	const last = 200
	go func() {
		for i := 1; i <= last; i++ {
			s.Update(context.Background(), func(tx kv.Tx) error {
				setNumber(tx, "n", i)
				return nil
			})
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		var seen []byte
		n := 0
		s.view(func(tx kv.ReadTx) {
			n = number(t, tx, "n")
			if n > 0 {
				seen = fmt.Append(nil, n)
			}
		})
		if n == last {
			return
		}
		if err := s.Watch(ctx, []byte("n"), seen); err != nil {
			t.Fatalf("stuck at %d of %d: %v", n, last, err)
		}
	}
}

// A watch ends with its context, and with the store.
func testWatchEnds(t *testing.T, s *store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := s.watch(ctx, "k", nil)
	expectWaiting(t, "not cancelled", cancelled)
	cancel()
	expectReturn(t, "cancelled", cancelled, context.Canceled)
	expectReturn(t, "cancelled before", s.watch(ctx, "k", nil), context.Canceled)
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	expectReturn(t, "timed out", s.watch(ctx, "k", nil), context.DeadlineExceeded)

	open := s.watch(context.Background(), "k", nil)
	expectWaiting(t, "open", open)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	expectReturn(t, "closed", open, kv.ErrClosed)
	expectReturn(t, "closed before", s.watch(context.Background(), "k", nil), kv.ErrClosed)
}
