package documents

import (
	"bytes"
	"context"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// Draft is a document on its way in whose attachments are stored before it is. It ends with Commit
// or Discard. It is not for concurrent use.
type Draft struct {
	d   *Database
	doc *compat.Document
	o   WriteOptions
	// Attachments whose bytes are stored already but belong to no document yet: Commit makes them
	// the document's, Discard removes them.
	uploads *storage.Uploads
}

// Draft begins to write a document.
func (d *Database) Draft(doc *compat.Document, o WriteOptions) *Draft {
	return &Draft{d: d, doc: doc, o: o, uploads: d.db.Attachments().Uploads()}
}

// Inline stores the bytes of the attachments that are in the document, compressed where their type
// asks for it.
func (w *Draft) Inline(ctx context.Context) error {
	for i := range w.doc.Attachments {
		a := &w.doc.Attachments[i]
		if a.Source != compat.SourceInline {
			continue
		}
		if err := w.checkType(a); err != nil {
			return err
		}
		stored, err := w.Upload(ctx, storage.Upload{Name: a.Name, Type: a.Type, Length: int64(len(a.Data))},
			bytes.NewReader(a.Data))
		if err != nil {
			return err
		}
		w.take(a, stored)
	}
	return nil
}

// checkType refuses a type that is no string, but of attachments of local documents, which are
// dropped.
func (w *Draft) checkType(a *compat.Attachment) error {
	if a.BadType && !compat.IsLocalID(w.doc.ID) {
		return compat.NewError(compat.KindBadRequest, "Invalid attachment content_type for "+a.Name)
	}
	return nil
}

// Follow stores length bytes of an attachment of the document whose bytes come after it, encoded as
// the document says, and puts what is stored in its place.
func (w *Draft) Follow(ctx context.Context, a *compat.Attachment, length int64, from io.Reader) error {
	if err := w.checkType(a); err != nil {
		return err
	}
	upload := storage.Upload{Name: a.Name, Type: a.Type, Encoding: a.Encoding, Length: length}
	if a.HasDigest {
		upload.Digest = &a.Digest
	}
	stored, err := w.Upload(ctx, upload, from)
	if err != nil {
		return err
	}
	if a.Encoding == compat.EncodingGzip {
		stored.Length, stored.EncodedLength = a.Length, a.EncodedLength
	}
	w.take(a, stored)
	return nil
}

// take replaces an attachment by the stored one. The revpos that came with it counts for replicated
// writes only.
func (w *Draft) take(a *compat.Attachment, stored compat.Attachment) {
	if w.o.Replicated {
		stored.RevPos, stored.HasRevPos = a.RevPos, a.HasRevPos
	}
	*a = stored
}

// Upload stores an attachment that is to become one of the document, within the limits; see
// storage.Uploads.Add. Whether it is compressed follows from its type.
func (w *Draft) Upload(ctx context.Context, u storage.Upload, from io.Reader) (compat.Attachment, error) {
	if err := w.d.store.Room(); err != nil && !w.o.Replicated {
		return compat.Attachment{}, err
	}
	u.Limit = w.d.rules.MaxAttachmentSize
	if u.Encoding == compat.EncodingIdentity {
		u.Compress = w.d.rules.Compression(u.Type)
	}
	return w.uploads.Add(ctx, u, from)
}

// Compression is the level at which attachments of a type are stored, 0 for none
// (couch_att:is_compressible).
func (r *Rules) Compression(contentType string) int {
	if r.CompressionLevel <= 0 || !compat.TypeListed(contentType, r.Compressible) {
		return 0
	}
	return int(min(r.CompressionLevel, 9))
}

// Commit stores the document, and returns its new revision. After an error the draft is discarded.
func (w *Draft) Commit(ctx context.Context) (compat.Rev, error) {
	rev, err := w.d.updateOne(ctx, w.doc, w.o)
	if err != nil {
		w.Discard(ctx)
	}
	return rev, err
}

// Discard removes what was stored for a document that is not written, also when the client is gone.
// Bytes that it cannot remove are collected later.
func (w *Draft) Discard(ctx context.Context) {
	if err := w.uploads.Discard(context.WithoutCancel(ctx)); err != nil {
		w.d.store.o.Log.Warn("attachment of a refused document is left to the collector", "request", w.d.from.Request,
			"error", err)
	}
}
