package storage

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/revtree"
)

// docEdit is a document that a transaction changes: its leaves as stored, its tree with the edits
// so far.
type docEdit struct {
	id     string
	t      *dbTx
	before []formats.Leaf
	tree   revtree.Tree
	// writes are the revisions that edits brought, with their bodies.
	writes map[compat.Rev]*revWrite
	// old are entries of stored leaves that were read so far.
	old map[compat.Rev]*formats.Entry
	// beforeAt and treeAt are the indexes of before and tree by revision, where these are many.
	beforeAt, treeAt map[compat.Rev]int
	// partitionFull refuses edits that make the document larger.
	partitionFull bool
	purge         bool // leaves are removed for good
}

// revWrite is a revision to be stored.
type revWrite struct {
	doc    *compat.Document
	atts   []compat.Attachment
	access []string // who it is for, see docEdit.effective
}

// editMode is what the edits of one request have in common.
type editMode struct {
	ctx        context.Context // of the request
	who        *access.Principals
	readers    map[ReadRev][]string // see UpdateOptions
	replicated bool
	trusted    bool
	// checked is set where CouchDB (couch_db:before_docs_update) looks at the stored documents
	// before it merges the edits: if a validation function exists, or a document of the request has
	// attachments or is a design document. Then an unknown parent is a conflict, an edit cannot
	// build on another one of the same request, and replicated inner revisions are ignored.
	checked bool
	// keeps says that new revisions have the attachments of those they replace; over are the edits
	// that replace the current revision whichever it is. See Commit.
	keeps bool
	// shared says that the edits come from different requests; see editLines.
	shared bool
	over   map[*compat.Document]bool
	each   ValidateFunc
	many   ValidateBatchFunc
	large  *largeBodies
}

// validates reports whether a hook is going to validate the documents, for which their parents are
// read.
func (m *editMode) validates() bool { return m.each != nil || m.many != nil }

func (e *docEdit) start(id string, t *dbTx, before []formats.Leaf) {
	*e = docEdit{id: id, t: t, before: before, tree: formats.TreeOf(before)}
}

// check looks for what an edit replaces, and decides what needs no validation; err ends the
// transaction.
func (e *docEdit) check(m *editMode, doc *compat.Document) (v validatedEdit, err error) {
	var named *access.Edit
	if e.t.Rec.Access.On {
		if m.replicated && audience.IsTombstone(&e.t.Rec.Access.Secret, e.id, doc.Rev(), e.before) {
			v.decide(EditResult{ID: doc.ID, Rev: doc.Rev()})
			return v, nil
		}
		var refusal *compat.Error
		if named, refusal = readersOf(e).edit(m, doc); refusal != nil {
			v.decide(refused(doc, refusal))
			return v, nil
		}
	}
	if m.replicated {
		v, err = e.checkReplicated(m, doc)
	} else {
		v, err = e.checkInteractive(m, doc)
	}
	v.named = named
	return v, err
}

// apply makes an edit that was checked and validated. The result's error is the client's; err ends
// the transaction.
func (e *docEdit) apply(m *editMode, doc *compat.Document, v *validatedEdit) (EditResult, error) {
	switch {
	case v.decided:
		return v.result, nil
	case m.replicated:
		return e.replicate(m, doc, v)
	}
	return e.interactive(m, doc, v)
}

// stubsOf are attachments as an edit names them that keeps them.
func stubsOf(list []compat.Attachment) []compat.Attachment {
	stubs := slices.Clone(list)
	for i := range stubs {
		stubs[i].Source = compat.SourceStub
	}
	return stubs
}

// supersede turns an edit of editMode.over into one of the revision that is current in this
// transaction.
func (m *editMode) supersede(t *dbTx, doc *compat.Document, leaves []formats.Leaf) {
	if !m.over[doc] {
		return
	}
	if m.who != nil && t.Rec.Access.On {
		hidden := func(l formats.Leaf) bool { return !m.who.Sees(l.Access) }
		leaves = slices.DeleteFunc(slices.Clone(leaves), hidden)
	}
	doc.Revs = compat.RevPath{}
	if n := len(leaves); n > 0 && !leaves[n-1].Deleted {
		doc.Revs = compat.RevPath{Start: leaves[n-1].Rev.Pos, IDs: []string{leaves[n-1].Rev.Hash}}
	}
}

func refused(doc *compat.Document, err *compat.Error) EditResult {
	return EditResult{ID: doc.ID, Rev: doc.Rev(), Err: err}
}

// checkInteractive finds what an interactive edit replaces, and refuses it early where CouchDB
// does: before validation and before the merge. With editMode.keeps the attachments are the
// parent's, whatever the edit says.
func (e *docEdit) checkInteractive(m *editMode, doc *compat.Document) (v validatedEdit, err error) {
	v.rev = doc.Rev()
	if m.checked {
		var ok bool
		if v.parent, ok, err = e.parentOf(m, doc); err != nil || !ok {
			v.decide(refused(doc, compat.ErrConflict))
			return v, err
		}
	}
	if m.keeps {
		if m.over[doc] && doc.Deleted && v.parent == nil {
			v.decide(EditResult{ID: doc.ID})
			return v, nil
		}
		doc.Attachments = nil
		if v.parent != nil && !doc.Deleted {
			doc.Attachments = stubsOf(v.parent.Attachments)
		}
	}
	if v.atts, err = e.resolveStubs(doc, v.parent); err != nil {
		return v, err
	}
	return v, nil
}

// interactive is an edit with new_edits=true (couch_db_updater:merge_rev_tree).
func (e *docEdit) interactive(m *editMode, doc *compat.Document, v *validatedEdit) (EditResult, error) {
	atts := v.atts
	for i := range atts {
		if !atts[i].HasRevPos { // new; those taken over from a stored revision keep theirs
			atts[i].RevPos = doc.Revs.Start + 1
		}
	}
	leaf, ok := e.newLeaf(m, doc, atts)
	if !ok {
		return refused(doc, compat.ErrConflict), nil
	}
	tree, merged := revtree.Merge(slices.Clone(e.tree), leaf)
	if merged.Outcome != revtree.NewLeaf {
		return refused(doc, compat.ErrConflict), nil
	}
	if e.partitionFull && e.grows(doc) {
		return refused(doc, compat.PartitionOverflow(e.id)), nil
	}
	own := readersOf(e).effective(m, doc, v.named)
	e.tree = tree
	e.write(leaf.Rev, doc, atts, own)
	return EditResult{ID: doc.ID, Rev: leaf.Rev, Made: true, First: len(e.before) == 0}, nil
}

// written reports whether the database was ever written to, and last by something else than an edit
// of a design document. CouchDB does not know the validation functions of one that was not, or
// whose design documents have just changed, and so looks at the stored documents first as if there
// were some (couch_db:before_docs_update, couch_db_updater:refresh_validate_doc_funs/1; see
// editMode.checked): an edit of an unknown revision is a conflict, also where another edit of the
// same request is about to make that revision. In all others it makes a revision below a missing
// parent (couch_db_updater's fold over an empty tree), or builds on the other edit.
func (t *dbTx) written() (bool, error) {
	counts, err := keyspace.ReadCounters(t.tx.Snapshot(), [][]byte{t.Keys.Stat(nil, keyspace.Updates)})
	if err != nil || counts[0] == 0 || t.counted.Added > 0 { // the feed cannot be read any more
		return err == nil && counts[0] > 0, err
	}
	feed := t.Keys.Sub(nil, keyspace.TagChanges)
	o := kv.RangeOptions{Reverse: true, Limit: 1}
	it := t.tx.Snapshot().Range(feed, kv.AppendPrefixEnd(nil, feed), o)
	defer it.Close()
	if !it.Next() { // all is purged
		return true, it.Err()
	}
	last, err := formats.ParseChange(it.Value())
	return !compat.IsDesignID(last.ID), err
}

// newLeaf makes the line of an interactive edit; ok is false for a conflict that needs no look at
// the tree.
func (e *docEdit) newLeaf(
	m *editMode, doc *compat.Document, atts []compat.Attachment,
) (leaf revtree.Leaf, ok bool) {
	if tree := readersOf(e).seen(m); tree.Deleted() {
		// Only a document without a revision, or of generation 0, recreates; it continues the
		// winning tombstone.
		if doc.Revs.Start > 0 || doc.Deleted {
			return leaf, false
		}
		tombstone := tree[tree.Winner()].Rev
		rev := doc.RecreatedRev(tombstone, len(atts))
		return revtree.Leaf{
			Rev:       rev,
			Ancestors: revtree.NewLine(rev.Pos-1, []string{tombstone.Hash}),
			Tag:       newTag,
		}, true
	}
	hashed := make([]compat.RevAttachment, len(atts))
	for i := range atts {
		hashed[i] = compat.RevAttachment{Name: atts[i].Name, Type: atts[i].Type, MD5: atts[i].Digest}
	}
	rev := doc.NewRev(hashed)
	return revtree.Leaf{
		Rev:       rev,
		Deleted:   doc.Deleted,
		Ancestors: revtree.NewLine(rev.Pos-1, doc.Revs.IDs),
		Tag:       newTag,
	}, true
}

// newTag marks leaves of the tree that have no stored record yet.
const newTag = -1

func (e *docEdit) write(
	rev compat.Rev, doc *compat.Document, atts []compat.Attachment, access []string,
) {
	if e.writes == nil {
		e.writes = make(map[compat.Rev]*revWrite, 1)
	}
	e.writes[rev] = &revWrite{doc: doc, atts: atts, access: access}
}

// parentOf finds the stored leaf that an edit replaces, nil for a new or recreated document; ok is
// false for a conflict (couch_db:prep_and_validate_update).
func (e *docEdit) parentOf(m *editMode, doc *compat.Document) (parent *docread.Document, ok bool, err error) {
	rev := doc.Rev()
	if len(doc.Revs.IDs) == 0 {
		return nil, len(e.before) == 0 || readersOf(e).seen(m).Deleted(), nil
	}
	for i := range e.before {
		if l := &e.before[i]; l.Rev == rev {
			old, err := e.stored(l)
			if err == nil && m.validates() {
				err = e.t.Complete(true, old)
			}
			if err != nil {
				return nil, false, err
			}
			parent = docread.NewDocument(e.id, l.Rev, l.Deleted, *old)
			parent.Revs = e.t.VisibleRevs(l, l.Rev)
			return parent, true, nil
		}
	}
	if len(e.before) == 0 && doc.HasStubs() {
		_, err := e.resolveStubs(doc, nil)
		return nil, false, err
	}
	return nil, false, nil
}

func (e *docEdit) deletedBefore() bool {
	return len(e.before) > 0 && e.before[len(e.before)-1].Deleted
}

// stored reads the entry of a stored leaf, once, without a body that is apart.
func (e *docEdit) stored(l *formats.Leaf) (*formats.Entry, error) {
	if old := e.old[l.Rev]; old != nil {
		return old, nil
	}
	old, err := e.t.LeafEntry(e.id, l)
	if err == nil {
		err = e.t.Complete(false, &old)
	}
	if err != nil {
		return nil, err
	}
	e.remember(l.Rev, &old)
	return &old, nil
}

// storedWhole is stored with the body.
func (e *docEdit) storedWhole(l *formats.Leaf) (*formats.Entry, error) {
	old, err := e.stored(l)
	if err == nil {
		err = e.t.Complete(true, old)
	}
	return old, err
}

func (e *docEdit) remember(rev compat.Rev, old *formats.Entry) {
	if e.old == nil {
		e.old = make(map[compat.Rev]*formats.Entry, 1)
	}
	e.old[rev] = old
}

// resolveStubs gives a document's attachments with the stubs replaced by those of the parent of the
// same name (couch_doc:merge_stubs). The error, compat.MissingStub, fails the whole request.
func (e *docEdit) resolveStubs(doc *compat.Document, parent *docread.Document) ([]compat.Attachment, error) {
	if len(doc.Attachments) == 0 {
		return nil, nil
	}
	atts := slices.Clone(doc.Attachments)
	var known map[string]*compat.Attachment // of the parent: a document may have a hundred thousand
	for i := range atts {
		a := &atts[i]
		if a.Source != compat.SourceStub {
			continue
		}
		if known == nil && parent != nil {
			known = make(map[string]*compat.Attachment, len(parent.Attachments))
			for j := range parent.Attachments {
				known[parent.Attachments[j].Name] = &parent.Attachments[j]
			}
		}
		found := known[a.Name]
		if found == nil || a.HasRevPos && a.RevPos != found.RevPos {
			return nil, compat.MissingStub(e.id, a.Name)
		}
		*a = *found
	}
	return atts, nil
}

// grows reports whether an edit makes the document larger than the leaf it replaces
// (couch_db_updater:is_overflowed).
func (e *docEdit) grows(doc *compat.Document) bool {
	if compat.IsDesignID(e.id) {
		return false
	}
	size := externalSize(doc.Body.Size, doc.Attachments)
	rev := doc.Rev()
	for i := range e.before {
		if e.before[i].Rev == rev || doc.Revs.IDs == nil && i == len(e.before)-1 {
			return size > e.before[i].External
		}
	}
	return true
}
