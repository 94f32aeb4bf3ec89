package storage

import (
	"context"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// changeRecord changes the database's record. Every writer of the database conflicts with it. What
// it sets are bounds of what is kept.
func (db *DB) changeRecord(ctx context.Context, change func(*keyspace.Record)) error {
	return fromReserve(ctx, func(ctx context.Context) error {
		_, err := db.store.kv.Update(ctx, func(tx kv.Tx) error {
			var d dbRead
			if err := d.Open(tx, db.name); err != nil {
				return err
			}
			change(&d.Rec)
			tx.Set(keyspace.RecordKey(db.name), d.Rec.Encode())
			return nil
		})
		return err
	})
}

func (db *DB) record(ctx context.Context) (rec keyspace.Record, err error) {
	err = db.view(ctx, func(d *dbRead) error {
		rec = d.Rec
		return nil
	})
	return rec, err
}

// RevsLimit is how many revisions of a line are kept.
func (db *DB) RevsLimit(ctx context.Context) (int64, error) {
	rec, err := db.record(ctx)
	return rec.RevsLimit, err
}

// SetRevsLimit sets the limit, at least 1. Reads obey it at once; lines are cut when their document
// is written.
func (db *DB) SetRevsLimit(ctx context.Context, limit int64) error {
	return db.changeRecord(ctx, func(r *keyspace.Record) { r.RevsLimit = limit })
}

// PurgedInfosLimit is how many purge requests are remembered after a compaction.
func (db *DB) PurgedInfosLimit(ctx context.Context) (int64, error) {
	rec, err := db.record(ctx)
	return rec.PurgedInfosLimit, err
}

// SetPurgedInfosLimit sets the limit, at least 1.
func (db *DB) SetPurgedInfosLimit(ctx context.Context, limit int64) error {
	return db.changeRecord(ctx, func(r *keyspace.Record) { r.PurgedInfosLimit = limit })
}

// Partitioned reports whether the ids of the database name partitions.
func (db *DB) Partitioned(ctx context.Context) (bool, error) {
	rec, err := db.record(ctx)
	return rec.Partitioned, err
}
