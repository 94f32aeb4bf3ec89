package kvtest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// together runs n functions at once and waits for them.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// number reads a key that holds a number in digits; no key is 0.
func number(t testing.TB, tx kv.ReadTx, key string) int {
	t.Helper()
	text := get(t, tx, key)
	if text == "<nil>" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Errorf("%q holds %q", key, text)
	}
	return n
}

// setNumber is the reverse of number.
func setNumber(tx kv.Tx, key string, n int) {
	tx.Set([]byte(key), strconv.AppendInt(nil, int64(n), 10))
}

// Increments by reading and writing are not lost.
func testLostUpdate(t *testing.T, s *store) {
	const workers, each = 4, 25
	together(workers, func(int) {
		for range each {
			s.update(func(tx kv.Tx) { setNumber(tx, "n", number(t, tx, "n")+1) })
		}
	})
	s.expect("n", fmt.Sprint(workers*each))
}

// A conflict is found however many commits came after the one that caused it.
func testConflictLongAgo(t *testing.T, s *store) {
	for _, key := range []string{"read", "other"} {
		// The commits in between push the one that matters out of whatever the store keeps of the
		// last few; a store that forgets it must fail the transaction rather than let it pass.
		runs := s.runs(func(tx kv.Tx) { get(t, tx, "read") }, func(kv.Tx) {
			s.set(key, "new")
			for i := range 40 {
				s.set(fmt.Sprint("unrelated", i), "")
			}
		}, true)
		if again := runs > 1; again != (key == "read") {
			t.Errorf("write of %q: ran %d times", key, runs)
		}
	}
}

// Two transactions that each read what the other writes do not both commit on what they read.
func testWriteSkew(t *testing.T, s *store) {
	s.set("a", "1", "b", "1")
	leave := func(tx kv.Tx, key string) {
		if number(t, tx, "a")+number(t, tx, "b") == 2 {
			setNumber(tx, key, 0)
		}
	}
	// Each may leave only while both stay. The second transaction commits inside of the first,
	// which then has to run again and must see that it may not leave anymore.
	first := true
	s.update(func(tx kv.Tx) {
		leave(tx, "a")
		if first {
			first = false
			s.update(func(tx kv.Tx) { leave(tx, "b") })
		}
	})
	s.expect("a", "1", "b", "0")
}

// A snapshot stays what it is while others commit, and does not make them wait; the next one has it
// all.
func testSnapshotStays(t *testing.T, s *store) {
	s.set("a", "old", "b", "old", "c", "old")
	// The iterator is open before the commits, and goes on after them: it belongs to the snapshot,
	// not to the moment of the read.
	s.view(func(tx kv.ReadTx) {
		it := tx.Range(nil, []byte("\xff"), kv.RangeOptions{})
		defer it.Close()
		if !it.Next() {
			t.Fatal(it.Err())
		}
		s.update(func(tx kv.Tx) {
			tx.Set([]byte("a"), []byte("new"))
			tx.ClearRange([]byte("b"), []byte("c"))
			tx.Set([]byte("b1"), []byte("new"))
		})
		for i := range 50 {
			s.set(fmt.Sprint("d", i), "new")
		}
		s.update(func(tx kv.Tx) { tx.ClearRange([]byte("d"), []byte("e")) })
		expectGet(t, tx, "a", "old")
		expectGet(t, tx, "b1", "<nil>")
		expectRows(t, tx, "", "\xff", kv.RangeOptions{Reverse: true}, "c", "old", "b", "old", "a", "old")
		if !it.Next() || string(it.Key()) != "b" || !it.Next() || string(it.Key()) != "c" || it.Next() ||
			it.Err() != nil {
			t.Errorf("the open iterator came to %q, %v", it.Key(), it.Err())
		}
		s.view(func(now kv.ReadTx) { expectGet(t, now, "a", "new") })
	})
	s.expect("a", "new", "b1", "new", "c", "old")
}

// The read version covers exactly the commits that are seen.
func testReadVersion(t *testing.T, s *store) {
	version := func(tx kv.ReadTx) uint64 {
		v, err := tx.ReadVersion()
		if err != nil {
			t.Errorf("read version: %v", err)
		}
		return v
	}
	s.view(func(old kv.ReadTx) {
		// The snapshot is opened before the commit, but its version may be asked for only after it:
		// it is still that of the snapshot.
		stamp := s.set("a", "1")
		committed := commitVersion(stamp)
		if v := version(old); v >= committed {
			t.Errorf("the snapshot before has version %d, the commit %d", v, committed)
		}
		s.update(func(tx kv.Tx) {
			if v := version(tx); v < committed || version(tx.Snapshot()) != v {
				t.Errorf("the snapshot after has version %d, the commit %d", v, committed)
			}
		})
	})
}

// Money moves between accounts and none appears or vanishes, in any snapshot.
func testConcurrentTransfers(t *testing.T, s *store) {
	rng, _ := seeded(t)
	const accounts, workers, each, total = 6, 4, 40, 600
	account := func(i int) string { return fmt.Sprint("account", i) }
	s.update(func(tx kv.Tx) {
		for i := range accounts {
			setNumber(tx, account(i), total/accounts)
		}
	})
	sum := func(tx kv.ReadTx) (sum int) {
		it := tx.Range([]byte("account"), []byte("accounu"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n, _ := strconv.Atoi(string(it.Value()))
			sum += n
		}
		return sum
	}
	// The random moves are drawn before the workers begin, since they may not share the generator.
	moves := make([][]int, workers)
	for w := range moves {
		moves[w] = rng.Perm(1000)
	}
	together(workers, func(w int) {
		for i := range each {
			from, to, amount := account(moves[w][i]%accounts), account(moves[w][i]/accounts%accounts), moves[w][i]%50
			_, err := s.Update(context.Background(), func(tx kv.Tx) error {
				if i%5 == 0 && sum(tx) != total {
					t.Errorf("an update sees a total of %d", sum(tx))
				}
				// A transfer to the same account, or of more than there is, writes nothing: an update
				// that only reads is among the concurrent ones as well.
				have := number(t, tx, from)
				if from == to || have < amount {
					return nil
				}
				setNumber(tx, from, have-amount)
				setNumber(tx, to, number(t, tx, to)+amount)
				return nil
			})
			if err != nil {
				t.Errorf("transfer: %v", err)
			}
			s.view(func(tx kv.ReadTx) {
				if got := sum(tx); got != total {
					t.Errorf("a view sees a total of %d", got)
				}
			})
		}
	})
}
