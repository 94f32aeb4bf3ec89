package storage

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
)

// largeBodies are the bodies of a request that would take too much of a transaction whose size the
// store limits. They are uploaded, as attachments are, before the transaction of their documents,
// which claims them: so a document fits whatever its body, and others fit beside it.
type largeBodies struct {
	db   *DB
	docs map[*compat.Document]*largeBody
}

// largeBody is an uploaded body.
type largeBody struct {
	formats.Blob
	uploads *Uploads
	claimed bool
}

// uploadedBefore reports whether a document's body is uploaded before the document's transaction.
func (s *Store) uploadedBefore(doc *compat.Document) bool {
	limit := s.limits.TransactionSize
	return limit > 0 && len(doc.Body.JSON) > max(limit/10, formats.MaxInline)
}

// upload stores the bodies of those documents of the groups that need it, once.
func (l *largeBodies) upload(ctx context.Context, groups []editGroup, docs []*compat.Document) error {
	for _, g := range groups {
		for _, i := range g.edits {
			doc := docs[i]
			if !l.db.store.uploadedBefore(doc) || l.docs[doc] != nil {
				continue
			}
			if l.docs == nil {
				l.docs = make(map[*compat.Document]*largeBody)
			}
			body := &largeBody{uploads: l.db.Attachments().Uploads()}
			l.docs[doc] = body
			var err error
			size := l.db.store.limits.TransactionSize / 4
			if body.Blob, err = body.uploads.AddBody(ctx, doc.Body.JSON, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// of is the uploaded body of a document, nil if there is none.
func (l *largeBodies) of(doc *compat.Document) *largeBody {
	if l == nil {
		return nil
	}
	return l.docs[doc]
}

// claimBody takes over the uploaded body of a document; it is the zero blob if it was not uploaded.
func (t *dbTx) claimBody(doc *compat.Document) (formats.Blob, error) {
	body := t.large.of(doc)
	if body == nil {
		return formats.Blob{}, nil
	}
	if err := t.blobs.Claim(body.Ref); err != nil {
		return formats.Blob{}, err
	}
	t.blobs.Share(body.Ref)
	body.claimed = true
	return body.Blob, nil
}

// end removes the bodies that no document has claimed, because their documents were refused. A body
// that it cannot remove is collected when the upload's lease ends.
func (l *largeBodies) end(ctx context.Context) {
	for _, body := range l.docs {
		if !body.claimed {
			_ = body.uploads.Discard(context.WithoutCancel(ctx))
		}
	}
}
