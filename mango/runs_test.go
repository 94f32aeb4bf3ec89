package mango_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/views"
)

// Writers of different documents hardly ever run again beside a JSON index, although transactions take as long as they
// do across a network, whether keys rise or are scattered.
func TestRunsOfWritersBesideAnIndex(t *testing.T) {
	const writers, each = 64, 12
	for _, scattered := range []bool{false, true} {
		t.Run(fmt.Sprint("scattered ", scattered), func(t *testing.T) {
			engine := memkv.New()
			count := wrapkv.NewCounting(engine)
			w := openWorld(t, faultkv.New(count, faultkv.Plan{Commit: func(int, int) faultkv.Outcome {
				time.Sleep(15 * time.Millisecond)
				return faultkv.Commit
			}}))
			w.begin(t, "db")
			w.createIndex(t, "n", `{"fields":["n"]}`)
			db := w.src.DB
			count.Reset()
			var next atomic.Int64
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for range each {
						n := next.Add(1)
						if scattered {
							n = rand.Int64N(1 << 40)
						}
						doc := &compat.Document{ID: fmt.Sprintf("%016d", n), HasID: true}
						doc.Body, _ = compat.NewBody(fmt.Appendf(nil, `{"n":%d}`, n))
						docs := []*compat.Document{doc}
						if _, err := db.Update(context.Background(), docs, storage.UpdateOptions{}); err != nil {
							t.Error(err)
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
			violations, err := views.Check(t.Context(), engine, w.store)
			check(t, err)
			if len(violations) > 0 {
				t.Error(violations)
			}
		})
	}
}

// What a document with a JSON index waits for on a store across a network.
func TestRoundTripsOfWrites(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	w := openWorld(t, engine)
	w.begin(t, "db")
	for _, c := range []struct {
		index          bool
		insert, change int64
	}{{false, 3, 3}, {true, 4, 4}} {
		if c.index {
			w.createIndex(t, "n", `{"fields":["n"]}`)
		}
		for n, budget := range []int64{c.insert, c.change} {
			engine.Reset()
			w.put(t, fmt.Sprint("doc", c.index), fmt.Sprintf(`{"n":%d}`, n))
			if got := engine.Reset(); got.RoundTrips > budget {
				t.Errorf("index %v, write %d: %d round trips, at most %d", c.index, n+1, got.RoundTrips, budget)
			}
		}
	}
}
