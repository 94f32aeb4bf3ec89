package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Purged is storage.PurgeIndexer's: it takes the rows of documents that are gone out of all indexes.
func (v *Views) Purged(ctx context.Context, tx *storage.Tx, ids []string) error {
	sp := spaceOf(tx.Snapshot())
	members, err := readRecords(tx.KV(), sp)
	if err != nil {
		return err
	}
	for _, m := range members {
		m.tenant = tx.Name()
		if err := v.purge(ctx, tx, m, ids); err != nil {
			return err
		}
	}
	return nil
}

// purge takes the rows of documents out of one index.
func (v *Views) purge(ctx context.Context, tx *storage.Tx, m *member, ids []string) error {
	w := indexWriter{tx: tx.KV(), m: m, limits: v.limits, unsettled: true} // no reduce function keeps documents from being purged
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = m.keys.id(nil, id)
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
	if err := v.applyRows(ctx, &w); err != nil || len(w.changes) == 0 || m.rec.levels {
		return err
	}
	m.rec.claims++
	tx.KV().Set(m.keys.space.info(m.def.signature), m.rec.encode())
	return nil
}

// readRecords reads the records of all indexes of a database that can be used. Of their definitions only what is in the records is
// known.
func readRecords(r kv.ReadTx, sp space) ([]*member, error) {
	begin, end := children(sp.sub(nil, keyInfo))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var members []*member
	for it.Next() {
		text, _, err := kv.ReadBytes(it.Key()[len(begin):])
		if err != nil || len(text) != len(Signature{}) {
			return nil, corrupt("index record's key")
		}
		rec, usable, err := parseRecord(it.Value())
		if err != nil {
			return nil, err
		}
		if usable {
			def := &indexDef{signature: Signature(text), raw: rec.raw, partitioned: rec.partitioned, interactive: rec.interactive}
			members = append(members, &member{def: def, keys: sp.keysOf(rec.number), rec: rec})
		}
	}
	return members, it.Err()
}
