package pebblekv

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestBaseLevel: what comes in any order is merged into a small level at first, not into all that
// there is.
func TestBaseLevel(t *testing.T) {
	kvtest.Long(t)
	s := openBench(t, Options{MemTableSize: 2 << 20, device: 100 << 30})
	const rows = 40_000
	order, noise, value := rand.New(rand.NewPCG(1, 1)).Perm(rows), rand.NewChaCha8([32]byte{1}), make([]byte, 1000)
	for from := 0; from < rows; from += 100 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			for _, n := range order[from : from+100] {
				_, _ = noise.Read(value)
				tx.Set(fmt.Appendf(nil, "row%06d", n), value)
			}
			return nil
		})
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	var above, below int64
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(quietTick) { // compactions go on
		levels := s.db.Metrics().Levels
		last := len(levels) - 1
		above, below = 0, levels[last].TablesSize
		for _, l := range levels[1:last] {
			above += l.TablesSize
		}
		if above > 0 && above <= 20<<20 && below >= 10<<20 {
			return
		}
	}
	t.Errorf("%d bytes in the last level, %d in those above", below, above)
}
