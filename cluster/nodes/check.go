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

// List reads the processes that have a key, in ascending order of their ids: also those that have
// been gone for less than ten times the lease. It tells who was there, not who is: that takes
// watching them (Members).
func List(ctx context.Context, store kv.Store, prefix []byte) (list []Member, err error) {
	begin, end := append(prefix[:len(prefix):len(prefix)], 0), append(prefix[:len(prefix):len(prefix)], 0xff)
	err = kv.Walk(ctx, store, begin, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			m, err := Parse(row.Key[len(prefix):], row.Value)
			if err != nil {
				return err
			}
			list = append(list, m)
		}
		return nil
	})
	return list, err
}
