package storage

import (
	"context"
	"math"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/replaced"
)

// Where a database keeps replaced revisions for a time, whoever replaces one notes when (package
// replaced). Compaction passes over those whose time has not come, ForgetReplaced removes the
// others.

// History is how long replaced revisions are kept.
type History struct {
	Seconds int64 // 0: until the database is compacted
	// Bytes is how many bytes of them are kept at most, with the attachments that only they have:
	// the oldest go first. It counts where Seconds does, and is exceeded for a minute, about.
	Bytes int64
}

// history is how long a database keeps what is replaced, by its own setting.
func (s *Store) history(own string) History {
	if s.hooks.History == nil {
		return History{}
	}
	return s.hooks.History(own)
}

// keptFrom is the time, in milliseconds since 1970, from which on what was replaced is kept.
func (s *Store) keptFrom(h History) int64 {
	if h.Seconds == 0 {
		return math.MaxInt64
	}
	return s.now().UnixMilli() - h.Seconds*1000
}

// replacedKey is the row of an entry, by its key in TagHistory, in the index of replaced revisions.
func (t *dbTx) replacedKey(ms int64, key []byte) []byte {
	entry := key[len(t.Keys.Sub(nil, keyspace.TagHistory)):]
	return replaced.Index{Keys: t.Keys}.Key(ms, entry)
}

// held is how many bytes of attachments a replaced revision keeps stored: those of its attachments
// that none of the new revisions has.
func (e *docEdit) held(rev compat.Rev, entry *formats.Entry) (bytes int64) {
	taken := map[string]bool{}
	for newer, w := range e.writes {
		if newer.Compare(rev) <= 0 {
			continue // the revision itself, where it was replaced by the next one of the same request
		}
		for i := range w.atts {
			taken[w.atts[i].Ref] = true
		}
	}
	for i := range entry.Atts {
		if a := &entry.Atts[i]; !taken[a.Ref] {
			bytes += max(a.EncodedLength, 0)
		}
	}
	return bytes
}

// replacedBatch is how many entries ForgetReplaced removes at most: it reads all of them at once.
const replacedBatch = 64

// ForgetReplaced removes some of the replaced revisions that the database has kept for as long as
// it is to, or of which there are too many bytes, the oldest first; more tells that there may be
// others. Where nothing is kept for a time that is left to compaction.
func (db *DB) ForgetReplaced(ctx context.Context) (done int, more bool, err error) {
	ctx = kv.InBackground(ctx)
	var uuid [16]byte
	var due [][]byte
	err = db.view(ctx, func(d *dbRead) (err error) {
		uuid = d.Rec.UUID
		due, more, err = d.replacedDue(db.store)
		return err
	})
	if err != nil || len(due) == 0 {
		return 0, false, err
	}
	f := forgetting{db: db, uuid: uuid, most: replacedBatch}
	for len(due) > 0 {
		n, err := f.some(ctx, due)
		if err != nil {
			return done, false, err
		}
		due, done = due[n:], done+n
	}
	return done, more, nil
}

// replacedDue reads the oldest entries that are to go, as forget takes them.
func (d *dbRead) replacedDue(s *Store) (due [][]byte, more bool, err error) {
	h := s.history(d.Rec.History)
	if h.Seconds == 0 {
		return nil, false, nil
	}
	sizes, err := d.Stats(keyspace.HistorySize)
	if err != nil {
		return nil, false, err
	}
	rows, err := replaced.Index{Keys: d.Keys}.Oldest(d.R, replacedBatch)
	if err != nil {
		return nil, false, err
	}
	keys := make([][]byte, len(rows))
	for i, row := range rows {
		keys[i] = append(d.Keys.Sub(nil, keyspace.TagHistory), row.Entry...)
	}
	values, err := d.R.GetMany(keys)
	if err != nil {
		return nil, false, err
	}
	over, from := sizes[0]-h.Bytes, s.keptFrom(h)
	for i, row := range rows {
		if row.MS >= from && over <= 0 {
			return due, false, nil
		}
		e, err := formats.ParseEntry(values[i])
		if err != nil {
			return nil, false, err
		}
		over -= e.Size
		due = append(due, row.Entry)
	}
	return due, len(rows) == replacedBatch, nil
}

// forgetting removes entries of TagHistory of one database, in as few transactions as that takes.
type forgetting struct {
	db    *DB
	uuid  [16]byte // the database's UUID: another database may have its name by now
	most  int      // entries in a transaction
	short bool     // the store was full
}

// some removes the first of some entries, and tells how many that were.
func (f *forgetting) some(ctx context.Context, keys [][]byte) (int, error) {
	for {
		var part [][]byte
		err := kv.FromReserve(ctx, func(ctx context.Context) error {
			f.short = f.short || kv.UsesReserve(ctx)
			return f.db.update(ctx, func(t *dbTx) error {
				if t.Rec.UUID != f.uuid {
					return compat.ErrNoDatabase
				}
				part = keys[:min(len(keys), f.most)]
				f.most = max(1, len(part)/2) // should it run again: less of it is quicker
				return t.forget(part)
			})
		})
		if len(part) > 1 && outgrown(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		f.most = min(4*f.most, compactBatch)
		return len(part), nil
	}
}
