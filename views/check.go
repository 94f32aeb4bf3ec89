package views

import (
	"context"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

// Violation is an index that is not what the package promises.
type Violation struct {
	Database  string
	Index     int64 // its number
	Invariant int   // its number in the package's comment
	Detail    string
}

// String is one line for people.
func (v Violation) String() string {
	return fmt.Sprintf("%s: index %d: invariant %d: %s", v.Database, v.Index, v.Invariant, v.Detail)
}

// enoughViolations of one index say what there is to say.
const enoughViolations = 20

// Check verifies invariants 2, 3, 5, 7 and 9 of all indexes of a store that nobody else uses. It does not run map functions.
func Check(ctx context.Context, s *storage.Store) ([]Violation, error) {
	var all []Violation
	var names []string
	if err := s.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
		names = append(names, name)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, name := range names {
		err := s.DB(name).View(ctx, func(snap *storage.Snapshot) error {
			members, err := readRecords(snap.KV(), spaceOf(snap))
			for _, m := range members {
				if err == nil {
					c := memberCheck{r: snap.KV(), m: m, database: name}
					err = c.run(ctx)
					all = append(all, c.violations...)
				}
			}
			return err
		})
		if err != nil && !errors.Is(err, compat.ErrNoDatabase) {
			return all, err
		}
	}
	return all, nil
}

// memberCheck checks one index.
type memberCheck struct {
	r          kv.ReadTx
	m          *member
	database   string
	named      int64 // rows that IDS names
	failed     int64 // documents that failed by IDS
	cut        int64 // documents in CUT by IDS
	violations []Violation
}

func (c *memberCheck) violate(invariant int, format string, args ...any) {
	if len(c.violations) < enoughViolations {
		c.violations = append(c.violations, Violation{c.database, c.m.rec.number, invariant, fmt.Sprintf(format, args...)})
	}
}

func (c *memberCheck) run(ctx context.Context) error {
	if err := c.ids(); err != nil {
		return err
	}
	failed, err := countKeys(c.r, c.m.keys.errors)
	if err != nil {
		return err
	}
	if failed != c.failed {
		c.violate(5, "%d messages of failed documents, %d entries", failed, c.failed)
	}
	if err := c.cuts(); err != nil {
		return err
	}
	if err := c.rows(); err != nil {
		return err
	}
	return c.levels(ctx)
}

func countKeys(r kv.ReadTx, prefix []byte) (n int64, err error) {
	begin, end := children(prefix)
	it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// ids looks up the rows that each document is said to have.
func (c *memberCheck) ids() error {
	prefix := c.m.keys.ids
	begin, end := children(prefix)
	it := c.r.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		id, _, err := kv.ReadString(it.Key()[len(prefix):])
		if err != nil {
			return err
		}
		if hasFailed(it.Value()) {
			c.failed++
			if err := c.cutOf(id, it.Value()); err != nil {
				return err
			}
			continue
		}
		kept, err := parseIDs(it.Value(), c.m.partitionPrefix(id), id, nil)
		if err != nil {
			c.violate(2, "%q: %v", id, err)
			continue
		}
		for i := range kept {
			if err := c.row(id, &kept[i]); err != nil {
				return err
			}
		}
	}
	return it.Err()
}

func (c *memberCheck) row(id string, kept *keptRow) error {
	base := c.m.keys.rows
	value, err := c.r.Get(append(base[:len(base):len(base)], kept.place...))
	if err != nil {
		return err
	}
	c.named++
	if value == nil || len(value) != kept.length || xxhash.Sum64(value) != kept.hash {
		c.violate(2, "%q: a row is not as its entry says", id)
	}
	return nil
}

// cutOf looks for a document in CUT that is said to be there.
func (c *memberCheck) cutOf(id string, entry []byte) error {
	if entry[0] != idsCut {
		return nil
	}
	c.cut++
	base := c.m.keys.cut
	value, err := c.r.Get(append(base[:len(base):len(base)], entry[1:]...))
	if err == nil && value == nil {
		c.violate(9, "%q: not in CUT as its entry says", id)
	}
	return err
}

// cuts counts CUT, and compares with IDS and the counter.
func (c *memberCheck) cuts() error {
	n, err := countKeys(c.r, c.m.keys.cut)
	if err != nil {
		return err
	}
	if n != c.cut {
		c.violate(9, "%d documents in CUT, %d by their entries", n, c.cut)
	}
	value, err := c.r.Get(c.m.keys.count(countCut))
	if counter(value) != n {
		c.violate(3, "%d documents in CUT, counter %d", n, counter(value))
	}
	return err
}

// rows counts the rows, and compares with IDS and the counter.
func (c *memberCheck) rows() error {
	n, err := c.m.countRows(c.r, span{})
	if err != nil {
		return err
	}
	if n != c.named {
		c.violate(2, "%d rows, %d named by documents", n, c.named)
	}
	value, err := c.r.Get(c.m.keys.count(countRows))
	if counter(value) != n {
		c.violate(3, "%d rows, counter %d", n, counter(value))
	}
	return err
}

// levels compares what is kept above the rows with them, but for the aggregates of functions in JavaScript.
func (c *memberCheck) levels(ctx context.Context) error {
	if !c.m.rec.levels {
		return nil
	}
	builtin := *c.m
	builtin.above, builtin.rec.slots = nil, nil
	for _, s := range c.m.rec.slots {
		if reduce.Builtin(s.source) {
			builtin.rec.slots = append(builtin.rec.slots, s)
		}
	}
	x, err := newLevels(&builtin, func(source string) (reduce.Func, error) { return reduce.New(source, reduce.Options{}) })
	if err != nil {
		return err
	}
	return x.Check(ctx, c.r, func(format string, args ...any) { c.violate(7, format, args...) })
}
