package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// A transaction reads what it wrote, also through ranges both ways with limits, over what is
// stored.
func testReadYourWrites(t *testing.T, s *store) {
	s.set("a", "1", "c", "3", "e", "5", "g", "7")
	s.update(func(tx kv.Tx) {
		tx.Set([]byte("b"), []byte("new"))
		tx.Set([]byte("c"), []byte("changed"))
		tx.Clear([]byte("e"))
		tx.Set([]byte("h"), []byte("last"))
		expectGet(t, tx, "b", "new")
		expectGet(t, tx, "c", "changed")
		expectGet(t, tx, "e", "<nil>")
		expectGet(t, tx.Snapshot(), "c", "changed")
		expectRows(t, tx, "", "\xff", kv.RangeOptions{}, "a", "1", "b", "new", "c", "changed", "g", "7", "h", "last")
		expectRows(t, tx, "b", "h", kv.RangeOptions{Reverse: true, Limit: 2}, "g", "7", "c", "changed")
		expectRows(t, tx.Snapshot(), "d", "\xff", kv.RangeOptions{Limit: 1}, "g", "7")
		tx.Set([]byte("e"), []byte("back"))
		expectRows(t, tx, "d", "f", kv.RangeOptions{}, "e", "back")
		tx.Clear([]byte("b"))
	})
	s.expect("a", "1", "c", "changed", "e", "back", "g", "7", "h", "last")
}

// A value that is handed over without a copy may be overwritten by the caller as soon as Update has
// returned.
func testOwnedValues(t *testing.T, s *store) {
	large, empty := bytes.Repeat([]byte("x"), 50_000), []byte(nil)
	want := string(large)
	s.update(func(tx kv.Tx) {
		kv.SetOwned(tx, []byte("a"), large)
		kv.SetOwned(tx, []byte("b"), large[:3])
		kv.SetOwned(tx, []byte("c"), empty)
		kv.SetOwned(tx, []byte("d"), large)
		expectGet(t, tx, "b", "xxx")
		expectGet(t, tx, "c", "")
		tx.ClearRange([]byte("d"), []byte("e"))
	})
	copy(large, "other")
	s.expect("a", want, "b", "xxx", "c", "")
}

// A range clear removes what was stored and what was written before it, and nothing that is written
// after it.
func testRangeClears(t *testing.T, s *store) {
	var pairs []string
	for c := 'a'; c <= 'j'; c++ {
		pairs = append(pairs, string(c), "old")
	}
	s.set(pairs...)
	s.update(func(tx kv.Tx) {
		tx.Set([]byte("c1"), []byte("before"))
		tx.ClearRange([]byte("b"), []byte("d"))
		tx.Set([]byte("b5"), []byte("after"))
		expectRows(t, tx, "", "e", kv.RangeOptions{}, "a", "old", "b5", "after", "d", "old")
		tx.ClearRange([]byte("c"), []byte("f")) // overlaps the first
		tx.ClearRange([]byte("h"), []byte("i")) // apart
		tx.ClearRange([]byte("x"), []byte("x")) // nothing
		expectGet(t, tx, "b", "<nil>")
		expectGet(t, tx, "e", "<nil>")
		expectGet(t, tx, "f", "old")
		expectRows(t, tx, "", "\xff", kv.RangeOptions{}, "a", "old", "b5", "after", "f", "old", "g", "old", "i", "old",
			"j", "old")
		expectRows(t, tx, "b", "j", kv.RangeOptions{Reverse: true, Limit: 3}, "i", "old", "g", "old", "f", "old")
		tx.ClearRange([]byte("b5"), []byte("b5\x00")) // one key
	})
	s.expect("a", "old", "f", "old", "g", "old", "i", "old", "j", "old")
	s.update(func(tx kv.Tx) {
		tx.ClearRange(nil, []byte("\xff"))
		expectRows(t, tx, "", "\xff", kv.RangeOptions{})
		tx.Set([]byte("only"), []byte("one"))
		expectRows(t, tx, "", "\xff", kv.RangeOptions{Reverse: true}, "only", "one")
	})
	s.expect("only", "one")
}

// The caller may use its slices again at once.
func testArgumentsAreCopied(t *testing.T, s *store) {
	s.set("r1", "1", "r2", "2", "r3", "3", "x", "old")
	s.update(func(tx kv.Tx) {
		buf := make([]byte, 16)
		put := func(text string) []byte { return append(buf[:0], text...) }
		both := []byte("kv")
		tx.Set(both[:1], both[1:])
		tx.Atomic(kv.ByteMax, put("max"), []byte("m"))
		it := tx.Range(put("r1"), []byte("r3"), kv.RangeOptions{})
		put("zzzz")
		copy(both, "##")
		for n := 1; it.Next(); n++ {
			if want := fmt.Sprint("r", n); string(it.Key()) != want {
				t.Errorf("range came to %q, want %q", it.Key(), want)
			}
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
		tx.Clear(put("x"))
		put("q")
	})
	s.expect("k", "v", "max", "m", "r1", "1", "r2", "2", "r3", "3")
}

// Size grows with what a transaction would send.
func testSize(t *testing.T, s *store) {
	s.update(func(tx kv.Tx) {
		last := tx.Size()
		grows := func(what string, atLeast int) {
			t.Helper()
			if size := tx.Size(); size < last+atLeast || size > last+10*atLeast+500 {
				t.Errorf("%s: from %d to %d", what, last, size)
			}
			last = tx.Size()
		}
		grows("nothing", 0)
		tx.Set(make([]byte, 100), make([]byte, 1000))
		grows("set", 1100)
		tx.ClearRange(make([]byte, 50), make([]byte, 60))
		grows("range clear", 110)
		tx.Atomic(kv.Add, []byte("counter"), make([]byte, 8))
		grows("atomic", 15)
		tx.AddReadConflictRange([]byte("begin"), []byte("end"))
		grows("read conflict", 8)
		tx.SetVersionstampedKey(make([]byte, 40), 3, make([]byte, 500))
		grows("versionstamped key", 540)
	})
}

// A write that no engine can accept fails the transaction as a whole.
func testInvalidWrites(t *testing.T, s *store) {
	for name, test := range map[string]struct {
		write func(kv.Tx)
		want  error
	}{
		"range clear":    {func(tx kv.Tx) { tx.ClearRange([]byte("b"), []byte("a")) }, kv.ErrInvalidRange},
		"read conflict":  {func(tx kv.Tx) { tx.AddReadConflictRange([]byte("b"), []byte("a")) }, kv.ErrInvalidRange},
		"write conflict": {func(tx kv.Tx) { tx.AddWriteConflictRange([]byte("b"), []byte("a")) }, kv.ErrInvalidRange},
		"atomic":         {func(tx kv.Tx) { tx.Atomic(99, []byte("a"), nil) }, kv.ErrInvalidOperation},
		"no atomic":      {func(tx kv.Tx) { tx.Atomic(0, []byte("a"), nil) }, kv.ErrInvalidOperation},
		"stamped key": {func(tx kv.Tx) {
			tx.SetVersionstampedKey(make([]byte, 12), 3, nil)
		}, kv.ErrInvalidOperation},
		"stamped value": {func(tx kv.Tx) {
			tx.SetVersionstampedValue([]byte("a"), make([]byte, 12), -1)
		}, kv.ErrInvalidOperation},
	} {
		stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
			tx.Set([]byte("before"), nil)
			test.write(tx)
			tx.Set([]byte("after"), nil)
			return nil
		})
		if !errors.Is(err, test.want) || stamp != (kv.Versionstamp{}) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	s.expect()
}

// A transaction of many writes and range reads is applied completely.
func testLargeTransaction(t *testing.T, s *store) {
	const n = 5000
	key := func(i int) []byte { return fmt.Appendf(nil, "%04d", i*7919%n) }
	s.update(func(tx kv.Tx) {
		for i := range n {
			tx.Set(key(i), key(i))
		}
		tx.ClearRange([]byte("1000"), []byte("2000"))
	})
	s.update(func(tx kv.Tx) {
		for i := 0; i < n; i += 2 {
			tx.Clear(fmt.Appendf(nil, "%04d", i))
		}
		if got := len(rows(t, tx, "", "\xff", kv.RangeOptions{})) / 2; got != (n-1000)/2 {
			t.Errorf("%d rows in the transaction", got)
		}
	})
	s.view(func(tx kv.ReadTx) {
		got := rows(t, tx, "", "\xff", kv.RangeOptions{})
		if len(got) != n-1000 || got[0] != "0001" || got[len(got)-1] != "4999" {
			t.Errorf("%d strings, from %q to %q", len(got), got[0], got[len(got)-1])
		}
	})
}
