package storage

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// DB is a handle on the database of that name, whether it exists or not. It holds no state and is
// safe for concurrent use.
type DB struct {
	store  *Store
	name   string
	memory docread.Memory               // nil: what is read has no bound
	begins func(partitioned bool) error // see Beginning; nil: nothing is checked
	who    *access.Principals           // see As; nil: everybody
}

// Within is the same database, whose documents are read within a memory. Writes do not ask it.
func (db *DB) Within(m docread.Memory) *DB {
	own := *db
	own.memory = m
	return &own
}

// HoldParsed asks for the memory of a body that was read of the database, with its values, before
// it is parsed (Within). The error is that of docread.Memory.
func HoldParsed(ctx context.Context, db *DB, body []byte) error {
	return docread.HoldParsed(ctx, db.memory, body)
}

// Beginning is the same database, where each read begins with check, in its snapshot: what depends
// on the kind of the database is checked without a read of its own. An error of check ends the
// read.
func (db *DB) Beginning(check func(partitioned bool) error) *DB {
	own := *db
	own.begins = check
	return &own
}

// Name is the name of the database.
func (db *DB) Name() string { return db.name }

// dbRead is one snapshot of one database.
type dbRead struct {
	docread.Reader
	shared *securities // which hold large security objects
}

// dbTx is a read-write transaction on one database. Counters and sequences are collected in it and
// written by finish.
type dbTx struct {
	dbRead
	tx    kv.Tx
	stats keyspace.StatDelta
	parts map[string]*keyspace.StatDelta // by partition, nil for databases that are not partitioned
	// orders is the number of sequences given out: the user part of the next versionstamp.
	orders      uint16
	counted     counts.Changes // rows that lists and the feed gain and lose; goes to the log of counts
	audience    audience.Writer
	logged      int // items of the log that finish has written
	blobs       blobs.Tx
	large       *largeBodies // of the request, nil for none
	scratch     []byte       // Memory for an entry, leafScratch for the record of a leaf that may hold it
	leafScratch []byte
	short       bool // the store is full: what is replaced is not kept
	now         func() time.Time
	history     func(own string) History // how long what is replaced is kept
	// beforeCommit is what indexers have put off to the end; see Tx.BeforeCommit.
	beforeCommit []func() error
	designs      bool // see Tx.ChangesDesigns
	// deferred are the callbacks that hooks defer; nil where nothing may be deferred.
	deferred *deferredCalls
	// head is what the hooks read first, by its keys; see appendHead.
	head       map[string][]byte
	hookOrders uint16 // see Tx.NextOrder
}

// maxOrders is how many sequences one transaction can give out: the user part of a versionstamp has
// two bytes.
const maxOrders = 60_000

// tagged is ctx marked with the tag that the hooks give the database (kv.WithTag).
func (db *DB) tagged(ctx context.Context) context.Context {
	if tag := db.store.hooks.Tag; tag != nil {
		return kv.WithTag(ctx, tag(db.name))
	}
	return ctx
}

// view is read for what can be read again: when a snapshot has become too old for the store, fn is
// called with a newer one, and starts over or goes on where it was. It says with dbRead.advance
// that part of it is done for good; snapshots in a row that were too old for any progress end it.
func (db *DB) view(ctx context.Context, fn func(*dbRead) error) error {
	return kv.GoOn(ctx, func() (advanced bool, err error) { return db.read(ctx, fn) })
}

// read runs fn once on a snapshot of the database, and tells whether it has advanced;
// compat.ErrNoDatabase if there is none. Where ctx has a kind (kv.WithPrefetch), what fn reads
// first may be read together.
func (db *DB) read(ctx context.Context, fn func(*dbRead) error) (advanced bool, err error) {
	err = db.store.kv.View(db.tagged(ctx), func(r kv.ReadTx) error {
		d := db.reading(ctx)
		err := d.Open(r, db.name)
		if err == nil && db.begins != nil {
			err = db.begins(d.Rec.Partitioned)
		}
		if d.Rec.Access.On {
			d.slice(db.who)
		}
		if err == nil {
			err = fn(d)
		}
		advanced = d.Advanced
		return err
	})
	return advanced, err
}

func (db *DB) reading(ctx context.Context) *dbRead {
	d := db.store.reading(ctx)
	d.Memory = db.memory
	return &d
}

// reading is a snapshot that is still to be opened.
func (s *Store) reading(ctx context.Context) dbRead {
	read := counts.Reader{Sizes: s.sizes, TimesFrom: s.hooks.TimesFrom}
	return dbRead{shared: s.securities, Reader: docread.Reader{Ctx: ctx, Reader: read}}
}

// update runs fn in a transaction on the database, again when it conflicts: fn must not change
// anything outside that it does not set anew in each run.
func (db *DB) update(ctx context.Context, fn func(*dbTx) error) error {
	ctx = db.tagged(ctx)
	changed, logged := false, 0
	err := db.store.write(ctx, func(tx kv.Tx) error {
		t, err := db.store.openTx(ctx, tx, db.name)
		if err == nil && t.Rec.Access.On {
			t.User = db.who.User()
		}
		if err == nil {
			err = fn(t)
		}
		if err == nil {
			changed = t.orders > 0
			err = t.finish()
			logged = t.logged
		}
		return err
	})
	if err == nil && changed {
		db.store.touched(db.name, dbevents.Updated)
		db.store.logged(ctx, db.name, logged)
	}
	return err
}

// openTx makes a transaction of the store one on a database.
func (s *Store) openTx(ctx context.Context, tx kv.Tx, name string) (*dbTx, error) {
	t := &dbTx{
		dbRead: s.reading(ctx), tx: tx, short: kv.UsesReserve(ctx), now: s.now, history: s.history,
	}
	err := t.Open(tx, name)
	t.blobs = blobs.Tx{KV: tx, Keys: t.Keys, UUID: t.Rec.UUID, Short: t.short, Now: s.now}
	return t, err
}

// nextSeq gives out the next sequence of this transaction, whose versionstamp bytes the commit
// fills in.
func (t *dbTx) nextSeq() Seq {
	s := Seq{Incarnation: t.Rec.Incarnation}
	binary.BigEndian.PutUint16(s.Versionstamp[kv.VersionstampSize:], t.orders)
	t.orders++
	return s
}

// addChange puts a row into TagChanges at a sequence of nextSeq.
func (t *dbTx) addChange(seq Seq, value []byte) {
	key := t.Keys.SeqKey(nil, keyspace.TagChanges, seq)
	t.tx.SetVersionstampedKey(key, t.Keys.SeqStampOffset(key), value)
	t.counted.Added++
}

// removeChange takes the row at a committed sequence out of TagChanges.
func (t *dbTx) removeChange(seq Seq) {
	t.tx.Clear(t.Keys.SeqKey(nil, keyspace.TagChanges, seq))
	t.counted.Remove(seq)
}

// partition gives the counters of the partition of a document, nil where none are kept.
func (t *dbTx) partition(id string) *keyspace.StatDelta {
	if !t.Rec.Partitioned {
		return nil
	}
	name, ok := keyspace.PartitionOf(id)
	if !ok {
		return nil
	}
	if t.parts == nil {
		t.parts = make(map[string]*keyspace.StatDelta)
	}
	p := t.parts[name]
	if p == nil {
		p = new(keyspace.StatDelta)
		t.parts[name] = p
	}
	return p
}

// runBeforeCommit runs what indexers have put off.
func (t *dbTx) runBeforeCommit() error {
	for len(t.beforeCommit) > 0 {
		fn := t.beforeCommit[0]
		t.beforeCommit = t.beforeCommit[1:]
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what was collected: the log of counts, attachments' reference counts, counters, the
// last sequence.
func (t *dbTx) finish() error {
	if err := t.runBeforeCommit(); err != nil {
		return err
	}
	t.counted.Besides = t.stats[keyspace.Updates]
	t.logged = t.counted.Write(t.tx, t.Keys, t.Rec.Incarnation, t.Second(t.now()))
	if err := t.blobs.Finish(); err != nil {
		return err
	}
	if t.orders > 0 {
		last := Seq{Incarnation: t.Rec.Incarnation}
		binary.BigEndian.PutUint16(last.Versionstamp[kv.VersionstampSize:], t.orders-1)
		t.tx.SetVersionstampedValue(t.Keys.Sub(nil, keyspace.TagLastSeq), keyspace.AppendSeq(nil, last), 1)
		t.audience.Finish(t.tx, audience.Index{Keys: t.Keys}, last)
	}
	t.stats[keyspace.Updates] += t.counted.Added
	t.stats.Flush(t.tx, t.Keys.Stat)
	for name, p := range t.parts {
		p.Flush(t.tx, func(dst []byte, n keyspace.Stat) []byte { return t.Keys.PartStat(dst, name, n) })
	}
	return nil
}

// updateSeq is the end of the changes feed.
func (d *dbRead) updateSeq() (UpdateSeq, error) {
	updates, last, err := d.Last()
	return UpdateSeq{N: updates, Seq: last}, err
}
