package moved

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Home identifies the place of a store's keys: the cluster that they are on.
type Home struct {
	KV kv.Store
	// Cluster is the identity of the cluster that KV is on. With nil nothing is known of it, nor
	// kept.
	Cluster []byte
}

// isOther reports whether the store was somewhere else when it was settled last. A store without
// that note is from an older version: for it only the versionstamps tell.
func (h Home) isOther(r kv.ReadTx) (bool, error) {
	if h.Cluster == nil {
		return false, nil
	}
	was, err := r.Get(keyspace.HomeKey())
	return was != nil && !bytes.Equal(was, h.Cluster), err
}

// Keep has the store name its home.
func (h Home) Keep(ctx context.Context) error {
	if h.Cluster == nil {
		return nil
	}
	_, err := h.KV.Update(ctx, func(tx kv.Tx) error {
		was, err := tx.Get(keyspace.HomeKey())
		if err == nil && !bytes.Equal(was, h.Cluster) {
			tx.Set(keyspace.HomeKey(), h.Cluster)
		}
		return err
	})
	return err
}
