package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
)

// checkRanks compares the rank of every id, and of places between, with a count; and every level's
// sum, with what is not folded yet, with the rows.
func checkRanks(t *testing.T, db *DB, ids []string) {
	t.Helper()
	must(t, db.view(t.Context(), func(d *dbRead) error {
		x := d.IDRanks()
		rest, err := d.Rest()
		if err != nil {
			return err
		}
		for i, id := range ids {
			of := [][]byte{tuple.AppendString(nil, id), append(tuple.AppendString(nil, id), keyspace.AfterID)}
			for k, key := range of {
				got, err := d.IDsBefore(key)
				if err != nil {
					return err
				}
				if got != int64(i+k) {
					t.Errorf("rank of %q: %d, want %d", id, got, i+k)
				}
			}
		}
		for n := 1; n <= counts.RankLevels; n++ {
			begin, end := keyspace.Children(x.Levels[n-1])
			it := d.R.Range(begin, end, kv.RangeOptions{})
			sum := rest.IDs.Between(nil, nil).Rows
			for it.Next() {
				sum += rank.Parse(it.Value()).Rows
			}
			if err := it.Close(); err != nil {
				return err
			}
			want(t, fmt.Sprintf("rows of level %d", n), sum, len(ids))
		}
		return nil
	}))
}

// Random batches of creations, deletions and recreations keep every rank exact.
func TestRanksAgainstCount(t *testing.T) {
	for _, batch := range []int{1, 7, 60} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			db := newTestDB(t, CreateOptions{})
			db.store.sizes.RankFan, db.store.sizes.FoldItems = 3, 20
			rng := rand.New(rand.NewPCG(uint64(batch), 1))
			live := map[string]string{}
			for range 400 / batch {
				var docs []*compat.Document
				for len(docs) < batch {
					id := fmt.Sprintf("%03d", rng.IntN(200))
					if slices.ContainsFunc(docs, func(d *compat.Document) bool { return d.ID == id }) {
						continue
					}
					if rev := live[id]; rev != "" && rng.IntN(2) == 0 {
						docs = append(docs, deleted(t, id, rev))
					} else {
						docs = append(docs, doc(t, id, rev, fmt.Sprintf(`{"n":%d}`, rng.Int())))
					}
				}
				for i, rev := range update(t, db, UpdateOptions{}, docs...) {
					if live[docs[i].ID] = rev; docs[i].Deleted {
						delete(live, docs[i].ID)
					}
				}
			}
			var ids []string
			for id := range live {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			checkRanks(t, db, ids)
		})
	}
}

// Concurrent writers next to each other keep every rank exact too.
func TestRanksConcurrent(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	db.store.sizes.RankFan, db.store.sizes.FoldItems = 4, 20
	var wg sync.WaitGroup
	var mu sync.Mutex
	var ids []string
	for w := range 8 {
		wg.Go(func() {
			for i := range 60 {
				id := fmt.Sprintf("%03d-%d", i, w)
				rev := put(t, db, id, "", `{}`)
				if (i+w)%3 == 0 {
					remove(t, db, id, rev)
					continue
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	checkRanks(t, db, ids)
}

// Writers of different documents hardly ever conflict.
func TestIndependentWritersDoNotConflict(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	var wg sync.WaitGroup
	count.Reset()
	const writers, each = 8, 200
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				put(t, db, fmt.Sprintf("%d-%04d", w, i), "", `{}`)
			}
		})
	}
	wg.Wait()
	c := count.Counts()
	if extra := c.Runs - c.Updates; extra > writers*each/20 {
		t.Errorf("%d of %d transactions ran again", extra, c.Updates)
	}
}

func BenchmarkRank(b *testing.B) {
	db := newTestDB(b, CreateOptions{})
	for i := range 100 {
		var docs []*compat.Document
		for j := range 1000 {
			docs = append(docs, doc(b, fmt.Sprintf("%06d", (i*1000+j)*7919%100000), "", `{}`))
		}
		update(b, db, UpdateOptions{}, docs...)
	}
	key := tuple.AppendString(nil, "077777")
	for b.Loop() {
		must(b, db.view(context.Background(), func(d *dbRead) error {
			_, err := d.IDsBefore(key)
			return err
		}))
	}
}

// countKeys counts the keys base+k with from <= k < to; a nil to is open.
func countKeys(r kv.ReadTx, base, from, to []byte) (int64, error) {
	end := kv.AppendPrefixEnd(nil, base)
	if to != nil {
		end = slices.Concat(base, to)
	}
	it := r.Range(slices.Concat(base, from), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var rows int64
	for it.Next() {
		rows++
	}
	return rows, it.Err()
}
