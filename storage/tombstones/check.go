package tombstones

import (
	"context"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// checkWindow is how many keys Check reads from one snapshot.
const checkWindow = 1000

// Check tells what breaks the invariants of the index, in words; whole is what the record said
// before. It may run beside writers. What of the feed cannot be read is not this package's.
func (x Index) Check(ctx context.Context, engine kv.Store, whole bool) (found []string, err error) {
	err = x.walk(ctx, engine, keyspace.TagTombstones, keyspace.TagChanges,
		func(seq compat.Seq, id, value []byte) {
			row, err := formats.ParseChange(value)
			if value == nil || err == nil && (!row.Deleted || row.ID != string(id)) {
				found = append(found, fmt.Sprintf("index of deleted documents: %q at %x is no deleted document of the feed", id, seq))
			}
		})
	if err != nil || !whole {
		return found, err
	}
	err = x.walk(ctx, engine, keyspace.TagChanges, keyspace.TagTombstones,
		func(seq compat.Seq, value, listed []byte) {
			if row, err := formats.ParseChange(value); err == nil && row.Deleted && listed == nil {
				found = append(found, fmt.Sprintf("index of deleted documents: the deletion of %q at %x is missing", row.ID, seq))
			}
		})
	return found, err
}

// walk calls fn for what one subspace has at each sequence, and what another one has there. The
// progress of Build is passed over.
func (x Index) walk(
	ctx context.Context,
	engine kv.Store,
	tag, other keyspace.Tag,
	fn func(seq compat.Seq, value, beside []byte),
) error {
	begin := x.Keys.SeqKey(nil, tag, compat.Seq{})
	end := kv.AppendPrefixEnd(nil, x.Keys.Sub(nil, tag))
	return kv.Walk(ctx, engine, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		seqs, keys := make([]compat.Seq, len(window)), make([][]byte, len(window))
		for i, row := range window {
			seq, err := keyspace.ParseSeq(row.Key)
			if err != nil {
				return err
			}
			seqs[i], keys[i] = seq, x.Keys.SeqKey(nil, other, seq)
		}
		values, err := r.GetMany(keys)
		if err != nil {
			return err
		}
		for i, row := range window {
			fn(seqs[i], row.Value, values[i])
		}
		return nil
	})
}
