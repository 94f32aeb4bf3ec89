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
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views"
)

// runsEngines are stores whose transactions take as long as they do across a network, and on a
// cluster of FoundationDB, where there is one, do.
func runsEngines() map[string]func(testing.TB) kv.Store {
	list := map[string]func(testing.TB) kv.Store{"slow": func(testing.TB) kv.Store {
		return faultkv.New(memkv.New(), faultkv.Plan{Commit: func(int, int) faultkv.Outcome {
			time.Sleep(15 * time.Millisecond)
			return faultkv.Commit
		}})
	}}
	if open, ok := storagetest.Engines["fdb"]; ok {
		list["fdb"] = open
	}
	return list
}

// Writers of different documents hardly ever run again, without an index, with a JSON index, and
// with interactive ones that keep sums or aggregates, although transactions take as long as they do
// across a network, whether keys rise or are scattered.
func TestRunsOfWriters(t *testing.T) {
	const writers, each = 64, 12
	for name, open := range runsEngines() {
		for _, index := range []string{"none", "json", "_sum", "_stats"} {
			for _, scattered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, index %s, scattered %v", name, index, scattered), func(t *testing.T) {
					engine := open(t)
					count := kvtest.NewCounting(engine)
					w := openWorld(t, count)
					w.begin(t, "db")
					switch index {
					case "none":
					case "json":
						w.createIndex(t, "n", `{"fields":["n"]}`)
					default:
						w.put(t, "_design/d", fmt.Sprintf(`{"language":"query","views":{"v":{"reduce":%q,
							"map":{"fields":{"n":"asc"},"partial_filter_selector":{}},
							"options":{"def":{"fields":["n"]}}}}}`, index))
					}
					count.Reset()
					began := time.Now()
					writeApart(t, w.src.DB, writers, each, scattered)
					n := count.Counts()
					runs := float64(n.Runs) / float64(n.Updates)
					t.Logf("%.3f runs of each of %d transactions, %.0f writes/s", runs, n.Updates,
						writers*each/time.Since(began).Seconds())
					if runs > 1.05 {
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
	}
}

// writeApart has writers write so many documents each, all different ones.
func writeApart(t *testing.T, db *storage.DB, writers, each int, scattered bool) {
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
}

// What a document with a JSON index waits for on a store across a network.
func TestRoundTripsOfWrites(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	w := openWorld(t, engine)
	w.begin(t, "db")
	for _, c := range []struct {
		index          bool
		insert, change int64
	}{{false, 3, 2}, {true, 3, 3}} {
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
