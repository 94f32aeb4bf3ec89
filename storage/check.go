package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// Violation is something stored that breaks an invariant of this package.
type Violation struct {
	Database string // "" if it is outside of databases
	ID       string // the document, or what else it is about; may be empty
	// Invariant is its number in the package's documentation.
	Invariant int
	Detail    string
}

// String describes the violation in a line.
func (v Violation) String() string {
	return fmt.Sprintf("database %q, %q: invariant %d: %s", v.Database, v.ID, v.Invariant, v.Detail)
}

// maxViolations ends a check: what has so many needs no more.
const maxViolations = 1000

// Check reads the whole store and reports what breaks the invariants of this package, at most 1000 violations. It may run beside
// writers, since each database is read from one snapshot; but where the store limits the time of a snapshot (Limits.ReadTime),
// a database that is written to meanwhile can be reported wrongly. progress, if not nil, is told how many documents were looked
// at, and about how many there are. The error is of the store, or ctx's.
func Check(ctx context.Context, store kv.Store, progress func(done, total int64)) ([]Violation, error) {
	s := &Store{kv: store, limits: store.Limits()}
	c := storeCheck{progress: progress}
	if c.progress == nil {
		c.progress = func(int64, int64) {}
	}
	databases, err := c.records(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, db := range databases {
		check := newDBCheck(&c, db.name)
		err := s.DB(db.name).viewOn(ctx, check.run)
		switch {
		case errors.Is(err, errEnoughViolations):
			return c.violations, nil
		case errors.Is(err, kv.ErrCorrupt):
			c.violations = append(c.violations, Violation{db.name, "", check.phase().invariant, err.Error()})
		case err != nil && !errors.Is(err, compat.KindNoDatabase):
			return c.violations, err
		}
	}
	return c.violations, nil
}

// storeCheck is a running Check.
type storeCheck struct {
	violations  []Violation
	done, total int64
	progress    func(done, total int64)
}

var errEnoughViolations = errors.New("storage: too many violations")

type checkedRecord struct {
	name string
	rec  record
}

// records checks the database records and that there is nothing outside of databases, and returns the databases.
func (c *storeCheck) records(ctx context.Context, s *Store) (databases []checkedRecord, err error) {
	err = s.kv.View(ctx, func(r kv.ReadTx) error {
		if databases, err = c.readRecords(r); err != nil {
			return err
		}
		value, err := r.Get(rootKey(rootNextPrefix))
		if err != nil {
			return err
		}
		owners := make(map[int64]string)
		for _, db := range databases {
			if other, ok := owners[db.rec.prefix]; ok {
				c.report(Violation{db.name, "", 11, "shares its prefix with " + other})
			}
			owners[db.rec.prefix] = db.name
			if next := counter(value); db.rec.prefix < firstPrefix || db.rec.prefix >= next {
				c.report(Violation{db.name, "", 11, fmt.Sprintf("prefix %d, but the next one is %d", db.rec.prefix, next)})
			}
			counts, err := readCounters(r, [][]byte{newSpace(db.rec.prefix).stat(nil, statDocCount), newSpace(db.rec.prefix).stat(nil, statDelCount)})
			if err != nil {
				return err
			}
			c.total += counts[0] + counts[1]
		}
		return c.strayKeys(r, owners)
	})
	return databases, err
}

func (c *storeCheck) readRecords(r kv.ReadTx) (databases []checkedRecord, err error) {
	begin, end := children(rootKey(rootDBs))
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		name, err := parseDBRecordKey(it.Key())
		if err == nil {
			var rec record
			if rec, err = parseRecord(it.Value()); err == nil {
				databases = append(databases, checkedRecord{name, rec})
				continue
			}
		}
		c.report(Violation{name, "", 11, err.Error()})
	}
	return databases, it.Err()
}

// strayKeys looks for keys with a prefix that no database has.
func (c *storeCheck) strayKeys(r kv.ReadTx, owners map[int64]string) error {
	for prefix := int64(firstPrefix); ; prefix++ {
		it := r.Range([]byte(newSpace(prefix)), []byte{0xff}, kv.RangeOptions{Limit: 1})
		defer it.Close()
		if !it.Next() {
			return it.Err()
		}
		var err error
		if prefix, _, err = kv.ReadInt(it.Key()); err != nil {
			c.report(Violation{"", fmt.Sprintf("%q", it.Key()), 11, "a key that is no tuple of ours"})
			return nil
		}
		if _, ok := owners[prefix]; !ok {
			c.report(Violation{"", fmt.Sprintf("%q", it.Key()), 11, "a key that belongs to no database"})
		}
	}
}

func (c *storeCheck) report(v Violation) { c.violations = append(c.violations, v) }

// dbCheck checks one database. It can go on with another snapshot: each phase keeps what it has read so far, and where.
type dbCheck struct {
	store  *storeCheck
	name   string
	phases []checkPhase

	docs  docsCheck
	feed  feedCheck
	ranks ranksCheck
	atts  attsCheck
}

// checkPhase is a part of the check that can be called again to go on where it was.
type checkPhase struct {
	invariant int // the one that is broken where something cannot be read
	run       func(*dbRead) error
}

func newDBCheck(store *storeCheck, name string) *dbCheck {
	c := &dbCheck{store: store, name: name}
	c.docs.refs = make(map[string]*attachmentUse)
	c.phases = []checkPhase{{1, c.checkDocs}, {5, c.checkCounters}, {4, c.checkFeed}, {6, c.checkBlocks}, {6, c.checkRanks},
		{7, c.checkRefs}, {7, c.checkPending}, {7, c.checkBytes}, {12, c.checkLocals}, {12, c.checkRest}}
	return c
}

func (c *dbCheck) phase() checkPhase { return c.phases[0] }

func (c *dbCheck) run(d *dbRead) error {
	for len(c.phases) > 0 {
		if err := c.phases[0].run(d); err != nil {
			return err
		}
		if len(c.store.violations) > maxViolations {
			return errEnoughViolations
		}
		if len(c.phases) == 1 {
			return nil
		}
		c.phases = c.phases[1:]
	}
	return nil
}

func (c *dbCheck) violation(invariant int, id, format string, args ...any) {
	c.store.report(Violation{c.name, id, invariant, fmt.Sprintf(format, args...)})
}

// walk calls fn for the keys below a prefix, without it, from after *cursor on, and moves the cursor behind every one that fn
// has taken.
func walk(d *dbRead, prefix []byte, cursor *[]byte, fn func(suffix, value []byte) error) error {
	begin, end := children(prefix)
	if *cursor != nil {
		begin = kv.AppendKeyAfter(nil, concat(prefix, *cursor))
	}
	it := d.r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		suffix := it.Key()[len(prefix):]
		if err := fn(suffix, it.Value()); err != nil {
			return err
		}
		*cursor = append((*cursor)[:0], suffix...)
		if *cursor == nil {
			*cursor = []byte{}
		}
		d.advance()
	}
	return it.Err()
}
