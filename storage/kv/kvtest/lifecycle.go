package kvtest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// An error of the function comes back as it is, and nothing of the transaction stays.
func testErrorRollsBack(t *testing.T, s *store) {
	s.set("a", "1")
	oops := errors.New("oops")
	runs := 0
	stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
		runs++
		get(t, tx, "a")
		if runs == 1 {
			s.set("a", "2") // a conflict does not matter any more
		}
		tx.Set([]byte("b"), nil)
		tx.ClearRange(nil, []byte("\xff"))
		return oops
	})
	if err != oops || runs != 1 || stamp != (kv.Versionstamp{}) {
		t.Errorf("ran %d times: %x, %v", runs, stamp, err)
	}
	if err := s.View(context.Background(), func(kv.ReadTx) error { return oops }); err != oops {
		t.Errorf("view: %v", err)
	}
	s.expect("a", "2")
}

// A panic of the function reaches the caller, and the store works on.
func testPanicRollsBack(t *testing.T, s *store) {
	panics := func(run func()) {
		defer func() {
			if p := recover(); p != "oops" {
				t.Errorf("recovered %v", p)
			}
		}()
		run()
	}
	panics(func() {
		s.Update(context.Background(), func(tx kv.Tx) error {
			tx.Set([]byte("a"), nil)
			tx.Range(nil, []byte("\xff"), kv.RangeOptions{}).Next()
			panic("oops")
		})
	})
	panics(func() {
		s.View(context.Background(), func(tx kv.ReadTx) error { panic("oops") })
	})
	s.set("b", "")
	s.expect("b", "")
	s.reopen() // Close does not wait for what has panicked
}

// A context that has ended stops a transaction before it begins and before it runs again.
func testContexts(t *testing.T, s *store) {
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	_, err := s.Update(ctx, func(tx kv.Tx) error {
		runs++
		get(t, tx, "a")
		s.set("a", "1") // so that the commit conflicts
		cancel()
		tx.Set([]byte("b"), nil)
		return nil
	})
	if !errors.Is(err, context.Canceled) || runs != 1 {
		t.Errorf("ran %d times: %v", runs, err)
	}
	fails := func(kv.ReadTx) error { t.Error("ran"); return nil }
	if _, err := s.Update(ctx, func(tx kv.Tx) error { return fails(tx) }); !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v", err)
	}
	if err := s.View(ctx, fails); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	s.expect("a", "1")
}

// A closed store says so.
func testClosed(t *testing.T, s *store) {
	s.set("a", "1")
	if err := s.Health(context.Background()); err != nil {
		t.Errorf("health: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Health(context.Background()); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("health: %v", err)
	}
	if _, err := s.Update(context.Background(), func(kv.Tx) error { return nil }); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("update: %v", err)
	}
	if err := s.View(context.Background(), func(kv.ReadTx) error { return nil }); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("view: %v", err)
	}
	if err := s.Watch(context.Background(), []byte("a"), nil); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("watch: %v", err)
	}
	if err := s.Close(); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

// Close lets running transactions come to their end.
func testCloseWaits(t *testing.T, s *store) {
	s.set("a", "1")
	began, finish := make(chan struct{}, 2), make(chan struct{})
	results := make(chan error, 3)
	go func() {
		results <- s.View(context.Background(), func(tx kv.ReadTx) error {
			began <- struct{}{}
			<-finish
			expectGet(t, tx, "a", "1")
			return nil
		})
	}()
	go func() {
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			began <- struct{}{}
			<-finish
			expectGet(t, tx, "a", "1")
			tx.Set([]byte("b"), nil)
			return nil
		})
		results <- err
	}()
	<-began
	<-began
	go func() { results <- s.Close() }()
	select {
	case err := <-results:
		t.Errorf("Close did not wait: %v", err)
	case <-time.After(doubt):
	}
	close(finish)
	for range 3 {
		// The update may come too late to commit, but then it says so and leaves nothing.
		if err := <-results; err != nil && !errors.Is(err, kv.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// What was committed is there after a restart, and only that.
func testReopen(t *testing.T, s *store) {
	s.set("a", "1", "b", "2", "c", "3")
	s.update(func(tx kv.Tx) {
		tx.ClearRange([]byte("b"), []byte("c"))
		tx.Atomic(kv.Add, []byte("n"), []byte{7})
	})
	s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte("x"), nil)
		return errors.New("rolled back")
	})
	for range 2 {
		s.reopen()
		s.expect("a", "1", "c", "3", "n", "\x07")
	}
	s.set("d", "4")
	s.reopen()
	s.expect("a", "1", "c", "3", "d", "4", "n", "\x07")
}

// Keys and values as large as FoundationDB's limits, or the engine's if lower, fit; what is over an
// engine's limit is refused with the error for it, and nothing of the transaction stays.
func testLimits(t *testing.T, s *store) {
	size := kv.FDBLimits.KeySize
	if own := s.Limits().KeySize; own > 0 {
		size = min(size, own) // a prefix that all keys share takes some of FoundationDB's limit
	}
	key, value := bytes.Repeat([]byte("k"), size), bytes.Repeat([]byte("v"), kv.FDBLimits.ValueSize)
	s.update(func(tx kv.Tx) { tx.Set(key, value) })
	s.expect(string(key), string(value))
	s.update(func(tx kv.Tx) { tx.Clear(key) })

	limits := s.Limits()
	refused := func(what string, want error, write func(kv.Tx)) {
		t.Helper()
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			tx.Set([]byte("a"), nil)
			write(tx)
			return nil
		})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if limits.KeySize > 0 {
		long := make([]byte, limits.KeySize+1)
		refused("set", kv.ErrKeyTooLarge, func(tx kv.Tx) { tx.Set(long, nil) })
		refused("atomic", kv.ErrKeyTooLarge, func(tx kv.Tx) { tx.Atomic(kv.Add, long, []byte{1}) })
		refused("versionstamped key", kv.ErrKeyTooLarge, func(tx kv.Tx) { tx.SetVersionstampedKey(long, 0, nil) })
	}
	if limits.ValueSize > 0 {
		long := make([]byte, limits.ValueSize+1)
		refused("set", kv.ErrValueTooLarge, func(tx kv.Tx) { tx.Set([]byte("k"), long) })
		refused("versionstamped value", kv.ErrValueTooLarge,
			func(tx kv.Tx) { tx.SetVersionstampedValue([]byte("k"), long, 0) })
	}
	if limits.TransactionSize > 0 {
		part := make([]byte, kv.FDBLimits.ValueSize)
		refused("transaction", kv.ErrTooLarge, func(tx kv.Tx) {
			for i := 0; i*len(part) <= limits.TransactionSize; i++ {
				tx.Set([]byte{byte(i >> 8), byte(i)}, part)
			}
		})
	}
	s.expect()
}
