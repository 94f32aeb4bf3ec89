package expiry

import (
	"strings"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/storagetest"
)

// TestCheckFindsDamage: Check names each invariant that is broken, and nothing before; what is left
// of a deleted database is no violation.
func TestCheckFindsDamage(t *testing.T) {
	engine := memkv.New()
	s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
	must(t, err)
	defer func() {
		must(t, s.Close())
		must(t, engine.Close())
	}()
	must(t, s.Create(t.Context(), "a", storage.CreateOptions{}))
	must(t, s.Create(t.Context(), "gone", storage.CreateOptions{}))
	for _, name := range []string{"a", "gone"} {
		must(t, s.Commit(t.Context(), &storage.Commit{Databases: []storage.DatabaseCommit{{
			DB: s.DB(name), Edits: []storage.Edit{{Doc: storagetest.Doc(t, "x", "", `{}`), Over: true}},
			Stored: func(x *storage.Tx, results []storage.EditResult) error {
				Set(x, "x", results[0].Rev, 1000)
				return nil
			},
		}}}))
	}
	must(t, s.Delete(t.Context(), "gone"))
	var list, mine []byte // of document x
	must(t, s.DB("a").ViewAgain(t.Context(), func(s *storage.Snapshot) error {
		list, mine = listed(1000, s.UUID(), "x"), storage.BesideKey(s.AppendPrefix(nil, keyspace.TagExpiry), "x")
		return nil
	}))
	later := tuple.AppendInt(tuple.AppendBytes(tuple.AppendInt(nil, 7), "h"), 5000)
	another := tuple.AppendString(tuple.AppendBytes(tuple.AppendInt(nil, 7), "h"), "a")
	found, err := Check(t.Context(), engine, s)
	must(t, err)
	want(t, "before damage", found, "[]")
	for name, c := range map[string]struct {
		key, value []byte // no value: the key is removed
		want       string
	}{
		"not in the list":        {list, nil, `expiry: database "a": invariant 4: the list has no entry`},
		"another revision":       {list, another, "invariant 4"},
		"another time":           {mine, later, "invariant 4"},
		"a malformed own key":    {tuple.AppendInt(mine[:len(mine):len(mine)], 1), mine, "invariant 5"},
		"a malformed own value":  {mine, []byte("?"), "invariant 5"},
		"a malformed entry":      {list, []byte("?"), "invariant 5"},
		"a malformed listed key": {tuple.AppendInt(Key(), 5), mine, "invariant 5"},
		"a malformed counter":    {Key(), []byte("?"), "invariant 5"},
	} {
		t.Run(name, func(t *testing.T) {
			var before []byte
			_, err := engine.Update(t.Context(), func(tx kv.Tx) (err error) {
				if before, err = tx.Get(c.key); err != nil {
					return err
				}
				if before = append([]byte(nil), before...); c.value == nil {
					tx.Clear(c.key)
				} else {
					tx.Set(c.key, c.value)
				}
				return nil
			})
			must(t, err)
			found, err := Check(t.Context(), engine, s)
			must(t, err)
			if len(found) == 0 || !strings.Contains(found[0].String(), c.want) {
				t.Errorf("want %s, got %v", c.want, found)
			}
			_, err = engine.Update(t.Context(), func(tx kv.Tx) error {
				if tx.Clear(c.key); len(before) > 0 {
					tx.Set(c.key, before)
				}
				return nil
			})
			must(t, err)
		})
	}
}
