package views

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/large"
)

// Purged is storage.PurgeIndexer's: it takes the rows of documents that are gone out of all
// indexes.
func (v *Views) Purged(ctx context.Context, tx *storage.Tx, ids []string) error {
	sp := spaceOf(tx.Snapshot())
	indexes, err := readRecords(tx.KV(), sp)
	if err != nil {
		return err
	}
	for _, ix := range indexes {
		ix.tenant = tx.Name()
		if err := v.purge(ctx, tx, ix, ids); err != nil {
			return err
		}
	}
	return nil
}

// purge takes the rows of documents out of one index.
func (v *Views) purge(ctx context.Context, tx *storage.Tx, ix *index, ids []string) error {
	// no reduce function keeps documents from being purged
	w := indexWriter{tx: tx.KV(), order: tx.NextOrder, ix: ix, limits: v.limits, leaveStale: true}
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = ix.keys.id(nil, id)
	}
	entries, err := tx.KV().GetMany(keys)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if err := w.collectDoc(id, &docRows{}, entries[i]); err != nil {
			return err
		}
	}
	if err := v.aggregates.apply(ctx, &w); err != nil || len(w.changes) == 0 || ix.rec.levels || ix.rec.pieces != 0 {
		return err // nobody makes levels while there are pieces, whose builders an unchanged record lets go on
	}
	ix.rec.claims++
	large.Put(tx.KV(), ix.keys.space.info(ix.def.signature), ix.stored, ix.rec.encode())
	return nil
}

// readRecords reads the records of all indexes of a database that can be used. Of their definitions
// only what is in the records is known.
func readRecords(r kv.ReadTx, sp space) ([]*index, error) {
	begin, end := children(sp.sub(nil, keyInfo))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var indexes []*index
	var signature, stored, whole []byte // of the record at hand
	take := func() error {
		if signature == nil {
			return nil
		}
		if large.Is(stored) {
			if err := large.Check(stored, whole); err != nil {
				return err
			}
		} else {
			whole = stored
		}
		rec, usable, err := parseRecord(whole)
		if err != nil || !usable {
			return err
		}
		def := &definition{
			signature:   Signature(signature),
			raw:         rec.raw,
			partitioned: rec.partitioned,
			interactive: rec.interactive,
		}
		indexes = append(indexes, &index{def: def, keys: sp.keysOf(rec.number), rec: rec, stored: stored})
		return nil
	}
	for it.Next() {
		text, chunk, err := tuple.ReadBytes(it.Key()[len(begin):])
		if err != nil || len(text) != len(Signature{}) {
			return nil, corrupt("index record's key")
		}
		if len(chunk) > 0 {
			whole = append(whole, it.Value()...)
			continue
		}
		if err := take(); err != nil {
			return nil, err
		}
		signature, stored, whole = bytes.Clone(text), bytes.Clone(it.Value()), nil
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	err := take()
	return indexes, err
}
