package storage

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
)

// claim makes a new entry a holder of its attachments. Those that came with the write are written,
// or taken over from an upload; their Ref is set in atts. doc tells which ones are the parent's
// (stubs): they are only shared.
func (e *docEdit) claim(w *revWrite) error {
	for i := range w.atts {
		a := &w.atts[i]
		if w.doc.Attachments[i].Source != compat.SourceStub {
			if err := e.t.takeOver(a); err != nil {
				return err
			}
		}
		e.t.blobs.Share(a.Ref)
	}
	return nil
}

// takeOver makes sure that an attachment's bytes are in the store. One whose bytes never came (it
// was to follow, and nothing did) fails as in CouchDB.
func (t *dbTx) takeOver(a *compat.Attachment) error {
	if a.Ref == "" {
		if a.InMemory() != a.EncodedLength {
			return compat.ErrAttachmentBytes
		}
		a.Ref, a.Chunks = t.blobs.Put(a.Chunks), nil
		return nil
	}
	return t.blobs.Claim(a.Ref)
}

// release ends what newEntry began, for an entry that goes away and whose list of attachments was
// read.
func (t *dbTx) release(e *formats.Entry) {
	for i := range e.Atts {
		t.blobs.Release(e.Atts[i].Ref)
	}
	for _, b := range [...]*formats.Blob{&e.AttsApart, &e.BodyApart} {
		if !b.IsZero() {
			t.blobs.Release(b.Ref)
		}
	}
}
