package storage

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestRunsOfWriters: writers of different documents hardly ever run again, although transactions
// take as long as they do across a network. What one of them does to the counts of lists is no
// business of the others.
func TestRunsOfWriters(t *testing.T) {
	const writers, each = 64, 12
	for _, c := range []struct {
		name string
		id   func(n int64) string
	}{
		{"rising ids", func(n int64) string { return fmt.Sprintf("%08d", n) }},
		{"scattered ids", func(int64) string { return fmt.Sprintf("%016x", rand.Uint64()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			count := kvtest.NewCounting(memkv.New())
			s := openStore(t, faultkv.New(count, faultkv.Plan{Commit: func(int, int) faultkv.Outcome {
				time.Sleep(15 * time.Millisecond)
				return faultkv.Commit
			}}))
			s.sizes.RankFan, s.sizes.SeqBlockRows, s.sizes.FoldItems = 16, 64, 64
			s.edits = nil // each in a transaction of its own
			must(t, s.Create(t.Context(), "db", CreateOptions{}))
			db := s.DB("db")
			count.Reset()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for i := range each {
						id := c.id(next.Add(1))
						rev := put(t, db, id, "", `{}`)
						if i%2 == 0 {
							rev = put(t, db, id, rev, `{"again":true}`)
						}
						if i%3 == 0 {
							remove(t, db, id, rev)
						}
					}
				})
			}
			wg.Wait()
			n := count.Counts()
			runs := float64(n.Runs) / float64(n.Updates)
			if t.Logf("%.3f runs of each of %d transactions", runs, n.Updates); runs > 1.05 {
				t.Error("writers of different documents make each other run again")
			}
		})
	}
}
