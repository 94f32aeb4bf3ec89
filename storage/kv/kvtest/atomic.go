package kvtest

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// absent is the value of a missing key in atomicCases.
const absent = "<nil>"

// atomicCases are FoundationDB's rules (fdbclient/Atomic.h).
var atomicCases = []struct {
	op                   kv.AtomicOp
	before, param, after string
}{
	{kv.Add, absent, "\x01\x00", "\x01\x00"},
	{kv.Add, "\x05", "\x01", "\x06"},
	{kv.Add, "\xff\x00", "\x01\x00", "\x00\x01"},
	{kv.Add, "\xff\xff", "\x01\x00", "\x00\x00"},         // wraps
	{kv.Add, "\xff", "\x01\x00\x00", "\x00\x01\x00"},     // shorter: padded
	{kv.Add, "\x01\x02\x03\x04", "\x01\x01", "\x02\x03"}, // longer: cut
	{kv.Add, "\x01", "\xff", "\x00"},                     // -1
	{kv.Add, "\x01\x02", "", ""},                         // no width
	{kv.Add, "", "\x07", "\x07"},                         // empty
	{kv.Add, absent, "", ""},                             // absent, no width
	{kv.Max, absent, "\x00", "\x00"},                     // absent: param
	{kv.Max, "\x05", "\x07", "\x07"},                     //
	{kv.Max, "\x07", "\x05", "\x07"},                     //
	{kv.Max, "\x00\x01", "\xff\x00", "\x00\x01"},         // the last byte counts most
	{kv.Max, "\x07", "\x05\x00", "\x07\x00"},             // padded
	{kv.Max, "\x01\x01", "\x02", "\x02"},                 // cut before it is compared
	{kv.Max, "\x03\x01", "\x02", "\x03"},                 //
	{kv.Max, "\x03", "", ""},                             //
	{kv.Min, absent, "\x09", "\x09"},                     // absent: param, not zero
	{kv.Min, "\x05", "\x07", "\x05"},                     //
	{kv.Min, "\x07", "\x05", "\x05"},                     //
	{kv.Min, "\xff\x00", "\x00\x01", "\xff\x00"},         //
	{kv.Min, "\x07", "\x05\x01", "\x07\x00"},             // padded
	{kv.Min, "\x03\x01", "\x04", "\x03"},                 // cut
	{kv.Min, "", "\x04", "\x00"},                         // empty is not absent: zero
	{kv.ByteMax, absent, "a", "a"},                       //
	{kv.ByteMax, "b", "a", "b"},                          //
	{kv.ByteMax, "a", "ab", "ab"},                        // a prefix is smaller
	{kv.ByteMax, "ab", "a", "ab"},                        //
	{kv.ByteMax, "\x00\x01", "\xff\x00", "\xff\x00"},     // the first byte counts most
	{kv.ByteMin, absent, "a", "a"},                       //
	{kv.ByteMin, "b", "a", "a"},                          //
	{kv.ByteMin, "a", "ab", "a"},                         //
	{kv.ByteMin, "", "a", ""},                            //
	{kv.CompareAndClear, "a", "a", absent},               //
	{kv.CompareAndClear, "a", "b", "a"},                  //
	{kv.CompareAndClear, "a\x00", "a", "a\x00"},          // no padding
	{kv.CompareAndClear, absent, "a", absent},            //
	{kv.CompareAndClear, absent, "", absent},             //
	{kv.CompareAndClear, "", "", absent},                 //
	{kv.CompareAndClear, "\x00\x00", "\x00\x00", absent}, //
	{
		kv.Add,
		"\x01\x00\x00\x00\x00\x00\x00\x00",
		"\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x00\x00\x00\x00\x00\x00\x00\x00",
	},
}

// Each rule holds at commit over what is stored, in reads over what is stored, and over what the
// transaction has set.
func testAtomic(t *testing.T, s *store) {
	put := func(tx kv.Tx, key, value string) {
		if value == absent {
			tx.Clear([]byte(key))
		} else {
			tx.Set([]byte(key), []byte(value))
		}
	}
	for i, c := range atomicCases {
		name := fmt.Sprintf("%d: op %d of %q and %q", i, c.op, c.before, c.param)
		check := func(tx kv.ReadTx, how, key string) {
			t.Helper()
			if got := get(t, tx, key); got != c.after {
				t.Errorf("%s, %s: %q, want %q", name, how, got, c.after)
			}
		}
		s.update(func(tx kv.Tx) {
			put(tx, "blind", c.before)
			put(tx, "read", c.before)
			put(tx, "range", c.before)
			put(tx, "own", absent)
			put(tx, "cleared", "something else")
		})
		s.update(func(tx kv.Tx) { tx.Atomic(c.op, []byte("blind"), []byte(c.param)) })
		s.update(func(tx kv.Tx) {
			tx.Atomic(c.op, []byte("read"), []byte(c.param))
			check(tx, "read", "read")
			put(tx, "own", c.before)
			tx.Atomic(c.op, []byte("own"), []byte(c.param))
			check(tx, "read of own", "own")
			tx.Atomic(c.op, []byte("range"), []byte(c.param))
			want := []string{"range", c.after}
			if c.after == absent {
				want = nil
			}
			expectRows(t, tx, "range", "rangf", kv.RangeOptions{}, want...)
			tx.ClearRange([]byte("c"), []byte("d"))
			tx.Atomic(c.op, []byte("cleared"), []byte(c.param))
		})
		s.view(func(tx kv.ReadTx) {
			check(tx, "blind", "blind")
			check(tx, "committed after a read", "read")
			check(tx, "committed over own", "own")
			if c.before == absent {
				check(tx, "over a range clear", "cleared")
			}
		})
	}
}

// Several operations on a key in one transaction apply in order, and over the state at commit.
func testAtomicFolds(t *testing.T, s *store) {
	s.set("n", "\x0a\x00", "gone", "x")
	first := true
	s.update(func(tx kv.Tx) {
		tx.Atomic(kv.Add, []byte("n"), []byte("\x05\x00"))
		tx.Atomic(kv.Add, []byte("n"), []byte("\x03\x00"))
		tx.Atomic(kv.Max, []byte("n"), []byte("\x14\x00"))
		tx.Atomic(kv.Add, []byte("n"), []byte("\x01\x00"))
		expectGet(t, tx.Snapshot(), "n", "\x15\x00") // max(10+8, 20)+1
		tx.Atomic(kv.CompareAndClear, []byte("gone"), []byte("x"))
		tx.Atomic(kv.ByteMax, []byte("gone"), []byte("again"))
		if first {
			first = false
			s.set("n", "\x64\x00") // no conflict: the operations apply to this
		} else {
			t.Error("ran again")
		}
	})
	s.expect("gone", "again", "n", "\x6d\x00") // max(100+8, 20)+1
}
