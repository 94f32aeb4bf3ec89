//go:build fdb

package fdbkv

import (
	"context"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
)

// identityKey is where FoundationDB gives the identity that a cluster gets when it is made. It is
// neither that of the cluster file, which changes with the coordinators, nor part of a backup of a
// range of keys.
const identityKey = "\xff\xff/cluster_id"

// Identity returns the cluster's name for itself, which is unique and stays the same when machines
// are replaced.
func (s *Store) Identity(ctx context.Context) ([]byte, error) {
	var id []byte
	_, err := s.db.Transact(func(tr fdb.Transaction) (any, error) {
		err := tr.Options().SetTimeout(housekeepingTime.Milliseconds())
		if err == nil {
			id, err = tr.Get(fdb.Key(identityKey)).Get()
		}
		return nil, err
	})
	if err == nil && len(id) == 0 {
		return nil, fmt.Errorf("fdbkv: the cluster has no %q", identityKey)
	}
	if err != nil {
		return nil, contractError(ctx, err)
	}
	return id, nil
}
