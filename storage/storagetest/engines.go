package storagetest

import (
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// Engines are the kinds of store that code above the store contract has to work on: the reference
// in memory, one that fails at random and runs transactions again, one with FoundationDB's limits,
// and the embedded engine on a disk.
var Engines = map[string]func(t testing.TB) kv.Store{
	"memory": func(testing.TB) kv.Store { return memkv.New() },
	"faults": func(testing.TB) kv.Store {
		rates := faultkv.Rates{Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05}
		return faultkv.New(memkv.New(), faultkv.Random(1, rates))
	},
	"limits": func(testing.TB) kv.Store { return wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now) },
	"pebble": func(t testing.TB) kv.Store {
		store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{})
		Must(t, err)
		return store
	},
}

// OnEngines runs a test on each kind of store, on all at the same time; it returns when all are
// done. The test closes the store.
func OnEngines(t *testing.T, test func(t *testing.T, store kv.Store)) {
	t.Run("on", func(t *testing.T) {
		for name, open := range Engines {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, open(t))
			})
		}
	})
}
