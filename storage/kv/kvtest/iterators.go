package kvtest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// Key, Value, Next and Close of an iterator may be called before the first row, after the last and
// after Close.
func testIteratorMisuse(t *testing.T, s *store) {
	s.set("a", "1", "b", "2")
	check := func(tx kv.ReadTx) {
		it := tx.Range([]byte("a"), []byte("z"), kv.RangeOptions{})
		for it.Next() {
		}
		if it.Next() || it.Err() != nil || it.Close() != nil || it.Close() != nil || it.Next() || it.Err() != nil {
			t.Error("an iterator goes on after its end or after Close")
		}
		early := tx.Range([]byte("a"), []byte("z"), kv.RangeOptions{})
		if !early.Next() || early.Close() != nil || early.Next() || early.Close() != nil {
			t.Error("an iterator that is closed early fails or goes on")
		}
		if unused := tx.Range([]byte("a"), []byte("z"), kv.RangeOptions{}); unused.Close() != nil {
			t.Error("closing an unused iterator fails")
		}
		reversed := tx.Range([]byte("z"), []byte("a"), kv.RangeOptions{})
		if reversed.Next() || !errors.Is(reversed.Err(), kv.ErrInvalidRange) ||
			!errors.Is(reversed.Close(), kv.ErrInvalidRange) {
			t.Errorf("a reversed range: %v", reversed.Err())
		}
		empty := tx.Range([]byte("a"), []byte("a"), kv.RangeOptions{})
		if empty.Next() || empty.Close() != nil {
			t.Error("an empty range has rows or fails")
		}
	}
	s.view(check)
	s.update(func(tx kv.Tx) {
		check(tx)
		tx.Set([]byte("c"), nil)
		check(tx)
	})
}

// Several iterators are open at once and do not disturb each other; keys and values keep until
// Next.
func testIteratorsAtOnce(t *testing.T, s *store) {
	s.set("a", "1", "b", "2", "c", "3", "d", "4")
	check := func(tx kv.ReadTx) {
		up := tx.Range([]byte("a"), []byte("z"), kv.RangeOptions{})
		down := tx.Range([]byte("a"), []byte("z"), kv.RangeOptions{Reverse: true})
		defer up.Close()
		defer down.Close()
		got := ""
		for up.Next() && down.Next() {
			key, value := up.Key(), up.Value()
			expectGet(t, tx, "b", "2")
			got += string(key) + string(value) + string(down.Key()) + string(down.Value()) + " "
		}
		if want := "a1d4 b2c3 c3b2 d4a1 "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s.view(check)
	s.update(func(tx kv.Tx) {
		check(tx)
		tx.Set([]byte("c"), []byte("3"))
		check(tx)
	})
}

// Writing outside an open range, or to rows that it has passed, does not change what an iterator
// gives.
func testWritesDuringIteration(t *testing.T, s *store) {
	s.set("r/a", "1", "r/b", "2", "r/c", "3", "r/d", "4")
	for reverse, want := range map[bool]string{false: "abcd", true: "dcba"} {
		s.update(func(tx kv.Tx) {
			it := tx.Range([]byte("r/"), []byte("r0"), kv.RangeOptions{Reverse: reverse})
			defer it.Close()
			seen := ""
			for it.Next() {
				key := bytes.Clone(it.Key())
				seen += string(key[2:])
				tx.Set(append([]byte("copy/"), key...), it.Value())
				if key[2]%2 == 0 {
					tx.Clear(key)
				} else {
					tx.Set(key, []byte("seen"))
				}
			}
			if it.Err() != nil || seen != want {
				t.Errorf("reverse %v: saw %q, %v", reverse, seen, it.Err())
			}
			expectRows(t, tx, "r/", "r0", kv.RangeOptions{}, "r/a", "seen", "r/c", "seen")
			tx.ClearRange([]byte("copy/"), []byte("copy0"))
			for _, pair := range []string{"a1", "b2", "c3", "d4"} {
				tx.Set([]byte("r/"+pair[:1]), []byte(pair[1:]))
			}
		})
	}
	s.expect("r/a", "1", "r/b", "2", "r/c", "3", "r/d", "4")
}
