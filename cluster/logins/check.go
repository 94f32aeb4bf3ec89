package logins

import (
	"context"

	"github.com/settee-db/settee/storage/kv"
)

// Check reads the failures below a prefix and returns what is malformed.
func Check(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	err = kv.Walk(ctx, store, prefix, after(prefix), window, func(_ kv.ReadTx, rows []kv.Row) error {
		for _, row := range rows {
			if len(row.Key) == len(prefix) && len(row.Value) == 8 {
				continue
			}
			if _, _, err := parse(row.Key[len(prefix):], row.Value); err != nil {
				violations = append(violations, err.Error())
			}
		}
		return nil
	})
	return violations, err
}
