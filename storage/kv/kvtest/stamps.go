package kvtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// commitVersion is the first 8 of a versionstamp's bytes, the version of the commit; 2 bytes of its
// place in a batch of commits follow, and 2 that the user chooses.
func commitVersion(stamp kv.Versionstamp) uint64 { return binary.BigEndian.Uint64(stamp[:]) }

// logKey is a versionstamped key below log/ with the user part n.
func logKey(n uint16) (key []byte, offset int) {
	return tuple.AppendVersionstampHole([]byte("log/"), n)
}

// What Update returns is what it put into keys and values.
func testVersionstamps(t *testing.T, s *store) {
	stamp := s.update(func(tx kv.Tx) {
		for n := range uint16(3) {
			// The user part orders the keys of one commit, not the order in which they are written.
			key, offset := logKey(2 - n)
			tx.SetVersionstampedKey(key, offset, fmt.Append(nil, 2-n))
		}
		tx.SetVersionstampedValue([]byte("value"), []byte("<0123456789>"), 1)
		// The later write of a key counts, whether it waits for its versionstamp or not.
		tx.SetVersionstampedValue([]byte("twice"), []byte("0123456789"), 0)
		tx.SetVersionstampedValue([]byte("twice"), []byte("0123456789!"), 0)
		tx.SetVersionstampedValue([]byte("over"), []byte("0123456789"), 0)
		tx.Set([]byte("over"), []byte("written"))
	})
	engine := string(stamp[:kv.VersionstampSize])
	if commitVersion(stamp) == 0 || stamp[10] != 0 || stamp[11] != 0 {
		t.Errorf("the commit's versionstamp is %x", stamp)
	}
	want := []string{}
	for n := range byte(3) {
		want = append(want, "log/\x33"+engine+"\x00"+string(n), fmt.Sprint(n))
	}
	s.expect(append(want, "over", "written", "twice", engine+"!", "value", "<"+engine+">")...)

	// A transaction that writes nothing has no place among the commits.
	read := func(tx kv.Tx) error { _, err := tx.Get([]byte("value")); return err }
	if stamp, err := s.Update(context.Background(), read); err != nil || stamp != (kv.Versionstamp{}) {
		t.Errorf("without a write: %x, %v", stamp, err)
	}
}

// Versionstamps grow from commit to commit, in the order in which commits are seen, also across
// restarts.
func testVersionstampsGrow(t *testing.T, s *store) {
	var last kv.Versionstamp
	for restart := range 3 {
		for i := range 10 {
			stamp := s.set("key", fmt.Sprint(i))
			if compareStamps(stamp, last) <= 0 {
				t.Fatalf("restart %d: %x after %x", restart, stamp, last)
			}
			last = stamp
		}
		// A store whose counter restarts from zero would give out old versionstamps again.
		s.reopen()
	}
	var all [4][]kv.Versionstamp
	together(len(all), func(i int) {
		for range 25 {
			all[i] = append(all[i], s.set(fmt.Sprint("key", i), ""))
		}
		if !slices.IsSortedFunc(all[i], compareStamps) {
			t.Errorf("one caller's commits have %x", all[i])
		}
	})
	merged := slices.Concat(all[:]...)
	slices.SortFunc(merged, compareStamps)
	same := func(a, b kv.Versionstamp) bool { return compareStamps(a, b) == 0 }
	if unique := slices.CompactFunc(slices.Clone(merged), same); len(unique) != len(merged) {
		t.Errorf("%d commits share %d versionstamps", len(merged), len(unique))
	}
	if compareStamps(merged[0], last) <= 0 {
		t.Errorf("%x after %x", merged[0], last)
	}
}

// A reader of a log of versionstamped keys, while others append to it, never sees an entry appear
// before one that it has already read.
func testLogOnlyGrows(t *testing.T, s *store) {
	var writing atomic.Int32
	const writers, each = 3, 40
	writing.Store(writers)
	read := func() (entries []string) {
		s.view(func(tx kv.ReadTx) { entries = rows(t, tx, "log/", "log0", kv.RangeOptions{}) })
		return entries
	}
	together(writers+1, func(i int) {
		if i < writers {
			defer writing.Add(-1)
			for range each {
				s.update(func(tx kv.Tx) {
					key, offset := logKey(0)
					tx.SetVersionstampedKey(key, offset, nil)
				})
			}
			return
		}
		// This is what a changes feed does: it reads on from the last entry that it has seen, and
		// would miss for ever what appears before that entry.
		seen := read()
		for writing.Load() > 0 {
			now := read()
			if len(now) < len(seen) || strings.Join(now[:len(seen)], "") != strings.Join(seen, "") {
				t.Errorf("an entry appeared before the end of %d", len(seen)/2)
			}
			seen = now
		}
	})
	if got := len(read()) / 2; got != writers*each {
		t.Errorf("%d entries, want %d", got, writers*each)
	}
}

// A key or value that waits for its versionstamp cannot be read in its transaction; all others can.
func testUnreadable(t *testing.T, s *store) {
	s.set("a", "1", "log/", "0", "value", "old", "z", "9")
	s.update(func(tx kv.Tx) {
		key, offset := tuple.AppendVersionstampHole([]byte("log/"), 0)
		tx.SetVersionstampedKey(key, offset, nil)
		tx.SetVersionstampedValue([]byte("value"), make([]byte, 10), 0)
		// The keys that wait for their versionstamp may come to stand anywhere between log/3 and
		// log/4, so that every read that touches that range is refused, and none besides.
		for _, reader := range []kv.ReadTx{tx, tx.Snapshot()} {
			for _, key := range [][]byte{key, []byte("log/\x33\xff"), []byte("value")} {
				if value, err := reader.Get(key); !errors.Is(err, kv.ErrUnreadable) {
					t.Errorf("get %q = %q, %v", key, value, err)
				}
			}
			for _, r := range [][2]string{{"", "\xff"}, {"log", "log0"}, {"log/3", "log/4"}, {"value", "value\x00"}} {
				for _, reverse := range []bool{false, true} {
					it := reader.Range([]byte(r[0]), []byte(r[1]), kv.RangeOptions{Reverse: reverse})
					for it.Next() {
						if bytes.HasPrefix(it.Key(), []byte("log/3")) || string(it.Key()) == "value" {
							t.Errorf("range %q reverse %v came to %q", r, reverse, it.Key())
						}
					}
					if err := it.Close(); !errors.Is(err, kv.ErrUnreadable) {
						t.Errorf("range %q reverse %v: %v", r, reverse, err)
					}
				}
			}
			expectGet(t, reader, "a", "1")
			expectRows(t, reader, "", "log", kv.RangeOptions{Reverse: true}, "a", "1")
			expectRows(t, reader, "w", "\xff", kv.RangeOptions{}, "z", "9")
			expectRows(t, reader, "", "\xff", kv.RangeOptions{Limit: 1}, "a", "1")
			expectRows(t, reader, "", "\xff", kv.RangeOptions{Limit: 1, Reverse: true}, "z", "9")
		}
		// A plain write takes the place of the one that waits, so that the key can be read again.
		tx.Set([]byte("value"), []byte("known"))
		expectGet(t, tx, "value", "known")
	})
}

// A range clear removes the versionstamped keys and values written before it, not those after it.
func testStampAndClear(t *testing.T, s *store) {
	old := s.update(func(tx kv.Tx) {
		key, offset := logKey(0)
		tx.SetVersionstampedKey(key, offset, []byte("old"))
	})
	stamp := s.update(func(tx kv.Tx) {
		key, offset := logKey(1)
		tx.SetVersionstampedKey(key, offset, []byte("before"))
		tx.SetVersionstampedValue([]byte("log/value"), make([]byte, 10), 0)
		tx.ClearRange([]byte("log/"), []byte("log0"))
		expectRows(t, tx, "log/", "log0", kv.RangeOptions{})
		key, offset = logKey(2)
		tx.SetVersionstampedKey(key, offset, []byte("after"))
		// A clear up to a versionstamp that must be lower, and one from a versionstamp that must be
		// higher.
		tx.ClearRange([]byte("log/"), append([]byte("log/\x33"), old[:]...))
		tx.ClearRange([]byte("log/\x33\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("log0"))
	})
	s.expect("log/\x33"+string(stamp[:10])+"\x00\x02", "after")
	s.update(func(tx kv.Tx) {
		key, offset := logKey(3)
		tx.SetVersionstampedKey(key, offset, nil)
		// covers both
		tx.ClearRange(append([]byte("log/\x33"), stamp[:]...), []byte("log/\x33\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	})
	s.expect()
}
