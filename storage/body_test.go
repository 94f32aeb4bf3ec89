package storage

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// sized is a document whose body has so many bytes.
func sized(id string, parent compat.Rev, size int, fill string) *compat.Document {
	text := `{"s":"` + strings.Repeat(fill, size-8) + `"}`
	d := &compat.Document{
		ID:   id,
		Body: compat.Body{JSON: []byte(text), Term: []byte(fill + fmt.Sprint(size)), Size: int64(size)},
	}
	if !parent.IsZero() {
		d.Revs = compat.RevPath{Start: parent.Pos, IDs: []string{parent.Hash}}
	}
	return d
}

// store stores one edit and gives its revision.
func store(t testing.TB, db *DB, o UpdateOptions, d *compat.Document) compat.Rev {
	t.Helper()
	results, err := db.Update(context.Background(), []*compat.Document{d}, o)
	must(t, err)
	if results[0].Err != nil {
		t.Fatalf("%s: %v", d.ID, results[0].Err)
	}
	return results[0].Rev
}

func wantBody(t testing.TB, db *DB, id string, rev compat.Rev, like *compat.Document) {
	t.Helper()
	d, err := db.Open(context.Background(), id, docread.OpenOptions{Rev: rev})
	must(t, err)
	if !bytes.Equal(d.Body, like.Body.JSON) {
		t.Errorf(
			"%s, %s: a body of %d bytes, want %d like %q",
			id,
			rev,
			len(d.Body),
			len(like.Body.JSON),
			like.Body.JSON[:8],
		)
	}
}

// collectAll removes all bytes that no entry names, whatever their leases, and tells how many
// chunks are left.
func collectAll(t testing.TB, db *DB) (chunks int64) {
	t.Helper()
	now := db.store.now
	defer func() { db.store.now = now }()
	db.store.now = func() time.Time { return now().Add(blobs.Lease + time.Second) }
	_, err := db.store.CollectAttachments(t.Context())
	must(t, err)
	must(t, db.view(t.Context(), func(d *dbRead) (err error) {
		chunks, err = countKeys(d.R, d.Keys.Sub(nil, keyspace.TagAtt), nil, nil)
		return err
	}))
	return chunks
}

// TestBodiesOfAllSizes: whatever fits as a body can be created, read, replaced, replicated, deleted
// and purged, on every engine, and leaves nothing behind.
func TestBodiesOfAllSizes(t *testing.T) {
	kvtest.Long(t)
	sizes := []int{formats.MaxInline, formats.MaxInline + 1, keyspace.MaxValue, keyspace.MaxValue + 1,
		1_000_000, 1_000_001, 5_500_000, 8_000_000}
	sizes = shorter(sizes, sizes[1:6])
	onEngines(t, func(t *testing.T, db *DB) {
		some := sizes
		if db.store.limits.TransactionSize == 0 {
			some = append(sizes[:4:4], shorter(5_500_000, 1_500_000))
		}
		for _, size := range some {
			id := fmt.Sprint("doc", size)
			first := sized(id, compat.Rev{}, size, "a")
			rev := store(t, db, UpdateOptions{}, first)
			wantBody(t, db, id, compat.Rev{}, first)
			second := sized(id, rev, size, "b")
			rev2 := store(t, db, UpdateOptions{}, second)
			wantBody(t, db, id, rev2, second)
			wantBody(t, db, id, rev, first)
			refused := update(t, db, UpdateOptions{}, sized(id, rev, size, "c"))
			want(t, "an edit of the old revision", refused, "[conflict]")
			branch := sized(id, compat.Rev{}, size, "d")
			branch.Revs = compat.RevPath{Start: 3, IDs: []string{"dddddddddddddddd", "cccccccccccccccc", rev.Hash}}
			rev3 := store(t, db, UpdateOptions{Replicated: true}, branch)
			wantBody(t, db, id, compat.Rev{}, branch)
			wantBody(t, db, id, rev2, second)
			tomb := sized(id, rev3, size, "e")
			tomb.Deleted = true
			rev4 := store(t, db, UpdateOptions{}, tomb)
			wantBody(t, db, id, rev4, tomb)
			wantBody(t, db, id, compat.Rev{}, second)
			if size < 1_000_000 {
				checkDB(t, db)
			}
			must(t, db.Compact(t.Context()))
			_, err := db.Open(t.Context(), id, docread.OpenOptions{Rev: rev})
			wantError(t, err, compat.ErrMissing)
			wantBody(t, db, id, rev2, second)
			gone := deleted(t, id, rev2.String())
			rev5 := store(t, db, UpdateOptions{}, gone)
			_, err = db.Purge(t.Context(), []IDRevs{{id, []compat.Rev{rev4, rev5}}})
			must(t, err)
			want(t, "chunks left", collectAll(t, db), 0)
		}
	})
}

func checkDB(t testing.TB, db *DB) {
	t.Helper()
	checkStore(t, db.store.kv)
}

// TestListsOfLargeBodies: lists and feeds give bodies of all sizes with their documents.
func TestListsOfLargeBodies(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		bodies := map[string]string{}
		rows := shorter(150, 60)
		for i := range rows {
			size := []int{100, formats.MaxInline + 1, 3 * keyspace.MaxValue, 10}[i%4]
			d := sized(fmt.Sprintf("%03d", i), compat.Rev{}, size, string(rune('a'+i%26)))
			if i%40 == 3 {
				d.Attachments = manyAttachments(1000)
			}
			store(t, db, UpdateOptions{}, d)
			bodies[d.ID] = string(d.Body.JSON)
		}
		check := func(what string, row int, id string, d *docread.Document) {
			if d == nil || string(d.Body) != bodies[id] ||
				(len(d.Attachments) == 1000) != (id[2] == '3' && row%40 == 3) {
				t.Errorf("%s: row %d, %q, is not as it was stored", what, row, id)
			}
		}
		for _, descending := range []bool{false, true} {
			n := 0
			next := func(id string) int {
				n++
				i := n - 1
				if descending {
					i = rows - n
				}
				want(t, "id", id, fmt.Sprintf("%03d", i))
				return i
			}
			must(
				t,
				db.AllDocs(
					t.Context(),
					RangeOptions{Limit: -1, IncludeDocs: true, Descending: descending},
					func(ListHeader) error { return nil },
					func(r *ListRow) error {
						check("list", next(r.ID), r.ID, r.Doc)
						return nil
					},
				),
			)
			want(t, "rows", n, rows)
			n = 0
			_, err := db.Feed().Changes(
				t.Context(),
				ChangesOptions{Limit: -1, IncludeDocs: true, Descending: descending},
				func(c *Change) error {
					check("feed", next(c.ID), c.ID, c.Doc)
					return nil
				},
			)
			must(t, err)
			want(t, "changes", n, rows)
		}
	})
}

// TestMemoryOfListsOfLargeBodies: lists use the memory of a window again for the next one.
func TestMemoryOfListsOfLargeBodies(t *testing.T) {
	if build, ok := debug.ReadBuildInfo(); ok &&
		slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector throws away a part of what is put into a sync.Pool, at random")
	}
	db := benchDB(t)
	const rows, size = 200, 80_000
	docs, ids := make([]*compat.Document, rows), make([]string, rows)
	for i := range docs {
		ids[i] = fmt.Sprintf("%03d", i)
		docs[i] = sized(ids[i], compat.Rev{}, size, "a")
	}
	_, err := db.Update(t.Context(), docs, UpdateOptions{})
	must(t, err)
	n := 0
	row := func(r *ListRow) error {
		if n++; len(r.Doc.Body) != size {
			t.Errorf("%d bytes", len(r.Doc.Body))
		}
		return nil
	}
	o := RangeOptions{Limit: -1, IncludeDocs: true}
	for what, list := range map[string]func() error{
		"a range": func() error { return db.AllDocs(t.Context(), o, func(ListHeader) error { return nil }, row) },
		"ids": func() error {
			return db.DocsByID(t.Context(), slices.Values(ids), o, func(ListHeader) error { return nil }, row)
		},
		"the feed": func() error {
			documents := ChangesOptions{Limit: -1, IncludeDocs: true}
			change := func(c *Change) error { return row(&ListRow{Doc: c.Doc}) }
			_, err := db.Feed().Changes(t.Context(), documents, change)
			return err
		},
	} {
		// The least of some runs: in a build without cgo the blocks of tables are in the same heap,
		// and which bodies are in tables by now, but not yet in the cache, is up to the engine.
		allocated := uint64(math.MaxUint64)
		for range 4 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n = 0
			must(t, list())
			runtime.ReadMemStats(&after)
			want(t, "rows", n, rows)
			allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
		}
		if allocated > rows*size/2 {
			t.Errorf("%s: %d bytes are allocated for %d of bodies", what, allocated, rows*size)
		} else {
			t.Logf("%s: %d bytes are allocated for %d of bodies", what, allocated, rows*size)
		}
	}
}

// manyAttachments are new, empty attachments.
func manyAttachments(n int) (atts []compat.Attachment) {
	for i := range n {
		name := fmt.Sprint("an attachment with a long name, the number of which is ", i)
		atts = append(
			atts,
			compat.Attachment{
				Name:      name,
				Type:      "text/plain",
				Source:    compat.SourceStored,
				Digest:    md5Empty,
				HasDigest: true,
			},
		)
	}
	return atts
}

// md5Empty is the digest of nothing.
var md5Empty = [16]byte{0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42, 0x7e}

// TestLongListOfAttachments: the list of attachments may be too long for the entry, with a small
// body and with a large one.
func TestLongListOfAttachments(t *testing.T) {
	kvtest.Long(t)
	onEngines(t, func(t *testing.T, db *DB) {
		for _, size := range []int{10, formats.MaxInline + 1} {
			id := fmt.Sprint("doc", size)
			d := sized(id, compat.Rev{}, size, "a")
			d.Attachments = manyAttachments(2000)
			rev := store(t, db, UpdateOptions{}, d)
			next := sized(id, rev, size, "b")
			for i := range d.Attachments[:1500] {
				next.Attachments = append(next.Attachments, stubOf(d.Attachments[i].Name))
			}
			rev2 := store(t, db, UpdateOptions{}, next)
			doc := open(t, db, id, docread.OpenOptions{Members: docread.NoMembers})
			want(t, "attachments", len(doc.Attachments), 1500)
			old := open(t, db, id, docread.OpenOptions{Rev: rev})
			want(t, "attachments of the old revision", len(old.Attachments), 2000)
			checkDB(t, db)
			remove(t, db, id, rev2.String())
			must(t, db.Compact(t.Context()))
			want(t, "chunks left", collectAll(t, db), 0)
		}
	})
}

// TestAbandonedBody: a body whose document was not written, because the process ended, is
// collected; that of a refused document goes at once.
func TestAbandonedBody(t *testing.T) {
	s := openStore(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	d := sized("doc", compat.Rev{}, 3_000_000, "a")
	chunks := func() (n int64) {
		must(t, db.view(t.Context(), func(d *dbRead) (err error) {
			n, err = countKeys(d.R, d.Keys.Sub(nil, keyspace.TagAtt), nil, nil)
			return err
		}))
		return n
	}
	large := largeBodies{db: db}
	must(t, large.upload(t.Context(), []editGroup{{id: "doc", edits: []int{0}}}, []*compat.Document{d}))
	want(t, "uploaded", chunks(), 35) // with the table of its members
	_, err := s.CollectAttachments(t.Context())
	must(t, err)
	want(t, "with a lease", chunks(), 35)
	checkDB(t, db)
	want(t, "after the lease", collectAll(t, db), 0)
	put(t, db, "doc", "", `{}`)
	want(t, "refused", update(t, db, UpdateOptions{}, d), "[conflict]")
	want(t, "of a refused document", chunks(), 0)
	large.docs = nil // as if the documents' transaction came after the lease
	must(t, large.upload(t.Context(), []editGroup{{id: "doc", edits: []int{0}}}, []*compat.Document{d}))
	collectAll(t, db)
	err = db.update(t.Context(), func(t *dbTx) error {
		t.large = &large
		_, err := t.claimBody(d)
		return err
	})
	wantError(t, err, blobs.ErrExpired)
}

// TestBulkRequestsOfLargeDocuments: requests with many documents of a size are stored, changed and
// deleted as those with one are.
func TestBulkRequestsOfLargeDocuments(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	type bulk struct{ size, docs int }
	all := []bulk{
		{70_000, 200},
		{1_000_000, 12},
		{20_000, 200},
		{formats.MaxInline, 200},
		{89_000, 200},
		{200_000, 60},
		{7_900_000, 3},
	}
	for _, c := range shorter(all, all[:2]) {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			s := openStore(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
			must(t, s.Create(t.Context(), "db", CreateOptions{}))
			db := s.DB("db")
			revs := make([]compat.Rev, c.docs)
			for _, fill := range []string{"a", "b", ""} {
				docs := make([]*compat.Document, c.docs)
				for i := range docs {
					id := fmt.Sprintf("%03d", i)
					if docs[i] = sized(id, revs[i], c.size, fill); fill == "" {
						docs[i] = deleted(t, id, revs[i].String())
					}
				}
				results, err := db.Update(t.Context(), docs, UpdateOptions{})
				must(t, err)
				for i, r := range results {
					if revs[i] = r.Rev; r.Err != nil {
						t.Fatalf("%s: %v", r.ID, r.Err)
					}
				}
			}
			info, err := db.Info(t.Context())
			must(t, err)
			want(t, "documents", []int64{info.DocCount, info.DocDelCount}, []int{0, c.docs})
		})
	}
}

// TestRoundTripsOfLargeBodies: what is apart is asked for together.
func TestRoundTripsOfLargeBodies(t *testing.T) {
	remote := latencykv.New(memkv.New(), latencykv.Options{})
	s := openStore(t, remote)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	rev := store(t, db, UpdateOptions{}, sized("large", compat.Rev{}, 7_900_000, "a"))
	for i := range 40 {
		store(t, db, UpdateOptions{}, sized(fmt.Sprintf("list%02d", i), compat.Rev{}, 100_000, "a"))
	}
	for _, c := range []struct {
		what string
		most int64
		call func()
	}{
		{"read", 4, func() { open(t, db, "large", docread.OpenOptions{}) }},
		{"read without the body", 3, func() { open(t, db, "large", docread.OpenOptions{Members: docread.NoMembers}) }},
		{"read a revision", 5, func() { open(t, db, "large", docread.OpenOptions{Rev: rev}) }},
		{"read a member that it has not", 4, func() {
			open(t, db, "large", docread.OpenOptions{Members: [][]byte{[]byte(`"z"`)}})
		}},
		{"list of 4 MB", 12, func() { list(t, db, RangeOptions{Limit: 40, IncludeDocs: true, Start: at("list")}) }},
		{"list of one of them", 9, func() {
			list(t, db, RangeOptions{Limit: 1, IncludeDocs: true, Start: at("list")})
		}},
		{"delete", 9, func() { remove(t, db, "large", rev.String()) }},
	} {
		remote.Reset()
		c.call()
		if n := remote.Counts().RoundTrips; n > c.most {
			t.Errorf("%s: %d round trips, want at most %d", c.what, n, c.most)
		} else {
			t.Logf("%s: %d round trips", c.what, n)
		}
	}
}

// TestHooksSeeLargeBodies: validation and indexes are given documents that are apart, and those of
// a request are read together.
func TestHooksSeeLargeBodies(t *testing.T) {
	remote := latencykv.New(memkv.New(), latencykv.Options{})
	s := openStore(t, remote)
	var changes []string
	s.SetHooks(Hooks{Indexer: recorder{&changes}})
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	revs := make([]compat.Rev, 20)
	var trips int64
	for _, fill := range []string{"a", "b"} {
		docs := make([]*compat.Document, len(revs))
		for i := range docs {
			docs[i] = sized(fmt.Sprintf("%02d", i), revs[i], 100_000, fill)
		}
		remote.Reset()
		results, err := db.Update(t.Context(), docs, UpdateOptions{})
		must(t, err)
		trips = remote.Reset().RoundTrips
		for i, r := range results {
			revs[i] = r.Rev
		}
	}
	if trips > 12 {
		t.Errorf("%d round trips for 20 updates", trips)
	}
	for i, c := range changes {
		want(
			t,
			"change",
			c,
			fmt.Sprintf(`%02d {"s":"%s"} {"s":"%s"}`, i, strings.Repeat("a", 99_992), strings.Repeat("b", 99_992)),
		)
	}
	want(t, "changes", len(changes), 20)
}
