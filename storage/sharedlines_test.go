package storage

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// longTree is a document with so many conflicts, each with an ancestor of its own, and so many that
// they share.
func longTree(t *testing.T, db *DB, leaves, ancestors int) (revs []compat.Rev) {
	t.Helper()
	trunk := doc(t, "tree", "", `{}`)
	trunk.Revs = longLine(ancestors, "trunk", hash16)
	docs := []*compat.Document{trunk}
	for i := range leaves {
		d := doc(t, "tree", "", `{}`)
		ids := []string{fmt.Sprintf("%032x", i), fmt.Sprintf("%032x", leaves+i), "trunk"}
		d.Revs = compat.RevPath{Start: int64(ancestors) + 2, IDs: ids}
		docs, revs = append(docs, d), append(revs, d.Revs.Rev())
	}
	update(t, db, UpdateOptions{Replicated: true}, docs...)
	return revs
}

// allocated is how many bytes fn allocates.
func allocated(fn func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// What is read of many leaves with long lines takes memory for the leaves, and once for what their
// lines share: not 32 KB a leaf.
func TestMemoryOfLongLines(t *testing.T) {
	kvtest.Long(t)
	const leaves, ancestors = 400, 990
	db := newTestDB(t, CreateOptions{})
	revs := longTree(t, db, leaves, ancestors)
	const few, some = 1500, 5000 // bytes a leaf: without its line; with it
	rows := allocated(func() {   // what the store itself takes to give them
		must(t, db.view(t.Context(), func(d *dbRead) error {
			_, err := countKeys(d.R, d.Keys.Doc(nil, keyspace.TagRevs, "tree"), nil, nil)
			return err
		}))
	})
	check := func(name string, bound int, fn func()) {
		t.Helper()
		got := (allocated(fn) - rows) / leaves
		t.Logf("%s: %d bytes a leaf", name, got)
		if got > bound {
			t.Errorf("%s allocates more than %d bytes a leaf", name, bound)
		}
	}
	check("GET ?conflicts=true&revs=true", few, func() {
		d := open(t, db, "tree", docread.OpenOptions{Conflicts: true, Revs: true})
		want(t, "conflicts", len(d.Conflicts), leaves-1)
		want(t, "line", len(d.Revs.IDs), ancestors+2)
	})
	check("_changes?style=all_docs", few, func() {
		_, err := db.Feed().Changes(t.Context(), ChangesOptions{Limit: -1, AllLeaves: true}, func(c *Change) error {
			want(t, "leaves", len(c.Revs), leaves)
			return nil
		})
		must(t, err)
	})
	count := 0
	check("open_revs=all", some, func() {
		all := docread.OpenRevsOptions{All: true}
		must(t, db.OpenRevs(t.Context(), "tree", all, func(revs []docread.RevResult) error {
			count += len(revs)
			return nil
		}))
	})
	want(t, "revisions", count, leaves)
	check("_revs_diff", some, func() {
		asked := append(revs[:100:100], compat.Rev{Pos: 1, Hash: hash16(1)}, compat.Rev{Pos: 5000, Hash: "x"})
		_, err := revsDiffs(t.Context(), db, []IDRevs{{"tree", asked}})
		must(t, err)
	})
	check("an edit", 2*some, func() {
		edit := doc(t, "tree", "", `{"a":1}`)
		edit.Revs = compat.RevPath{Start: revs[3].Pos, IDs: []string{revs[3].Hash}}
		store(t, db, UpdateOptions{}, edit)
	})
}
