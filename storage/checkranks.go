package storage

import (
	"context"
)

// checkRanks checks the counts and the boundaries of each rank level over TagAllDocs.
func (c *dbCheck) checkRanks(ctx context.Context, db *DB) error {
	var d dbRead
	if err := db.viewOn(ctx, func(snapshot *dbRead) error {
		d = *snapshot
		return nil
	}); err != nil {
		return err
	}
	report := func(format string, args ...any) { c.sum(6, "", "rank: "+format, args...) }
	if err := d.idRanks().Check(ctx, db.store.kv, report); err != nil {
		return err
	}
	return db.viewOn(ctx, c.notice)
}
