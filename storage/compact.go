package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/compactions"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Compaction forgets the bodies of replaced revisions (TagHistory), the attachments that only they
// name, and the oldest purge requests. Nothing else ever piles up in a database. It runs beside
// writers: each entry is removed in a transaction that reads it, and the removal of one entry
// conflicts with nothing but another removal of it.

// CompactionPolicy says when a database is compacted without being asked (CouchDB's smoosh). The
// zero value is the default.
type CompactionPolicy struct {
	// Off leaves it to Compact and StartCompact.
	Off bool
	// MinHistory is the least size of the replaced revisions, in bytes; 0 means 1 MiB.
	MinHistory int64
	// Ratio is that of all data to live data from which on a database is compacted; 0 means 2:
	// replaced revisions take more than live ones.
	Ratio float64
}

const (
	defaultMinHistory      = 1 << 20
	defaultCompactionRatio = 2

	// compactEvery is the pause between two looks at the databases that were written to.
	compactEvery = time.Minute
	// compactBatch and compactBytes bound what is removed in one transaction: entries, and their
	// size.
	compactBatch = 256
	compactBytes = 4 << 20
)

// due reports whether a database with so many bytes in replaced and in live revisions is to be
// compacted.
func (p CompactionPolicy) due(history, active int64) bool {
	if p.MinHistory == 0 {
		p.MinHistory = defaultMinHistory
	}
	if p.Ratio == 0 {
		p.Ratio = defaultCompactionRatio
	}
	return !p.Off && history >= p.MinHistory && float64(history+active) > p.Ratio*float64(active)
}

// rangeCompacter is an engine that leaves what is deleted in its files until those are compacted.
type rangeCompacter interface {
	CompactRange(ctx context.Context, begin, end []byte) error
}

// StartCompact compacts the database in the background, unless this process is at it already. The
// error is compat.ErrNoDatabase if there is none.
func (db *DB) StartCompact(ctx context.Context) error {
	if err := db.view(ctx, func(d *dbRead) error { return d.whole() }); err != nil {
		return err
	}
	if !db.store.bg.compactions.Has(db.name) {
		c := &db.store.bg.compactions
		run := c.Begin(db.name) // here, so that Info shows it when StartCompact has returned
		task := func(ctx context.Context) {
			defer c.End(run)
			_ = compaction{db, run, true}.do(ctx) // what is left is removed by the next compaction
		}
		if !db.store.bg.run(task) {
			c.End(run)
			return kv.ErrClosed
		}
	}
	return nil
}

// Compact removes the bodies of the revisions that were replaced before it began, has the engine
// give back the space of all that was deleted in the database and its indexes, and returns when
// that is done.
func (db *DB) Compact(ctx context.Context) error {
	c := &db.store.bg.compactions
	run := c.Begin(db.name)
	defer c.End(run)
	return compaction{db, run, true}.do(ctx)
}

// compaction is one of a database.
type compaction struct {
	db    *DB
	run   *compactions.Run // which shows how far it is
	files bool             // the engine gives back what is freed in its files; else it does when it likes
}

// do makes the compaction, behind whoever waits for something.
func (c compaction) do(ctx context.Context) error {
	ctx = kv.InBackground(ctx)
	var prefix keyspace.Space
	f := forgetting{db: c.db, most: compactBatch}
	from := int64(0)
	err := c.db.view(ctx, func(d *dbRead) error {
		if err := d.whole(); err != nil {
			return err
		}
		prefix, f.uuid = d.Keys, d.Rec.UUID
		from = c.db.store.keptFrom(c.db.store.history(d.Rec.History))
		rows, err := d.Stats(keyspace.HistoryRows)
		if err == nil {
			c.run.Expect(rows[0])
		}
		return err
	})
	if err != nil {
		return err
	}
	var cursor []byte // the last key that is done with, without the database's prefix
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		keys, err := c.historyKeys(ctx, cursor, from)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			err := kv.FromReserve(ctx, func(ctx context.Context) error {
				f.short = f.short || kv.UsesReserve(ctx)
				return c.db.Purges().Forget(ctx)
			})
			if err != nil {
				return err
			}
			if f.short { // the engine compacts what is freed then
				// without it the engine compacts when it likes
				_, err = blobs.Collect(ctx, c.db.Attachments(), c.db.store.now())
				return err
			}
			engine, ok := c.db.store.kv.(rangeCompacter)
			if begin, end := keyspace.Children([]byte(prefix)); c.files && ok {
				return engine.CompactRange(ctx, begin, end)
			}
			return nil
		}
		for len(keys) > 0 {
			n, err := f.some(ctx, keys)
			if err != nil {
				return err
			}
			cursor, keys = keys[n-1], keys[n:]
			c.run.Advance(int64(n))
		}
	}
}

// historyKeys lists some keys of entries in TagHistory after cursor that were not replaced from a
// time on, without the prefix of the subspace: as many as a snapshot lives for, at most a batch.
func (c compaction) historyKeys(
	ctx context.Context, cursor []byte, from int64,
) (keys [][]byte, err error) {
	err = c.db.view(ctx, func(d *dbRead) error {
		prefix := d.Keys.Sub(nil, keyspace.TagHistory)
		begin, end := keyspace.Children(prefix)
		if cursor != nil {
			_, begin = keyspace.Children(slices.Concat(prefix, cursor))
		}
		it := d.R.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for size := 0; len(keys) < compactBatch && size < compactBytes && it.Next(); {
			suffix := bytes.Clone(it.Key()[len(prefix):])
			if at, ok := formats.ReplacedAt(it.Value()); ok && at >= from {
				cursor = suffix
				d.Advance()
				continue
			}
			size += len(it.Value())
			keys = append(keys, suffix)
		}
		if err := it.Err(); len(keys) == 0 || !errors.Is(err, kv.ErrTooOld) {
			return err
		}
		return nil
	})
	return keys, err
}

// forget removes entries of TagHistory; those that are gone already are passed over.
func (t *dbTx) forget(suffixes [][]byte) error {
	keys := make([][]byte, len(suffixes))
	for i, suffix := range suffixes {
		keys[i] = slices.Concat(t.Keys.Sub(nil, keyspace.TagHistory), suffix)
	}
	values, err := t.tx.GetMany(keys)
	if err != nil {
		return err
	}
	entries := make([]*formats.Entry, 0, len(values))
	found := keys[:0]
	for i, value := range values {
		if value == nil {
			continue
		}
		old, err := formats.ParseEntry(value)
		if err != nil {
			return err
		}
		entries, found = append(entries, &old), append(found, keys[i])
	}
	if err := t.Complete(false, entries...); err != nil {
		return err
	}
	for i, old := range entries {
		t.forgetEntry(found[i], old)
	}
	return nil
}

// Forget removes the oldest purge requests above purged_infos_limit.
func (p Purges) Forget(ctx context.Context) error {
	var uuid [16]byte
	var cursor []byte // the last request that was looked at, beginning with the newest
	kept, more := int64(0), false
	err := p.db.view(ctx, func(d *dbRead) error {
		uuid = d.Rec.UUID
		prefix := d.Keys.Sub(nil, keyspace.TagPurges)
		begin, end := keyspace.Children(prefix)
		if cursor != nil {
			end = slices.Concat(prefix, cursor)
		}
		it := d.R.Range(begin, end, kv.RangeOptions{Reverse: true})
		defer it.Close()
		for it.Next() {
			cursor = append(cursor[:0], it.Key()[len(prefix):]...)
			if more = kept == d.Rec.PurgedInfosLimit; more {
				return nil
			}
			kept++
			d.Advance()
		}
		return it.Err()
	})
	if err != nil || !more {
		return err
	}
	return p.db.update(ctx, func(t *dbTx) error {
		if t.Rec.UUID != uuid {
			return compat.ErrNoDatabase
		}
		prefix := t.Keys.Sub(nil, keyspace.TagPurges)
		begin, _ := keyspace.Children(prefix)
		t.tx.ClearRange(begin, kv.AppendKeyAfter(nil, slices.Concat(prefix, cursor)))
		return nil
	})
}

// compactAutomatically compacts the databases that were written to since the last call and need it.
func (s *Store) compactAutomatically(ctx context.Context) {
	for _, name := range s.bg.events.TakeUpdated() {
		db := s.DB(name)
		var sizes []int64
		var kept History
		err := db.view(ctx, func(d *dbRead) (err error) {
			kept = s.history(d.Rec.History)
			sizes, err = d.Stats(keyspace.HistorySize, keyspace.ActiveSize)
			return err
		})
		if err == nil && kept.Seconds > 0 {
			for more := sizes[0] > kept.Bytes; more && err == nil; {
				_, more, err = db.ForgetReplaced(ctx) // tried again after the next write
			}
			continue
		}
		if err == nil && s.compaction.due(sizes[0], sizes[1]) {
			run := s.bg.compactions.Begin(name)
			_ = compaction{db, run, false}.do(ctx) // tried again after the next write
			s.bg.compactions.End(run)
		}
	}
}

// Compactions lists the compactions that this process is at, by database.
func (s *Store) Compactions() []compactions.Compaction { return s.bg.compactions.All() }
