package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/revtree"
)

// What an edit of a document with many conflicts looks up costs as much as there are leaves, not
// the square of it: minutes, here.
func TestEditsOfManyLeaves(t *testing.T) {
	const n = 100_000
	before := make([]formats.Leaf, n)
	for i := range before {
		before[i].Leaf = revtree.Leaf{
			Rev:       compat.Rev{Pos: 2, Hash: fmt.Sprintf("%032x", i)},
			Ancestors: revtree.NewLine(1, []string{fmt.Sprintf("%032x", n+i)}),
		}
	}
	var e docEdit
	e.start("tree", nil, before)
	e.tree, _ = revtree.Merge(
		e.tree,
		revtree.Leaf{
			Rev:       compat.Rev{Pos: 3, Hash: "new"},
			Ancestors: revtree.NewLine(2, []string{before[5].Rev.Hash, before[5].Ancestors.At(0)}),
		},
	)
	begin := time.Now()
	e.keepFlags()
	e.tree.Sort()
	want(t, "changed", e.leavesChanged(), true)
	want(t, "lines changed", e.linesChanged(), false)
	var gone, lost int
	for i := range before {
		if e.leafNow(before[i].Rev) < 0 {
			gone++
		}
		if !e.keepsLine(&before[i]) {
			lost++
		}
	}
	want(t, "leaves no more", gone, 1)
	want(t, "lines that were lost", lost, 0)
	want(t, "in time", time.Since(begin) < time.Minute, true)
}

// Documents with so many leaves that their lookups are indexes stay whole, whatever is done to
// them.
func TestManyLeaves(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		const n = 3 * formats.FewLeaves
		var docs []*compat.Document
		var revs []compat.Rev
		for i := range n {
			d := doc(t, "tree", "", `{}`)
			d.Revs = compat.RevPath{
				Start: 2,
				IDs:   []string{fmt.Sprintf("%032x", i*7919%n), fmt.Sprintf("%032x", n+i/2)},
			}
			docs, revs = append(docs, d), append(revs, d.Revs.Rev())
		}
		update(t, db, UpdateOptions{Replicated: true}, docs...)
		edit := doc(t, "tree", "", `{"a":1}`)
		edit.Revs = compat.RevPath{Start: 2, IDs: []string{revs[3].Hash}}
		rev := store(t, db, UpdateOptions{}, edit)
		diffs, err := revsDiffs(
			t.Context(),
			db,
			[]IDRevs{
				{
					"tree",
					append(revs, rev, compat.Rev{Pos: 1, Hash: fmt.Sprintf("%032x", n)}, compat.Rev{Pos: 9, Hash: "x"}),
				},
			},
		)
		must(t, err)
		want(t, "missing", fmt.Sprint(diffs[0].Missing), "[9-x]")
		_, err = db.Purge(t.Context(), []IDRevs{{"tree", []compat.Rev{rev, revs[8], revs[9]}}})
		must(t, err)
		want(t, "conflicts", len(open(t, db, "tree", docread.OpenOptions{Conflicts: true}).Conflicts), n-4)
		checkDB(t, db)
		must(t, db.Settings().SetRevsLimit(t.Context(), 1))
		edit.Revs = compat.RevPath{Start: 2, IDs: []string{revs[20].Hash}}
		store(t, db, UpdateOptions{}, edit)
		checkDB(t, db)
	})
}
