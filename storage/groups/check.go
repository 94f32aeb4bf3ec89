package groups

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// checkWindow is how many groups, and how many memberships, Check reads from one snapshot.
const checkWindow = 100

// Check tells what is wrong with the groups of a database, in words; it is right if none is written
// meanwhile. Each group has to be stored for each of its members, and no other.
func (g Groups) Check(ctx context.Context, engine kv.Store) (wrong []string, err error) {
	total, stored := 0, 0
	prefix := g.prefix(partHeads)
	begin, end := keyspace.Children(prefix)
	err = kv.Walk(ctx, engine, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		members, found := 0, []string(nil)
		for _, row := range window {
			name, _, err := tuple.ReadString(row.Key[len(prefix):])
			if err != nil {
				return keyspace.Corrupt("group's key", err)
			}
			group, err := g.Get(r, name)
			if err != nil {
				return fmt.Errorf("group %q: %w", name, err)
			}
			keys := make([][]byte, len(group.Members))
			for i, principal := range group.Members {
				keys[i] = g.member(principal, name)
			}
			values, err := r.GetMany(keys)
			if err != nil {
				return err
			}
			for i, value := range values {
				if value == nil {
					member := group.Members[i]
					found = append(found, fmt.Sprintf("group %q is not found by its member %q", name, member))
				}
			}
			members += len(keys)
		}
		total, wrong = total+members, append(wrong, found...)
		return nil
	})
	if err != nil {
		return wrong, err
	}
	begin, end = keyspace.Children(g.ofMembers())
	err = kv.Walk(ctx, engine, begin, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		stored += len(window)
		return nil
	})
	if err == nil && stored+len(wrong) > total {
		n := stored + len(wrong) - total
		wrong = append(wrong, fmt.Sprintf("%d memberships of groups that have no such member", n))
	}
	return wrong, err
}
