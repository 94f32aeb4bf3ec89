package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/big"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// Local documents have one revision, `0-N`, and no history. They appear in no feed.
//
// Value: format 1, N as text (with varint length), JSON text; or, where that is large, format 2, N, varint length of the JSON
// text, which is in chunks below the key.
const (
	localInline  = 1
	localChunked = 2
)

// localRev computes the revision of a local document that is written over rev (couch_db_updater:increment_local_doc_revs): what
// is stored does not matter.
func localRev(doc *compat.Document) (compat.Rev, *compat.Error) {
	if doc.Deleted {
		return compat.Rev{Hash: "0"}, nil
	}
	if len(doc.Revs.IDs) == 0 {
		return compat.Rev{Hash: "1"}, nil
	}
	n, ok := new(big.Int).SetString(doc.Revs.IDs[0], 10)
	if !ok || doc.Revs.Start != 0 {
		return compat.Rev{}, compat.NewError(compat.KindError, "Invalid rev format")
	}
	return compat.Rev{Hash: n.Add(n, big.NewInt(1)).String()}, nil
}

// updateLocals stores the local documents of a request, in one transaction where they fit.
func (db *DB) updateLocals(ctx context.Context, locals []int, docs []*compat.Document, results []EditResult) error {
	for len(locals) > 0 {
		done := 0
		err := db.update(ctx, func(t *dbTx) error {
			for done = 0; done < len(locals); done++ {
				if limit := db.store.limits.TransactionSize; done > 0 && limit > 0 && t.tx.Size() > limit/2 {
					break
				}
				doc := docs[locals[done]]
				results[locals[done]] = t.putLocal(doc)
			}
			return nil
		})
		if err != nil {
			return err
		}
		locals = locals[done:]
	}
	return nil
}

func (t *dbTx) putLocal(doc *compat.Document) EditResult {
	rev, refusal := localRev(doc)
	if refusal != nil {
		return refused(doc, refusal)
	}
	key := t.keys.local(nil, doc.ID)
	t.tx.ClearRange(children(key))
	if doc.Deleted {
		return EditResult{ID: doc.ID, Rev: rev}
	}
	value := appendText([]byte{localInline}, rev.Hash)
	body := doc.Body.JSON
	if len(body) == 0 {
		body = emptyBody
	}
	if len(value)+len(body) <= maxEntry {
		t.tx.Set(key, append(value, body...))
		return EditResult{ID: doc.ID, Rev: rev}
	}
	value[0] = localChunked
	t.tx.Set(key, binary.AppendUvarint(value, uint64(len(body))))
	t.putChunks(key, body)
	return EditResult{ID: doc.ID, Rev: rev}
}

// parseLocal reads a local document from its own value; chunked says that the body, of that length, is below the key.
func parseLocal(value []byte) (rev compat.Rev, body []byte, chunked bool, length int, err error) {
	r := valueReader{b: value}
	format := r.byte()
	rev.Hash = r.text()
	if format == localChunked {
		chunked, length = true, int(min(r.uvarint(), 1<<40))
	}
	if r.bad || format != localInline && format != localChunked {
		return rev, nil, false, 0, corrupt("local document", nil)
	}
	return rev, r.b, chunked, length, nil
}

// openLocal reads a local document; a revision that is asked for is never found.
func (d *dbRead) openLocal(id string, o OpenOptions) (*Document, error) {
	key := d.keys.local(nil, id)
	value, err := d.r.Get(key)
	if err != nil {
		return nil, err
	}
	if value == nil || !o.Rev.IsZero() {
		return nil, compat.ErrMissing
	}
	rev, body, chunked, length, err := parseLocal(value)
	if err != nil {
		return nil, err
	}
	if chunked {
		body, err = d.readChunks(key, length)
	}
	return &Document{ID: id, Rev: rev, Body: bytes.Clone(body)}, err
}

// LocalDocs calls row for the local documents in the range. There is no header: CouchDB counts them nowhere.
func (db *DB) LocalDocs(ctx context.Context, o RangeOptions, row func(*ListRow) error) error {
	return db.viewOn(ctx, func(d *dbRead) error {
		prefix := d.keys.sub(nil, TagLocal)
		begin, end := o.keys(prefix)
		it := d.r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending})
		defer it.Close()
		for o.Limit != 0 && it.Next() {
			id, rest, err := kv.ReadString(it.Key()[len(prefix):])
			if err != nil {
				return corrupt("local document's key", err)
			}
			if len(rest) > 0 {
				continue // a chunk
			}
			if !o.take(id) {
				continue
			}
			if err := d.localRow(id, it.Value(), o, row); err != nil {
				return err
			}
		}
		return it.Err()
	})
}

func (d *dbRead) localRow(id string, value []byte, o RangeOptions, row func(*ListRow) error) error {
	rev, _, _, _, err := parseLocal(value)
	if err != nil {
		return err
	}
	r := ListRow{ID: id, Found: true, Rev: rev}
	if o.IncludeDocs {
		if r.Doc, err = d.openLocal(id, OpenOptions{}); err != nil {
			return err
		}
	}
	return row(&r)
}
