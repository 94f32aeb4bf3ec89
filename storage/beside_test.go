package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// readAllWays gives the documents of a database as each way of reading them has it.
func readAllWays(t *testing.T, db *DB, conflicts bool) map[string][]string {
	t.Helper()
	ways := map[string][]string{}
	var ids []string
	note := func(way string, doc *docread.Document) {
		text := fmt.Sprintf("%s %s %v %s", doc.ID, doc.Rev, doc.Conflicts, doc.Body)
		ways[way] = append(ways[way], fmt.Sprintf("%d %.90s", len(text), text))
	}
	for _, descending := range [...]bool{false, true} {
		way := fmt.Sprintf("list, descending %v", descending)
		o := RangeOptions{Limit: -1, IncludeDocs: true, Conflicts: conflicts, Descending: descending}
		must(t, db.AllDocs(t.Context(), o, func(ListHeader) error { return nil }, func(r *ListRow) error {
			note(way, r.Doc)
			if !descending {
				ids = append(ids, r.ID)
			}
			return nil
		}))
		if descending {
			slices.Reverse(ways[way])
		}
	}
	o := RangeOptions{Limit: -1, IncludeDocs: true, Conflicts: conflicts}
	must(t, db.DocsByID(t.Context(), slices.Values(ids), o, func(ListHeader) error { return nil },
		func(r *ListRow) error { note("by id", r.Doc); return nil }))
	_, err := db.Feed().ByID(t.Context(), ids, ChangesOptions{Limit: -1, IncludeDocs: true, Conflicts: conflicts},
		func(c *Change) error {
			if !c.Deleted {
				note("feed", c.Doc)
			}
			return nil
		})
	must(t, err)
	slices.Sort(ways["feed"])
	for _, id := range ids {
		note("one", open(t, db, id, docread.OpenOptions{Conflicts: conflicts}))
		if !conflicts {
			shared := db.openTogether(t.Context(), []string{id})[0]
			if shared.Done {
				note("shared", shared.Value.doc)
			} else { // what is apart is read alone
				note("shared", open(t, db, id, docread.OpenOptions{}))
			}
		}
	}
	for way := range ways {
		if way == "feed" {
			continue
		}
		sorted := slices.Clone(ways[way])
		slices.Sort(sorted)
		if !slices.Equal(sorted, ways["feed"]) {
			t.Errorf("%s:\n%s\nthe feed:\n%s", way, strings.Join(sorted, "\n"), strings.Join(ways["feed"], "\n"))
		}
	}
	return ways
}

// TestEntryBesideItsLeaf: the short entry of a winner is in its record. It goes to TagDocs with a
// winner that loses, and stays there when that wins again.
func TestEntryBesideItsLeaf(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		inDocs := func() (n int64) {
			must(t, db.view(t.Context(), func(d *dbRead) (err error) {
				n, err = countKeys(d.R, d.Keys.Sub(nil, keyspace.TagDocs), nil, nil)
				return err
			}))
			return n
		}
		step := func(what, winner string, entries int64) {
			t.Helper()
			want(t, what, show(t, db, "a"), winner)
			want(t, what+": entries that are apart", inDocs(), entries)
			readAllWays(t, db, true)
			readAllWays(t, db, false)
		}
		rev := put(t, db, "a", "", `{"n":1}`)
		step("new", rev+` {"n":1}`, 0)
		replicate(t, db, "a", "1-zzzzzzzzzzzzzzzz")
		step("another wins", show(t, db, "a"), 1)
		want(t, "another wins", strings.HasSuffix(show(t, db, "a"), `{"rev":"1-zzzzzzzzzzzzzzzz"}`), true)
		remove(t, db, "a", open(t, db, "a", docread.OpenOptions{}).Rev.String())
		step("it wins again", rev+` {"n":1}`, 1)
		rev = put(t, db, "a", rev, `{"n":2}`)
		step("edited", rev+` {"n":2}`, 0)
		long := fmt.Sprintf(`{"n":%q}`, strings.Repeat("x", formats.BesideKilobytes<<10))
		rev = put(t, db, "a", rev, long)
		step("long", rev+" "+long, 1)
		rev = put(t, db, "a", rev, `{"n":3}`)
		step("short", rev+` {"n":3}`, 0)
	})
}

// TestReadsAgree reads documents of all sizes, with conflicts, deleted ones with and without
// bodies, in all ways.
func TestReadsAgree(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range 120 {
			id := fmt.Sprintf("doc-%03d", i)
			for range 1 + rnd.IntN(3) {
				size := []int{1, 100, 3000, 4000, 4090, 5000, 30000, 70000}[rnd.IntN(8)]
				body := fmt.Sprintf(`{"n":%q}`, strings.Repeat("x", size))
				d := doc(t, id, fmt.Sprintf("1-%016x", rnd.Uint64()), body)
				d.Deleted = rnd.IntN(4) == 0
				update(t, db, UpdateOptions{Replicated: true}, d)
			}
			if rnd.IntN(4) == 0 {
				remove(t, db, id, open(t, db, id, docread.OpenOptions{Deleted: true}).Rev.String())
			}
		}
		ways := readAllWays(t, db, true)
		if n := len(ways["feed"]); n < 50 || n == 120 {
			t.Errorf("%d documents", n)
		}
		readAllWays(t, db, false)
	})
}

// TestListsOverTombstones: a list with documents does not walk over all the tombstones that are
// between them.
func TestListsOverTombstones(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	const all, each = 6000, 1000
	for i := range all {
		id := fmt.Sprintf("doc-%05d", i)
		if rev := put(t, db, id, "", `{}`); i%each != each/2 {
			remove(t, db, id, rev)
		}
	}
	for _, descending := range [...]bool{false, true} {
		count.Reset()
		rows := 0
		o := RangeOptions{Limit: -1, IncludeDocs: true, Descending: descending}
		must(t, db.AllDocs(t.Context(), o, func(ListHeader) error { return nil }, func(*ListRow) error {
			rows++
			return nil
		}))
		want(t, "rows", rows, all/each)
		if c := count.Counts(); c.Rows > 600 {
			t.Errorf("descending %v: %+v", descending, c)
		}
	}
	readAllWays(t, db, true)
}

// TestScatteredWrites: the range over the documents of a bulk write is given up where many others
// lie between them, whose rows have bodies.
func TestScatteredWrites(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	write := func(first, step int) {
		var docs []*compat.Document
		for i := range 150 {
			docs = append(docs, doc(t, fmt.Sprintf("doc-%05d", first+i*step), "", `{}`))
		}
		for i, rev := range update(t, db, UpdateOptions{}, docs...) {
			want(t, docs[i].ID, strings.HasPrefix(rev, "1-"), true)
		}
	}
	for n := range 4 {
		write(n, 5)
	}
	count.Reset()
	write(4, 5)
	if rows := count.Counts().Rows; rows > 100 { // some are of the log of counts
		t.Errorf("%d rows were read", rows)
	}
}
