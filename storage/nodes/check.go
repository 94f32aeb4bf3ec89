package nodes

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
)

// checkWindow is how many keys Check reads from one snapshot at a time.
const checkWindow = 1000

// Check reads what is stored of processes below a prefix and returns what is malformed.
func Check(ctx context.Context, store kv.Store, prefix []byte) (violations []string, err error) {
	end := append(prefix[:len(prefix):len(prefix)], 0xff)
	err = kv.Walk(ctx, store, prefix, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			if len(row.Key) == len(prefix) && len(row.Value) == len(one) {
				continue
			}
			if _, err := Parse(row.Key[len(prefix):], row.Value); err != nil {
				violations = append(violations, fmt.Sprintf("nodes: invariant 5: %v", err))
			}
		}
		return nil
	})
	return violations, err
}
