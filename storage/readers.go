package storage

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/revtree"
)

// readers are those of the leaves of a document that is edited.
type readers struct{ *docEdit }

func readersOf(e *docEdit) readers { return readers{e} }

// edit reads who an edit is for, and refuses one that the writer may not make.
func (e readers) edit(m *editMode, doc *compat.Document) (*access.Edit, *compat.Error) {
	list, given, err := access.Parse(doc.Body.JSON)
	edit := &access.Edit{
		Revs: doc.Revs, Replicated: m.replicated, Deleted: doc.Deleted, List: list, Given: given,
	}
	leaves := e.leaves()
	if err == nil && m.who != nil {
		err = access.Check(*m.who, access.ShareOf(e.t.Rec.Access.ShareAny), edit, leaves)
	}
	if err == nil && len(leaves.Named(list)) > audience.MostNamed {
		err = errManyNamed
	}
	refusal, _ := compat.AsError(err)
	return edit, refusal
}

// errManyNamed refuses a leaf beside others that are for too many together.
var errManyNamed = compat.NewError(compat.KindForbidden, "the leaves of the document name too many users and roles")

// leaves are the leaves with who they are for, with the edits so far.
func (e readers) leaves() *access.Tree {
	t := &access.Tree{Leaves: e.tree, Lists: make([][]string, len(e.tree))}
	for i := range e.tree {
		t.Lists[i] = e.of(e.tree[i].Rev)
	}
	return t
}

// of is who a leaf is for.
func (e readers) of(rev compat.Rev) []string {
	if old := e.leafBefore(rev); old != nil {
		return old.Access
	}
	if w := e.writes[rev]; w != nil {
		return w.access
	}
	return nil
}

// effective is who the leaf is for that an edit makes, by the tree before it; nil in databases
// without access for each document, where edit is nil.
func (e readers) effective(m *editMode, doc *compat.Document, edit *access.Edit) []string {
	if edit == nil {
		return nil
	}
	if own := m.readers[ReadRev{e.id, doc.Rev()}]; own != nil && edit.Deleted && !edit.Given {
		return own
	}
	who := access.Everybody
	if m.who != nil {
		who = *m.who
	}
	return append([]string{}, e.leaves().Effective(who, edit)...)
}

// seen are the leaves that the writer sees, all of them in other databases.
func (e readers) seen(m *editMode) revtree.Tree {
	if m.who == nil || !e.t.Rec.Access.On {
		return e.tree
	}
	hidden := func(l revtree.Leaf) bool { return !m.who.Sees(e.of(l.Rev)) }
	return slices.DeleteFunc(slices.Clone(e.tree), hidden)
}

// put writes what the principals of the document see of it now.
func (e readers) put(after []formats.Leaf) {
	edit := audience.Edit{ID: e.id, Before: e.before, After: after, Purge: e.purge}
	var seq Seq
	var sights []formats.Sight
	if len(after) > 0 {
		seq, sights = after[0].Seq, after[0].Sights
	}
	e.t.audience.Put(e.t.tx, e.t.index(), &edit, sights, seq)
}

// name fills in who the leaves after the edits are for, and the sights of the winner, which
// is the first.
func (e readers) name(after []formats.Leaf) {
	for i := range after {
		l := &after[i]
		if l.Access = e.of(l.Rev); l.Access == nil {
			l.Access = []string{}
		}
	}
	edit := audience.Edit{ID: e.id, Before: e.before, After: after, Purge: e.purge}
	after[0].Sights = edit.Sights()
}
