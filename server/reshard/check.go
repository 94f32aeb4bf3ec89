package reshard

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Check reads the jobs below a prefix and returns what is malformed.
func Check(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	err = kv.Walk(ctx, store, after(prefix, 0), after(prefix, 0xff), batch, func(_ kv.ReadTx, rows []kv.Row) error {
		for _, row := range rows {
			id, rest, err := tuple.ReadString(row.Key[len(prefix):])
			if err != nil || len(rest) > 0 {
				violations = append(violations, fmt.Sprintf("reshard: malformed key %q", row.Key))
				continue
			}
			job, err := parse(row.Value)
			if err == nil && job.ID != id {
				err = fmt.Errorf("reshard: the job %q is kept as %q", job.ID, id)
			}
			if err != nil {
				violations = append(violations, err.Error())
			}
		}
		return nil
	})
	return violations, err
}
