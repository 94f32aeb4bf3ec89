package storage

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// DB is a handle on the database of that name, whether it exists or not. It holds no state and is safe for concurrent use.
type DB struct {
	store *Store
	name  string
}

// Name is the name of the database.
func (db *DB) Name() string { return db.name }

// dbRead is one snapshot of one database.
type dbRead struct {
	r    kv.ReadTx
	rec  record
	keys space
	name string
}

// dbTx is a read-write transaction on one database. Counters and sequences are collected in it and written by finish.
type dbTx struct {
	dbRead
	tx    kv.Tx
	stats statDelta
	parts map[string]*statDelta // by partition, nil for databases that are not partitioned
	// orders is the number of sequences given out: the user part of the next versionstamp.
	orders uint16
	// removedSeqs are the sequences of rows taken out of TagChanges, addedSeqs counts the rows put in.
	removedSeqs []Seq
	addedSeqs   int64
	updated     bool // an update was made even if no row was added (a purge)
}

// maxOrders is how many sequences one transaction can give out: the user part of a versionstamp has two bytes.
const maxOrders = 60_000

func (d *dbRead) open(r kv.ReadTx, name string) error {
	value, err := r.Get(dbRecordKey(name))
	if err != nil {
		return err
	}
	if value == nil {
		return compat.ErrNoDatabase
	}
	if d.rec, err = parseRecord(value); err != nil {
		return err
	}
	d.r, d.name, d.keys = r, name, newSpace(d.rec.prefix)
	return nil
}

// view runs fn once on a snapshot of the database; compat.ErrNoDatabase if there is none.
func (db *DB) view(ctx context.Context, fn func(*dbRead) error) error {
	return db.store.kv.View(ctx, func(r kv.ReadTx) error {
		var d dbRead
		if err := d.open(r, db.name); err != nil {
			return err
		}
		return fn(&d)
	})
}

// update runs fn in a transaction on the database, again when it conflicts: fn must not change anything outside that it does
// not set anew in each run.
func (db *DB) update(ctx context.Context, fn func(*dbTx) error) error {
	_, err := db.store.kv.Update(ctx, func(tx kv.Tx) error {
		t := dbTx{tx: tx}
		if err := t.open(tx, db.name); err != nil {
			return err
		}
		if err := fn(&t); err != nil {
			return err
		}
		return t.finish()
	})
	return err
}

// nextSeq gives out the next sequence of this transaction, whose versionstamp bytes the commit fills in.
func (t *dbTx) nextSeq() Seq {
	var s Seq
	s[0] = t.rec.incarnation
	s[11], s[12] = byte(t.orders>>8), byte(t.orders)
	t.orders++
	return s
}

// addChange puts a row into TagChanges at a sequence of nextSeq.
func (t *dbTx) addChange(seq Seq, value []byte) {
	key := t.keys.seqKey(nil, TagChanges, seq)
	t.tx.SetVersionstampedKey(key, t.keys.seqStampOffset(key), value)
	t.addedSeqs++
}

// removeChange takes the row at a committed sequence out of TagChanges.
func (t *dbTx) removeChange(seq Seq) {
	t.tx.Clear(t.keys.seqKey(nil, TagChanges, seq))
	t.removedSeqs = append(t.removedSeqs, seq)
}

// partition gives the counters of the partition of a document, nil where none are kept.
func (t *dbTx) partition(id string) *statDelta {
	if !t.rec.partitioned {
		return nil
	}
	name, ok := partitionOf(id)
	if !ok {
		return nil
	}
	if t.parts == nil {
		t.parts = make(map[string]*statDelta)
	}
	p := t.parts[name]
	if p == nil {
		p = new(statDelta)
		t.parts[name] = p
	}
	return p
}

// finish writes what was collected: counters, the sequence index's counts, the last sequence.
func (t *dbTx) finish() error {
	if t.orders > 0 || t.updated {
		last := Seq{0: t.rec.incarnation}
		if n := t.orders; n > 0 {
			last[11], last[12] = byte((n-1)>>8), byte(n-1)
		}
		t.tx.SetVersionstampedValue(t.keys.sub(nil, TagLastSeq), last[:], 1)
	}
	t.stats[statUpdates] += t.addedSeqs
	t.stats.flush(t.tx, t.keys.stat)
	for name, p := range t.parts {
		p.flush(t.tx, func(dst []byte, n stat) []byte { return t.keys.partStat(dst, name, n) })
	}
	return nil
}
