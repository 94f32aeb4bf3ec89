package allfields_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Check finds an entry that is missing or left over, a sample, a wrong counter; also over a store
// whose snapshots see few reads.
func TestCheckFindsDamage(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		tag       int64 // below the index; the last key there is damaged
		change    func(tx kv.Tx, key, value []byte)
		invariant int
	}{
		"an entry is missing": {1, func(tx kv.Tx, key, _ []byte) { tx.Clear(key) }, 1},
		"an entry is left over": {1, func(tx kv.Tx, key, value []byte) {
			tx.Set(append(bytes.Clone(key), 1), value)
		}, 1},
		"an entry differs":    {1, func(tx kv.Tx, key, _ []byte) { tx.Set(key, []byte{3}) }, 1},
		"the count of a path": {2, func(tx kv.Tx, key, _ []byte) { tx.Clear(key) }, 3},
		"a total":             {3, func(tx kv.Tx, key, _ []byte) { tx.Clear(key) }, 3},
		"a sample is missing": {6, func(tx kv.Tx, key, _ []byte) { tx.Clear(key) }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			engine := memkv.New()
			w := newWorldUnchecked(t, engine)
			w.put("_design/auto", allFields)
			for i := range 150 {
				w.put(fmt.Sprintf("doc%03d", i), fmt.Sprintf(`{"n":%d,"tags":["a","b%d"],"o":{"p":null}}`, i, i))
			}
			w.index(func(*allfields.Index) error { return nil })
			slow := latencykv.New(engine, latencykv.Options{RoundTrip: 400 * time.Millisecond})
			store, err := storage.Open(ctx, storage.Options{KV: slow, Manual: true})
			must(t, err)
			defer store.Close()
			checkStored(t, slow, store)
			must(t, w.db.Transact(ctx, func(tx *storage.Tx) error {
				prefix := tuple.AppendInt(tx.AppendPrefix(nil, keyspace.TagMango), 2)
				prefix = tuple.AppendInt(tuple.AppendUint(prefix, 0), c.tag)
				it := tx.KV().Range(prefix, append(bytes.Clone(prefix), 0xff), kv.RangeOptions{Reverse: true, Limit: 1})
				defer it.Close()
				if !it.Next() {
					t.Fatal("nothing to damage")
				}
				c.change(tx.KV(), bytes.Clone(it.Key()), bytes.Clone(it.Value()))
				return nil
			}))
			violations, err := allfields.Check(ctx, slow, store)
			must(t, err)
			found := false
			for _, v := range violations {
				found = found || v.Invariant == c.invariant
			}
			if !found {
				t.Errorf("want a violation of %d, got %v", c.invariant, violations)
			}
		})
	}
}
