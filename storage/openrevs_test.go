package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newCountedDB is a database whose reads are counted.
func newCountedDB(t *testing.T) (*DB, *kvtest.Counting) {
	counting := kvtest.NewCounting(memkv.New())
	s := openStore(t, counting)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	return s.DB("db"), counting
}

// However large the leaves of a document are together, no more of them is read than is given.
func TestRevisionsAreNotHeld(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	db, counting := newCountedDB(t)
	const leaves, size = 24, 1 << 20
	for i := range leaves {
		d := doc(t, "large", "", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", size)))
		d.Revs = compat.RevPath{Start: 1, IDs: []string{fmt.Sprintf("%032x", i)}}
		update(t, db, UpdateOptions{Replicated: true}, d)
	}
	all := docread.OpenRevsOptions{All: true, Open: docread.OpenOptions{Revs: true}}
	given := 0
	var ahead int64
	take := func(revs []docread.RevResult) error {
		for _, r := range revs {
			given++
			ahead = max(ahead, counting.Counts().BytesRead-int64(given-1)*size)
			want(t, "body", len(r.Doc.Body), size+len(`{"pad":""}`))
		}
		return nil
	}
	for name, read := range map[string]func() error{
		"OpenRevs": func() error { return db.OpenRevs(t.Context(), "large", all, take) },
		"BulkGet": func() error {
			requests := []docread.OpenRevsRequest{
				{ID: "large", OpenRevsOptions: all},
				{ID: "large", OpenRevsOptions: all},
				{ID: "none", OpenRevsOptions: all},
			}
			each := func(_ int, revs []docread.RevResult, _ bool) error { return take(revs) }
			return db.BulkGet(t.Context(), slices.Values(requests), each)
		},
		"Snapshot": func() error {
			return db.View(t.Context(), func(s *Snapshot) error { return s.OpenRevs("large", all, take) })
		},
	} {
		counting.Reset()
		given, ahead = 0, 0
		must(t, read())
		want(t, name+", whole documents", given%leaves == 0 && given > 0, true)
		if ahead > docread.LargeAhead+size {
			t.Errorf("%s holds %d KB", name, ahead>>10)
		}
	}
}

// Requests for revisions of one document read its leaves a few times, not for each.
func TestLeavesAreShared(t *testing.T) {
	db, counting := newCountedDB(t)
	const leaves = 1000
	var docs []*compat.Document
	for i := range leaves {
		d := doc(t, "tree", "", `{}`)
		d.Revs = compat.RevPath{Start: 1, IDs: []string{fmt.Sprintf("%032x", i)}}
		docs = append(docs, d)
	}
	update(t, db, UpdateOptions{Replicated: true}, docs...)
	var requests []docread.OpenRevsRequest
	for i := range 400 {
		one := docread.OpenRevsOptions{Revs: []compat.Rev{docs[i].Revs.Rev()}}
		requests = append(requests, docread.OpenRevsRequest{ID: "tree", OpenRevsOptions: one})
	}
	counting.Reset()
	found := 0
	must(t, db.BulkGet(t.Context(), slices.Values(requests), func(_ int, revs []docread.RevResult, _ bool) error {
		if revs[0].Doc != nil {
			found++
		}
		return nil
	}))
	want(t, "found", found, 400)
	if rows := counting.Counts().Rows; rows > 10*leaves {
		t.Errorf("%d rows are read, of %d leaves", rows, leaves)
	}
}

// TestOrderOfCutLines: leaves come in the order of the tree that they make as they are read, which
// is cut.
func TestOrderOfCutLines(t *testing.T) {
	db, _ := newCountedDB(t)
	must(t, db.Settings().SetRevsLimit(t.Context(), 3))
	deep, flat := doc(t, "a", "", `{}`), doc(t, "a", "", `{}`)
	deep.Revs = compat.RevPath{Start: 4, IDs: []string{"4d", "3c", "2b", "1a"}}
	flat.Revs = compat.RevPath{Start: 2, IDs: []string{"2a", "1a"}}
	update(t, db, UpdateOptions{Replicated: true}, flat, deep)
	for limit, order := range map[int64]string{3: "[4-4d 2-2a]", 4: "[2-2a 4-4d]"} {
		must(t, db.Settings().SetRevsLimit(t.Context(), limit))
		var revs []compat.Rev
		requests := slices.Values([]docread.OpenRevsRequest{
			{ID: "a", OpenRevsOptions: docread.OpenRevsOptions{All: true}},
		})
		must(t, db.BulkGet(t.Context(), requests, func(_ int, found []docread.RevResult, _ bool) error {
			for i := range found {
				revs = append(revs, found[i].Rev)
			}
			return nil
		}))
		want(t, "order", fmt.Sprint(revs), order)
	}
}

// Documents with long lines of many leaves fill a window before it is full of documents; no list
// loses one for it.
func TestLeavesOfAWindowAreBounded(t *testing.T) {
	kvtest.Long(t)
	t.Run("here", func(t *testing.T) { testLeavesOfAWindowAreBounded(t, false) })
	t.Run("across a network", func(t *testing.T) { testLeavesOfAWindowAreBounded(t, true) })
}

func testLeavesOfAWindowAreBounded(t *testing.T, remote bool) {
	db, _ := newCountedDB(t)
	if remote {
		db.store.sizes.Together = kv.FDBLimits.Together
	}
	const count, leaves, ancestors = 12, 40, 900
	ids := make([]string, count)
	requests, known := make([]docread.OpenRevsRequest, count), make([]IDRevs, count)
	for n := range ids {
		ids[n] = fmt.Sprintf("tree-%02d", n)
		var docs []*compat.Document
		for i := range leaves {
			d := doc(t, ids[n], "", `{}`)
			line := []string{fmt.Sprintf("%032x", i)}
			for k := range ancestors {
				line = append(line, fmt.Sprintf("%030x%02x", k, i))
			}
			d.Revs = compat.RevPath{Start: ancestors + 1, IDs: line}
			docs = append(docs, d)
		}
		update(t, db, UpdateOptions{Replicated: true}, docs...)
		requests[n] = docread.OpenRevsRequest{ID: ids[n], OpenRevsOptions: docread.OpenRevsOptions{All: true}}
		known[n] = IDRevs{ids[n], []compat.Rev{docs[0].Revs.Rev(), {Pos: ancestors + 2, Hash: "new"}}}
	}
	must(t, db.view(t.Context(), func(d *dbRead) error {
		for at := 0; at < count; {
			read, err := d.LeavesEach(ids[at:], false)
			must(t, err)
			size := 0
			for _, l := range read {
				want(t, "leaves", len(l), leaves)
				size += docread.SizeOf(l)
			}
			if len(read) == 0 || size > docread.LeafBytes+leaves*(ancestors+10)*32 {
				t.Fatalf("%d KB of %d documents are read together", size>>10, len(read))
			}
			at += len(read)
		}
		return nil
	}))
	rows := 0
	all := ChangesOptions{Limit: -1, AllLeaves: true}
	feed := func(ch *Change) error { rows++; want(t, "leaves", len(ch.Revs), leaves); return nil }
	list := func(r *ListRow) error { rows++; want(t, "conflicts", len(r.Doc.Conflicts), leaves-1); return nil }
	for name, read := range map[string]func() error{
		"Changes":     func() error { _, err := db.Feed().Changes(t.Context(), all, feed); return err },
		"ChangesByID": func() error { _, err := db.Feed().ByID(t.Context(), ids, all, feed); return err },
		"DocsByID": func() error {
			o := RangeOptions{Limit: -1, IncludeDocs: true, Conflicts: true}
			return db.DocsByID(t.Context(), slices.Values(ids), o, func(ListHeader) error { return nil }, list)
		},
		"RevsDiff": func() error {
			diffs, err := revsDiffs(t.Context(), db, known)
			for _, diff := range diffs {
				rows++
				want(t, "missing", len(diff.Missing), 1)
				want(t, "ancestors", len(diff.PossibleAncestors), leaves)
			}
			return err
		},
		"BulkGet": func() error {
			each := slices.Values(requests)
			return db.BulkGet(t.Context(), each, func(i int, _ []docread.RevResult, more bool) error {
				if !more {
					want(t, "request", i, rows)
					rows++
				}
				return nil
			})
		},
	} {
		rows = 0
		must(t, read())
		want(t, name, rows, count)
	}
	checkDB(t, db)
}

// revsDiffs are all results of RevsDiff.
func revsDiffs(ctx context.Context, db *DB, requests []IDRevs) (diffs []RevsDiff, err error) {
	err = db.RevsDiff(ctx, slices.Values(requests), func(_ *IDRevs, d *RevsDiff) error {
		diffs = append(diffs, *d)
		return nil
	})
	return diffs, err
}
