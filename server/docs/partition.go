package docs

import (
	"context"
	"iter"
	"strings"

	"github.com/settee-db/settee/compat"
)

// CheckPartitions refuses ids that name no partition where the database asks for one; ids that begin with an
// underscore need none (couch_partition:hash). The database is only asked when there is such an id.
func (d *Database) CheckPartitions(ctx context.Context, ids iter.Seq[string]) error {
	for id := range ids {
		if strings.HasPrefix(id, "_") {
			continue
		}
		if _, _, err := compat.SplitPartition(id); err != nil {
			partitioned, dbErr := d.db.Partitioned(ctx)
			if dbErr != nil || !partitioned {
				return dbErr
			}
			return err
		}
	}
	return nil
}
