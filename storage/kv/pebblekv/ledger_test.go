package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// The ledger is a workload whose traces tell after a crash whether something is missing, half
// there, or out of order. Transaction n of writer w sets a/w/n and b/w/n, counts itself, logs
// itself under its versionstamp, moves money from one account to another, and clears the filler of
// an earlier transaction.
const (
	ledgerWriters  = 8
	ledgerAccounts = 10
	ledgerMoney    = 1000 // in each account
)

func ledgerKey(space string, writer, n int) []byte {
	return fmt.Appendf(nil, "%s/%02d/%08d", space, writer, n)
}

func accountKey(i int) []byte { return fmt.Appendf(nil, "account/%d", i) }

// ledgerStart gives the accounts their money if they have none.
func ledgerStart(s kv.Store) error {
	_, err := s.Update(context.Background(), func(tx kv.Tx) error {
		if v, err := tx.Get(accountKey(0)); v != nil || err != nil {
			return err
		}
		for i := range ledgerAccounts {
			tx.Set(accountKey(i), binary.BigEndian.AppendUint64(nil, ledgerMoney))
		}
		return nil
	})
	return err
}

// ledgerWrite is transaction n of a writer.
func ledgerWrite(s kv.Store, writer, n int) (kv.Versionstamp, error) {
	return s.Update(context.Background(), func(tx kv.Tx) error {
		value := fmt.Appendf(nil, "%d of %d", n, writer)
		tx.Set(ledgerKey("a", writer, n), value)
		for i := range rand.IntN(3) {
			tx.Set(fmt.Appendf(ledgerKey("filler", writer, n), "/%d", i), make([]byte, rand.IntN(3000)))
		}
		if n > 5 {
			tx.ClearRange(ledgerKey("filler", writer, n-5), ledgerKey("filler", writer, n-4))
		}
		tx.Atomic(kv.Add, []byte("count"), binary.LittleEndian.AppendUint64(nil, 1))
		entry := append([]byte("log/"), make([]byte, kv.VersionstampSize)...)
		tx.SetVersionstampedKey(entry, 4, ledgerKey("", writer, n))
		if n%4 == 0 {
			if err := moveMoney(tx, rand.IntN(ledgerAccounts), rand.IntN(ledgerAccounts)); err != nil {
				return err
			}
		}
		tx.Set(ledgerKey("b", writer, n), value)
		return nil
	})
}

func moveMoney(tx kv.Tx, from, to int) error {
	if from == to {
		return nil
	}
	for account, change := range map[int]int{from: -1, to: 1} {
		v, err := tx.Get(accountKey(account))
		if err != nil {
			return err
		}
		tx.Set(accountKey(account), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(v)+uint64(change)))
	}
	return nil
}

// acks are the transactions that were reported as done, by writer in order.
type acks struct {
	mu    sync.Mutex
	stamp [ledgerWriters][]kv.Versionstamp // of the first transaction in the round and of those after it
	first [ledgerWriters]int               // number of the first transaction in the round
}

func (a *acks) add(writer int, stamp kv.Versionstamp) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stamp[writer] = append(a.stamp[writer], stamp)
}

// clone returns a copy of what is acknowledged now.
func (a *acks) clone() *acks {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &acks{first: a.first}
	for w := range a.stamp {
		c.stamp[w] = append([]kv.Versionstamp(nil), a.stamp[w]...)
	}
	return c
}

// ledgerLast returns the number of the last transaction of a writer.
func ledgerLast(tx kv.ReadTx, writer int) (int, error) {
	it := tx.Range(
		ledgerKey("a", writer, 0),
		ledgerKey("a", writer, 99999999),
		kv.RangeOptions{Reverse: true, Limit: 1},
	)
	n := 0
	if it.Next() {
		fmt.Sscanf(string(it.Key()[5:]), "%d", &n)
	}
	return n, it.Close()
}

// ledgerCheck finds what is wrong in a store that was opened after a crash. It returns the last
// transaction per writer.
func ledgerCheck(t testing.TB, s kv.Store, done *acks) (last [ledgerWriters]int) {
	t.Helper()
	var newest []byte
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		total := 0
		for w := range last {
			var err error
			if last[w], err = ledgerLast(tx, w); err != nil {
				return err
			}
			total += last[w]
			if want := done.first[w] + len(done.stamp[w]) - 1; last[w] < want {
				t.Errorf("writer %d: %d transactions, but %d were acknowledged", w, last[w], want)
			} else if last[w] > want+1 {
				t.Errorf("writer %d: %d transactions, but only %d can have been begun", w, last[w], want+1)
			}
			for n := 1; n <= last[w]; n++ {
				a, _ := tx.Get(ledgerKey("a", w, n))
				b, err := tx.Get(ledgerKey("b", w, n))
				if want := fmt.Sprintf("%d of %d", n, w); err != nil || string(a) != want || string(b) != want {
					t.Errorf("writer %d, transaction %d: %q and %q: %v", w, n, a, b, err)
				}
			}
		}
		if count, _ := tx.Get([]byte("count")); total > 0 && binary.LittleEndian.Uint64(count) != uint64(total) {
			t.Errorf("counter %x, want %d", count, total)
		}
		newest = checkLog(t, tx, done, last)
		return checkMoney(t, tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	stamp := mustUpdate(t, s, func(tx kv.Tx) error { tx.Set([]byte("opened"), nil); return nil })
	if bytes.Compare(stamp[:kv.VersionstampSize], newest) <= 0 {
		t.Errorf("versionstamp %x after the crash, %x before", stamp, newest)
	}
	return last
}

// checkLog compares the log with the transactions that are there, and returns the newest
// versionstamp in it.
func checkLog(t testing.TB, tx kv.ReadTx, done *acks, last [ledgerWriters]int) (newest []byte) {
	t.Helper()
	var seen [ledgerWriters]int
	it := tx.Range([]byte("log/"), []byte("log0"), kv.RangeOptions{})
	for it.Next() {
		var w, n int
		fmt.Sscanf(string(it.Value()), "/%d/%d", &w, &n)
		newest = append(newest[:0], it.Key()[4:]...)
		if seen[w]++; n != seen[w] {
			t.Errorf("writer %d: transaction %d is logged at place %d", w, n, seen[w])
		}
		if i := n - done.first[w]; i >= 0 && i < len(done.stamp[w]) &&
			!bytes.Equal(newest, done.stamp[w][i][:kv.VersionstampSize]) {
			t.Errorf("writer %d, transaction %d: logged at %x, acknowledged at %x", w, n, newest, done.stamp[w][i])
		}
	}
	if err := it.Close(); err != nil || seen != last {
		t.Errorf("logged %v, want %v: %v", seen, last, err)
	}
	return newest
}

func checkMoney(t testing.TB, tx kv.ReadTx) error {
	t.Helper()
	sum, accounts := uint64(0), 0
	it := tx.Range([]byte("account/"), []byte("account0"), kv.RangeOptions{})
	for it.Next() {
		sum += binary.BigEndian.Uint64(it.Value())
		accounts++
	}
	if accounts != 0 && (accounts != ledgerAccounts || sum != ledgerAccounts*ledgerMoney) {
		t.Errorf("%d accounts with %d, want %d with %d", accounts, sum, ledgerAccounts, ledgerAccounts*ledgerMoney)
	}
	return it.Close()
}
