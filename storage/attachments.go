package storage

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/docread"
)

type (
	// Upload describes the bytes of one attachment.
	Upload = blobs.Upload
	// Uploads stores the attachments of one document that is about to be written.
	Uploads = blobs.Uploads
	// AttachmentRange selects what Attachments.Read writes.
	AttachmentRange = blobs.Range
)

// Attachments are the bytes of the attachments of a database.
type Attachments struct{ db *DB }

// Attachments gives the attachments.
func (db *DB) Attachments() Attachments { return Attachments{db} }

// Uploads begins the attachments of one document.
func (a Attachments) Uploads() *Uploads { return blobs.NewUploads(a) }

// Read writes the bytes of an attachment of a stored document to w; see blobs.Read.
func (a Attachments) Read(ctx context.Context, att *compat.Attachment, o AttachmentRange, w io.Writer) error {
	return blobs.Read(ctx, a, att, o, w)
}

// ViewBlobs implements blobs.Database.
func (a Attachments) ViewBlobs(ctx context.Context, fn func(*docread.Reader) error) error {
	return a.db.view(ctx, func(d *dbRead) error { return fn(&d.Reader) })
}

// UpdateBlobs implements blobs.Database; finish writes what fn did.
func (a Attachments) UpdateBlobs(ctx context.Context, fn func(*blobs.Tx) error) error {
	return a.db.update(ctx, func(t *dbTx) error { return fn(&t.blobs) })
}

// collectEvery is the pause between two looks for uploads that no document claimed.
const collectEvery = 20 * time.Minute

// CollectAttachments removes the uploads, in all databases, whose documents were not written in
// time, and returns their number. It may run at any time and in several processes at once: an
// upload is removed in a transaction that finds its lease expired, and cannot be claimed
// afterwards. The Store calls it periodically.
func (s *Store) CollectAttachments(ctx context.Context) (int, error) {
	names, err := s.names(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, name := range names {
		n, err := blobs.Collect(ctx, s.DB(name).Attachments(), s.now())
		total += n
		if err != nil && !errors.Is(err, compat.KindNoDatabase) {
			return total, err
		}
	}
	return total, nil
}

// collectQuietly is the periodic collection. What fails is tried again next time.
func (s *Store) collectQuietly(ctx context.Context) { _, _ = s.CollectAttachments(ctx) }

// names lists all databases.
func (s *Store) names(ctx context.Context) ([]string, error) {
	var names []string
	err := s.AllDBs(ctx, RangeOptions{Limit: -1}, func(name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}
