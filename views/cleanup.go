package views

import (
	"context"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/large"
)

// Cleanup removes the indexes that no design document has.
func (v *Views) Cleanup(ctx context.Context, db *storage.DB) error {
	wanted, err := wantedIndexes(ctx, db)
	if err != nil {
		return err
	}
	var unused []Signature
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		unused = nil
		sp := spaceOf(s)
		prefix := sp.sub(nil, keyInfo)
		begin, end := children(prefix)
		it := s.KV().Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			text, chunk, err := tuple.ReadBytes(it.Key()[len(prefix):])
			if err != nil || len(text) != len(Signature{}) {
				return corrupt("index record's key")
			}
			signature := Signature(text)
			if _, isWanted := wanted[signature]; len(chunk) == 0 && !isWanted {
				unused = append(unused, signature)
			}
		}
		return it.Err()
	})
	for _, signature := range unused {
		if err == nil {
			err = dropUnused(ctx, db, signature)
		}
	}
	return err
}

// wantedIndexes are the indexes of all design documents, with their reduce functions.
func wantedIndexes(ctx context.Context, db *storage.DB) (map[Signature][]string, error) {
	wanted := make(map[Signature][]string)
	rec, err := db.Settings().Record(ctx)
	if err != nil {
		return nil, err
	}
	of := databaseKind{rec.Partitioned, rec.Access.On}
	o := storage.RangeOptions{Limit: -1, Namespace: storage.NamespaceDesign, IncludeDocs: true}
	err = db.AllDocs(ctx, o, nil, func(row *storage.ListRow) error {
		if err := storage.HoldParsed(ctx, db, row.Doc.Body); err != nil {
			return err
		}
		d, err := parseDocument(row.Doc, of)
		if err != nil {
			return err
		}
		for _, d := range d.each() {
			for i := range d.definitions {
				def := &d.definitions[i]
				wanted[def.signature] = append(wanted[def.signature], def.reduces...)
			}
		}
		return nil
	})
	return wanted, err
}

// dropUnused removes an index, unless it is an interactive one that a design document has by now.
func dropUnused(ctx context.Context, db *storage.DB, signature Signature) error {
	return db.Transact(kv.UseReserve(ctx), func(tx *storage.Tx) error {
		sp := spaceOf(tx.Snapshot())
		list, err := readInteractive(tx.KV(), sp)
		if err != nil || list.find(signature) >= 0 {
			return err
		}
		return dropIndex(tx.KV(), sp, signature)
	})
}

// dropIndex removes an index with its record.
func dropIndex(tx kv.Tx, sp space, signature Signature) error {
	key := sp.info(signature)
	value, err := tx.Get(key)
	if err != nil || value == nil {
		return err
	}
	whole, err := large.Read(tx, key, value)
	if err != nil {
		return err
	}
	rec, _, err := parseRecord(whole)
	if err != nil {
		return err
	}
	sp.clear(tx, rec.number)
	large.Clear(tx, key)
	return nil
}
