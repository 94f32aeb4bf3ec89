package salvage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Result is what was brought back of one database.
type Result struct {
	Name                                         string
	Documents, Revisions, Attachments, LocalDocs int64
	// Losses is how often lost was called; Checkpoints is the number of checkpoints of replications
	// that were left out, Compactable that of replaced revisions that are kept for no time.
	Losses, Checkpoints, Compactable int64
}

// Loss is something that could not be brought back.
type Loss struct {
	// What is missing, for people; ID and Rev are empty where they are not known.
	Database string
	ID       string // of a document, or empty
	Rev      compat.Rev
	What     string
}

// String is a line of a report.
func (l Loss) String() string {
	switch {
	case l.ID == "":
		return fmt.Sprintf("%s: %s", l.Database, l.What)
	case l.Rev.IsZero():
		return fmt.Sprintf("%s: document %q: %s", l.Database, l.ID, l.What)
	}
	return fmt.Sprintf("%s: document %q, revision %s: %s", l.Database, l.ID, l.Rev, l.What)
}

// Options are the parameters of Run.
type Options struct {
	// From is the store with what could be read. It should be at rest.
	From kv.Store
	// To should be new. Run sets its hooks, so that it takes what is valid in itself, functions of
	// design documents are not asked, and what is replaced is kept for a time.
	To *storage.Store
	// Lost is called for each loss, Done after each database.
	Lost func(Loss)
	Done func(Result)
}

// Run brings all databases of o.From into o.To. The error names the database at which it ended.
func Run(ctx context.Context, o Options) error {
	// For how long is a matter of those who remove it.
	o.To.SetHooks(storage.Hooks{History: func(string) storage.History { return storage.History{Seconds: 1} }})
	databases, err := salvageable(ctx, &o)
	if err != nil {
		return err
	}
	for _, d := range databases {
		w := work{ctx: ctx, o: &o, found: d, result: Result{Name: d.name}}
		if err := w.run(); err != nil {
			return fmt.Errorf("database %s: %w", d.name, err)
		}
		o.Done(w.result)
	}
	return listedExpiries(ctx, &o, databases)
}

// foundDB is a database of a damaged store.
type foundDB struct {
	name  string
	rec   keyspace.Record
	named bool // it has a record
}

// salvageable lists the databases: those with a record, and those of which only documents are left.
func salvageable(ctx context.Context, o *Options) (found []foundDB, err error) {
	err = o.From.View(ctx, func(r kv.ReadTx) error {
		named := map[int64]bool{}
		begin, end := keyspace.Children(keyspace.DatabasesPrefix())
		it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			name, err := keyspace.ParseRecordKey(it.Key())
			if err != nil {
				continue
			}
			rec, err := keyspace.ParseRecord(it.Value())
			if err != nil || rec.Prefix < keyspace.FirstPrefix {
				o.Lost(Loss{Database: name, What: "its record cannot be read"})
				continue
			}
			named[rec.Prefix] = true
			found = append(found, foundDB{name: name, rec: rec, named: true})
		}
		if err := it.Err(); err != nil {
			return err
		}
		prefixes, err := prefixes(r)
		for _, p := range prefixes {
			if !named[p] {
				rec := keyspace.Record{Prefix: p, Created: time.Now()}
				found = append(found, foundDB{name: freeName(found, p), rec: rec})
			}
		}
		return err
	})
	return found, err
}

// freeName is a name for a database without one.
func freeName(found []foundDB, prefix int64) string {
	name := fmt.Sprintf("salvaged_%d", prefix)
	for slices.ContainsFunc(found, func(d foundDB) bool { return d.name == name }) {
		name += "_"
	}
	return name
}

// prefixes lists the prefixes of databases that have any key.
func prefixes(r kv.ReadTx) (all []int64, err error) {
	for next := int64(keyspace.FirstPrefix); ; {
		it := r.Range(tuple.AppendInt(nil, next), tuple.AppendInt(nil, math.MaxInt64), kv.RangeOptions{Limit: 1})
		ok := it.Next()
		var p int64
		if ok {
			p, _, err = tuple.ReadInt(it.Key())
		} else {
			err = it.Err()
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
		if !ok || err != nil || p < next {
			return all, err
		}
		all, next = append(all, p), p+1
	}
}

// work brings back one database.
type work struct {
	ctx    context.Context // of the call of Run, in which it begins and ends
	o      *Options
	found  foundDB
	db     *storage.DB
	result Result

	batch []*compat.Document
	size  int
	// readers are those of tombstones in the batch, which their bodies may not tell
	readers map[storage.ReadRev][]string
}

func (w *work) lost(id string, rev compat.Rev, format string, args ...any) {
	w.result.Losses++
	w.o.Lost(Loss{Database: w.found.name, ID: id, Rev: rev, What: fmt.Sprintf(format, args...)})
}

// view runs fn on the damaged database.
func (w *work) view(fn func(*docread.Reader) error) error {
	return w.o.From.View(w.ctx, func(r kv.ReadTx) error {
		read := counts.Reader{R: r, Keys: keyspace.NewSpace(w.found.rec.Prefix), Sizes: counts.DefaultSizes()}
		return fn(&docread.Reader{Reader: read, Rec: w.found.rec, Name: w.found.name})
	})
}

// run brings back one database, step by step, each in a snapshot of its own.
func (w *work) run() error {
	if !w.found.named {
		w.lost("", compat.Rev{}, "the database's name and settings are lost: it has this name now")
	}
	steps := [...]func(*docread.Reader) error{w.create, w.purges, w.documents, w.otherDocuments, w.locals,
		w.groups, w.expiries}
	for _, step := range steps {
		if err := w.view(step); err != nil {
			return err
		}
	}
	return nil
}

// create makes the database in the new store, with the settings that it had.
func (w *work) create(d *docread.Reader) error {
	var security []byte
	stored, err := d.StoredSecurity()
	if err == nil && stored != nil {
		security, err = d.SecurityText(stored)
	}
	if errors.Is(err, kv.ErrCorrupt) {
		w.lost("", compat.Rev{}, "the security object cannot be read: only administrators have access")
		security, err = nil, nil
	}
	if err != nil {
		return err
	}
	rec := &w.found.rec
	if !w.found.named {
		if rec.Partitioned, err = hasAny(d, keyspace.TagPartStats); err != nil {
			return err
		}
		// What the record said is not known any more; it must not be shown to everybody.
		if rec.Access.On, err = hasAny(d, keyspace.TagAccess); err != nil {
			return err
		}
		rec.RevsLimit, rec.PurgedInfosLimit = keyspace.DefaultRevsLimit, keyspace.DefaultPurgedInfosLimit
		rec.Q, rec.N = 2, 1
	}
	incarnation, err := lastIncarnation(d)
	if err != nil {
		return err
	}
	if incarnation == math.MaxUint8 {
		return errors.New("it was salvaged too often for another set of sequences: replicate it instead")
	}
	made := *rec
	made.Incarnation = incarnation + 1
	w.db = w.o.To.DB(w.found.name)
	return w.o.To.CreateAs(w.ctx, w.found.name, security, made)
}

func hasAny(d *docread.Reader, tag keyspace.Tag) (bool, error) {
	begin, end := keyspace.Children(d.Keys.Sub(nil, tag))
	it := d.R.Range(begin, end, kv.RangeOptions{Limit: 1})
	defer it.Close()
	return it.Next(), it.Err()
}

// lastIncarnation is the highest one of which the database may have given out sequences.
func lastIncarnation(d *docread.Reader) (byte, error) {
	last := max(d.Rec.Incarnation, keyspace.FirstIncarnation)
	for _, tag := range [...]keyspace.Tag{keyspace.TagChanges, keyspace.TagPurges} {
		begin, end := keyspace.Children(d.Keys.Sub(nil, tag))
		it := d.R.Range(begin, end, kv.RangeOptions{Reverse: true, Limit: 1})
		if it.Next() {
			if seq, err := keyspace.ParseSeq(it.Key()); err == nil {
				last = max(last, seq.Incarnation)
			}
		}
		if err := it.Close(); err != nil {
			return 0, err
		}
	}
	for _, tag := range [...]keyspace.Tag{keyspace.TagLastSeq, keyspace.TagPurgeSeq} {
		value, err := d.R.Get(d.Keys.Sub(nil, tag))
		if err != nil {
			return 0, err
		}
		if seq, err := keyspace.ParseSeq(value); err == nil {
			last = max(last, seq.Incarnation)
		}
	}
	return last, nil
}

// purgeBatch is how many purge requests are repeated in a transaction.
const purgeBatch = 100

// purges repeats the purge requests, while nothing is there that they could remove: so they are
// remembered.
func (w *work) purges(d *docread.Reader) error {
	var requests []storage.IDRevs
	flush := func() error {
		_, err := w.db.Purge(w.ctx, requests)
		requests = requests[:0]
		return err
	}
	var cursor []byte
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagPurges), &cursor, func(_, value []byte) error {
		id, revs, err := formats.ParsePurge(value)
		if err != nil {
			w.lost("", compat.Rev{}, "a purge request cannot be read")
			return nil //nolint:nilerr // it is reported as lost
		}
		if requests = append(requests, storage.IDRevs{ID: id, Revs: revs}); len(requests) == purgeBatch {
			return flush()
		}
		return nil
	})
	if err == nil && len(requests) > 0 {
		err = flush()
	}
	return err
}

// locals brings back the local documents, those of the database and those of its users.
func (w *work) locals(d *docread.Reader) error {
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagLocal), new([]byte), func(suffix, value []byte) error {
		return w.localAt(d, w.db, suffix, value)
	})
	if err == nil {
		users := audience.Index{Keys: d.Keys}.Locals()
		err = d.Walk(users, new([]byte), func(suffix, value []byte) error {
			user, rest, err := tuple.ReadString(suffix)
			if err != nil {
				return nil //nolint:nilerr // no key of a document
			}
			own := *d
			own.User = &user
			return w.localAt(&own, w.db.As(access.Of(user, nil)), rest, value)
		})
	}
	return errors.Join(err, w.flush())
}

// groups brings back the groups of a database with access for each document.
func (w *work) groups(d *docread.Reader) error {
	all := groups.In(d.Keys)
	return d.Walk(all.Heads(), new([]byte), func(suffix, _ []byte) error {
		name, rest, err := tuple.ReadString(suffix)
		if err != nil || len(rest) > 0 {
			return nil //nolint:nilerr // no key of a group
		}
		group, err := all.Get(d.R, name)
		if errors.Is(err, kv.ErrCorrupt) {
			w.lost("_group/"+name, compat.Rev{}, "the group cannot be read")
			return nil
		}
		if err != nil || group == nil {
			return err
		}
		restore := func(tx kv.Tx, to groups.Groups) error { return to.Restore(tx, group) }
		return w.db.Settings().ChangeGroups(w.ctx, restore)
	})
}

// localAt brings back the local document at a key, unless that is one of a document's parts.
func (w *work) localAt(d *docread.Reader, db *storage.DB, suffix, value []byte) error {
	id, chunk, err := tuple.ReadString(suffix)
	if err != nil || len(chunk) > 0 {
		return nil //nolint:nilerr // no key of a document
	}
	doc, err := d.Local(id, value)
	switch {
	case errors.Is(err, kv.ErrCorrupt):
		w.lost(id, compat.Rev{}, "the local document cannot be read")
		return nil
	case err != nil:
		return err
	case isCheckpoint(doc.Body):
		w.result.Checkpoints++
		return nil
	}
	return w.local(db, doc)
}

// local brings back a local document with the number that it had: writing over the number before
// gives just that one.
func (w *work) local(db *storage.DB, doc *docread.Document) error {
	body, err := compat.NewBody(doc.Body)
	if err != nil {
		w.lost(doc.ID, compat.Rev{}, "the local document cannot be read")
		return nil //nolint:nilerr // it is reported as lost
	}
	edit := &compat.Document{ID: doc.ID, HasID: true, Body: body}
	if before, ok := predecessor(doc.Rev.Hash); ok {
		edit.Revs.IDs = []string{before}
	}
	results, err := db.Update(w.ctx, []*compat.Document{edit}, storage.UpdateOptions{Trusted: true})
	switch {
	case err != nil:
		return err
	case results[0].Err != nil:
		w.lost(doc.ID, compat.Rev{}, "it was not accepted: %v", results[0].Err)
	default:
		w.result.LocalDocs++
	}
	return nil
}

// isCheckpoint reports whether a local document is the checkpoint of a replication
// (couch_replicator_scheduler_job:do_checkpoint; PouchDB's have the same members).
func isCheckpoint(body []byte) bool {
	v, err := ejson.Parse(body)
	if err != nil {
		return false
	}
	_, session := v.Get("session_id")
	_, history := v.Get("history")
	_, seq := v.Get("source_last_seq")
	_, last := v.Get("last_seq")
	return session && history || session && (seq || last)
}
