package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/revtree"
)

// checkReplicated finds the ancestor of a line of revisions (new_edits=false), and drops what the
// tree has already.
func (e *docEdit) checkReplicated(m *editMode, doc *compat.Document) (v validatedEdit, err error) {
	leaf := revtree.FromPath(doc.Revs, doc.Deleted, newTag)
	v.rev = leaf.Rev
	if m.checked && len(e.before) > 0 {
		tree, _ := revtree.Merge(slices.Clone(e.tree), leaf)
		if e.leafBefore(leaf.Rev) != nil || tree.Leaf(leaf.Rev) < 0 {
			v.decide(EditResult{ID: doc.ID, Rev: doc.Rev()})
			return v, nil
		}
		if v.parent, err = e.nearestAncestor(tree, leaf.Rev); err != nil {
			return v, err
		}
	}
	v.atts, err = e.resolveStubs(doc, v.parent)
	return v, err
}

// replicate merges a line of revisions. Nothing is a conflict; what the tree has already is
// ignored.
func (e *docEdit) replicate(doc *compat.Document, v *validatedEdit) (EditResult, error) {
	known := e.tree.Leaf(v.rev) >= 0
	e.tree, _ = revtree.Merge(e.tree, revtree.FromPath(doc.Revs, doc.Deleted, newTag))
	if !known {
		e.write(v.rev, doc, v.atts)
	}
	return EditResult{ID: doc.ID, Rev: doc.Rev(), Made: !known, First: len(e.before) == 0}, nil
}

// nearestAncestor reads the newest revision above rev on its line whose body is stored, nil if
// there is none (couch_db:make_first_doc_on_disk). It mostly is the parent or another leaf; what
// lies beyond is asked for together.
func (e *docEdit) nearestAncestor(tree revtree.Tree, rev compat.Rev) (nearest *Document, err error) {
	line, d := tree[tree.Leaf(rev)].Ancestors, &e.t.dbRead
	more := func(n int) int { return min(max(2*n, docread.FirstRows), docread.MostRows) }
	for i, n := 0, 1; i < line.Len() && nearest == nil && err == nil; n = more(n) {
		var wanted []wantedRev
		var reads []docread.EntryRead
		for isLeaf := false; len(wanted) < n && i < line.Len() && !isLeaf; i++ {
			ancestor := compat.Rev{Pos: rev.Pos - 1 - int64(i), Hash: line.At(i)}
			w := wantedRev{ancestor, lineOf(e.before, ancestor)}
			read := w.where(d, e.id)
			read.Kilobytes = 0 // n are few enough
			wanted, reads = append(wanted, w), append(reads, read)
			isLeaf = w.line != nil && w.line.Rev == ancestor
		}
		err = d.ReadEntries(nil, reads, true, func(i int, stored *formats.Entry, found bool) (err error) {
			if nearest == nil {
				stored.Body = docread.Owned(stored.Body)
				nearest, err = wanted[i].document(d, e.id, stored, found, OpenOptions{Revs: true})
			}
			return err
		})
	}
	return nearest, err
}
