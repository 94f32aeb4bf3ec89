package views

import (
	"context"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
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

// Check verifies invariants 2, 3, 5 and 7 of all indexes of a store that nobody else uses. It does not run map functions.
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
					err = c.run()
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
	violations []Violation
}

func (c *memberCheck) violate(invariant int, format string, args ...any) {
	if len(c.violations) < enoughViolations {
		c.violations = append(c.violations, Violation{c.database, c.m.rec.number, invariant, fmt.Sprintf(format, args...)})
	}
}

func (c *memberCheck) run() error {
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
	return c.rows()
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
		if len(it.Value()) > 0 && it.Value()[0] == idsFailed {
			c.failed++
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

// countEvery is the number of rows between two comparisons of the levels' counts.
const countEvery = 997

// rows counts the rows, and compares with IDS, the counter and the levels.
func (c *memberCheck) rows() error {
	it := c.m.rows(c.r, span{}, kv.RangeOptions{WantAll: true})
	defer it.Close()
	base := len(c.m.keys.rows)
	var n int64
	for ; it.Next(); n++ {
		if !c.m.rec.levels || n%countEvery != 0 {
			continue
		}
		before, err := countLevels(c.r, c.m, it.Key()[base:])
		if err != nil {
			return err
		}
		if before != n {
			c.violate(7, "%d rows before row %d by the levels", before, n)
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if n != c.named {
		c.violate(2, "%d rows, %d named by documents", n, c.named)
	}
	value, err := c.r.Get(c.m.keys.count(countRows))
	if counter(value) != n {
		c.violate(3, "%d rows, counter %d", n, counter(value))
	}
	if err != nil || !c.m.rec.levels {
		return err
	}
	total, err := countLevels(c.r, c.m, nil)
	if total != n {
		c.violate(7, "%d rows, %d by the levels", n, total)
	}
	return err
}
