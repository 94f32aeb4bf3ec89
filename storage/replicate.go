package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// replicate merges a line of revisions (new_edits=false). Nothing is a conflict; what the tree has already is ignored.
func (e *docEdit) replicate(m *editMode, doc *compat.Document) (EditResult, error) {
	done := EditResult{ID: doc.ID, Rev: doc.Rev()}
	leaf := revtree.FromPath(doc.Revs, doc.Deleted, newTag)
	tree, _ := revtree.Merge(slices.Clone(e.tree), leaf)
	var parent *Document
	if m.checked && len(e.before) > 0 {
		if slices.ContainsFunc(e.before, func(l leafRecord) bool { return l.Rev == leaf.Rev }) || tree.Leaf(leaf.Rev) < 0 {
			return done, nil
		}
		var err error
		if parent, err = e.nearestAncestor(tree, leaf.Rev); err != nil {
			return done, err
		}
	}
	atts, err := e.resolveStubs(doc, parent)
	if err != nil {
		return done, err
	}
	if m.validate != nil {
		edit := &Document{ID: e.id, Rev: leaf.Rev, Deleted: doc.Deleted, Body: doc.Body.JSON, Attachments: atts, Revs: doc.Revs}
		if err := m.validate(m.ctx, edit, parent); err != nil {
			return refusal(doc, err)
		}
	}
	known := e.tree.Leaf(leaf.Rev) >= 0
	e.tree = tree
	if !known {
		e.write(leaf.Rev, doc, atts)
	}
	return done, nil
}

// nearestAncestor reads the newest revision above rev on its line whose body is stored, nil if there is none
// (couch_db:make_first_doc_on_disk).
func (e *docEdit) nearestAncestor(tree revtree.Tree, rev compat.Rev) (*Document, error) {
	line := &tree[tree.Leaf(rev)]
	for i, hash := range line.Ancestors {
		ancestor := compat.Rev{Pos: rev.Pos - 1 - int64(i), Hash: hash}
		doc, err := e.t.openRevOf(e.id, e.before, ancestor, OpenOptions{Revs: true})
		if doc != nil || err != nil {
			return doc, err
		}
	}
	return nil, nil
}
