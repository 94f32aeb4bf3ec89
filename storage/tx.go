package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/rights"
)

// DB is a handle on the database of that name, whether it exists or not. It holds no state and is safe for concurrent
// use.
type DB struct {
	store  *Store
	name   string
	memory Memory                       // nil: what is read has no bound
	begins func(partitioned bool) error // see Beginning; nil: nothing is checked
}

// Memory bounds what the documents that are read for somebody take, all together.
type Memory interface {
	// Hold is called before bodies that are apart from their entries are read together, with their bytes. It may wait,
	// and its error ends the read. What it was called with before is not needed any more then.
	Hold(ctx context.Context, bytes int) error
}

// Within is the same database, whose documents are read within a memory. Writes do not ask it.
func (db *DB) Within(m Memory) *DB {
	return &DB{store: db.store, name: db.name, memory: m, begins: db.begins}
}

// Beginning is the same database, where each read begins with check, in its snapshot: what depends on the kind of the
// database is checked without a read of its own. An error of check ends the read.
func (db *DB) Beginning(check func(partitioned bool) error) *DB {
	return &DB{store: db.store, name: db.name, memory: db.memory, begins: check}
}

// Name is the name of the database.
func (db *DB) Name() string { return db.name }

// dbRead is one snapshot of one database.
type dbRead struct {
	r    kv.ReadTx
	rec  dbRecord
	keys space
	name string
	// memory is asked with ctx before large bodies are read; nil in transactions that write, and where nobody bounds
	// it.
	memory Memory
	ctx    context.Context // of the call of DB.view or DB.update, for what it reads in parts
	// shared holds large security objects.
	shared *rights.Cache
	sizes  sizes
	// rest is what the log of counts has; folded the value of its first key, if that was read: see countRest.
	rest       *countRest
	folded     []byte
	foldedRead bool
	// advanced is set when a part of the work is done for good; see viewOn.
	advanced bool
	recalled *wrapkv.Recalled // rec, if it is what it was the last time; see openRecalled
}

// advance notes that what was done so far need not be done again in another snapshot.
func (d *dbRead) advance() { d.advanced = true }

// dbTx is a read-write transaction on one database. Counters and sequences are collected in it and written by finish.
type dbTx struct {
	dbRead
	tx    kv.Tx
	stats statDelta
	parts map[string]*statDelta // by partition, nil for databases that are not partitioned
	// orders is the number of sequences given out: the user part of the next versionstamp.
	orders uint16
	// removedSeqs are the sequences of rows taken out of TagChanges, addedSeqs counts the rows put in; idDeltas are the
	// ids that come into TagAllDocs and go out of it. They go to the log of counts, as so many items.
	removedSeqs []Seq
	addedSeqs   int64
	idDeltas    []idDelta
	logged      int
	atts        attachmentRefs
	claims      map[string]claimState
	large       *largeBodies // of the request, nil for none
	scratch     []byte       // memory for an entry, leafScratch for the record of a leaf that may hold it
	leafScratch []byte
	short       bool // the store is full: what is replaced is not kept
	now         func() time.Time
	// deferred is what indexers have put off; see Tx.Defer.
	deferred []func() error
	designs  bool // see Tx.ChangesDesigns
	// questions are those that hooks may ask; nil where nobody answers.
	questions *questions
	// head is what the hooks read first, by its keys; see appendHead.
	head       map[string][]byte
	hookOrders uint16 // see Tx.NextOrder
}

// maxOrders is how many sequences one transaction can give out: the user part of a versionstamp has two bytes.
const maxOrders = 60_000

func (d *dbRead) open(r kv.ReadTx, name string) error {
	value, err := r.Get(dbRecordKey(name))
	if err != nil {
		return err
	}
	return d.openWith(r, name, value)
}

// openRecalled is open for who gives nothing to anybody before the end, which goes through confirm: across a network
// what the record was the last time does, so that it is read beside what depends on it (ADR 0044).
func (d *dbRead) openRecalled(s *Store, r kv.ReadTx, name string) error {
	if !s.sizes.remote {
		return d.open(r, name)
	}
	value, unconfirmed, err := s.records.Get(r, dbRecordKey(name))
	if err != nil {
		return err
	}
	d.recalled = unconfirmed
	return d.openWith(r, name, value)
}

// confirm gives the error with which work on the database ends that ended with err: wrapkv.ErrRecall if the record was
// another one, so that all has to be done again.
func (d *dbRead) confirm(err error) error {
	if wrong := d.recalled.Confirm(); wrong != nil {
		return wrong
	}
	return err
}

func (d *dbRead) openWith(r kv.ReadTx, name string, value []byte) (err error) {
	if value == nil {
		return compat.ErrNoDatabase
	}
	if d.rec, err = parseDBRecord(value); err != nil {
		return err
	}
	d.r, d.name, d.keys = r, name, newSpace(d.rec.prefix)
	return nil
}

// tagged is ctx with the database's mark.
func (db *DB) tagged(ctx context.Context) context.Context {
	if tag := db.store.hooks.Tag; tag != nil {
		return kv.WithTag(ctx, tag(db.name))
	}
	return ctx
}

// view runs fn once on a snapshot of the database; compat.ErrNoDatabase if there is none.
func (db *DB) view(ctx context.Context, fn func(*dbRead) error) error {
	return db.store.kv.View(db.tagged(ctx), func(r kv.ReadTx) error { return db.read(ctx, r, fn) })
}

// viewLike is view for reads that begin with the same keys as others of the kind: across a network these are read
// together.
func (db *DB) viewLike(ctx context.Context, kind string, fn func(*dbRead) error) error {
	if !db.store.sizes.remote {
		return db.view(ctx, fn)
	}
	return db.store.kv.View(db.tagged(ctx), func(r kv.ReadTx) error {
		return db.store.foresight.View(db.name+" "+kind, r, func(r kv.ReadTx) error { return db.read(ctx, r, fn) })
	})
}

func (db *DB) read(ctx context.Context, r kv.ReadTx, fn func(*dbRead) error) error {
	d := db.reading(ctx)
	if err := d.open(r, db.name); err != nil {
		return err
	}
	return db.begin(d, fn)
}

func (db *DB) reading(ctx context.Context) *dbRead {
	return &dbRead{memory: db.memory, ctx: ctx, shared: &db.store.securities, sizes: db.store.sizes}
}

// begin runs fn on a database that was opened.
func (db *DB) begin(d *dbRead, fn func(*dbRead) error) error {
	if db.begins != nil {
		if err := db.begins(d.rec.partitioned); err != nil {
			return err
		}
	}
	return fn(d)
}

// viewWhole is viewOn for reads that give nothing to anybody before they end.
func (db *DB) viewWhole(ctx context.Context, fn func(*dbRead) error) error {
	for {
		err := goOn(ctx, func() (bool, error) {
			return false, db.store.kv.View(db.tagged(ctx), func(r kv.ReadTx) error {
				d := db.reading(ctx)
				err := d.openRecalled(db.store, r, db.name)
				if err == nil {
					err = db.begin(d, fn)
				}
				return d.confirm(err)
			})
		})
		if !errors.Is(err, wrapkv.ErrRecall) {
			return err
		}
	}
}

// viewOn is view for reads that can go on with a new snapshot: when a snapshot has become too old for the store, fn is
// called again and starts over or goes on where it was. fn says with dbRead.advance that it will not have to do all of
// it again; snapshots in a row that were too old for any progress end it.
func (db *DB) viewOn(ctx context.Context, fn func(*dbRead) error) error {
	return db.viewOnLike(ctx, "", fn)
}

// viewOnLike is viewOn for reads of a kind; see viewLike.
func (db *DB) viewOnLike(ctx context.Context, kind string, fn func(*dbRead) error) error {
	view := db.view
	if kind != "" {
		view = func(ctx context.Context, fn func(*dbRead) error) error { return db.viewLike(ctx, kind, fn) }
	}
	return goOn(ctx, func() (advanced bool, err error) {
		err = view(ctx, func(d *dbRead) error {
			err := fn(d)
			advanced = d.advanced
			return err
		})
		return advanced, err
	})
}

// maxAged is how many snapshots in a row may become too old without progress.
const maxAged = 10

// goOn calls read until it does not fail with kv.ErrTooOld any more, or does so again and again without having
// advanced, or the store's servers do not answer (ADR 0043).
func goOn(ctx context.Context, read func() (advanced bool, err error)) error {
	since := time.Now()
	for aged := 1; ; aged++ {
		advanced, err := read()
		if !errors.Is(err, kv.ErrTooOld) || ctx.Err() != nil {
			return err
		}
		if advanced {
			aged, since = 0, time.Now()
		}
		if aged == maxAged || kv.GivesUp(err, since) {
			return err
		}
	}
}

// update runs fn in a transaction on the database, again when it conflicts: fn must not change anything outside that it
// does not set anew in each run.
func (db *DB) update(ctx context.Context, fn func(*dbTx) error) error {
	ctx = db.tagged(ctx)
	changed, logged := false, 0
	run := func(tx kv.Tx) error {
		t := db.store.newTx(ctx, tx)
		err := t.openRecalled(db.store, tx, db.name)
		if err == nil {
			err = fn(t)
		}
		if err == nil {
			changed = t.orders > 0
			err = t.finish()
			logged = t.logged
		}
		return t.confirm(err)
	}
	err := db.store.write(ctx, run)
	for errors.Is(err, wrapkv.ErrRecall) {
		err = db.store.write(ctx, run)
	}
	if err == nil && changed {
		db.store.touched(db.name, dbevents.Updated)
		db.store.logged(ctx, db.name, logged)
	}
	return err
}

// openTx makes a transaction of the store one on a database.
func (s *Store) openTx(ctx context.Context, tx kv.Tx, name string) (*dbTx, error) {
	t := s.newTx(ctx, tx)
	return t, t.open(tx, name)
}

func (s *Store) newTx(ctx context.Context, tx kv.Tx) *dbTx {
	return &dbTx{
		dbRead: dbRead{ctx: ctx, shared: &s.securities, sizes: s.sizes}, tx: tx, short: kv.UsesReserve(ctx), now: s.now,
	}
}

// nextSeq gives out the next sequence of this transaction, whose versionstamp bytes the commit fills in.
func (t *dbTx) nextSeq() Seq {
	s := Seq{Incarnation: t.rec.incarnation}
	binary.BigEndian.PutUint16(s.Versionstamp[kv.VersionstampSize:], t.orders)
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

// runDeferred runs what indexers have put off.
func (t *dbTx) runDeferred() error {
	for len(t.deferred) > 0 {
		fn := t.deferred[0]
		t.deferred = t.deferred[1:]
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what was collected: the log of counts, attachments' reference counts, counters, the last sequence.
func (t *dbTx) finish() error {
	if err := t.runDeferred(); err != nil {
		return err
	}
	t.logCounts()
	if err := t.finishAttachments(); err != nil {
		return err
	}
	if t.orders > 0 {
		last := Seq{Incarnation: t.rec.incarnation}
		binary.BigEndian.PutUint16(last.Versionstamp[kv.VersionstampSize:], t.orders-1)
		t.tx.SetVersionstampedValue(t.keys.sub(nil, TagLastSeq), AppendSeq(nil, last), 1)
	}
	t.stats[statUpdates] += t.addedSeqs
	t.stats.flush(t.tx, t.keys.stat)
	for name, p := range t.parts {
		p.flush(t.tx, func(dst []byte, n stat) []byte { return t.keys.partStat(dst, name, n) })
	}
	return nil
}
