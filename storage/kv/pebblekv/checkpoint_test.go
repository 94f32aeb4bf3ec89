package pebblekv

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

func openDir(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, key, value string) kv.Versionstamp {
	t.Helper()
	stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte(key), []byte(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stamp
}

// TestCheckpoint: a copy that is made while writers go on has all that was acknowledged before it
// began, and of each writer a beginning: nothing without what came before it. Large values are in
// files of their own, and logs are cut anywhere.
func TestCheckpoint(t *testing.T) {
	s := openDir(t, filepath.Join(t.TempDir(), "store"))
	defer s.Close()
	const writers = 4
	var written [writers]atomic.Int64
	stop := make(chan struct{})
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			value := make([]byte, 100+9000*(w%2))
			for n := int64(1); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Update(context.Background(), func(tx kv.Tx) error {
					tx.Set(fmt.Appendf(nil, "%d/%08d", w, n), value)
					tx.Set(fmt.Appendf(nil, "last/%d", w), binary.BigEndian.AppendUint64(nil, uint64(n)))
					return nil
				}); err != nil {
					t.Error(err)
					return
				}
				written[w].Store(n)
			}
		})
	}
	for written[0].Load() < 100 || written[1].Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	for round := range 3 {
		var before [writers]int64
		for w := range before {
			before[w] = written[w].Load()
		}
		to := filepath.Join(t.TempDir(), fmt.Sprint("copy", round))
		if err := s.Checkpoint(context.Background(), to); err != nil {
			t.Fatal(err)
		}
		checkCopy(t, to, before[:])
	}
	close(stop)
	running.Wait()
}

// checkCopy compares a copy with how many each writer had written when it began.
func checkCopy(t *testing.T, dir string, before []int64) {
	t.Helper()
	c := openDir(t, dir)
	defer c.Close()
	if losses := c.Losses(); losses != nil {
		t.Error("a copy has lost nothing:", losses)
	}
	err := c.View(context.Background(), func(tx kv.ReadTx) error {
		for w, n := range before {
			value, err := tx.Get(fmt.Appendf(nil, "last/%d", w))
			if err != nil {
				return err
			}
			last := int64(binary.BigEndian.Uint64(value))
			if last < n {
				t.Errorf("writer %d had written %d, the copy has %d", w, n, last)
			}
			it := tx.Range(fmt.Appendf(nil, "%d/", w), fmt.Appendf(nil, "%d0", w), kv.RangeOptions{})
			rows := int64(0)
			for it.Next() {
				rows++
			}
			if err := it.Close(); err != nil {
				return err
			}
			if rows != last {
				t.Errorf("writer %d: %d rows, the last one is %d", w, rows, last)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCopyGoesOn: versions of a copy are above all that the store has given out since, each time
// that it is opened before its first commit; afterwards it is a store like others.
func TestCopyGoesOn(t *testing.T) {
	s := openDir(t, filepath.Join(t.TempDir(), "store"))
	put(t, s, "a", "1")
	to := filepath.Join(t.TempDir(), "copy")
	if err := s.Checkpoint(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(context.Background(), to); err == nil {
		t.Error("a checkpoint over another one")
	}
	var last kv.Versionstamp
	for range 100 {
		last = put(t, s, "a", "2")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(context.Background(), to+"2"); err == nil {
		t.Error("a checkpoint of a closed store")
	}

	for range 2 { // who only reads leaves it a copy
		c := openDir(t, to)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !isCopy(vfs.Default, to) {
		t.Error("opening a copy made a store of it")
	}
	twin := filepath.Join(t.TempDir(), "twin")
	if err := os.CopyFS(twin, os.DirFS(to)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{to, twin} { // restored twice
		opened := openDir(t, dir)
		stamp := put(t, opened, "a", "3")
		if string(stamp[:]) <= string(last[:]) {
			t.Errorf("%x after %x", stamp, last)
		}
		last = stamp
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
		if isCopy(vfs.Default, dir) {
			t.Error("a copy that was committed to still is one")
		}
	}
	again := openDir(t, to)
	defer again.Close()
	if again.copied || again.Losses() != nil {
		t.Error("a restored store starts as if something was missing", again.Losses())
	}
	first := put(t, again, "a", "4")
	if second := put(t, again, "a", "5"); binary.BigEndian.Uint64(second[:]) != binary.BigEndian.Uint64(first[:])+1 {
		t.Errorf("%x after %x", second, first)
	}
}

// TestHalfACheckpoint: one that was not finished is refused.
func TestHalfACheckpoint(t *testing.T) {
	s := openDir(t, filepath.Join(t.TempDir(), "store"))
	defer s.Close()
	put(t, s, "a", "1")
	to := filepath.Join(t.TempDir(), "copy")
	if err := s.Checkpoint(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, formatFile)); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(to, Options{}); err == nil {
		c.Close()
		t.Error("half a checkpoint was opened")
	}
}
