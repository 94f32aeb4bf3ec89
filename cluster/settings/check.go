package settings

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
)

// checkWindow is how many keys Check reads from one snapshot at a time.
const checkWindow = 1000

// Check reads the settings below a prefix and returns what is malformed.
func Check(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	err = kv.Walk(ctx, store, prefix, after(prefix), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			if len(row.Key) == len(prefix) && len(row.Value) == 8 {
				continue
			}
			if _, _, err := parse(row.Key[len(prefix):], row.Value); err != nil {
				violations = append(violations, fmt.Sprintf("settings: invariant 3: %v", err))
			}
		}
		return nil
	})
	return violations, err
}
