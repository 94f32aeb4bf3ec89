package storage

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/tombstones"
	"github.com/settee-db/settee/storage/verify"
)

// age makes a database what one of an older version is: without an index of its deleted documents.
func age(t *rapid.T, db *DB) {
	rec, err := db.Settings().Record(t.Context())
	must(t, err)
	_, err = db.store.kv.Update(t.Context(), func(tx kv.Tx) error {
		tx.ClearRange(keyspace.Children(keyspace.NewSpace(rec.Prefix).Sub(nil, keyspace.TagTombstones)))
		rec.Tombstones = false
		tx.Set(keyspace.RecordKey(db.name), rec.Encode())
		return nil
	})
	must(t, err)
}

// indexed are the ids in the index of deleted documents, deleted those that the feed shows as such.
func indexed(t *rapid.T, db *DB) (indexed, deleted []string) {
	rec, err := db.Settings().Record(t.Context())
	must(t, err)
	must(t, db.store.kv.View(t.Context(), func(r kv.ReadTx) error {
		last := Seq{Incarnation: 255}
		rows, err := tombstones.Index{Keys: keyspace.NewSpace(rec.Prefix)}.Rows(r, Seq{}, last, 1000)
		for _, row := range rows {
			indexed = append(indexed, row.ID)
		}
		return err
	}))
	_, err = db.Feed().Changes(t.Context(), ChangesOptions{Limit: -1}, func(c *Change) error {
		if c.Deleted {
			deleted = append(deleted, c.ID)
		}
		return nil
	})
	must(t, err)
	return indexed, deleted
}

// TestTombstonesOfOlderDatabases: whatever is written while the index of a database of an older
// version is built, by servers that end in between on a store that fails at random, it has in the
// end what the feed shows, in its order.
func TestTombstonesOfOlderDatabases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05}
		store := faultkv.New(memkv.New(), faultkv.Random(rapid.Uint64().Draw(t, "seed"), faults))
		var s *Store
		open := func(t *rapid.T) {
			var err error
			s, err = Open(t.Context(), Options{KV: store, Manual: true})
			must(t, err)
		}
		open(t)
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		revs := map[string][]compat.Rev{} // of leaves, the winner last
		build := func(t *rapid.T) (whole bool) {
			rows := rapid.IntRange(1, 4).Draw(t, "rows")
			_, err := store.Update(t.Context(), func(tx kv.Tx) (err error) {
				whole, err = tombstones.Build(tx, "db", rows)
				return err
			})
			must(t, err)
			return whole
		}
		replicated := func(t *rapid.T) {
			id := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id"))
			d := doc(t, id, "", `{}`)
			d.Deleted = rapid.Bool().Draw(t, "deletes")
			depth := rapid.IntRange(1, 3).Draw(t, "depth")
			history := rapid.StringOfN(rapid.SampledFrom([]rune("aab")), depth, depth, -1).Draw(t, "history")
			for n := depth; n > 0; n-- {
				d.Revs.IDs = append(d.Revs.IDs, history[:n])
			}
			d.Revs.Start = int64(depth)
			_, err := s.DB("db").Update(t.Context(), []*compat.Document{d}, UpdateOptions{Replicated: true})
			must(t, err)
			revs[id] = append(revs[id], d.Revs.Rev())
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": replicated, "again": replicated,
			"purge": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id"))
				_, err := s.DB("db").Purge(t.Context(), []IDRevs{{id, revs[id]}})
				must(t, err)
			},
			"build":   func(t *rapid.T) { build(t) },
			"restart": func(t *rapid.T) { must(t, s.Close()); open(t) },
			"compact": func(t *rapid.T) { must(t, s.DB("db").Compact(t.Context())) },
			"older": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "ages") == 0 {
					age(t, s.DB("db"))
				}
			},
			"": func(t *rapid.T) {
				violations, err := verify.Check(t.Context(), store, nil)
				must(t, err)
				want(t, "violations", violations, "[]")
			},
		})
		for !build(t) {
		}
		found, deleted := indexed(t, s.DB("db"))
		want(t, "index", found, fmt.Sprint(deleted))
		must(t, s.Close())
	})
}

// TestPurgeAt: documents that were updated since are passed over, and not remembered.
func TestPurgeAt(t *testing.T) {
	s := openStore(t, wrapkv.WithLimits(memkv.New(), kv.Limits{}, time.Now))
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	replicate(t, db, "a", "1-aa!", "1-bb!")
	replicate(t, db, "b", "1-aa!")
	replicate(t, db, "c", "1-aa!")
	var requests []IDRevs
	var at []Seq
	_, err := db.Feed().Changes(t.Context(), ChangesOptions{Limit: -1, AllLeaves: true}, func(c *Change) error {
		requests, at = append(requests, IDRevs{c.ID, slices.Clone(c.Revs)}), append(at, c.Seq.Seq)
		return nil
	})
	must(t, err)
	replicate(t, db, "b", "2-cc-aa!")
	purged, err := db.Purges().At(t.Context(), requests, at)
	must(t, err)
	want(t, "purged", purged, "[{a [1-aa 1-bb]} { []} {c [1-aa]}]")
	infos, err := db.Purges().Remembered(t.Context())
	must(t, err)
	want(t, "remembered", infos, "[{a [1-aa 1-bb]} {c [1-aa]}]")
	before, err := db.Info(t.Context())
	must(t, err)
	_, err = db.Purges().At(t.Context(), requests, at)
	must(t, err)
	after, err := db.Info(t.Context())
	must(t, err)
	want(t, "updates", after.UpdateSeq, before.UpdateSeq)
}
