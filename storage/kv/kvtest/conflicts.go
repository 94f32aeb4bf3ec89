package kvtest

import (
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// conflictCase is a transaction that reads (and then writes a key of its own), during which another
// one commits.
type conflictCase struct {
	name  string
	read  func(t testing.TB, tx kv.Tx)
	write func(tx kv.Tx)
	again bool // whether the reader must run again
}

func readKey(key string) func(testing.TB, kv.Tx) {
	return func(t testing.TB, tx kv.Tx) { get(t, tx, key) }
}

func readRange(begin, end string, opts kv.RangeOptions) func(testing.TB, kv.Tx) {
	return func(t testing.TB, tx kv.Tx) { rows(t, tx, begin, end, opts) }
}

// readFirst opens a range, takes one row and closes it.
func readFirst(begin, end string, reverse bool) func(testing.TB, kv.Tx) {
	return func(t testing.TB, tx kv.Tx) {
		it := tx.Range([]byte(begin), []byte(end), kv.RangeOptions{Reverse: reverse})
		if !it.Next() || it.Close() != nil {
			t.Errorf("no row in %q to %q: %v", begin, end, it.Err())
		}
	}
}

func writeKey(key string) func(kv.Tx) { return func(tx kv.Tx) { tx.Set([]byte(key), []byte("other")) } }

// conflictCases run on a store with the keys a, c, e, g.
var conflictCases = []conflictCase{
	{"get and set", readKey("c"), writeKey("c"), true},
	{"get and set of another key", readKey("c"), writeKey("c\x00"), false},
	{"get of a missing key and set", readKey("b"), writeKey("b"), true},
	{"get and clear", readKey("c"), func(tx kv.Tx) { tx.Clear([]byte("c")) }, true},
	{"get and range clear", readKey("c"), func(tx kv.Tx) { tx.ClearRange([]byte("b"), []byte("d")) }, true},
	{"get and range clear up to it", readKey("c"), func(tx kv.Tx) { tx.ClearRange([]byte("b"), []byte("c")) }, false},
	{
		"get and range clear after it",
		readKey("c"),
		func(tx kv.Tx) { tx.ClearRange([]byte("c\x00"), []byte("d")) },
		false,
	},
	{"get and atomic", readKey("c"), func(tx kv.Tx) { tx.Atomic(kv.Add, []byte("c"), []byte{1}) }, true},
	{
		"get and write conflict range",
		readKey("c"),
		func(tx kv.Tx) { tx.AddWriteConflictRange([]byte("b"), []byte("d")) },
		true,
	},
	{
		"get and versionstamped value",
		readKey("c"),
		func(tx kv.Tx) { tx.SetVersionstampedValue([]byte("c"), make([]byte, 10), 0) },
		true,
	},
	{"snapshot get and set", func(t testing.TB, tx kv.Tx) { get(t, tx.Snapshot(), "c") }, writeKey("c"), false},
	{
		"get many and set",
		func(_ testing.TB, tx kv.Tx) { tx.GetMany([][]byte{[]byte("a"), []byte("c")}) },
		writeKey("c"),
		true,
	},
	{
		"get of an own set",
		func(t testing.TB, tx kv.Tx) { tx.Set([]byte("c"), nil); get(t, tx, "c") },
		writeKey("c"),
		false,
	},
	{
		"get of an own clear",
		func(t testing.TB, tx kv.Tx) { tx.Clear([]byte("c")); get(t, tx, "c") },
		writeKey("c"),
		false,
	},
	{
		"get of an own range clear",
		func(t testing.TB, tx kv.Tx) { tx.ClearRange([]byte("b"), []byte("d")); get(t, tx, "c") },
		writeKey("c"),
		false,
	},
	{
		"get of an own atomic",
		func(t testing.TB, tx kv.Tx) { tx.Atomic(kv.Add, []byte("c"), []byte{1}); get(t, tx, "c") },
		writeKey("c"),
		true,
	},
	{"atomic and atomic", func(_ testing.TB, tx kv.Tx) { tx.Atomic(kv.Add, []byte("c"), []byte{1}) },
		func(tx kv.Tx) { tx.Atomic(kv.Add, []byte("c"), []byte{1}) }, false},
	{"set and set", func(_ testing.TB, tx kv.Tx) { tx.Set([]byte("c"), nil) }, writeKey("c"), false},
	{
		"range clear and set",
		func(_ testing.TB, tx kv.Tx) { tx.ClearRange([]byte("b"), []byte("d")) },
		writeKey("c"),
		false,
	},

	{"range and set in it", readRange("b", "d", kv.RangeOptions{}), writeKey("c"), true},
	{"range and phantom", readRange("b", "d", kv.RangeOptions{}), writeKey("b1"), true},
	{"range and phantom at its begin", readRange("b", "d", kv.RangeOptions{}), writeKey("b"), true},
	{"range and set at its end", readRange("b", "d", kv.RangeOptions{}), writeKey("d"), false},
	{"range and set before it", readRange("b", "d", kv.RangeOptions{Reverse: true}), writeKey("a\xff"), false},
	{"empty range and phantom", readRange("h", "k", kv.RangeOptions{}), writeKey("i"), true},
	{"empty reverse range and phantom", readRange("h", "k", kv.RangeOptions{Reverse: true}), writeKey("i"), true},
	{
		"range and overlapping clear",
		readRange("b", "d", kv.RangeOptions{}),
		func(tx kv.Tx) { tx.ClearRange([]byte("c\x00"), []byte("z")) },
		true,
	},
	{"limit and set of its row", readRange("b", "z", kv.RangeOptions{Limit: 1}), writeKey("c"), true},
	{"limit and phantom before its row", readRange("b", "z", kv.RangeOptions{Limit: 1}), writeKey("b1"), true},
	{"limit and set after its row", readRange("b", "z", kv.RangeOptions{Limit: 1}), writeKey("d"), false},
	{"limit not reached and phantom", readRange("b", "z", kv.RangeOptions{Limit: 9}), writeKey("x"), true},
	{
		"reverse limit and set of its row",
		readRange("a", "f", kv.RangeOptions{Limit: 1, Reverse: true}),
		writeKey("e"),
		true,
	},
	{
		"reverse limit and phantom after its row",
		readRange("a", "f", kv.RangeOptions{Limit: 1, Reverse: true}),
		writeKey("e1"),
		true,
	},
	{
		"reverse limit and set before its row",
		readRange("a", "f", kv.RangeOptions{Limit: 1, Reverse: true}),
		writeKey("d"),
		false,
	},
	{"first row and set of it", readFirst("b", "z", false), writeKey("c"), true},
	{"first row and phantom before it", readFirst("b", "z", false), writeKey("b1"), true},
	{"last row and set of it", readFirst("a", "f", true), writeKey("e"), true},
	{"last row and phantom after it", readFirst("a", "f", true), writeKey("e1"), true},
	{
		"snapshot range and phantom",
		func(t testing.TB, tx kv.Tx) { rows(t, tx.Snapshot(), "b", "d", kv.RangeOptions{}) },
		writeKey("c"),
		false,
	},
	{"range with own writes and phantom", func(t testing.TB, tx kv.Tx) {
		tx.Set([]byte("c"), nil)
		rows(t, tx, "b", "d", kv.RangeOptions{})
	}, writeKey("b1"), true},
	{"limit with own writes and phantom before its row", func(t testing.TB, tx kv.Tx) {
		tx.Clear([]byte("c"))
		rows(t, tx, "b", "z", kv.RangeOptions{Limit: 1})
	}, writeKey("d"), true},
	{"range and versionstamped key", readRange("log/", "log0", kv.RangeOptions{}),
		func(tx kv.Tx) { tx.SetVersionstampedKey([]byte("log/0123456789"), 4, nil) }, true},
	{"range beside a versionstamped key", readRange("lof", "log/", kv.RangeOptions{}),
		func(tx kv.Tx) { tx.SetVersionstampedKey([]byte("log/0123456789"), 4, nil) }, false},

	{
		"read conflict range and set",
		func(_ testing.TB, tx kv.Tx) { tx.AddReadConflictRange([]byte("b"), []byte("d")) },
		writeKey("c"),
		true,
	},
	{
		"read conflict range and set at its end",
		func(_ testing.TB, tx kv.Tx) { tx.AddReadConflictRange([]byte("b"), []byte("d")) },
		writeKey("d"),
		false,
	},
	{
		"read and write conflict ranges",
		func(_ testing.TB, tx kv.Tx) { tx.AddReadConflictRange([]byte("b"), []byte("d")) },
		func(tx kv.Tx) { tx.AddWriteConflictRange([]byte("c"), []byte("z")) },
		true,
	},
	{
		"empty conflict ranges",
		func(_ testing.TB, tx kv.Tx) { tx.AddReadConflictRange([]byte("c"), []byte("c")) },
		writeKey("c"),
		false,
	},
	{
		"own conflict range",
		func(_ testing.TB, tx kv.Tx) { tx.AddWriteConflictRange([]byte("c"), []byte("d")) },
		writeKey("c"),
		false,
	},
}

// testConflicts lets a second transaction write between a read and the commit, and counts the runs
// of the first.
func testConflicts(t *testing.T, s *store) {
	for _, c := range conflictCases {
		t.Run(c.name, func(t *testing.T) {
			s.update(func(tx kv.Tx) {
				tx.ClearRange(nil, []byte("\xff"))
				for _, key := range []string{"a", "c", "e", "g"} {
					tx.Set([]byte(key), []byte("old"))
				}
			})
			if got := s.runs(func(tx kv.Tx) { c.read(t, tx) }, c.write, true); got > 1 != c.again {
				t.Errorf("ran %d times, must run again: %v", got, c.again)
			}
			// A transaction that writes nothing has a place in the order already: at its snapshot.
			if got := s.runs(func(tx kv.Tx) { rows(t, tx, "", "\xff", kv.RangeOptions{}) }, c.write, false); got > 1 {
				t.Errorf("ran %d times without a write", got)
			}
		})
	}
}

// runs commits write while a transaction with read runs for the first time, and tells how often
// that ran.
func (s *store) runs(read, write func(tx kv.Tx), writes bool) int {
	n := 0
	s.update(func(tx kv.Tx) {
		n++
		read(tx)
		if n == 1 {
			s.update(write)
		}
		if writes {
			tx.Set([]byte("~mine"), nil)
		}
	})
	return n
}
