package pebblekv

import (
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// silent is for stores under test.
var silent = slog.New(slog.DiscardHandler)

// opener opens stores for the suite.
func opener(opts Options) kvtest.Open {
	opts.Log = silent
	return func(t testing.TB, dir string) kv.Store {
		s, err := Open(dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// tiny are options under which everything happens often that is rare otherwise: flushes,
// compactions, evictions, full groups, forgotten commits.
var tiny = Options{CacheSize: 256 << 10, MemTableSize: 64 << 10, MaxOpenFiles: 100, MaxGroup: 2, conflictKeys: 50}

func TestContract(t *testing.T) { kvtest.Run(t, opener(Options{})) }

func TestContractTiny(t *testing.T) { kvtest.Run(t, opener(tiny)) }

func TestContractInMemory(t *testing.T) { kvtest.Run(t, opener(Options{fs: vfs.NewMem()})) }

// TestMetamorphic compares the engine with the reference model, under options from tiny to normal.
// The conflict window stays long: a transaction older than the window runs once more than in the
// model.
func TestMetamorphic(t *testing.T) {
	kvtest.Metamorphic(t, func(t testing.TB, dir string, rng *rand.Rand) kv.Store {
		return opener(Options{
			CacheSize:    int64(256<<10) << rng.IntN(8),
			MemTableSize: 16 << 10 << rng.IntN(10),
			MaxOpenFiles: 50 + rng.IntN(500),
			MaxGroup:     1 + rng.IntN(20),
		})(t, dir)
	}, nil)
}
