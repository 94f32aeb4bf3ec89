package verify

import (
	"context"

	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/rank"
)

// checkRanks checks the counts and the boundaries of each rank level over TagAllDocs.
func (c *dbCheck) checkRanks(ctx context.Context) error {
	var x *rank.Index
	var rest *counts.Rest
	if err := c.view(ctx, func(d *docread.Reader) (err error) {
		x = d.IDRanks()
		rest, err = d.Rest()
		return err
	}); err != nil {
		return err
	}
	report := func(format string, args ...any) { c.sum(6, "", "rank: "+format, args...) }
	if err := x.Check(ctx, c.store.kv, rest.IDs, report); err != nil {
		return err
	}
	return c.view(ctx, c.notice)
}
