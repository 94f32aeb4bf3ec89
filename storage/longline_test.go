package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/verify"
)

// longLine is a line of revisions as it is replicated: of so many, the newest with the given hash.
func longLine(n int, newest string, hash func(i int) string) compat.RevPath {
	p := compat.RevPath{Start: int64(n), IDs: []string{newest}}
	for i := n - 1; i > 0; i-- {
		p.IDs = append(p.IDs, hash(i))
	}
	return p
}

func hash16(i int) string { return fmt.Sprintf("%016d", i) }

func hashOdd(i int) string { return fmt.Sprint("revision ", i) }

// TestLongLines: a document has as many ancestors as its database allows, and all that can be done
// with others can be done with it.
func TestLongLines(t *testing.T) {
	kvtest.Long(t)
	onEngines(t, func(t *testing.T, db *DB) {
		must(t, db.Settings().SetRevsLimit(t.Context(), 100_000))
		lengths := shorter([]int{5000, 5623, 5624, 6500, 20_000}, []int{5623, 5624})
		for _, n := range lengths {
			for name, hash := range map[string]func(int) string{"16 bytes": hash16, "others": hashOdd} {
				id := fmt.Sprintf("_design/%d, %s", n, name)
				d := doc(t, id, "", `{"n":1}`)
				d.Revs = longLine(n, "the newest", hash)
				store(t, db, UpdateOptions{Replicated: true}, d)
				back := open(t, db, id, docread.OpenOptions{Revs: true})
				want(t, "read back", slices.Equal(back.Revs.IDs, d.Revs.IDs), true)
				branch := doc(t, id, "", `{"n":2}`)
				branch.Revs = longLine(n, "another", hash)
				store(t, db, UpdateOptions{Replicated: true}, branch)
				next := doc(t, id, "", `{"n":3}`)
				next.Revs = compat.RevPath{Start: d.Revs.Start, IDs: d.Revs.IDs[:1]}
				rev := store(t, db, UpdateOptions{}, next)
				got := open(t, db, id, docread.OpenOptions{Revs: true, Conflicts: true})
				want(t, "extended", slices.Equal(got.Revs.IDs[1:], d.Revs.IDs), true)
				want(t, "conflicts", len(got.Conflicts), 1)
				diffs, err := revsDiffs(
					t.Context(),
					db,
					[]IDRevs{{id, []compat.Rev{rev, {Pos: 1, Hash: hash(1)}, {Pos: 1, Hash: "x"}}}},
				)
				must(t, err)
				want(t, "missing", len(diffs[0].Missing), 1)
			}
		}
		var rows int
		_, err := db.Feed().Designs(t.Context(), ChangesOptions{Limit: -1, AllLeaves: true}, func(c *Change) error {
			rows++
			want(t, "leaves of "+c.ID, len(c.Revs), 2)
			return nil
		})
		must(t, err)
		want(t, "rows", rows, 2*len(lengths))
		checkDB(t, db)
		must(t, db.Compact(t.Context()))
		must(t, db.Settings().SetRevsLimit(t.Context(), 10))
		var all []*compat.Document
		for _, n := range lengths { // many at once: their leaves are read as one range
			for _, name := range []string{"16 bytes", "others"} {
				id := fmt.Sprintf("_design/%d, %s", n, name)
				all = append(all, deleted(t, id, open(t, db, id, docread.OpenOptions{}).Rev.String()))
			}
		}
		for _, r := range update(t, db, UpdateOptions{}, all...) {
			want(t, "deleted", r[:1] != "c", true)
		}
		must(t, db.view(t.Context(), func(d *dbRead) error {
			rows, err := countKeys(d.R, d.Keys.Sub(nil, keyspace.TagRevs), nil, nil)
			want(t, "keys of leaves with short lines", rows, 4*len(lengths))
			return err
		}))
	})
}

// TestLeafReader: chunks belong to the leaf that they follow, whatever its hash looks like.
func TestLeafReader(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	must(t, db.Settings().SetRevsLimit(t.Context(), 100_000))
	hashes := []string{"a", "a\x00", "a\x00\x00", "a\x00\x14", "a\xff", ""}
	for _, h := range hashes {
		d := doc(t, "doc", "", fmt.Sprintf(`{"hash":%d}`, len(h)))
		d.Revs = longLine(6000, h, hash16)
		store(t, db, UpdateOptions{Replicated: true}, d)
	}
	must(t, db.view(t.Context(), func(d *dbRead) error {
		leaves, err := d.Leaves("doc")
		want(t, "leaves", len(leaves), len(hashes))
		for i := range leaves {
			want(t, "line", leaves[i].Ancestors.Len(), 5999)
		}
		return err
	}))
	must(t, db.update(t.Context(), func(t *dbTx) error { // a chunk is lost
		key := t.Keys.Leaf(nil, keyspace.TagRevs, "doc", false, compat.Rev{Pos: 6000, Hash: "a"})
		t.tx.ClearRange(kv.AppendKeyAfter(nil, key), append(key, keyspace.AfterID))
		return nil
	}))
	violations, err := verify.Check(t.Context(), db.store.kv, nil)
	must(t, err)
	if len(violations) == 0 {
		t.Error("a lost chunk of a line was not found")
	}
	must(t, db.store.Delete(t.Context(), "db"))
}

// parentsSeen notes what edits are validated against.
type parentsSeen struct{ revs *[]string }

func (p parentsSeen) Prepare(context.Context, *Tx) (ValidateFunc, error) {
	return func(_ context.Context, _, parent *docread.Document) error {
		*p.revs = append(*p.revs, parent.Rev.String())
		return nil
	}, nil
}

// TestAncestorsAreAskedForTogether: the ancestor that a replicated branch is validated against may
// be far up the line.
func TestAncestorsAreAskedForTogether(t *testing.T) {
	db, counting := newCountedDB(t)
	first := doc(t, "long", "", `{"n":1}`)
	first.Revs = longLine(10, "first", hash16)
	update(t, db, UpdateOptions{Replicated: true}, first)
	var parents []string
	db.store.SetHooks(Hooks{Validator: parentsSeen{&parents}})
	for _, newest := range []string{"one", "another"} {
		d := doc(t, "long", "", `{"n":2}`)
		d.Revs = longLine(1000, newest, hash16)
		d.Revs.IDs[990] = "first"
		counting.Reset()
		update(t, db, UpdateOptions{Replicated: true}, d)
		if n := counting.Counts().GetManys; n > 16 {
			t.Errorf("%q: %d reads one after the other", newest, n)
		}
	}
	d := doc(t, "long", "", `{"n":3}`)
	line := longLine(1000, "one", hash16).IDs
	d.Revs = compat.RevPath{Start: 1005, IDs: append([]string{"e", "d", "c", "b", "a"}, line...)}
	d.Revs.IDs[995] = "first"
	counting.Reset()
	update(t, db, UpdateOptions{Replicated: true}, d)
	if n := counting.Counts().Gets; n > 4 {
		t.Errorf("%d keys read where a leaf is the ancestor", n)
	}
	want(t, "parents", parents, "[10-first 10-first 1000-one]")
}
