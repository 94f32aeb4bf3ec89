package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Create makes an empty database; compat.ErrFileExists if there is one of that name. The name is
// taken as it is.
func (s *Store) Create(ctx context.Context, name string, o CreateOptions) error {
	return s.CreateAs(ctx, name, o.Security, keyspace.Record{
		Created:          s.now(),
		Partitioned:      o.Partitioned,
		Access:           keyspace.Access{On: o.Access},
		Incarnation:      keyspace.FirstIncarnation,
		RevsLimit:        keyspace.DefaultRevsLimit,
		PurgedInfosLimit: keyspace.DefaultPurgedInfosLimit,
		Q:                int64(o.Q),
		N:                int64(o.N),
	})
}

// CreateAs is Create of a database with the settings of a record, whose UUID, prefix and Tombstones
// are new.
func (s *Store) CreateAs(ctx context.Context, name string, security []byte, rec keyspace.Record) error {
	_, err := s.kv.Update(ctx, func(tx kv.Tx) error {
		key := keyspace.RecordKey(name)
		value, err := tx.Get(key)
		if err != nil {
			return err
		}
		if value != nil {
			return compat.ErrFileExists
		}
		if rec.Prefix, err = nextPrefix(tx); err != nil {
			return err
		}
		if rec.UUID, rec.Tombstones = newUUID(), true; rec.Access.On {
			rand.Read(rec.Access.Secret[:]) // never fails
		}
		// cut to what is stored, so that a record compares equal with itself after it was read again
		rec.Created = rec.Created.Truncate(time.Microsecond).UTC()
		tx.Set(key, rec.Encode())
		// Even an empty database has a last sequence, which `since=now` and wake-ups begin with.
		keys := keyspace.NewSpace(rec.Prefix)
		tx.SetVersionstampedValue(keys.Sub(nil, keyspace.TagLastSeq),
			keyspace.AppendSeq(nil, Seq{Incarnation: rec.Incarnation}), 1)
		if security == nil {
			return nil
		}
		reader := counts.Reader{R: tx, Keys: keys, Sizes: s.sizes}
		d := docread.Reader{Reader: reader, Rec: rec, Name: name, Ctx: ctx}
		t := dbTx{dbRead: dbRead{Reader: d}, tx: tx, now: s.now}
		t.setSecurity(security)
		return nil
	})
	if err == nil {
		s.touched(name, dbevents.Created)
	}
	return err
}

// nextPrefix gives out a database prefix; none is used twice, so a late reader of a deleted
// database never sees another one.
func nextPrefix(tx kv.Tx) (int64, error) {
	key := keyspace.NextPrefixKey()
	value, err := tx.Get(key)
	if err != nil {
		return 0, err
	}
	prefix := max(keyspace.Counter(value), keyspace.FirstPrefix)
	keyspace.PutCounter(tx, key, prefix+1)
	return prefix, nil
}

// Delete removes a database with all it holds; compat.ErrNoDatabase if there is none.
func (s *Store) Delete(ctx context.Context, name string) error {
	err := kv.FromReserve(ctx, func(ctx context.Context) error {
		_, err := s.kv.Update(ctx, func(tx kv.Tx) error {
			var d dbRead
			if err := d.Open(tx, name); err != nil {
				return err
			}
			tx.Clear(keyspace.RecordKey(name))
			tx.ClearRange(keyspace.Children([]byte(d.Keys)))
			return nil
		})
		return err
	})
	if err == nil {
		s.touched(name, dbevents.Deleted)
	}
	return err
}

// AllDBs calls fn for the names of the databases in the range, in byte order. Of o only the range,
// the direction, Skip and Limit count. On a store that limits the age of snapshots a long list goes
// on in a newer one.
func (s *Store) AllDBs(ctx context.Context, o RangeOptions, fn func(name string) error) error {
	prefix := keyspace.DatabasesPrefix()
	return kv.GoOn(ctx, func() (advanced bool, err error) {
		begin, end := o.keys(prefix)
		err = s.kv.View(ctx, func(r kv.ReadTx) error {
			it := r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending})
			defer it.Close()
			for o.Limit != 0 && it.Next() {
				name, err := keyspace.ParseRecordKey(it.Key())
				if err != nil {
					return err
				}
				if o.Skip == 0 {
					if err := fn(name); err != nil {
						return err
					}
				}
				o.took(name)
				advanced = true
			}
			return it.Err()
		})
		return advanced, err
	})
}

// EachDB calls fn for every database, one after the other and in no snapshot of theirs. One that is
// deleted meanwhile, so that fn fails with compat.KindNoDatabase, is passed over.
func (s *Store) EachDB(ctx context.Context, fn func(db *DB) error) error {
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fn(s.DB(name)); err != nil && !errors.Is(err, compat.KindNoDatabase) {
			return err
		}
	}
	return nil
}

// Exists reports whether there is a database of that name.
func (db *DB) Exists(ctx context.Context) (bool, error) {
	err := db.view(ctx, func(*dbRead) error { return nil })
	if errors.Is(err, compat.ErrNoDatabase) {
		return false, nil
	}
	return err == nil, err
}

// Info reads what GET /db shows, all from one snapshot.
func (db *DB) Info(ctx context.Context) (*Info, error) {
	var info *Info
	err := db.view(ctx, func(d *dbRead) (err error) {
		info, err = d.info(db.store.history(d.Rec.History))
		return err
	})
	if err != nil {
		return nil, err
	}
	info.CompactRunning = db.store.bg.compactions.Has(db.name)
	return info, nil
}

// info makes the answer to GET /db. The sizes follow CouchDB's meaning: `active` is what compaction
// would keep, and `file` adds the replaced revisions to it, since there is no file whose length
// could be told.
func (d *dbRead) info(history History) (*Info, error) {
	if d.Who != nil {
		return d.sliceInfo()
	}
	counters := []keyspace.Stat{
		keyspace.DocCount, keyspace.DelCount, keyspace.ExternalSize, keyspace.ActiveSize,
		keyspace.Purges, keyspace.HistorySize,
	}
	if history.Seconds > 0 {
		counters = append(counters, keyspace.HistoryRows)
	}
	counts, err := d.Stats(counters...)
	if err != nil {
		return nil, err
	}
	seq, err := d.updateSeq()
	if err != nil {
		return nil, err
	}
	purge := UpdateSeq{N: uint64(counts[4])}
	if value, err := d.R.Get(d.Keys.Sub(nil, keyspace.TagPurgeSeq)); err != nil {
		return nil, err
	} else if value != nil {
		if purge.Seq, err = keyspace.ParseSeq(value); err != nil {
			return nil, err
		}
	}
	info := &Info{
		Name: d.Name, UUID: d.Rec.UUID, Created: d.Rec.Created, Partitioned: d.Rec.Partitioned,
		Access: d.Rec.Access.On,
		Q:      int(d.Rec.Q), N: int(d.Rec.N),
		DocCount: counts[0], DocDelCount: counts[1], UpdateSeq: seq, PurgeSeq: purge,
		SizeFile: counts[3] + counts[5], SizeExternal: counts[2], SizeActive: counts[3],
		History: history, HistorySize: counts[5],
	}
	if history.Seconds > 0 {
		info.HistoryRows = counts[6]
	}
	return info, nil
}

// PartitionInfo reads the counters of a partition; one without documents has zeros.
func (db *DB) PartitionInfo(ctx context.Context, partition string) (*PartitionInfo, error) {
	var info *PartitionInfo
	err := db.view(ctx, func(d *dbRead) error {
		if err := d.whole(); err != nil {
			return err
		}
		var keys [][]byte
		stats := [...]keyspace.Stat{keyspace.DocCount, keyspace.DelCount, keyspace.ActiveSize, keyspace.ExternalSize}
		for _, n := range stats {
			keys = append(keys, d.Keys.PartStat(nil, partition, n))
		}
		counts, err := keyspace.ReadCounters(d.R, keys)
		if err == nil {
			info = &PartitionInfo{
				DocCount:     counts[0],
				DocDelCount:  counts[1],
				SizeActive:   counts[2],
				SizeExternal: counts[3],
			}
		}
		return err
	})
	return info, err
}
