package kvtest

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// Keys are ordered by bytes, whatever the order of writing and however they are spread over
// transactions.
func testOrder(t *testing.T, s *store) {
	keys := []string{
		"",
		"\x00",
		"\x00\x00",
		"\x00\xff",
		"\x01",
		"a",
		"a\x00",
		"a\x00\x01",
		"aa",
		"ab",
		"b",
		"\x7f",
		"\x80",
		"\xc3\xa9",
		"\xfe\xff",
	}
	for i := range keys {
		key := keys[(i*7+3)%len(keys)]
		s.set(key, "v"+key)
	}
	var ascending, descending []string
	for _, key := range keys {
		ascending = append(ascending, key, "v"+key)
		descending = append([]string{key, "v" + key}, descending...)
	}
	s.view(func(tx kv.ReadTx) {
		expectRows(t, tx, "", "\xff", kv.RangeOptions{}, ascending...)
		expectRows(t, tx, "", "\xff", kv.RangeOptions{Reverse: true}, descending...)
		expectRows(t, tx, "", "\xff", kv.RangeOptions{WantAll: true}, ascending...)
	})
}

// An empty value is present and not nil, a missing one is nil.
func testEmptyAndMissing(t *testing.T, s *store) {
	s.set("empty", "")
	check := func(tx kv.ReadTx) {
		expectGet(t, tx, "empty", "")
		expectGet(t, tx, "missing", "<nil>")
		expectRows(t, tx, "", "\xff", kv.RangeOptions{}, "empty", "")
	}
	s.view(check)
	s.update(func(tx kv.Tx) {
		check(tx)
		tx.Set([]byte("own"), nil)
		expectGet(t, tx, "own", "")
		expectRows(t, tx, "", "\xff", kv.RangeOptions{}, "empty", "", "own", "")
		tx.Clear([]byte("own"))
		check(tx)
	})
	s.set("nil", "")
	s.expect("empty", "", "nil", "")
}

// A range holds its begin, not its end, and at most Limit rows from the side where it starts.
func testRangeBounds(t *testing.T, s *store) {
	s.set("a", "1", "b", "2", "c", "3", "d", "4")
	check := func(tx kv.ReadTx) {
		expectRows(t, tx, "b", "d", kv.RangeOptions{}, "b", "2", "c", "3")
		expectRows(t, tx, "b", "d", kv.RangeOptions{Reverse: true}, "c", "3", "b", "2")
		expectRows(t, tx, "b", "d\x00", kv.RangeOptions{Limit: 1}, "b", "2")
		expectRows(t, tx, "b", "d\x00", kv.RangeOptions{Limit: 2, Reverse: true}, "d", "4", "c", "3")
		expectRows(t, tx, "a\x00", "b", kv.RangeOptions{})
		expectRows(t, tx, "a", "a", kv.RangeOptions{})
		expectRows(t, tx, "e", "f", kv.RangeOptions{Reverse: true})
		expectRows(t, tx, "", "a", kv.RangeOptions{Reverse: true})
		expectRows(t, tx, "", "\xff", kv.RangeOptions{Limit: 10}, "a", "1", "b", "2", "c", "3", "d", "4")
	}
	s.view(check)
	s.update(func(tx kv.Tx) {
		check(tx)
		check(tx.Snapshot())
		tx.Set([]byte("other"), nil)
		tx.Clear([]byte("other"))
		check(tx)
		check(tx.Snapshot().Snapshot())
	})
}

// testGetMany asks for keys out of order, twice the same, for one that is not there, one that is
// empty and one that the transaction has written itself.
func testGetMany(t *testing.T, s *store) {
	s.set("a", "1", "b", "", "c", "3")
	s.update(func(tx kv.Tx) {
		tx.Set([]byte("c"), []byte("own"))
		for _, reader := range []kv.ReadTx{tx, tx.Snapshot()} {
			values, err := reader.GetMany([][]byte{[]byte("c"), []byte("x"), []byte("a"), []byte("b"), []byte("a")})
			if err != nil || len(values) != 5 {
				t.Fatalf("%q, %v", values, err)
			}
			got := ""
			for _, value := range values {
				got += show(value) + ","
			}
			if want := "own,<nil>,1,,1,"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	s.view(func(tx kv.ReadTx) {
		if values, err := tx.GetMany(nil); err != nil || len(values) != 0 {
			t.Errorf("no keys: %q, %v", values, err)
		}
	})
}

// The estimate may be coarse: it is no error, not negative, and not absurd.
func testSizeEstimate(t *testing.T, s *store) {
	for i := range 20 {
		s.set(fmt.Sprint("key", i), string(make([]byte, 1000)))
	}
	check := func(tx kv.ReadTx) {
		for _, r := range [][2]string{{"", "\xff"}, {"key1", "key2"}, {"none", "none"}, {"x", "y"}} {
			size, err := tx.SizeEstimate([]byte(r[0]), []byte(r[1]))
			if err != nil || size < 0 || size > 100_000_000 {
				t.Errorf("%q: %d, %v", r, size, err)
			}
		}
	}
	s.view(check)
	s.update(func(tx kv.Tx) { check(tx) })
}
