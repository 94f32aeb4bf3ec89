package storage

import (
	"context"
	"errors"

	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Settings are what is set of a database as a whole: its limits, and who has access.
type Settings struct{ db *DB }

// Settings gives the settings.
func (db *DB) Settings() Settings { return Settings{db} }

// change changes the database's record. Every writer of the database conflicts with it. What
// it sets are bounds of what is kept.
func (s Settings) change(ctx context.Context, change func(*keyspace.Record)) error {
	return kv.FromReserve(ctx, func(ctx context.Context) error {
		_, err := s.db.store.kv.Update(ctx, func(tx kv.Tx) error {
			var d dbRead
			if err := d.Open(tx, s.db.name); err != nil {
				return err
			}
			change(&d.Rec)
			tx.Set(keyspace.RecordKey(s.db.name), d.Rec.Encode())
			return nil
		})
		return err
	})
}

// Record is what is fixed of the database, or rarely changed; compat.ErrNoDatabase if there is none.
func (s Settings) Record(ctx context.Context) (rec keyspace.Record, err error) {
	err = s.db.view(ctx, func(d *dbRead) error {
		rec = d.Rec
		return nil
	})
	return rec, err
}

// SetRevsLimit sets the limit, at least 1. Reads obey it at once; lines are cut when their document
// is written.
func (s Settings) SetRevsLimit(ctx context.Context, limit int64) error {
	return s.change(ctx, func(r *keyspace.Record) { r.RevsLimit = limit })
}

// SetPurgedInfosLimit sets the limit, at least 1.
func (s Settings) SetPurgedInfosLimit(ctx context.Context, limit int64) error {
	return s.change(ctx, func(r *keyspace.Record) { r.PurgedInfosLimit = limit })
}

// SetAutoPurge sets how long tombstones are kept, at most keyspace.MaxAutoPurge bytes.
func (s Settings) SetAutoPurge(ctx context.Context, ttl string) error {
	return s.change(ctx, func(r *keyspace.Record) { r.AutoPurge = ttl })
}

// SetHistory sets how long replaced revisions are kept, at most keyspace.MaxAutoPurge bytes.
func (s Settings) SetHistory(ctx context.Context, life string) error {
	return s.change(ctx, func(r *keyspace.Record) { r.History = life })
}

// SetShare sets whom users may name in what they write, of a database with access for each document.
func (s Settings) SetShare(ctx context.Context, share access.Share) error {
	return s.change(ctx, func(r *keyspace.Record) { r.Access.ShareAny = share == access.ShareAny })
}

// ChangeGroups has fn change groups of a database with access for each document, in a transaction of
// their own. The first one changes the record.
func (s Settings) ChangeGroups(ctx context.Context, fn func(tx kv.Tx, g groups.Groups) error) error {
	return s.db.update(ctx, func(t *dbTx) error {
		err := errors.Join(t.whole(s.db), fn(t.tx, groups.In(t.Keys)))
		if err == nil && !t.Rec.Access.Groups {
			t.Rec.Access.Groups = true
			t.tx.Set(keyspace.RecordKey(t.Name), t.Rec.Encode())
		}
		return err
	})
}

// Access reports whether each document has readers of its own.
func (s Settings) Access(ctx context.Context) (bool, error) {
	rec, err := s.Record(ctx)
	return rec.Access.On, err
}

// Partitioned reports whether the ids of the database name partitions.
func (s Settings) Partitioned(ctx context.Context) (bool, error) {
	rec, err := s.Record(ctx)
	return rec.Partitioned, err
}
