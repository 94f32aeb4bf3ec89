package documents

import (
	"context"
	"iter"

	"github.com/settee-db/settee/storage"
)

// RevsDiff calls fn with the revisions that the database lacks, of each document of which it lacks
// some; see storage.DB.RevsDiff. Any member of the database may ask for any document, since a
// revision's id says nothing of the content; but of another user's document every revision counts
// as missing.
func (d *Database) RevsDiff(
	ctx context.Context,
	asked iter.Seq[storage.IDRevs],
	fn func(*storage.RevsDiff) error,
) error {
	return d.db.RevsDiff(ctx, asked, func(req *storage.IDRevs, diff *storage.RevsDiff) error {
		if hidden, err := d.hidesExistence(ctx, req.ID); err != nil {
			return err
		} else if hidden {
			diff = &storage.RevsDiff{ID: req.ID, Missing: req.Revs}
		}
		if len(diff.Missing) == 0 {
			return nil
		}
		return fn(diff)
	})
}
