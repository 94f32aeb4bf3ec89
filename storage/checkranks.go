package storage

import (
	"context"

	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/rank"
)

// checkRanks checks the counts and the boundaries of each rank level over TagAllDocs.
func (c *dbCheck) checkRanks(ctx context.Context, db *DB) error {
	var x *rank.Index
	var rest *counts.Rest
	if err := db.view(ctx, func(d *dbRead) (err error) {
		x = d.IDRanks()
		rest, err = d.Rest()
		return err
	}); err != nil {
		return err
	}
	report := func(format string, args ...any) { c.sum(6, "", "rank: "+format, args...) }
	if err := x.Check(ctx, db.store.kv, rest.IDs, report); err != nil {
		return err
	}
	return db.view(ctx, c.notice)
}
