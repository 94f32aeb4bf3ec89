package documents

import (
	"context"
	"iter"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// Purge removes revisions without a trace, within the limit of section purge; see storage.DB.Purge.
func (d *Database) Purge(ctx context.Context, asked iter.Seq[storage.IDRevs]) ([]storage.IDRevs, error) {
	total := int64(0)
	for r := range asked { // counted first: they may be a million
		total += int64(len(r.Revs))
	}
	if total > d.rules.MaxPurgeRevs {
		return nil, compat.NewError(compat.KindBadRequest, "Exceeded maximum number of revisions.")
	}
	requests := slices.Collect(asked)
	err := d.CheckPartitions(ctx, func(yield func(string) bool) {
		for i := range requests {
			if !yield(requests[i].ID) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return d.db.Purge(ctx, requests)
}
