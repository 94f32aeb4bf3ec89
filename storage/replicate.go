package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// checkReplicated finds the ancestor of a line of revisions (new_edits=false), and drops what the tree has already.
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

// replicate merges a line of revisions. Nothing is a conflict; what the tree has already is ignored.
func (e *docEdit) replicate(doc *compat.Document, v *validatedEdit) (EditResult, error) {
	known := e.tree.Leaf(v.rev) >= 0
	e.tree, _ = revtree.Merge(e.tree, revtree.FromPath(doc.Revs, doc.Deleted, newTag))
	if !known {
		e.write(v.rev, doc, v.atts)
	}
	return EditResult{ID: doc.ID, Rev: doc.Rev()}, nil
}

// nearestAncestor reads the newest revision above rev on its line whose body is stored, nil if there is none
// (couch_db:make_first_doc_on_disk). It mostly is the parent; what lies beyond is asked for together.
func (e *docEdit) nearestAncestor(tree revtree.Tree, rev compat.Rev) (nearest *Document, err error) {
	line, d := tree[tree.Leaf(rev)].Ancestors, &e.t.dbRead
	for from, n := 0, 1; from < line.Len() && nearest == nil && err == nil; from, n = from+n, 1024 {
		var wanted []wantedRev
		var keys [][]byte
		for i := from; i < min(from+n, line.Len()); i++ {
			ancestor := compat.Rev{Pos: rev.Pos - 1 - int64(i), Hash: line.At(i)}
			wanted = append(wanted, wantedRev{ancestor, lineOf(e.before, ancestor)})
			keys = append(keys, wanted[i-from].key(d, e.id))
		}
		few := []int{maxEntry >> 10} // how long those that are there may be, so that not many are read with the first
		err = d.readEntries(nil, keys, few, true, func(i int, stored *entry, found bool) (err error) {
			if nearest == nil {
				stored.body = owned(stored.body)
				nearest, err = wanted[i].document(d, e.id, stored, found, OpenOptions{Revs: true})
			}
			return err
		})
	}
	return nearest, err
}
