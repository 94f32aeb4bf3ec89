package pebblekv

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestContractParked: whenever the store takes the iterators away, nobody sees it.
func TestContractParked(t *testing.T) {
	disk := vfs.NewMem()
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store {
		s := opener(Options{fs: disk, MemTableSize: 64 << 10})(t, dir).(*Store)
		go func() {
			for {
				select {
				case <-s.closing:
					return
				case <-time.After(20 * time.Microsecond):
					s.letGo()
				}
			}
		}()
		return s
	})
}

// filler writes rows of 4 KB, in transactions of 64 KB.
type filler struct {
	s    *Store
	rows int
}

func (f *filler) write(t *testing.T, bytes int) {
	t.Helper()
	value := make([]byte, 4<<10)
	for end := f.rows + bytes/len(value); f.rows < end; {
		mustUpdate(t, f.s, func(tx kv.Tx) error {
			for range 16 {
				copy(value, fmt.Sprint(f.rows))
				tx.Set(fmt.Appendf(nil, "k%08d", f.rows), value)
				f.rows++
			}
			return nil
		})
	}
}

// TestSlowReaders: readers that stand still keep no memory of what was written since, and go on
// where they were, with the row that they had and with what their snapshot holds.
func TestSlowReaders(t *testing.T) {
	const memTable = 256 << 10
	s := opener(Options{fs: vfs.NewMem(), MemTableSize: memTable})(t, "store").(*Store)
	defer s.Close()
	f := filler{s: s}
	f.write(t, 1<<20)
	release := make(chan struct{})
	var wg sync.WaitGroup
	for n := range 8 {
		started := make(chan struct{})
		rows, reverse := f.rows, n%2 == 1
		wg.Go(func() {
			err := s.View(t.Context(), func(tx kv.ReadTx) error {
				it := tx.Range([]byte("k"), []byte("l"), kv.RangeOptions{Reverse: reverse})
				defer it.Close()
				it.Next()
				key, value := it.Key(), it.Value() // on the way to the client
				first := bytes.Clone(value)
				close(started)
				<-release
				if want := map[bool]string{false: "k00000000", true: fmt.Sprintf("k%08d", rows-1)}[reverse]; string(
					key,
				) != want {
					t.Errorf("reader %d: the key has become %q", n, key)
				}
				if !bytes.Equal(value, first) {
					t.Errorf("reader %d: the value has changed", n)
				}
				seen := 1
				for ; it.Next(); seen++ {
				}
				if seen != rows {
					t.Errorf("reader %d: %d rows, want %d", n, seen, rows)
				}
				return it.Err()
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-started
		f.write(t, 1<<20)
	}
	eventually(t, "what readers hold becomes little", func() bool { return s.Metrics().HeldBytes <= 2*memTable })
	close(release)
	wg.Wait()
}

// TestRangesKeepNoRows: a transaction that reads many large values one after the other holds none
// of those it is through with.
func TestRangesKeepNoRows(t *testing.T) {
	s := opener(Options{fs: vfs.NewMem()})(t, "store").(*Store)
	defer s.Close()
	mustUpdate(t, s, func(tx kv.Tx) error { tx.Set([]byte("large"), make([]byte, 100_000)); return nil })
	r := s.newReader(t.Context(), true)
	defer r.close()
	for range 50 {
		it := r.Range([]byte("l"), []byte("m"), kv.RangeOptions{Limit: 1})
		if !it.Next() || len(it.Value()) != 100_000 {
			t.Fatal(it.Err())
		}
		it.Close()
	}
	held := 0
	for _, it := range r.ranges {
		held += cap(it.value)
	}
	if held > 50*keptValue {
		t.Errorf("closed iterators hold %d bytes", held)
	}
}

// TestRangesAreForgotten: a transaction that opens a great many ranges, a million with as many
// keys, keeps none of those it has closed, and can read on in all that are open when its iterators
// are taken away.
func TestRangesAreForgotten(t *testing.T) {
	s := opener(Options{fs: vfs.NewMem()})(t, "store").(*Store)
	defer s.Close()
	mustUpdate(t, s, func(tx kv.Tx) error {
		tx.Set([]byte("k1"), []byte("a"))
		tx.Set([]byte("k2"), []byte("b"))
		return nil
	})
	r := s.newReader(t.Context(), true)
	open := func() kv.Iterator { return r.Range([]byte("k"), []byte("l"), kv.RangeOptions{}) }
	for round := range 3 {
		var all []kv.Iterator
		for range 3 * pooledRanges {
			it := open()
			if !it.Next() || string(it.Key()) != "k1" {
				t.Fatal(round, it.Err())
			}
			all = append(all, it)
		}
		r.park()
		for i, it := range all {
			if !it.Next() || string(it.Key()) != "k2" || i%2 == 0 && it.Next() ||
				it.Close() != nil || it.Close() != nil {
				t.Fatal(round, i, string(it.Key()), it.Err())
			}
		}
		if len(r.ranges) > pooledRanges || r.further != nil {
			t.Fatal(len(r.ranges), "iterators are kept; open:", r.further != nil)
		}
	}
	left := open()
	if !left.Next() || r.further == nil {
		t.Fatal("it is open")
	}
	r.close()
	if r.further != nil || left.Next() {
		t.Error("what was left open can be read after the transaction")
	}
}

// TestOldSnapshotsEnd: a View ends when its snapshot was replaced long ago and much was written
// since; one of a store that rests does not, and an Update never does.
func TestOldSnapshotsEnd(t *testing.T) {
	s := opener(Options{fs: vfs.NewMem(), MemTableSize: 256 << 10, ReadTime: time.Hour})(t, "store").(*Store)
	defer s.Close()
	if limit := s.Limits().ReadTime; limit != 3_600_000 {
		t.Errorf("limit %d ms", limit)
	}
	f := filler{s: s}
	f.write(t, 1<<20)
	reads := func(tx kv.ReadTx, it kv.Iterator) [3]bool {
		_, err := tx.Get([]byte("k00000000"))
		next := it.Next()
		fresh := tx.Range([]byte("k"), []byte("l"), kv.RangeOptions{})
		for _, err := range []error{err, it.Err(), fresh.Err()} {
			if err != nil && !errors.Is(err, kv.ErrTooOld) {
				t.Error(err)
			}
		}
		return [3]bool{err == nil, next, fresh.Next()}
	}
	all, none := [3]bool{true, true, true}, [3]bool{}
	expect := func(what string, got, want [3]bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: get, iterator, new iterator can read: %v, want %v", what, got, want)
		}
	}
	begin := func(fn func(tx kv.ReadTx, it kv.Iterator)) {
		t.Helper()
		err := s.View(t.Context(), func(tx kv.ReadTx) error {
			it := tx.Range([]byte("k"), []byte("l"), kv.RangeOptions{})
			defer it.Close()
			expect("at first", reads(tx, it), all)
			fn(tx, it)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	later := func(d time.Duration) { s.stats.ended.Add(s.snapshots.endOld(time.Now().Add(d))) }
	flushed := func() {
		n := s.snapshots.flushes.Load()
		for s.snapshots.flushes.Load() < n+keptFlushes {
			f.write(t, 256<<10)
		}
	}
	begin(func(tx kv.ReadTx, it kv.Iterator) {
		later(24 * time.Hour)
		expect("while it is the newest", reads(tx, it), all)
		f.write(t, 64<<10)
		later(24 * time.Hour)
		expect("after few writes", reads(tx, it), all)
		flushed()
		later(59 * time.Minute)
		expect("before the time", reads(tx, it), all)
		later(61 * time.Minute)
		expect("after it", reads(tx, it), none)
		if n := s.Metrics().Ended; n != 1 {
			t.Errorf("%d snapshots ended", n)
		}
	})
	begin(func(kv.ReadTx, kv.Iterator) {})
	mustUpdate(t, s, func(tx kv.Tx) error {
		it := tx.Range([]byte("k"), []byte("l"), kv.RangeOptions{})
		defer it.Close()
		expect("in an Update", reads(tx, it), all)
		flushed()
		later(24 * time.Hour)
		expect("in an old Update", reads(tx, it), all)
		return nil
	})
}
