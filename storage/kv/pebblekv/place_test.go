package pebblekv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// TestPlaceIsLost: whatever happens to the directory while a store has it open, a second store on
// it and the first one do not both acknowledge: all that either has acknowledged is there
// afterwards.
func TestPlaceIsLost(t *testing.T) {
	remove := func(t *testing.T, dir string) string {
		t.Helper()
		must(t, os.Remove(filepath.Join(dir, lockFile)))
		return dir
	}
	for name, c := range map[string]struct {
		take   func(t *testing.T, dir string) (store string) // returns where the store is then
		second bool
		writes int // of the first store, meanwhile
	}{
		"lock removed":                 {remove, true, 200},
		"lock removed, flushes":        {remove, true, 20_000},
		"lock removed, nobody writes":  {remove, true, 0},
		"lock removed, nobody follows": {remove, false, 200},
		"directory moved": {func(t *testing.T, dir string) string {
			t.Helper()
			must(t, os.Rename(dir, dir+"-moved"))
			return dir + "-moved"
		}, false, 200},
		"directory replaced": {func(t *testing.T, dir string) string {
			t.Helper()
			must(t, os.Rename(dir, dir+"-moved"))
			return dir + "-moved"
		}, true, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "s")
			first := openSmallDir(t, dir)
			written := acknowledged{keys: map[string]bool{}}
			written.put(t, first, "before", 50)
			store := c.take(t, dir)
			var second *Store
			if c.second {
				must(t, os.MkdirAll(dir, 0o755))
				second = openSmallDir(t, alias(t, dir))
			}
			var running sync.WaitGroup
			running.Go(func() { written.put(t, first, "first", c.writes) })
			if second != nil {
				running.Go(func() { written.put(t, second, "second", 300) })
			}
			running.Wait()
			if !c.second && written.keys["first/00000"] {
				t.Error("a commit is acknowledged, though whoever comes next may not find it")
			}
			for first.Health(t.Context()) == nil {
				time.Sleep(time.Millisecond) // nobody writes: it looks by itself
			}
			if err := first.View(t.Context(), func(kv.ReadTx) error { return nil }); !errors.Is(err, kv.ErrLocked) {
				t.Errorf("the first one reads on: %v", err)
			}
			if err := first.Close(); err == nil {
				t.Error("the first one closes as if nothing was wrong")
			}
			if second != nil {
				must(t, second.Close())
				written.find(t, dir, "second")
			}
			written.find(t, store, "before")
			if store == dir {
				written.find(t, store, "first")
			}
		})
	}
}

// alias is another name of a directory: Pebble knows by the name what this process has locked, and
// the first store keeps its lock.
func alias(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(dir, name))
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openSmallDir(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{
		Log: silent, MinFreeSpace: 1, MemTableSize: 64 << 10, spaceEvery: 10 * time.Millisecond,
	})
	must(t, err)
	return s
}

// acknowledged remembers which commits were.
type acknowledged struct {
	mu      sync.Mutex
	keys    map[string]bool
	refused []string
}

// put commits up to n keys with a beginning, until one is refused.
func (a *acknowledged) put(t *testing.T, s *Store, beginning string, n int) {
	t.Helper()
	for i := range n {
		key := fmt.Sprintf("%s/%05d", beginning, i)
		err := setKey(s, key, fmt.Sprintf("%0200d", i))
		a.mu.Lock()
		if err == nil {
			a.keys[key] = true
		} else {
			a.refused = append(a.refused, key)
		}
		a.mu.Unlock()
		if err != nil {
			if !errors.Is(err, kv.ErrLocked) {
				t.Errorf("%s: %v", key, err)
			}
			return
		}
	}
}

// find looks for all keys with a beginning that were acknowledged.
func (a *acknowledged) find(t *testing.T, dir, beginning string) {
	t.Helper()
	s := openSmallDir(t, alias(t, dir))
	defer func() { must(t, s.Close()) }()
	must(t, s.View(t.Context(), func(tx kv.ReadTx) error {
		for key := range a.keys {
			value, err := tx.Get([]byte(key))
			if err != nil || value == nil && strings.HasPrefix(key, beginning) {
				t.Fatalf("%s was acknowledged, and is not there: %v", key, err)
			}
		}
		return nil
	}))
}
