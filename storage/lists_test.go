package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// failingStore is a store whose snapshots become too old at a chosen read.
type failingStore struct {
	*faultkv.Store
	view, read int // of the n-th View, from 0, since arm: the read that fails
	times      int // as many Views in a row fail there
	failed     int // how often it happened since arm
	base       int // the first View
	armed      bool
	between    func() // runs after a failure, before the next View
	due        bool
}

func newFailingStore() *failingStore {
	s := &failingStore{}
	s.Store = faultkv.New(memkv.New(), faultkv.Plan{
		TooOld: func(r faultkv.Read) bool {
			if !s.armed || r.Update {
				return false
			}
			if s.base == 0 {
				s.base = r.Call
			}
			n := r.Call - s.base - s.view
			fails := r.N == s.read && n >= 0 && n < s.times
			if fails {
				s.failed++
				s.due = s.between != nil
			}
			return fails
		},
		Delay: s.writeBetween,
	})
	return s
}

// writeBetween is called before each transaction.
func (s *failingStore) writeBetween() time.Duration {
	if s.due {
		s.due = false
		s.between()
	}
	return 0
}

func (s *failingStore) arm(view, read, times int) {
	s.view, s.read, s.times = view, read, times
	s.base, s.failed, s.due, s.armed = 0, 0, false, true
}

// eachRead calls list again and again, while each of its reads in turn (or one in so many) finds
// the snapshot too old, times Views in a row.
func (s *failingStore) eachRead(times, step int, list func(view, read int)) {
	for view := 0; ; view++ {
		for read := 1; ; read += step {
			s.arm(view, read, times)
			list(view, read)
			s.armed = false
			if s.failed > 0 {
				continue
			}
			if read == 1 {
				return
			}
			break
		}
	}
}

// listCase is a list under test. In its rows the id comes first, up to a space.
type listCase struct {
	name string
	list func(ctx context.Context, db *DB, row func(string)) error
	feed bool // what is written meanwhile may come twice
}

func rowText(r *ListRow) string {
	text := fmt.Sprintf("%s %v %s", r.ID, r.Found, r.Rev)
	if r.Doc != nil {
		text += docText(r.Doc)
	}
	return text
}

func docText(d *docread.Document) string {
	return fmt.Sprintf(
		" %s %v %.60s %d %v %v %v %d",
		d.Rev,
		d.Deleted,
		d.Body,
		len(d.Body),
		d.Conflicts,
		d.DeletedConflicts,
		d.Revs,
		len(d.Attachments),
	)
}

func changeText(c *Change) string {
	text := fmt.Sprintf("%s %d %x %v %v", c.ID, c.Seq.N, c.Seq.Seq, c.Deleted, c.Revs)
	if c.Doc != nil {
		text += docText(c.Doc)
	}
	return text
}

// listCases are all lists of this package.
func listCases(ids []string) []listCase {
	var cases []listCase
	add := func(name string, list func(ctx context.Context, db *DB, row func(string)) error) *listCase {
		cases = append(cases, listCase{name: name, list: list})
		return &cases[len(cases)-1]
	}
	noHeader := func(ListHeader) error { return nil }
	for name, o := range map[string]RangeOptions{
		"ids":                                 {Limit: -1},
		"ids descending":                      {Limit: -1, Descending: true},
		"ids, some":                           {Limit: 9, Skip: 3, WithSeq: true},
		"documents":                           {Limit: -1, IncludeDocs: true},
		"documents descending":                {Limit: -1, IncludeDocs: true, Descending: true},
		"documents with conflicts":            {Limit: -1, IncludeDocs: true, Conflicts: true},
		"documents with conflicts descending": {Limit: -1, IncludeDocs: true, Conflicts: true, Descending: true},
		"documents, some": {
			Limit: 9, Skip: 3, IncludeDocs: true, Conflicts: true, Start: at("doc-02"),
		},
		"design documents": {Limit: -1, IncludeDocs: true, Namespace: NamespaceDesign},
	} {
		add("AllDocs, "+name, func(ctx context.Context, db *DB, row func(string)) error {
			return db.AllDocs(ctx, o, noHeader, func(r *ListRow) error { row(rowText(r)); return nil })
		})
		if o.Namespace != NamespaceAll || o.Conflicts {
			continue
		}
		add("LocalDocs, "+name, func(ctx context.Context, db *DB, row func(string)) error {
			return db.Locals().List(ctx, o, func(r *ListRow) error { row(rowText(r)); return nil })
		})
	}
	for _, o := range []RangeOptions{
		{Limit: -1}, {Limit: -1, IncludeDocs: true}, {Limit: -1, IncludeDocs: true, Conflicts: true, Descending: true},
	} {
		add(fmt.Sprintf("DocsByID %+v", o), func(ctx context.Context, db *DB, row func(string)) error {
			return db.DocsByID(
				ctx,
				slices.Values(ids),
				o,
				noHeader,
				func(r *ListRow) error { row(rowText(r)); return nil },
			)
		})
	}
	for name, o := range map[string]ChangesOptions{
		"rows": {Limit: -1}, "leaves": {Limit: -1, AllLeaves: true},
		"documents": {Limit: -1, IncludeDocs: true}, "some": {Limit: 12, IncludeDocs: true},
		"all": {Limit: -1, AllLeaves: true, IncludeDocs: true, Conflicts: true, DeletedConflicts: true},
	} {
		for _, o.Descending = range []bool{false, true} {
			o := o
			show := func(row func(string)) func(*Change) error {
				return func(c *Change) error { row(changeText(c)); return nil }
			}
			name := fmt.Sprintf("%s, descending %v", name, o.Descending)
			end := func(row func(string), end ChangesEnd, err error) error {
				row(fmt.Sprintf("~end %+v", end))
				return err
			}
			add("Changes, "+name, func(ctx context.Context, db *DB, row func(string)) error {
				e, err := db.Feed().Changes(ctx, o, show(row))
				return end(row, e, err)
			}).feed = true
			add("ChangesByID, "+name, func(ctx context.Context, db *DB, row func(string)) error {
				e, err := db.Feed().ByID(ctx, ids, o, show(row))
				return end(row, e, err)
			}).feed = true
			add("ChangesDesign, "+name, func(ctx context.Context, db *DB, row func(string)) error {
				e, err := db.Feed().Designs(ctx, o, show(row))
				return end(row, e, err)
			}).feed = true
		}
	}
	for _, latest := range []bool{false, true} {
		var requests []docread.OpenRevsRequest
		for i, id := range ids {
			o := docread.OpenRevsOptions{All: true, Open: docread.OpenOptions{Revs: true}}
			if i%3 > 0 {
				o = docread.OpenRevsOptions{
					Revs:   []compat.Rev{{Pos: 1, Hash: "a"}, {Pos: 2, Hash: "b"}, {Pos: 7, Hash: "no"}},
					Latest: latest,
				}
			}
			requests = append(requests, docread.OpenRevsRequest{ID: id, OpenRevsOptions: o})
		}
		add(fmt.Sprintf("BulkGet, latest %v", latest), func(ctx context.Context, db *DB, row func(string)) error {
			text := ""
			return db.BulkGet(ctx, slices.Values(requests), func(i int, revs []docread.RevResult, more bool) error {
				if text == "" {
					text = requests[i].ID
				}
				for _, r := range revs {
					if text += " " + r.Rev.String(); r.Doc != nil {
						text += docText(r.Doc)
					}
				}
				if !more {
					row(text)
					text = ""
				}
				return nil
			})
		})
	}
	add("RevsDiff", func(ctx context.Context, db *DB, row func(string)) error {
		var requests []IDRevs
		for _, id := range ids {
			requests = append(requests, IDRevs{id, []compat.Rev{{Pos: 1, Hash: "a"}, {Pos: 9, Hash: "no"}}})
		}
		diffs, err := revsDiffs(ctx, db, requests)
		for _, d := range diffs {
			row(fmt.Sprintf("%s %v %v", d.ID, d.Missing, d.PossibleAncestors))
		}
		return err
	})
	add("PurgedInfos", func(ctx context.Context, db *DB, row func(string)) error {
		infos, err := db.Purges().Remembered(ctx)
		for _, i := range infos {
			row(fmt.Sprintf("%s %v", i.ID, i.Revs))
		}
		return err
	})
	add("AllDBs", func(ctx context.Context, db *DB, row func(string)) error {
		return db.store.AllDBs(ctx, RangeOptions{Limit: -1, Skip: 1}, func(name string) error { row(name); return nil })
	})
	add("AllDBs descending", func(ctx context.Context, db *DB, row func(string)) error {
		return db.store.AllDBs(
			ctx,
			RangeOptions{Limit: 3, Descending: true},
			func(name string) error { row(name); return nil },
		)
	})
	return cases
}

// fillLists makes documents of every kind: with conflicts, deleted, with large bodies, with
// attachments, local ones, design documents.
func fillLists(t *testing.T, db *DB) (ids []string) {
	uploads := db.Attachments().Uploads()
	for i := range 18 {
		id := fmt.Sprintf("doc-%02d", i)
		ids = append(ids, id, "_local/"+id, "no-"+id)
		body := fmt.Sprintf(`{"n":%d}`, i)
		if i%8 == 2 {
			body = fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", keyspace.MaxValue))
		}
		d := doc(t, id, "1-a", body)
		if i%7 == 3 {
			d.Attachments = []compat.Attachment{upload(t, uploads, "a", []byte("bytes"), nil)}
		}
		update(t, db, UpdateOptions{Replicated: true}, d)
		switch i % 4 {
		case 1:
			replicate(t, db, id, "2-b,a", "2-c,a", "1-z", "2-y,x!")
		case 3:
			replicate(t, db, id, "2-b,a!")
		}
		put(t, db, "_local/"+id, "", body)
	}
	for i := range 3 {
		id := fmt.Sprintf("_design/%d", i)
		ids = append(ids, id)
		replicate(t, db, id, "1-a", "2-b,a", "2-c,a")
	}
	for i := range 3 {
		id := fmt.Sprintf("purged-%d", i)
		rev := put(t, db, id, "", `{}`)
		_, err := db.Purge(t.Context(), []IDRevs{{id, []compat.Rev{path(t, rev).Rev()}}})
		must(t, err)
	}
	return ids
}

// A list goes on where it was, whichever of its reads finds the snapshot too old, once and twice in
// a row.
func TestListsOutliveEveryRead(t *testing.T) {
	t.Run("here", func(t *testing.T) { testListsOutliveEveryRead(t, false) })
	t.Run("across a network", func(t *testing.T) { testListsOutliveEveryRead(t, true) })
}

func testListsOutliveEveryRead(t *testing.T, remote bool) {
	store, db, ids := newListDB(t, remote)
	for _, c := range listCases(ids) {
		t.Run(c.name, func(t *testing.T) {
			run := func() (rows []string) {
				must(t, c.list(t.Context(), db, func(row string) { rows = append(rows, row) }))
				return rows
			}
			whole := run()
			if len(whole) < 3 {
				t.Fatalf("only %d rows", len(whole))
			}
			for times := 1; times <= 2; times++ {
				store.eachRead(times, shorter(times*times, 7), func(view, read int) {
					if rows := run(); !slices.Equal(rows, whole) {
						t.Errorf(
							"view %d, read %d too old %d times:\n%s\nwant\n%s",
							view,
							read,
							times,
							strings.Join(rows, "\n"),
							strings.Join(whole, "\n"),
						)
					}
				})
			}
		})
	}
}

func newListDB(t *testing.T, remote bool) (*failingStore, *DB, []string) {
	store := newFailingStore()
	s := openStore(t, store)
	if remote {
		s.sizes.Together = kv.FDBLimits.Together
	}
	for _, name := range []string{"another", "db", "more", "others"} {
		must(t, s.Create(t.Context(), name, CreateOptions{}))
	}
	db := s.DB("db")
	return store, db, fillLists(t, db)
}

// While documents are changed between the snapshots of a list, each of those that were there has
// its row: once and in order in lists of ids, at least once in feeds.
func TestListsUnderWrites(t *testing.T) {
	kvtest.Long(t)
	t.Run("here", func(t *testing.T) { testListsUnderWrites(t, false) })
	t.Run("across a network", func(t *testing.T) { testListsUnderWrites(t, true) })
}

func testListsUnderWrites(t *testing.T, remote bool) {
	store, db, ids := newListDB(t, remote)
	round := 0
	store.between = func() {
		round++
		for i := round % 3; i < 16; i += 3 {
			id := fmt.Sprintf("doc-%02d", i)
			if i%4 == 3 {
				continue // deleted
			}
			put(t, db, id, open(t, db, id, docread.OpenOptions{}).Rev.String(), fmt.Sprintf(`{"round":%d}`, round))
		}
		put(t, db, "_local/doc-01", "", fmt.Sprintf(`{"round":%d}`, round))
		put(t, db, "_design/1", open(t, db, "_design/1", docread.OpenOptions{}).Rev.String(), `{}`)
	}
	for _, c := range listCases(ids) {
		if strings.Contains(c.name, "some") {
			continue // a limit may leave out what has moved
		}
		t.Run(c.name, func(t *testing.T) {
			run := func() (names []string) {
				must(t, c.list(t.Context(), db, func(row string) {
					if id, _, _ := strings.Cut(row, " "); id != "~end" {
						names = append(names, id)
					}
				}))
				return names
			}
			store.eachRead(2, 7, func(view, read int) {
				store.armed = false
				whole := run()
				store.arm(view, read, 2)
				got := run()
				if c.feed {
					slices.Sort(whole)
					slices.Sort(got)
					got = slices.Compact(got)
				}
				if !slices.Equal(got, whole) {
					t.Errorf("view %d, read %d:\n%v\nwant\n%v", view, read, got, whole)
				}
			})
		})
	}
}
