package docread

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

// DocRef names a document, and a revision of it unless Rev is zero.
type DocRef struct {
	ID        string
	Rev       compat.Rev
	Conflicts bool // the winner comes with its Document.Conflicts
	Members   Members
}

// OpenEach reads documents, the winners or the revisions named, and calls fn with each of refs in
// their order. doc is nil for documents and revisions that are missing, and for deleted winners; it
// is valid until fn returns. Small documents are read together; no more is in memory than what
// ReadEntries reads together, however many and large they are. Where a read fails fn was called for
// all documents before.
func (d *Reader) OpenEach(refs []DocRef, fn func(i int, doc *Document) error) error {
	r := eachRead{d: d, refs: refs, fn: fn}
	for r.next < len(refs) {
		if err := r.readSome(); err != nil {
			return err
		}
	}
	return nil
}

// eachRead is OpenEach at work.
type eachRead struct {
	d    *Reader
	refs []DocRef
	fn   func(i int, doc *Document) error
	next int // refs before it are done
	room BodyRoom
}

// readSome gives what is left, or the first documents of it whose leaves have room together.
func (r *eachRead) readSome() error {
	from, refs := r.next, r.refs[r.next:]
	local := func(ref DocRef) bool { return compat.IsLocalID(ref.ID) } // they come with their bodies
	if len(refs) > MostRows && slices.ContainsFunc(refs, local) {
		refs = refs[:MostRows]
	}
	keys, trees := make([][]byte, len(refs)), make([]string, len(refs))
	for i := range refs {
		switch ref := &refs[i]; {
		case compat.IsLocalID(ref.ID):
			if ref.Rev.IsZero() { // local documents are never found by a revision
				keys[i] = r.d.Keys.Local(nil, ref.ID)
			}
		case ref.Rev.IsZero():
			keys[i] = r.d.Keys.AllDocs(nil, ref.ID)
		default:
			trees[i] = ref.ID
		}
	}
	values, err := r.d.GetPresent(keys)
	if err != nil {
		return err
	}
	wanted := make([]wantedRev, len(refs))
	reads := make([]EntryRead, len(refs))
	for i := range refs {
		if ref := &refs[i]; values[i] != nil && !compat.IsLocalID(ref.ID) {
			var size int
			if wanted[i].rev, size, err = formats.ParseListed(values[i]); err != nil {
				return err
			}
			reads[i], _ = r.d.WinnerRead(nil, ref.ID, false, wanted[i].rev, size)
			if ref.Conflicts {
				trees[i] = ref.ID
			}
		}
	}
	heads := !slices.ContainsFunc(refs, func(ref DocRef) bool { return !ref.Rev.IsZero() })
	leaves, err := r.d.LeavesEach(trees, heads)
	if err != nil {
		return err
	}
	for i := range leaves {
		if rev := refs[i].Rev; !rev.IsZero() {
			wanted[i] = wantedRev{rev: rev, line: lineOf(leaves[i], rev)}
			reads[i] = wanted[i].where(r.d, refs[i].ID)
		}
		if reads[i].Members = refs[i].Members; wanted[i].replaced() {
			reads[i].Members = r.d.wanted(reads[i].Members)
		}
	}
	return r.d.ReadEntries(&r.room, reads[:len(leaves)], func(i int, e *formats.Entry, found bool) error {
		doc, err := r.document(&refs[i], &wanted[i], values[i], e, found)
		if err != nil {
			return err
		}
		if doc != nil && refs[i].Conflicts && refs[i].Rev.IsZero() {
			doc.AddConflicts(leaves[i], true, false)
		}
		r.next = from + i + 1
		return r.fn(from+i, doc)
	})
}

// document makes the document of a ref; value is what was found where its winner is named, or of a
// local one.
func (r *eachRead) document(ref *DocRef, w *wantedRev, value []byte, e *formats.Entry, found bool) (*Document, error) {
	switch {
	case !ref.Rev.IsZero():
		return w.document(r.d, ref.ID, e, found, OpenOptions{})
	case found:
		return NewDocument(ref.ID, w.rev, false, *e), nil
	case value == nil:
		return nil, nil
	case compat.IsLocalID(ref.ID):
		return r.d.Local(ref.ID, value)
	}
	return nil, keyspace.Corrupt("winner without its entry", nil)
}
