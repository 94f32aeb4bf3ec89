package search

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Violation is an index that is not what the package promises.
type Violation struct {
	Database string
	Index    int64 // its number
	Detail   string
}

// String is one line for people.
func (v Violation) String() string {
	return fmt.Sprintf("%s: search index %d: %s", v.Database, v.Index, v.Detail)
}

const (
	// enoughViolations of one index say what there is to say.
	enoughViolations = 20
	// checkWindow is how many documents are looked up together.
	checkWindow = 1000
)

// Check verifies invariants 2, 4 and 8 of all search indexes of a store, which engine is below, and
// what their counters say. It reads as many snapshots as that takes; what spans several of them is
// compared only where nobody has written meanwhile, and of segments that were merged meanwhile some
// may not be looked at.
func Check(ctx context.Context, engine kv.Store, s *storage.Store) ([]Violation, error) {
	x := New(Options{Store: s, KV: engine})
	defer x.Close()
	var all []Violation
	err := s.EachDB(ctx, func(db *storage.DB) error {
		var numbers map[signature]int64
		err := db.ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
			if numbers, err = readNumbers(s.KV(), spaceOf(s)); err != nil {
				return err
			}
			c := &indexCheck{db: db}
			err = c.interactive(s, numbers)
			all = append(all, c.found...)
			return err
		})
		for of, number := range numbers {
			if err != nil {
				break
			}
			c := &indexCheck{x: x, db: db, def: &Definition{signature: of}, number: number}
			err = c.run(ctx)
			all = append(all, c.found...)
		}
		return err
	})
	return all, err
}

// indexCheck is the check of one index.
type indexCheck struct {
	x      *Indexes
	db     *storage.DB
	def    *Definition
	number int64
	found  []Violation
}

// report notes a violation, once where a snapshot that became too old is read again.
func (c *indexCheck) report(format string, args ...any) {
	v := Violation{c.db.Name(), c.number, fmt.Sprintf(format, args...)}
	if len(c.found) < enoughViolations && !slices.Contains(c.found, v) {
		c.found = append(c.found, v)
	}
}

// view calls fn with the index in a snapshot.
func (c *indexCheck) view(
	ctx context.Context, fn func(s *storage.Snapshot, o *opened) error,
) error {
	return c.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		o, err := c.x.open(ctx, s, c.def)
		if err != nil || o == nil {
			return err
		}
		return fn(s, o)
	})
}

// run checks the index with many snapshots, one for checkWindow documents, because a snapshot of
// FoundationDB lives for seconds. An index that changes meanwhile must not be reported: segments
// that are gone are skipped, and the number of documents is compared only if the index is at the
// same place at the end as it was at the beginning.
func (c *indexCheck) run(ctx context.Context) error {
	segments, alive := 0, int64(0)
	var before, after segment.Identity
	err := c.view(ctx, func(s *storage.Snapshot, o *opened) error {
		segments, alive, before = len(o.segments), o.alive(), o.at
		return c.counters(s, o, alive)
	})
	for n := 0; n < segments && err == nil; n++ {
		for from, more := int32(0), true; more && err == nil; from += checkWindow {
			more = false
			err = c.view(ctx, func(s *storage.Snapshot, o *opened) error {
				if n >= len(o.segments) {
					return nil
				}
				more = from+checkWindow < o.segments[n].Docs()
				return c.documents(ctx, s, o, o.segments[n], from)
			})
		}
	}
	if err != nil {
		return err
	}
	indexed, err := c.entries(ctx)
	if err == nil {
		err = c.view(ctx, func(_ *storage.Snapshot, o *opened) error {
			after = o.at
			return nil
		})
	}
	if err == nil && indexed != alive && before == after {
		c.report("%d documents have an entry, %d are alive", indexed, alive)
	}
	return err
}

// interactive compares the list of interactive indexes with what their records say.
func (c *indexCheck) interactive(s *storage.Snapshot, numbers map[signature]int64) error {
	list, err := readInteractive(s.KV(), spaceOf(s))
	if err != nil {
		return err
	}
	for i := range list {
		if e := &list[i]; numbers[e.signature] != e.number {
			c.number = e.number
			c.report("writers keep it, and it is not there")
		}
	}
	for of, number := range numbers {
		rec, _, err := readRecord(s.KV(), spaceOf(s), of)
		if err != nil {
			return err
		}
		if rec != nil && rec.interactive() != (list.find(of) >= 0) {
			c.number = number
			c.report("writers and its record do not agree on whether they keep it")
		}
	}
	return nil
}

// alive is how many documents are.
func (o *opened) alive() (n int64) {
	for _, s := range o.segments {
		if live := s.Live(); live != nil {
			n += int64(live.Count())
		} else {
			n += int64(s.Docs())
		}
	}
	return n
}

// counters compares the counters with what they count, and looks for blocks of segments that are
// gone.
func (c *indexCheck) counters(s *storage.Snapshot, o *opened, alive int64) error {
	counts := make([][]byte, counters)
	for n := range counts {
		counts[n] = o.keys.count(int64(n))
	}
	counts, err := s.KV().GetMany(counts)
	if err != nil {
		return err
	}
	real := [counters]int64{countDocs: alive}
	if err := o.keys.readLog(s.KV(), "", o.at, func(e *logEntry) error {
		real[countLogEntries]++
		real[countLogBytes] += e.size()
		return nil
	}); err != nil {
		return err
	}
	if err := o.keys.errors(s.KV(), "", "", func(Error) error {
		real[countErrors]++
		return nil
	}); err != nil {
		return err
	}
	for n := range counts {
		if keyspace.Counter(counts[n]) != real[n] {
			c.report("counter %d says %d, there are %d", n, keyspace.Counter(counts[n]), real[n])
		}
	}
	return c.blocks(s, o)
}

// blocks reports blocks that belong to no segment of the index, nor to one that is being written.
// It jumps from segment to segment, so that it reads one block of each.
func (c *indexCheck) blocks(s *storage.Snapshot, o *opened) error {
	known := map[int64]bool{}
	for _, info := range o.manifest.segments {
		known[info.id] = true
	}
	for _, of := range []int64{claimFlush, claimMerge} {
		value, err := s.KV().Get(o.keys.claim(of))
		if err != nil {
			return err
		}
		// Blocks of a segment that is being written belong to a claim.
		if len(value) == claimToken+16 {
			known[claimedSegment(value)] = true
		}
	}
	prefix := o.keys.key(keyBlock)
	begin, end := children(prefix)
	for {
		it := s.KV().Range(begin, end, kv.RangeOptions{Limit: 1})
		if !it.Next() {
			return it.Close()
		}
		id, _, err := tuple.ReadInt(it.Key()[len(prefix):])
		if err := it.Close(); err != nil {
			return err
		}
		if err != nil {
			return corrupt("key of a block")
		}
		if !known[id] {
			c.report("there are blocks of segment %d, which is none", id)
		}
		_, begin = children(o.keys.segment(id))
	}
}

// documents looks up the entries of documents that are alive.
func (c *indexCheck) documents(
	ctx context.Context, s *storage.Snapshot, o *opened, of segment.Segment, from int32,
) error {
	var keys [][]byte
	var ids []string
	var identities []segment.Identity
	live := of.Live()
	for doc := from; doc < min(from+checkWindow, of.Docs()); doc++ {
		if live != nil && !live.Has(doc) {
			continue
		}
		id, identity, err := segment.NameOf(ctx, of, doc)
		if err != nil {
			return err
		}
		ids, identities, keys = append(ids, id), append(identities, identity), append(keys,
			o.keys.document(id))
	}
	values, err := s.KV().GetMany(keys)
	if err != nil {
		return err
	}
	for i, value := range values {
		if !bytes.Equal(value, append([]byte{documentIndexed}, identities[i]...)) {
			c.report("%q is indexed, and its entry says %x", ids[i], value)
		}
	}
	return nil
}

// entries counts the entries of documents that are in the index.
func (c *indexCheck) entries(ctx context.Context) (indexed int64, err error) {
	var after []byte
	err = c.view(ctx, func(s *storage.Snapshot, o *opened) error {
		begin, end := children(o.keys.key(keyDocument))
		if after != nil {
			begin = kv.AppendKeyAfter(nil, after)
		}
		it := s.KV().Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			identity, err := identityIn(it.Value())
			if err != nil {
				return err
			}
			if identity != "" {
				indexed++
			}
			after = append(after[:0], it.Key()...)
			s.Advance()
		}
		return it.Err()
	})
	return indexed, err
}
