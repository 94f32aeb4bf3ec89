package replaced

import (
	"bytes"
	"context"
	"fmt"

	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// checkWindow is how many keys Check reads from one snapshot.
const checkWindow = 1000

// Check tells what breaks the invariant of the index, in words. It may run beside writers. Entries
// of TagHistory that cannot be read are reported by package verify.
func (x Index) Check(ctx context.Context, engine kv.Store) (found []string, err error) {
	history := x.Keys.Sub(nil, keyspace.TagHistory)
	err = x.walk(ctx, engine, keyspace.TagReplaced, func(key, _ []byte) []byte {
		row, _ := x.parse(key) // of one that cannot be read there is no entry
		return append(bytes.Clone(history), row.Entry...)
	}, func(key, _, entry []byte) {
		row, err := x.parse(key)
		if at, ok := formats.ReplacedAt(entry); err != nil || !ok || at != row.MS {
			found = append(found, fmt.Sprintf("times of replaced revisions: no entry %x was replaced at %d", row.Entry, row.MS))
		}
	})
	if err != nil {
		return found, err
	}
	err = x.walk(ctx, engine, keyspace.TagHistory, func(key, entry []byte) []byte {
		if at, ok := formats.ReplacedAt(entry); ok {
			return x.Key(at, key[len(history):])
		}
		return key // there is something
	}, func(key, _, row []byte) {
		if row == nil {
			found = append(found, fmt.Sprintf("times of replaced revisions: that of the entry %x is missing", key[len(history):]))
		}
	})
	return found, err
}

// walk calls fn for the rows of a subspace, and what there is at the key that other tells for each.
func (x Index) walk(ctx context.Context, engine kv.Store, tag keyspace.Tag,
	other func(key, value []byte) []byte, fn func(key, value, beside []byte),
) error {
	begin, end := keyspace.Children(x.Keys.Sub(nil, tag))
	return kv.Walk(ctx, engine, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		keys := make([][]byte, len(window))
		for i, row := range window {
			keys[i] = other(row.Key, row.Value)
		}
		values, err := r.GetMany(keys)
		if err != nil {
			return err
		}
		for i, row := range window {
			fn(row.Key, row.Value, values[i])
		}
		return nil
	})
}
