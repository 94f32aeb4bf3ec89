package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
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
		// couch_db:make_first_doc_on_disk
		merged := &tree[tree.Leaf(leaf.Rev)]
		if v.parent, err = e.t.NearestAncestor(doc.ID, merged, e.before); err != nil {
			return v, err
		}
	}
	v.atts, err = e.resolveStubs(doc, v.parent)
	return v, err
}

// replicate merges a line of revisions. Nothing is a conflict; what the tree has already is
// ignored.
func (e *docEdit) replicate(m *editMode, doc *compat.Document, v *validatedEdit) (EditResult, error) {
	known := e.tree.Leaf(v.rev) >= 0
	own := readersOf(e).effective(m, doc, v.named)
	e.tree, _ = revtree.Merge(e.tree, revtree.FromPath(doc.Revs, doc.Deleted, newTag))
	if !known {
		e.write(v.rev, doc, v.atts, own)
	}
	return EditResult{ID: doc.ID, Rev: doc.Rev(), Made: !known, First: len(e.before) == 0}, nil
}
