package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/audience"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/replaced"
	"github.com/settee-db/settee/storage/tombstones"
)

// Violation is something stored that breaks an invariant of package storage.
type Violation struct {
	Database string // "" if it is outside of databases
	ID       string // the document, or what else it is about; may be empty
	// Invariant is its number in the documentation of package storage.
	Invariant int
	Detail    string
}

// String describes the violation in a line.
func (v Violation) String() string {
	return fmt.Sprintf("database %q, %q: invariant %d: %s", v.Database, v.ID, v.Invariant, v.Detail)
}

// MaxViolations ends a check: what has so many needs no more.
const MaxViolations = 1000

// Check reads the whole store and reports what breaks the invariants of package storage, at most
// about 1000 violations. Where the store limits the time of a snapshot (Limits.ReadTime) a database is
// read from several. So it may run beside writers, but what is the sum of many documents, like a
// counter, is compared only in databases that nobody has written to since the first of their
// snapshots. progress, if not nil, is told how many documents were looked at, and about how many
// there are. The error is of the store, or ctx's.
func Check(ctx context.Context, store kv.Store, progress func(done, total int64)) ([]Violation, error) {
	return CheckSized(ctx, store, counts.DefaultSizes(), progress)
}

// CheckSized is Check of a store whose structures for counts have other sizes than usual.
func CheckSized(
	ctx context.Context,
	store kv.Store,
	sizes counts.Sizes,
	progress func(done, total int64),
) ([]Violation, error) {
	c := storeCheck{kv: store, sizes: sizes, progress: progress}
	if c.progress == nil {
		c.progress = func(int64, int64) {}
	}
	databases, err := c.records(ctx)
	if err != nil {
		return nil, err
	}
	// One database after the other: what a check keeps grows with the documents of one, and the
	// memory is free again before the next.
	for _, db := range databases {
		check := newDBCheck(&c, db.name)
		err := check.view(ctx, check.run)
		if err == nil {
			// Ranks, tombstones and replaced revisions have walks of their own beside the phases:
			// they compare rows with indexes that are not in the order of the documents.
			err = check.checkRanks(ctx)
		}
		if err == nil {
			err = c.checkTombstones(ctx, db)
		}
		if err == nil {
			err = c.checkReplaced(ctx, db)
		}
		if err == nil {
			err = check.checkAudience(ctx, db)
		}
		if err == nil {
			c.addSums(check)
		}
		switch {
		case errors.Is(err, errEnoughViolations):
			return c.violations, nil
		case errors.Is(err, kv.ErrCorrupt):
			c.violations = append(c.violations, Violation{db.name, "", check.phase().invariant, err.Error()})
		// A database that is deleted while it is checked breaks nothing. What cannot be read at all
		// is a violation of the phase that met it, so that the other databases are still checked.
		case err != nil && !errors.Is(err, compat.KindNoDatabase):
			return c.violations, err
		}
	}
	return c.violations, nil
}

// storeCheck is a running Check.
type storeCheck struct {
	kv          kv.Store
	sizes       counts.Sizes
	violations  []Violation
	done, total int64
	progress    func(done, total int64)
}

var errEnoughViolations = errors.New("storage: too many violations")

type checkedRecord struct {
	name string
	rec  keyspace.Record
}

// records checks the database records and that there is nothing outside of databases, and returns
// the databases.
func (c *storeCheck) records(ctx context.Context) (databases []checkedRecord, err error) {
	begin, end := keyspace.Children(keyspace.DatabasesPrefix())
	owners := make(map[int64]string)
	err = kv.Walk(ctx, c.kv, begin, end, docread.MostRows, func(r kv.ReadTx, window []kv.Row) error {
		some := make([]checkedRecord, 0, len(window))
		var broken []Violation
		// The next prefix is read in the snapshot of the records: read before them it would make a
		// database that is created meanwhile look as if its prefix had not been given out.
		keys := [][]byte{keyspace.NextPrefixKey()}
		for _, row := range window {
			name, err := keyspace.ParseRecordKey(row.Key)
			if err == nil {
				var rec keyspace.Record
				if rec, err = keyspace.ParseRecord(row.Value); err == nil {
					some = append(some, checkedRecord{name, rec})
					keys = append(keys, keyspace.NewSpace(rec.Prefix).Stat(nil, keyspace.DocCount),
						keyspace.NewSpace(rec.Prefix).Stat(nil, keyspace.DelCount))
					continue
				}
			}
			broken = append(broken, Violation{name, "", 11, err.Error()})
		}
		counts, err := keyspace.ReadCounters(r, keys)
		if err != nil {
			return err
		}
		c.violations = append(c.violations, broken...)
		for _, db := range some {
			c.checkPrefix(db, counts[0], owners)
		}
		for _, n := range counts[1:] {
			c.total += n
		}
		databases = append(databases, some...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return databases, c.strayKeys(ctx, owners)
}

// checkTombstones checks the index of deleted documents.
func (c *storeCheck) checkTombstones(ctx context.Context, db checkedRecord) error {
	index := tombstones.Index{Keys: keyspace.NewSpace(db.rec.Prefix)}
	found, err := index.Check(ctx, c.kv, db.rec.Tombstones)
	for _, detail := range found {
		c.report(Violation{db.name, "", 17, detail})
	}
	return err
}

// checkReplaced checks the index of replaced revisions by time.
func (c *storeCheck) checkReplaced(ctx context.Context, db checkedRecord) error {
	found, err := replaced.Index{Keys: keyspace.NewSpace(db.rec.Prefix)}.Check(ctx, c.kv)
	for _, detail := range found {
		c.report(Violation{db.name, "", 18, detail})
	}
	return err
}

// checkAudience checks that principals have no other rows than those that the documents ask for, and
// that groups are found by their members.
func (c *dbCheck) checkAudience(ctx context.Context, db checkedRecord) error {
	index := audience.Index{Keys: keyspace.NewSpace(db.rec.Prefix)}
	found, err := c.docs.audience.Rest(ctx, c.store.kv, index)
	if err == nil {
		var wrong []string
		wrong, err = groups.In(index.Keys).Check(ctx, c.store.kv)
		found = append(found, wrong...)
	}
	for _, detail := range found {
		c.sum(19, "", "%s", detail)
	}
	return err
}

// checkPrefix checks that a database has a prefix of its own, below the next one to be given out.
func (c *storeCheck) checkPrefix(db checkedRecord, next int64, owners map[int64]string) {
	if other, ok := owners[db.rec.Prefix]; ok {
		c.report(Violation{db.name, "", 11, "shares its prefix with " + other})
	}
	owners[db.rec.Prefix] = db.name
	if db.rec.Prefix < keyspace.FirstPrefix || db.rec.Prefix >= next {
		c.report(Violation{db.name, "", 11, fmt.Sprintf("prefix %d, but the next one is %d", db.rec.Prefix, next)})
	}
}

// strayKeys looks for keys with a prefix that no database has.
func (c *storeCheck) strayKeys(ctx context.Context, owners map[int64]string) error {
	prefix := int64(keyspace.FirstPrefix)
	return kv.GoOn(ctx, func() (advanced bool, err error) {
		err = c.kv.View(ctx, func(r kv.ReadTx) error {
			for ; ; prefix++ {
				// Only the first key behind each prefix is read, so that the search costs one read
				// a database however much is in it.
				it := r.Range([]byte(keyspace.NewSpace(prefix)), []byte{0xff}, kv.RangeOptions{Limit: 1})
				defer it.Close()
				if !it.Next() {
					return it.Err()
				}
				found, _, err := tuple.ReadInt(it.Key())
				if err != nil {
					c.report(Violation{"", fmt.Sprintf("%q", it.Key()), 11, "a key that is no tuple of ours"})
					return nil
				}
				// The list of owners is older than this snapshot.
				if _, ok := owners[found]; !ok {
					created, err := createdMeanwhile(r, found)
					if err != nil {
						return err
					}
					if !created {
						c.report(Violation{"", fmt.Sprintf("%q", it.Key()), 11, "a key that belongs to no database"})
					}
				}
				prefix, advanced = found, true
			}
		})
		return advanced, err
	})
}

// createdMeanwhile reports whether a database has the prefix by now.
func createdMeanwhile(r kv.ReadTx, prefix int64) (bool, error) {
	begin, end := keyspace.Children(keyspace.DatabasesPrefix())
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		if rec, err := keyspace.ParseRecord(it.Value()); err == nil && rec.Prefix == prefix {
			return true, nil
		}
	}
	return false, it.Err()
}

func (c *storeCheck) report(v Violation) { c.violations = append(c.violations, v) }

// dbCheck checks one database. It can go on with another snapshot: each phase keeps what it has
// read so far, and where.
type dbCheck struct {
	store  *storeCheck
	name   string
	phases []checkPhase
	// sums are violations only if the database was not written to since first: they compare what
	// different snapshots said.
	sums     []Violation
	first    *compat.Seq
	folded   []byte // up to where the log of counts was folded then
	moved    bool
	prefetch docread.Window

	docs docsCheck
	feed feedCheck
	atts attsCheck
	rest restCheck
}

// checkPhase is a part of the check that can be called again to go on where it was.
type checkPhase struct {
	invariant int // the one that is broken where something cannot be read
	run       func(*docread.Reader) error
}

// newDBCheck prepares the check of a database. Later phases compare what they read with what earlier
// ones have counted.
func newDBCheck(store *storeCheck, name string) *dbCheck {
	c := &dbCheck{store: store, name: name}
	c.docs.refs = make(map[string]*attachmentUse)
	c.rest.partitions = make(map[string]*keyspace.StatDelta)
	c.phases = []checkPhase{{1, c.checkDocs}, {5, c.checkCounters}, {6, c.feed.readBlocks}, {4, c.checkFeed},
		{6, c.checkBlocks}, {7, c.checkRefs}, {7, c.checkPending}, {7, c.checkBytes}, {12, c.checkLocals},
		{12, c.checkRest}}
	return c
}

// view runs fn on a snapshot of the database, and on with newer ones where that became too old.
func (c *dbCheck) view(ctx context.Context, fn func(*docread.Reader) error) error {
	return kv.GoOn(ctx, func() (advanced bool, err error) {
		err = c.store.kv.View(ctx, func(r kv.ReadTx) error {
			d := docread.Reader{Ctx: ctx, Reader: counts.Reader{Sizes: c.store.sizes}}
			err := d.Open(r, c.name)
			if err == nil {
				err = fn(&d)
			}
			advanced = d.Advanced
			return err
		})
		return advanced, err
	})
}

func (c *dbCheck) phase() checkPhase { return c.phases[0] }

// run makes the phases in order. A phase that is done is dropped at once, so that the next
// snapshot, when this one became too old, goes on with the phase that was interrupted. The last
// phase stays: calling it again finds nothing.
func (c *dbCheck) run(d *docread.Reader) error {
	if err := c.notice(d); err != nil {
		return err
	}
	c.prefetch.Begin(0)
	for len(c.phases) > 0 {
		if err := c.phases[0].run(d); err != nil {
			return err
		}
		if len(c.store.violations) > MaxViolations {
			return errEnoughViolations
		}
		if len(c.phases) == 1 {
			return nil
		}
		c.phases = c.phases[1:]
	}
	return nil
}

// notice finds out whether the database was written to since the first snapshot, or its counts were
// folded.
func (c *dbCheck) notice(d *docread.Reader) error {
	_, last, err := d.Last()
	if err != nil {
		return err
	}
	folded, err := d.R.Get(d.Keys.CountFolded(nil))
	if err != nil {
		return err
	}
	if c.first == nil {
		c.first, c.folded = &last, bytes.Clone(folded)
	}
	c.moved = c.moved || *c.first != last || !bytes.Equal(c.folded, folded)
	return nil
}

// addSums reports what is wrong with sums.
func (c *storeCheck) addSums(db *dbCheck) {
	if !db.moved {
		c.violations = append(c.violations, db.sums...)
	}
}

// sum reports what is wrong with a sum, unless the database is written to.
func (c *dbCheck) sum(invariant int, id, format string, args ...any) {
	c.sums = append(c.sums, Violation{c.name, id, invariant, fmt.Sprintf(format, args...)})
}

func (c *dbCheck) violation(invariant int, id, format string, args ...any) {
	c.store.report(Violation{c.name, id, invariant, fmt.Sprintf(format, args...)})
}

// walkWindows is Reader.Walk for windows of keys, for checks that read more of each.
func (c *dbCheck) walkWindows(d *docread.Reader, prefix []byte, cursor *[]byte, fn func(window []kv.Row) error) error {
	// The cursor is the last key that is done with, without the prefix: a walk that a snapshot too
	// old has interrupted goes on behind it.
	begin, end := keyspace.Children(prefix)
	if *cursor != nil {
		begin = kv.AppendKeyAfter(nil, slices.Concat(prefix, *cursor))
	}
	it := d.R.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for more := true; more; {
		window := make([]kv.Row, 0, docread.MostRows)
		for more = it.Next(); more; more = it.Next() {
			window = append(window, kv.Row{Key: bytes.Clone(it.Key()[len(prefix):]), Value: bytes.Clone(it.Value())})
			if len(window) >= c.prefetch.Rows {
				break
			}
		}
		if err := it.Err(); err != nil || len(window) == 0 {
			return err
		}
		if err := fn(window); err != nil {
			return err
		}
		*cursor = window[len(window)-1].Key
		d.Advance()
		c.prefetch.Took(0)
	}
	return nil
}
