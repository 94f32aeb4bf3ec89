package storage

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv"
)

// changeRecord changes the database's record. Every writer of the database conflicts with it.
func (db *DB) changeRecord(ctx context.Context, change func(*record)) error {
	_, err := db.store.kv.Update(ctx, func(tx kv.Tx) error {
		var d dbRead
		if err := d.open(tx, db.name); err != nil {
			return err
		}
		change(&d.rec)
		tx.Set(dbRecordKey(db.name), d.rec.encode())
		return nil
	})
	return err
}

func (db *DB) record(ctx context.Context) (rec record, err error) {
	err = db.viewOn(ctx, func(d *dbRead) error {
		rec = d.rec
		return nil
	})
	return rec, err
}

// RevsLimit is how many revisions of a line are kept.
func (db *DB) RevsLimit(ctx context.Context) (int64, error) {
	rec, err := db.record(ctx)
	return rec.revsLimit, err
}

// SetRevsLimit sets the limit, at least 1. Reads obey it at once; lines are cut when their document is written.
func (db *DB) SetRevsLimit(ctx context.Context, limit int64) error {
	return db.changeRecord(ctx, func(r *record) { r.revsLimit = limit })
}

// PurgedInfosLimit is how many purge requests are remembered after a compaction.
func (db *DB) PurgedInfosLimit(ctx context.Context) (int64, error) {
	rec, err := db.record(ctx)
	return rec.purgedInfosLimit, err
}

// SetPurgedInfosLimit sets the limit, at least 1.
func (db *DB) SetPurgedInfosLimit(ctx context.Context, limit int64) error {
	return db.changeRecord(ctx, func(r *record) { r.purgedInfosLimit = limit })
}

// Security reads the security object as it was set, nil if it never was.
func (db *DB) Security(ctx context.Context) ([]byte, error) {
	var object []byte
	err := db.viewOn(ctx, func(d *dbRead) (err error) {
		object, err = d.security()
		return err
	})
	return object, err
}

// security reads the security object. Value: varint length of the JSON text, the text; what is too long goes on in chunks below the key.
func (d *dbRead) security() ([]byte, error) {
	key := d.keys.sub(nil, TagSecurity)
	value, err := d.r.Get(key)
	if err != nil || value == nil {
		return nil, err
	}
	r := valueReader{b: value}
	length := r.uvarint()
	if r.bad || length > maxBlob || len(r.b) > int(length) {
		return nil, corrupt("security object", nil)
	}
	object := bytes.Clone(r.b)
	if len(object) == int(length) {
		return object, nil
	}
	rest, err := d.readChunks(key, int(length)-len(object))
	return append(object, rest...), err
}

// SetSecurity replaces the security object, which is stored as it is.
func (db *DB) SetSecurity(ctx context.Context, object []byte) error {
	return db.update(ctx, func(t *dbTx) error {
		t.setSecurity(object)
		return nil
	})
}

func (t *dbTx) setSecurity(object []byte) {
	key := t.keys.sub(nil, TagSecurity)
	t.tx.ClearRange(children(key))
	first := min(len(object), maxEntry)
	t.tx.Set(key, append(binary.AppendUvarint(nil, uint64(len(object))), object[:first]...))
	t.putChunks(key, object[first:])
}
