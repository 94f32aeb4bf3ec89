package views

import (
	"context"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
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

// checkWindow is how many keys Check reads from one snapshot at a time.
const checkWindow = 1000

// Check verifies invariants 2, 3, 5, 7, 9 and 10 of all indexes of a store, which engine is below.
// It does not run map functions. It reads as many snapshots as that takes; what spans several of
// them is compared only where nobody has written meanwhile.
func Check(ctx context.Context, engine kv.Store, s *storage.Store) ([]Violation, error) {
	var all []Violation
	err := s.EachDB(ctx, func(db *storage.DB) error {
		found, err := checkDatabase(ctx, engine, db)
		all = append(all, found...)
		return err
	})
	return all, err
}

// checkDatabase checks the indexes of a database.
func checkDatabase(ctx context.Context, engine kv.Store, db *storage.DB) (found []Violation, err error) {
	var indexes []*index
	if err := db.ViewAgain(ctx, func(snap *storage.Snapshot) error {
		if indexes, err = readRecords(snap.KV(), spaceOf(snap)); err == nil {
			found, err = checkPieces(snap, indexes)
		}
		return err
	}); err != nil {
		return nil, err
	}
	for _, ix := range indexes {
		c := indexCheck{store: engine, db: db, ix: ix}
		err := c.run(ctx)
		if found = append(found, c.violations...); err != nil {
			return found, err
		}
	}
	return found, nil
}

// indexCheck checks one index.
type indexCheck struct {
	store     kv.Store
	db        *storage.DB
	ix        *index
	named     int64 // rows that IDS names
	failed    int64 // documents that failed by IDS
	oversized int64 // documents in OVERSIZED by IDS

	violations []Violation
	// sums are violations only if nobody wrote meanwhile: they compare different snapshots.
	sums []Violation
}

func (c *indexCheck) violate(invariant int, format string, args ...any) {
	c.violations = c.add(c.violations, invariant, format, args...)
}

func (c *indexCheck) add(to []Violation, invariant int, format string, args ...any) []Violation {
	if len(to) < enoughViolations {
		to = append(to, Violation{c.db.Name(), c.ix.rec.number, invariant, fmt.Sprintf(format, args...)})
	}
	return to
}

// run checks one index part by part, each over as many snapshots as it takes. What the parts found
// one by one is wrong at any time; sums over all of them only say something if nothing has changed
// between the first snapshot and the last, so they are dropped otherwise.
func (c *indexCheck) run(ctx context.Context) error {
	before, err := c.state(ctx)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{c.ids, c.counts, c.levels} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	after, err := c.state(ctx)
	if err == nil && before == after {
		c.violations = append(c.violations, c.sums...)
	}
	return err
}

// checkState changes with whatever changes an index.
type checkState struct {
	last, purge storage.Seq
	record      string
}

func (c *indexCheck) state(ctx context.Context) (s checkState, err error) {
	err = c.db.ViewAgain(ctx, func(snap *storage.Snapshot) error {
		if s.last, err = snap.LastSeq(); err != nil {
			return err
		}
		if s.purge, err = snap.LastPurge(); err != nil {
			return err
		}
		record, err := snap.KV().Get(spaceOf(snap).info(c.ix.def.signature))
		s.record = string(record)
		if err != nil || c.ix.rec.pieces == 0 {
			return err
		}
		set, err := readPieces(snap.KV(), spaceOf(snap), c.ix.rec.pieces)
		if set != nil { // which move on, and not the record
			for _, part := range set.pieces {
				s.record += string(part.stored)
			}
		}
		return err
	})
	return s, err
}

// walk reads all keys below a prefix, which fn sees without it.
func (c *indexCheck) walk(ctx context.Context, prefix []byte, fn func(r kv.ReadTx, window []kv.Row) error) error {
	begin, end := children(prefix)
	return kv.Walk(ctx, c.store, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		below := make([]kv.Row, len(window))
		for i, row := range window {
			below[i] = kv.Row{Key: row.Key[len(prefix):], Value: row.Value}
		}
		return fn(r, below)
	})
}

// expected is another key that an entry of IDS implies.
type expected struct {
	id  string
	row *keptRow // nil: a key of OVERSIZED, which is there or not
}

// ids looks up what each document is said to have: its rows, or its entry in OVERSIZED.
func (c *indexCheck) ids(ctx context.Context) error {
	return c.walk(ctx, c.ix.keys.ids, func(r kv.ReadTx, window []kv.Row) error {
		var failed, oversized int64
		var keys [][]byte
		var expect []expected
		broken := make(map[string]error)
		for _, row := range window {
			id, _, err := tuple.ReadString(row.Key)
			if err != nil {
				return err
			}
			if hasFailed(row.Value) {
				if failed++; row.Value[0] == idsOversized {
					oversized++
					keys = append(keys, slices.Concat(c.ix.keys.oversized, row.Value[1:]))
					expect = append(expect, expected{id: id})
				}
				continue
			}
			kept, err := parseIDs(row.Value, c.ix.partitionPrefix(id), id, nil)
			if err != nil {
				broken[id] = err
				continue
			}
			for i := range kept {
				keys = append(keys, slices.Concat(c.ix.keys.rows, kept[i].rowKey))
				expect = append(expect, expected{id, &kept[i]})
			}
		}
		wrong, err := c.compare(r, keys, expect)
		if err != nil {
			return err
		}
		for id, err := range broken {
			c.violate(2, "%q: %v", id, err)
		}
		for _, e := range wrong {
			if e.row == nil {
				c.violate(9, "%q: not in OVERSIZED as its entry says", e.id)
			} else {
				c.violate(2, "%q: a row is not as its entry says", e.id)
			}
		}
		c.failed, c.oversized, c.named = c.failed+failed, c.oversized+oversized, c.named+int64(len(expect))-oversized
		return nil
	})
}

// compare reads the keys, some together so that large values do not fill the memory, and tells
// where they are not as expected.
func (c *indexCheck) compare(r kv.ReadTx, keys [][]byte, expect []expected) (wrong []expected, err error) {
	const together = 256
	for from := 0; from < len(keys); from += together {
		values, err := r.GetMany(keys[from:min(len(keys), from+together)])
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			e := expect[from+i]
			if value == nil || e.row != nil && (len(value) != e.row.length || xxhash.Sum64(value) != e.row.hash) {
				wrong = append(wrong, e)
			}
		}
	}
	return wrong, nil
}

// counts compares how many keys there are with IDS and the counters.
func (c *indexCheck) counts(ctx context.Context) error {
	var messages, oversized, rows int64
	keys := c.ix.keys
	for prefix, n := range map[*[]byte]*int64{&keys.errors: &messages, &keys.oversized: &oversized, &keys.rows: &rows} {
		if err := c.walk(ctx, *prefix, func(_ kv.ReadTx, window []kv.Row) error {
			*n += int64(len(window))
			return nil
		}); err != nil {
			return err
		}
	}
	var counters []int64
	err := c.store.View(ctx, func(r kv.ReadTx) error {
		values, err := r.GetMany([][]byte{c.ix.keys.count(countRows), c.ix.keys.count(countOversized)})
		for _, value := range values {
			counters = append(counters, keyspace.Counter(value))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range []struct {
		invariant int
		got, want int64
		text      string
	}{
		{5, messages, c.failed, "%d messages of failed documents, %d entries"},
		{9, oversized, c.oversized, "%d documents in OVERSIZED, %d by their entries"},
		{3, oversized, counters[1], "%d documents in OVERSIZED, counter %d"},
		{2, rows, c.named, "%d rows, %d named by documents"},
		{3, rows, counters[0], "%d rows, counter %d"},
	} {
		if s.got != s.want {
			c.sums = c.add(c.sums, s.invariant, s.text, s.got, s.want)
		}
	}
	return nil
}

// levels compares what is kept above the rows with them, but for the aggregates of functions in
// JavaScript.
func (c *indexCheck) levels(ctx context.Context) error {
	if !c.ix.rec.levels {
		return nil
	}
	builtin := *c.ix
	builtin.above, builtin.rec.slots = nil, nil
	for _, s := range c.ix.rec.slots {
		if reduce.Builtin(s.source) {
			builtin.rec.slots = append(builtin.rec.slots, s)
		}
	}
	x, err := newLevels(&builtin, 0,
		func(source string) (reduce.Func, error) { return reduce.New(source, reduce.Options{}) })
	if err != nil {
		return err
	}
	return x.Check(ctx, c.store, func(format string, args ...any) { c.sums = c.add(c.sums, 7, format, args...) })
}
