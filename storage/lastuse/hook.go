package lastuse

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
)

const designPrefix = "_design/"

// Prepare implements storage.Indexer: transactions that change design documents write when they
// did. Others cost nothing.
func (u *Uses) Prepare(_ context.Context, tx *storage.Tx) (storage.IndexFunc, error) {
	if !tx.ChangesDesigns() {
		return nil, nil
	}
	return u.changed, nil
}

// changed is the storage.IndexFunc.
func (u *Uses) changed(_ context.Context, tx *storage.Tx, id string, _, after *docread.Document) error {
	if !strings.HasPrefix(id, designPrefix) {
		return nil
	}
	key := designKey(tx, id)
	if after == nil {
		tx.KV().ClearRange(keyspace.Children(key))
		return nil
	}
	tx.KV().Set(key, binary.AppendVarint(nil, u.o.Now().Unix()))
	return nil
}

// Purged implements storage.PurgeIndexer.
func (u *Uses) Purged(ctx context.Context, tx *storage.Tx, ids []string) error {
	for _, id := range ids {
		if err := u.changed(ctx, tx, id, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
