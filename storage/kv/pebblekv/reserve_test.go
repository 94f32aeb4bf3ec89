package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// clearKeys removes the keys from begin to end in a transaction that frees space.
func clearKeys(s kv.Store, begin, end string) error {
	_, err := s.Update(kv.UseReserve(context.Background()), func(tx kv.Tx) error {
		tx.ClearRange([]byte(begin), []byte(end))
		return nil
	})
	return err
}

// TestReserveIsForFreeing: below the reserve only transactions that free space are taken, also out
// of one group; below the floor none.
func TestReserveIsForFreeing(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	defer s.Close()
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(1<<20 - 1)
	writers := make(chan error)
	for range 20 {
		go func() {
			err := setKey(s, "b", "1")
			if !errors.Is(err, kv.ErrFull) {
				err = fmt.Errorf("ordinary: %v", err)
			} else {
				err = clearKeys(s, "a", "b")
			}
			writers <- err
		}()
	}
	for range 20 {
		if err := <-writers; err != nil {
			t.Error(err)
		}
	}
	expectKey(t, s, "a", "")
	expectHealth(t, s, kv.ErrFull)
	disk.free.Store(1<<20/floorShare - 1)
	if err := clearKeys(s, "b", "c"); !errors.Is(err, kv.ErrFull) {
		t.Errorf("below the floor: %v", err)
	}
	disk.free.Store(1 << 20)
	if err := setKey(s, "a", "2"); err != nil {
		t.Error(err)
	}
}

// TestPlentyOfSpace: the system is not asked for each group while much is free, and the committer
// counts what it takes.
func TestPlentyOfSpace(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	defer s.Close()
	c := s.committer
	disk.free.Store(2 * plenty)
	now := time.Now()
	first := *c.room(now)
	before := disk.asked.Load()
	taken := &request{size: 1 << 20}
	for range 10 {
		if err := c.room(now.Add(plentyFor)).take(taken); err != nil {
			t.Fatal(err)
		}
	}
	if asked := disk.asked.Load() - before; asked != 0 || c.left.ordinary != first.ordinary-10<<20 {
		t.Errorf("asked %d times, %d left of %d", asked, c.left.ordinary, first.ordinary)
	}
	disk.free.Store(1<<20 - 1)
	if err := c.room(now.Add(plentyFor + 1)).take(taken); !errors.Is(err, kv.ErrFull) {
		t.Errorf("later: %v", err)
	}
	// Large groups in a moment come near the reserve.
	disk.free.Store(2 * plenty)
	now = now.Add(time.Second)
	if err := c.room(now).take(&request{size: 3 * plenty / 2}); err != nil {
		t.Error(err)
	}
	before = disk.asked.Load()
	if c.room(now); disk.asked.Load() == before {
		t.Error("not asked near the reserve")
	}
}

// fill writes keys with values that cannot be compressed until there is no space, and returns how
// many.
func fill(t *testing.T, s kv.Store, size int) (keys int) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{})
	value := make([]byte, size)
	for {
		n := max(1, 100<<10/size)
		_, err := s.Update(t.Context(), func(tx kv.Tx) error {
			for i := range n {
				random.Read(value)
				tx.Set(fmt.Appendf(nil, "key%06d", keys+i), value)
			}
			return nil
		})
		switch {
		case errors.Is(err, kv.ErrFull):
			return keys
		case err != nil:
			t.Fatal(err)
		}
		keys += n
	}
}

// TestSmallDisk: a store fills a small device for the most part, and what is deleted then comes
// back without a restart, whether it was in values of their own or in tables. What was acknowledged
// is there.
func TestSmallDisk(t *testing.T) {
	kvtest.Long(t)
	for _, size := range []int{1 << 10, 60 << 10} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			const device = 16 << 20
			disk := newSmallDisk(device)
			s, err := Open("/store", Options{fs: disk, Log: silent, spaceEvery: 20 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			keys := fill(t, s, size)
			if stored := keys * size; stored < device/3 {
				t.Errorf("full after %d bytes of %d", stored, device)
			}
			last := fmt.Sprintf("key%06d", keys-1)
			if err := clearKeys(s, "key", last); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the space comes back", func() bool { return disk.free() > device*2/3 })
			// a table that met the full disk just before has commits refused for a second
			// (failingFor)
			eventually(t, "writes go on", func() bool { return setKey(s, "more", "1") == nil })
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if s, err = Open("/store", Options{fs: disk, Log: silent, spaceEvery: 20 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			expectKey(t, s, "more", "1")
			expectKey(t, s, "key000000", "")
			err = s.View(t.Context(), func(tx kv.ReadTx) error {
				value, err := tx.Get([]byte(last))
				if len(value) != size {
					t.Errorf("%d bytes are left of a value of %d", len(value), size)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBallast: others take all space. The ballast makes room to delete, and is back when they have
// gone.
func TestBallast(t *testing.T) {
	disk := newSmallDisk(32 << 20)
	s, err := Open("/store", Options{fs: disk, Log: silent, spaceEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a ballast", func() bool { return !s.space.ballast.missing() })
	disk.crowd(0)
	eventually(t, "deletions are taken", func() bool { return clearKeys(s, "a", "b") == nil })
	if err := setKey(s, "b", "1"); !errors.Is(err, kv.ErrFull) {
		t.Errorf("ordinary: %v", err)
	}
	disk.alone()
	eventually(t, "the ballast is back", func() bool { return !s.space.ballast.missing() })
	if err := setKey(s, "b", "1"); err != nil {
		t.Error(err)
	}
	expectKey(t, s, "a", "")
}

// TestOpenWithoutSpace: nothing at all is left, not even the ballast. The store opens and is read;
// when there is space it is written, too, and those that were reading go on.
func TestOpenWithoutSpace(t *testing.T) {
	disk := newSmallDisk(32 << 20)
	options := Options{fs: disk, Log: silent, spaceEvery: 20 * time.Millisecond}
	s, err := Open("/store", options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := setKey(s, fmt.Sprintf("key%02d", i), "1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.Remove("/store/" + ballastFile); err != nil {
		t.Fatal(err)
	}
	disk.crowd(0)
	if s, err = Open("/store", options); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	expectKey(t, s, "key42", "1")
	expectHealth(t, s, kv.ErrFull)
	s.Metrics()
	for _, err := range []error{setKey(s, "a", "1"), clearKeys(s, "a", "b")} {
		if !errors.Is(err, kv.ErrFull) {
			t.Errorf("written: %v", err)
		}
	}
	err = s.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range([]byte("k"), []byte("l"), kv.RangeOptions{})
		defer it.Close()
		rows := 0
		for ; rows < 10 && it.Next(); rows++ {
		}
		runs := 0
		_, err := s.Update(t.Context(), func(tx kv.Tx) error { // spans the opening, too
			if _, err := tx.Get([]byte("key00")); err != nil {
				return err
			}
			if runs++; runs == 1 {
				disk.alone()
				eventually(t, "the store is open for writing", func() bool { return !s.readOnly.Load() })
			}
			_, err := tx.Get([]byte("key01"))
			tx.Set([]byte("updated"), []byte("1"))
			return err
		})
		if err != nil || runs != 2 {
			t.Errorf("an update: %v after %d runs", err, runs)
		}
		for it.Next() {
			rows++
		}
		if err := it.Err(); !errors.Is(err, kv.ErrTooOld) {
			t.Errorf("a range goes on to row %d: %v", rows, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := setKey(s, "a", "1"); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"a": "1", "updated": "1", "key99": "1"} {
		expectKey(t, s, key, want)
	}
	expectHealth(t, s, nil)
}

// TestCloseWithoutSpace: a store that is open for reading only can be closed, and no new store is
// made without space.
func TestCloseWithoutSpace(t *testing.T) {
	disk := newSmallDisk(32 << 20)
	options := Options{fs: disk, Log: silent, spaceEvery: 20 * time.Millisecond}
	s, err := Open("/store", options)
	if err := errors.Join(err, setKey(s, "a", "1"), s.Close(), disk.Remove("/store/"+ballastFile)); err != nil {
		t.Fatal(err)
	}
	disk.crowd(0)
	if s, err = Open("/store", options); err != nil {
		t.Fatal(err)
	}
	expectKey(t, s, "a", "1")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open("/other", options); !errors.Is(err, kv.ErrFull) {
		t.Errorf("a new store: %v", err)
	}
}

// Where memory is short, so are blocks and memtables.
func TestSizesFollowMemory(t *testing.T) {
	for _, c := range []struct {
		memory, cache int64
		memTable      int
	}{
		{0, 40 << 20, 8 << 20}, {20 << 30, 128 << 20, 8 << 20}, {4 << 30, 64 << 20, 8 << 20},
		{640 << 20, 40 << 20, 5 << 20}, {256 << 20, 16 << 20, 2 << 20}, {16 << 20, 8 << 20, 256 << 10},
	} {
		o := Options{Memory: c.memory}.withDefaults().fit(0)
		if o.CacheSize != c.cache || o.MemTableSize != c.memTable {
			t.Errorf("of %d MB: a cache of %d and memtables of %d bytes", c.memory>>20, o.CacheSize, o.MemTableSize)
		}
	}
	if o := (Options{CacheSize: 1, MemTableSize: 2}).withDefaults().fit(1); o.CacheSize != 1 || o.MemTableSize != 2 {
		t.Error("what is chosen stays")
	}
}
