package storage

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Snapshot is one consistent read of a database for layers that keep data of their own beside the
// documents. It is valid until the function it was given to returns, and must not be used by two
// goroutines at once. Its reads fail with kv.ErrTooOld on a store that limits the age of snapshots.
type Snapshot struct{ d *dbRead }

// View runs fn once on a snapshot of the database; compat.ErrNoDatabase if there is none. Where ctx
// has a kind (kv.WithPrefetch), what fn reads first may be read together.
func (db *DB) View(ctx context.Context, fn func(*Snapshot) error) error {
	_, err := db.read(ctx, func(d *dbRead) error {
		if err := d.whole(); err != nil {
			return err
		}
		return fn(&Snapshot{d})
	})
	return err
}

// SnapshotTime is how long a snapshot can be read; 0: as long as one likes.
func (db *DB) SnapshotTime() time.Duration {
	return time.Duration(db.store.limits.ReadTime) * time.Millisecond
}

// ViewAgain is View for reads that can begin anew, or go on where they were: fn is run again when
// its snapshot became too old. Ten such snapshots in a row that fn did not say Advance in end it
// with kv.ErrTooOld.
func (db *DB) ViewAgain(ctx context.Context, fn func(*Snapshot) error) error {
	return db.view(ctx, func(d *dbRead) error {
		if err := d.whole(); err != nil {
			return err
		}
		return fn(&Snapshot{d})
	})
}

// Advance says, in ViewAgain, that what was done so far need not be done again in another snapshot.
func (s *Snapshot) Advance() { s.d.Advance() }

// Transact runs fn in a serialisable transaction on the subspaces of higher layers; see
// kv.Store.Update. It conflicts with the deletion of the database; compat.ErrNoDatabase if there is
// none.
func (db *DB) Transact(ctx context.Context, fn func(*Tx) error) error {
	return db.update(ctx, func(t *dbTx) error {
		if err := t.whole(db); err != nil {
			return err
		}
		return fn(&Tx{t})
	})
}

// Snapshot gives the database as the transaction reads it: with the higher layers' writes, without
// those of documents that are still to come in the same request.
func (x *Tx) Snapshot() *Snapshot { return &Snapshot{&x.t.dbRead} }

// Join gives a database as a transaction or snapshot of the caller reads it; compat.ErrNoDatabase
// if there is none.
func (db *DB) Join(ctx context.Context, r kv.ReadTx) (*Snapshot, error) {
	d := db.reading(ctx)
	if err := d.Open(r, db.name); err != nil {
		return nil, err
	}
	if d.Rec.Access.On && db.who != nil {
		return nil, errWhole
	}
	return &Snapshot{d}, nil
}

// KV is the store's snapshot.
func (s *Snapshot) KV() kv.ReadTx { return s.d.R }

// Name is the name of the database.
func (s *Snapshot) Name() string { return s.d.Name }

// UUID tells a database from another one that had the name before.
func (s *Snapshot) UUID() [16]byte { return s.d.Rec.UUID }

// Incarnation is the first byte of the sequences that the database gives out now.
func (s *Snapshot) Incarnation() byte { return s.d.Rec.Incarnation }

// Partitioned tells the kind of the database.
func (s *Snapshot) Partitioned() bool { return s.d.Rec.Partitioned }

// PerDocument tells whether each document has readers of its own.
func (s *Snapshot) PerDocument() bool { return s.d.Rec.Access.On }

// AppendPrefix appends the key prefix of a subspace of a higher layer; see Tx.AppendPrefix.
func (s *Snapshot) AppendPrefix(dst []byte, tag keyspace.Tag) []byte { return s.d.Keys.Sub(dst, tag) }

// Groups gives the groups of the database, to be read from KV.
func (s *Snapshot) Groups() groups.Groups { return groups.In(s.d.Keys) }

// Beside gives what a higher layer keeps below a tag of each of some revisions, as Tx.SetBeside has
// stored it; nil where it keeps nothing, or only of another revision of the document. Where it
// keeps nothing of any one key is read.
func (s *Snapshot) Beside(tag keyspace.Tag, revs []ReadRev) ([][]byte, error) {
	prefix := s.d.Keys.Sub(nil, tag)
	begin, end := keyspace.Children(prefix)
	first := s.d.R.Range(begin, end, kv.RangeOptions{Limit: 1})
	some := first.Next()
	if err := first.Close(); err != nil || !some {
		return make([][]byte, len(revs)), err
	}
	keys := make([][]byte, len(revs))
	for i := range revs {
		keys[i] = BesideKey(prefix, revs[i].ID)
	}
	values, err := s.d.R.GetMany(keys)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		rev, rest, err := keyspace.ParseRevision(value)
		if err != nil {
			return nil, err
		}
		if values[i] = rest; rev != revs[i].Rev {
			values[i] = nil
		}
	}
	return values, nil
}

// BesideKey is the key of what is kept of a document below the prefix of a tag (AppendPrefix); the
// value begins with the revision that it belongs to (ParseRevision).
func BesideKey(prefix []byte, id string) []byte {
	return tuple.AppendString(prefix[:len(prefix):len(prefix)], id)
}

// SetBeside keeps something of a revision below a tag, in the transaction that stores the revision,
// in place of what is kept of others of the document.
func (x *Tx) SetBeside(tag keyspace.Tag, id string, rev compat.Rev, value []byte) {
	x.t.tx.Set(BesideKey(x.t.Keys.Sub(nil, tag), id), append(keyspace.AppendRevision(nil, rev), value...))
}

// LastSeq is the sequence of the last update.
func (s *Snapshot) LastSeq() (Seq, error) { return s.seqAt(keyspace.TagLastSeq) }

// LastPurge is the sequence of the last purge, the zero Seq if there was none.
func (s *Snapshot) LastPurge() (Seq, error) { return s.seqAt(keyspace.TagPurgeSeq) }

// LastPurgeWith is LastPurge together with values that the caller keeps in the store, in one round
// trip.
func (s *Snapshot) LastPurgeWith(keys ...[]byte) (last Seq, values [][]byte, err error) {
	values, err = s.d.R.GetMany(append([][]byte{s.d.Keys.Sub(nil, keyspace.TagPurgeSeq)}, keys...))
	if err != nil {
		return Seq{}, nil, err
	}
	if values[0] != nil {
		last, err = keyspace.ParseSeq(values[0])
	}
	return last, values[1:], err
}

func (s *Snapshot) seqAt(tag keyspace.Tag) (Seq, error) {
	value, err := s.d.R.Get(s.d.Keys.Sub(nil, tag))
	if err != nil || value == nil {
		return Seq{}, err
	}
	return keyspace.ParseSeq(value)
}

// Stat is one of the counters that keyspace has of a database.
func (s *Snapshot) Stat(which keyspace.Stat) (int64, error) {
	counts, err := s.d.Stats(which)
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Number is the number that a sequence has on the wire; 0 for the zero Seq.
func (s *Snapshot) Number(seq Seq) (uint64, error) {
	if seq == (Seq{}) {
		return 0, nil
	}
	return s.d.SeqNumber(seq)
}

// Pending is the number of rows of the feed after a sequence.
func (s *Snapshot) Pending(seq Seq) (int64, error) { return s.d.RowsAfter(seq) }

// Changes is Feed.Changes on this snapshot alone. Documents' bodies are valid as long as the
// snapshot.
func (s *Snapshot) Changes(o ChangesOptions, fn func(*Change) error) (ChangesEnd, error) {
	c := changesScan{o: o, fn: fn, left: o.Limit}
	err := c.scan(s.d)
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return c.end, err
}

// Open reads a document; see DB.Open.
func (s *Snapshot) Open(id string, o docread.OpenOptions) (*docread.Document, error) {
	return s.d.OpenDoc(id, o)
}

// HoldParsed is the function of that name, for the database of the snapshot.
func (s *Snapshot) HoldParsed(body []byte) error {
	return docread.HoldParsed(s.d.Ctx, s.d.Memory, body)
}

// OpenEach reads documents, the winners or the revisions named; see docread.Reader.OpenEach.
func (s *Snapshot) OpenEach(refs []docread.DocRef, fn func(i int, doc *docread.Document) error) error {
	return s.d.OpenEach(refs, fn)
}

// WinnerRev is the current revision of a document; the zero Rev if there is none, or it is deleted.
func (s *Snapshot) WinnerRev(id string) (compat.Rev, error) {
	value, err := s.d.R.Get(s.d.Keys.AllDocs(nil, id))
	if err != nil || value == nil {
		return compat.Rev{}, err
	}
	return formats.ParseWinner(value)
}

// InFeed is the function of that name in counts, for the snapshot.
func (s *Snapshot) InFeed(seqs []Seq) ([]bool, error) { return s.d.InFeed(seqs) }

// WithoutConflicts is the same snapshot; in a transaction its reads conflict with nothing.
func (s *Snapshot) WithoutConflicts() *Snapshot {
	d := *s.d
	d.R = d.R.Snapshot()
	return &Snapshot{&d}
}

// As is the same snapshot as somebody sees it: documents are those of DB.As.
func (s *Snapshot) As(who access.Principals) *Snapshot {
	d := *s.d
	d.slice(&who)
	return &Snapshot{&d}
}

// FeedCut is where a range of the feed ends.
type FeedCut = counts.FeedCut

// CutFeed cuts the feed into ranges; see counts.Reader.CutFeed.
func (s *Snapshot) CutFeed(rows int64) (cuts []FeedCut, err error) { return s.d.CutFeed(rows) }
