package documents

import (
	"context"
	"iter"

	"github.com/settee-db/settee/storage"
)

// RevsDiff calls fn with the revisions that the database lacks, of each document of which it lacks
// some; see storage.DB.RevsDiff. Who may use the database may ask for any document, since a
// revision's id says nothing of what is in it; but of another user's document all is missing.
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
