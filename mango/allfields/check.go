package allfields

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Violation is an index that is not what the package promises.
type Violation struct {
	Database  string
	Index     uint64 // its number
	Invariant int    // its number in the package's comment
	Detail    string
}

// String is one line for people.
func (v Violation) String() string {
	return fmt.Sprintf("%s: index %d over all fields: invariant %d: %s", v.Database, v.Index, v.Invariant, v.Detail)
}

const (
	// enoughViolations of one index say what there is to say.
	enoughViolations = 20
	// checkWindow is how many keys a check reads from one snapshot at a time, checkDocs of how many
	// documents, checkBytes with how many bytes of keys.
	checkWindow = 1000
	checkDocs   = 100
	checkBytes  = 4 << 20
	// maxAged is how many snapshots in a row may be too old for a single document.
	maxAged = 10
)

// Check verifies invariants 1, 3, 6 and 7 of all indexes that are ready, of a store which engine is
// below. It reads as many snapshots as that takes; sums are compared only in databases that nobody
// has written to meanwhile.
func Check(ctx context.Context, engine kv.Store, s *storage.Store) (found []Violation, err error) {
	err = s.EachDB(ctx, func(db *storage.DB) error {
		some, err := checkDatabase(ctx, engine, db)
		found = append(found, some...)
		return err
	})
	return found, err
}

// checkDatabase checks the indexes of a database that are ready and of this version. Others are
// not read by queries, so nothing is promised of them. What was found before an error is returned
// with it.
func checkDatabase(ctx context.Context, engine kv.Store, db *storage.DB) (found []Violation, err error) {
	var reg *registry
	var sp space
	if err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		sp = spaceOf(s)
		stored, err := s.KV().Get(sp.registry())
		if err == nil {
			reg, err = parseRegistry(stored)
		}
		return err
	}); err != nil {
		return nil, err
	}
	for i := range reg.indexes {
		ix := &reg.indexes[i]
		if !ix.ready || !ix.current() {
			continue
		}
		c := indexCheck{store: engine, db: db, sp: sp, ix: ix, paths: make(map[string]int64)}
		err := c.run(ctx)
		if found = append(found, c.found...); err != nil {
			return found, err
		}
	}
	return found, nil
}

// indexCheck checks one index.
type indexCheck struct {
	store kv.Store
	db    *storage.DB
	sp    space
	ix    *registered
	found []Violation

	// The id of the last document looked at; the next window begins behind it.
	last string
	// What the documents call for: entries on level 0 and on each level of samples, and bytes.
	entries [1 + SampleLevels]int64
	bytes   int64
	paths   map[string]int64 // entries by the key of their count
}

func (c *indexCheck) violate(invariant int, format string, args ...any) {
	if len(c.found) < enoughViolations {
		c.found = append(c.found, Violation{c.db.Name(), c.ix.number, invariant, fmt.Sprintf(format, args...)})
	}
}

// run checks one index. Sums cannot be read together with all rows in one snapshot, so they are
// compared only if nobody has written to the database in between.
func (c *indexCheck) run(ctx context.Context) error {
	before, err := c.db.Feed().Last(ctx)
	if err != nil {
		return err
	}
	if err := c.documents(ctx); err != nil {
		return err
	}
	compare, err := c.sums(ctx)
	if err != nil {
		return err
	}
	after, err := c.db.Feed().Last(ctx)
	if err == nil && before == after {
		compare()
	}
	return err
}

// documents looks up the entries of all documents, in windows that get smaller where they take
// longer than a snapshot lives.
func (c *indexCheck) documents(ctx context.Context) error {
	limit := checkDocs
	for aged := 0; ; {
		more := false
		err := c.db.View(ctx, func(s *storage.Snapshot) (err error) {
			more, err = c.window(s, limit)
			return err
		})
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
			aged, limit = 0, min(2*limit, checkDocs)
		case !errors.Is(err, kv.ErrTooOld) || ctx.Err() != nil || aged == maxAged:
			return err
		default:
			limit = max(1, limit/2)
			aged++
		}
	}
}

// expectedEntry is an entry that a document calls for.
type expectedEntry struct {
	doc   int    // in the window
	value []byte // as stored
	count string // the key of its count
	level int    // of the samples; 0: it is no sample
}

// checkedDoc is what the index should have of a document.
type checkedDoc struct {
	id     string
	keys   [][]byte
	expect []expectedEntry
}

// expectEntries gives what the entries of a document look like as they are stored.
func (c *indexCheck) expectEntries(id string, doc int, list []entry) checkedDoc {
	d := checkedDoc{id: id}
	for _, e := range list {
		suffix := tuple.AppendString(slices.Clone(e.key), id)
		value := rowValue(nil, e.value, e.truncated)
		for level := range 1 + sampleHeight(id) {
			d.keys = append(d.keys, concat(c.sp.appendEntries(c.ix.number, level), suffix))
			d.expect = append(d.expect, expectedEntry{doc, value, string(e.countKey(nil)), level})
		}
	}
	return d
}

// window looks at some documents; more says that there may be others after them.
func (c *indexCheck) window(s *storage.Snapshot, limit int) (more bool, err error) {
	o := storage.RangeOptions{Limit: int64(limit), IncludeDocs: true}
	if c.last != "" {
		o.Start = storage.Bound{ID: c.last, Set: true, Exclusive: true}
	}
	rows := c.sp.sub(c.ix.number, keyRows)
	var docs []checkedDoc
	var others [][]byte
	var work entries
	size, last := 0, c.last
	err = s.AllDocs(o, func(r *storage.ListRow) error {
		more, last = true, r.ID
		if strings.HasPrefix(r.ID, designPrefix) {
			return nil
		}
		list, err := work.read(r.Doc, c.ix.whole(c.ix.exclude))
		if err != nil {
			return err
		}
		docs = append(docs, c.expectEntries(r.ID, len(docs), list))
		others = append(others, otherKey(rows, r.ID))
		for _, key := range docs[len(docs)-1].keys {
			size += len(key)
		}
		if size > checkBytes {
			return storage.ErrStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, storage.ErrStop) {
		return more, err
	}
	// Documents that are not broken down have one entry only; the index itself says which they are.
	stored, err := s.KV().GetMany(others)
	if err != nil {
		return more, err
	}
	var keys [][]byte
	var expect []expectedEntry
	for i, d := range docs {
		if stored[i] != nil {
			d = c.expectEntries(d.id, i, work.other())
		}
		keys, expect = append(keys, d.keys...), append(expect, d.expect...)
	}
	wrong, err := compareEntries(s.KV(), keys, expect)
	if err != nil {
		return more, err
	}
	for _, e := range wrong {
		invariant := 1
		if e.level > 0 {
			invariant = 7
		}
		c.violate(invariant, "%q: an entry is missing or differs, on level %d", docs[e.doc].id, e.level)
	}
	for i, e := range expect {
		if c.entries[e.level]++; e.level == 0 {
			c.bytes += int64(len(keys[i]) - len(rows) + len(e.value))
			c.paths[e.count]++
		}
	}
	c.last = last
	return more, nil
}

// compareEntries tells which keys do not have the values expected.
func compareEntries(r kv.ReadTx, keys [][]byte, expect []expectedEntry) (wrong []expectedEntry, err error) {
	for from := 0; from < len(keys); from += checkWindow {
		values, err := r.GetMany(keys[from:min(len(keys), from+checkWindow)])
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if e := expect[from+i]; value == nil || string(value) != string(e.value) {
				wrong = append(wrong, e)
			}
		}
	}
	return wrong, nil
}

// sums counts what is stored, and returns what compares that with the documents.
func (c *indexCheck) sums(ctx context.Context) (compare func(), err error) {
	var stored [1 + SampleLevels]int64
	for level := range stored {
		if err := c.walk(ctx, c.sp.appendEntries(c.ix.number, level), func(kv.Row) { stored[level]++ }); err != nil {
			return nil, err
		}
	}
	counts := c.sp.sub(c.ix.number, keyCounts)
	paths := make(map[string]int64)
	count := func(row kv.Row) { paths[string(row.Key[len(counts):])] = keyspace.Counter(row.Value) }
	if err := c.walk(ctx, counts, count); err != nil {
		return nil, err
	}
	var totals []int64
	err = c.store.View(ctx, func(r kv.ReadTx) error {
		values, err := r.GetMany([][]byte{c.sp.total(c.ix.number, totalEntries), c.sp.total(c.ix.number, totalBytes)})
		for _, value := range values {
			totals = append(totals, keyspace.Counter(value))
		}
		return err
	})
	// What is left in c.paths after all counters were seen has none.
	return func() {
		for level, n := range stored {
			if n != c.entries[level] {
				c.violate(map[bool]int{true: 1, false: 7}[level == 0], "%d entries on level %d, %d of the documents", n,
					level, c.entries[level])
			}
		}
		if totals[0] != c.entries[0] || totals[1] != c.bytes {
			c.violate(3, "counters of %d entries, %d bytes; there are %d, %d", totals[0], totals[1], c.entries[0],
				c.bytes)
		}
		for path, n := range paths {
			if n != c.paths[path] {
				c.violate(3, "path %q: counter %d, %d entries", path, n, c.paths[path])
			}
			delete(c.paths, path)
		}
		for path, n := range c.paths {
			c.violate(3, "path %q: no counter, %d entries", path, n)
		}
	}, err
}

// walk calls fn with each row below the prefix, a window of checkWindow at a time: a check of a large
// index must not hold one snapshot all the while.
func (c *indexCheck) walk(ctx context.Context, prefix []byte, fn func(kv.Row)) error {
	end := concat(prefix, []byte{0xff})
	return kv.Walk(ctx, c.store, prefix, end, checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			fn(row)
		}
		return nil
	})
}
