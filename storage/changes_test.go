package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// smallSeqBlocks makes blocks so small that a test has many of them on both levels.
func smallSeqBlocks(s *Store) {
	s.sizes.SeqBlockRows, s.sizes.SeqBlockFan, s.sizes.FoldItems = 8, 4, 30
}

// seenChange is a row of the feed, kept.
type seenChange struct {
	seq     UpdateSeq
	id      string
	deleted bool
	revs    []compat.Rev
	body    string
}

func readChanges(t *testing.T, db *DB, o ChangesOptions) ([]seenChange, ChangesEnd) {
	t.Helper()
	var rows []seenChange
	end, err := db.Feed().Changes(t.Context(), o, func(c *Change) error {
		rows = append(rows, keepChange(c))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, end
}

func keepChange(c *Change) seenChange {
	kept := seenChange{seq: c.Seq, id: c.ID, deleted: c.Deleted, revs: slices.Clone(c.Revs)}
	if c.Doc != nil {
		kept.body = string(c.Doc.Body)
	}
	return kept
}

// rowsOfFeed is the brute force: all rows of TagChanges, and T.
func rowsOfFeed(t *testing.T, db *DB) (seqs []Seq, updates int64) {
	t.Helper()
	err := db.view(t.Context(), func(d *dbRead) error {
		seqs = seqs[:0]
		counts, err := d.Stats(keyspace.Updates)
		if err != nil {
			return err
		}
		updates = counts[0]
		begin, end := keyspace.Children(d.Keys.Sub(nil, keyspace.TagChanges))
		it := d.R.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			seq, err := keyspace.ParseSeq(it.Key())
			if err != nil {
				return err
			}
			seqs = append(seqs, seq)
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return seqs, updates
}

// randomWriter makes random writes; several may run on one database.
type randomWriter struct {
	db   *DB
	rng  *rand.Rand
	ids  int
	name string
}

func (w *randomWriter) step(ctx context.Context) error {
	id := fmt.Sprintf("doc%d", w.rng.IntN(w.ids))
	current, err := w.db.Open(ctx, id, docread.OpenOptions{Deleted: true})
	if err != nil && !errors.Is(err, compat.KindNotFound) {
		return err
	}
	var parent compat.Rev
	if current != nil && !current.Deleted {
		parent = current.Rev
	}
	switch n := w.rng.IntN(10); {
	case n == 0 && current != nil:
		_, err = w.db.Purge(ctx, []IDRevs{{ID: id, Revs: []compat.Rev{current.Rev}}})
	case n == 1 && !parent.IsZero():
		doc := docOf(id, parent, `{}`)
		doc.Deleted = true
		_, err = w.db.Update(ctx, []*compat.Document{doc}, UpdateOptions{})
	case n == 2: // a branch that another replica made
		doc := docOf(id, compat.Rev{}, fmt.Sprintf(`{"branch":%d}`, w.rng.IntN(100)))
		doc.Deleted = w.rng.IntN(3) == 0
		hash := fmt.Sprintf("%016d", w.rng.IntN(1000))
		doc.Revs = compat.RevPath{Start: 2, IDs: []string{hash, "abcdefghijklmnop"}}
		_, err = w.db.Update(ctx, []*compat.Document{doc}, UpdateOptions{Replicated: true})
	case n == 3: // many at once
		var docs []*compat.Document
		for i := range 30 {
			docs = append(docs, docOf(fmt.Sprintf("%s-%d-%d", w.name, i, w.rng.Int()), compat.Rev{}, `{"bulk":true}`))
		}
		_, err = w.db.Update(ctx, docs, UpdateOptions{})
	default:
		_, err = w.db.Update(
			ctx,
			[]*compat.Document{docOf(id, parent, fmt.Sprintf(`{"v":%d}`, w.rng.Int()))},
			UpdateOptions{},
		)
	}
	return err
}

// TestChangesCounts: numbers and pending agree with what counting all rows gives, whatever happened
// before.
func TestChangesCounts(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		smallSeqBlocks(db.store)
		for round := range 3 {
			var writers sync.WaitGroup
			for n := range 3 {
				writers.Go(func() {
					w := randomWriter{
						db:   db,
						rng:  rand.New(rand.NewPCG(uint64(round), uint64(n))),
						ids:  40,
						name: fmt.Sprint(round, n),
					}
					for range 40 {
						if err := w.step(context.Background()); err != nil && !errors.Is(err, kv.ErrTooLarge) {
							t.Error(err)
							return
						}
					}
				})
			}
			writers.Wait()
			checkCounts(t, db)
			if err := db.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func checkCounts(t *testing.T, db *DB) {
	t.Helper()
	seqs, updates := rowsOfFeed(t, db)
	rows, end := readChanges(t, db, ChangesOptions{Limit: -1})
	if len(rows) != len(seqs) || end.Pending != 0 || len(rows) > 0 && end.Last != rows[len(rows)-1].seq {
		t.Fatalf("%d rows, want %d; end %+v", len(rows), len(seqs), end)
	}
	down, _ := readChanges(t, db, ChangesOptions{Limit: -1, Descending: true})
	slices.Reverse(down)
	for i, row := range rows {
		want := UpdateSeq{N: uint64(updates) - uint64(len(seqs)-1-i), Seq: seqs[i]}
		if row.seq != want || down[i].seq != want {
			t.Fatalf("row %d: %v and descending %v, want %v", i, row.seq, down[i].seq, want)
		}
	}
	for range 20 {
		i := rand.IntN(len(rows))
		limit := rand.Int64N(5)
		got, end := readChanges(t, db, ChangesOptions{Since: seqs[i], Limit: limit})
		last := min(i+int(limit), len(rows)-1)
		if len(got) != last-i || end.Pending != int64(len(rows)-1-last) || end.Last != rows[last].seq {
			t.Fatalf("since row %d of %d, limit %d: %d rows, end %+v", i, len(rows), limit, len(got), end)
		}
		got, end = readChanges(t, db, ChangesOptions{Limit: limit, Descending: true})
		if n := min(int(limit), len(rows)); len(got) != n || end.Pending != int64(len(rows)-n) {
			t.Fatalf("descending, limit %d: %d rows, end %+v", limit, len(got), end)
		}
		doc, err := db.Open(t.Context(), rows[i].id, docread.OpenOptions{Deleted: true, LocalSeq: true})
		if err != nil || doc.LocalSeq != rows[i].seq.N {
			t.Fatalf("local sequence %v, want %d, %v", doc, rows[i].seq.N, err)
		}
	}
	checkLookups(t, db, rows)
	for _, size := range []int64{1, 20, 100} {
		checkCuts(t, db, rows, size)
	}
	last, err := db.Feed().Last(t.Context())
	if err != nil || last.N != uint64(updates) || last.Seq.Before(seqs[len(seqs)-1]) {
		t.Fatalf("last sequence %v, %v", last, err)
	}
}

// checkCuts reads the feed by the ranges that it is cut into.
func checkCuts(t *testing.T, db *DB, rows []seenChange, size int64) {
	t.Helper()
	var cuts []FeedCut
	if err := db.ViewAgain(t.Context(), func(s *Snapshot) (err error) {
		cuts, err = s.CutFeed(size)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if most := int64(len(rows)) / size; size < 100 && len(cuts) == 0 || int64(len(cuts)) > most+1 {
		t.Errorf("%d rows are cut %d times into ranges of %d", len(rows), len(cuts), size)
	}
	var since Seq
	var got []seenChange
	for _, c := range cuts {
		if c.Rows < size || !since.Before(c.Seq) {
			t.Errorf("cut %+v after %v, of %d rows", c, since, size)
		}
		part, end := readChanges(t, db, ChangesOptions{Since: since, Until: c.Seq, Limit: -1, Unnumbered: true})
		if end.More {
			t.Errorf("the range up to %v has more", c.Seq)
		}
		got, since = append(got, part...), c.Seq
	}
	rest, _ := readChanges(t, db, ChangesOptions{Since: since, Limit: -1, Unnumbered: true})
	if got = append(got, rest...); len(got) != len(rows) {
		t.Fatalf("%d rows in ranges, %d in all", len(got), len(rows))
	}
	for i := range got {
		if got[i].seq.Seq != rows[i].seq.Seq {
			t.Fatalf("row %d is at %v, want %v", i, got[i].seq, rows[i].seq)
		}
	}
}

func checkLookups(t *testing.T, db *DB, rows []seenChange) {
	t.Helper()
	var ids []string
	wanted := make(map[string]int)
	for range 10 {
		id := rows[rand.IntN(len(rows))].id
		ids = append(ids, id)
		wanted[id]++
	}
	since := rand.IntN(len(rows))
	var want []UpdateSeq
	for _, row := range rows[since+1:] {
		for range wanted[row.id] {
			want = append(want, row.seq)
		}
	}
	var got []UpdateSeq
	end, err := db.Feed().ByID(
		t.Context(),
		append(ids, "unknown", "_local/x"),
		ChangesOptions{Since: rows[since].seq.Seq, Limit: -1},
		func(c *Change) error {
			got = append(got, c.Seq)
			return nil
		},
	)
	if err != nil || !slices.Equal(got, want) || end.Pending != int64(len(rows)-1-since-len(got)) {
		t.Fatalf("by id: %v, want %v; end %+v, %v", got, want, end, err)
	}
}

func TestChangesRows(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		if rows, end := readChanges(t, db, ChangesOptions{Limit: -1}); len(rows) != 0 || end != (ChangesEnd{}) {
			t.Fatalf("empty: %v, %+v", rows, end)
		}
		a := put(t, db, "a", "", `{"n":1}`)
		design := parsedRev(t, put(t, db, "_design/d", "", `{"views":{}}`))
		b := put(t, db, "b", "", `{"n":2}`)
		a2 := parsedRev(t, put(t, db, "a", a, `{"n":3.0}`))
		b2 := parsedRev(t, remove(t, db, "b", b))
		branch := docOf("a", compat.Rev{}, `{"n":4}`)
		branch.Revs = compat.RevPath{Start: 1, IDs: []string{"0123456789abcdef"}}
		if _, err := db.Update(t.Context(), []*compat.Document{branch}, UpdateOptions{Replicated: true}); err != nil {
			t.Fatal(err)
		}
		rows, end := readChanges(t, db, ChangesOptions{Limit: -1, AllLeaves: true, IncludeDocs: true, Conflicts: true})
		want := []seenChange{
			{id: "_design/d", revs: []compat.Rev{design}, body: `{"views":{}}`},
			{id: "b", revs: []compat.Rev{b2}, deleted: true, body: `{}`},
			{id: "a", revs: []compat.Rev{a2, branch.Rev()}, body: `{"n":3.0}`},
		}
		for i := range rows {
			want[i].seq = rows[i].seq
			if fmt.Sprint(rows[i]) != fmt.Sprint(want[i]) {
				t.Errorf("row %d: %v, want %v", i, rows[i], want[i])
			}
		}
		if len(rows) != 3 || end.Last.N != 6 || rows[0].seq.N != 4 {
			t.Errorf("%d rows, end %+v", len(rows), end)
		}
		seen := 0
		end, err := db.Feed().Changes(t.Context(), ChangesOptions{Limit: -1}, func(*Change) error {
			seen++
			return ErrStop
		})
		if err != nil || seen != 1 || end.Pending != 2 || end.Last != rows[0].seq {
			t.Errorf("stopped after %d rows: %+v, %v", seen, end, err)
		}
		beyond := Seq{Incarnation: 0xff, Versionstamp: [12]byte{0xff}}
		rows2, end := readChanges(t, db, ChangesOptions{Since: beyond, Limit: -1})
		if len(rows2) != 0 || end.Pending != 0 || end.Last.Seq != beyond {
			t.Errorf("since a sequence that was never given out: %v, %+v", rows2, end)
		}
		rows2, end = readChanges(t, db, ChangesOptions{Since: beyond, Limit: -1, Descending: true})
		if len(rows2) != 0 || end.Pending != 0 {
			t.Errorf("the same descending: %v, %+v", rows2, end)
		}
		checkDesignChanges(t, db, rows[0])
		if _, err := db.store.DB("none").Feed().Changes(t.Context(), ChangesOptions{}, nil); !errors.Is(
			err,
			compat.KindNoDatabase,
		) {
			t.Errorf("no database: %v", err)
		}
	})
}

func checkDesignChanges(t *testing.T, db *DB, want seenChange) {
	t.Helper()
	remove(t, db, "_design/d", want.revs[0].String())
	var rows []seenChange
	end, err := db.Feed().Designs(t.Context(), ChangesOptions{Limit: -1}, func(c *Change) error {
		rows = append(rows, keepChange(c))
		return nil
	})
	if err != nil || len(rows) != 1 || rows[0].id != "_design/d" || !rows[0].deleted || end.Pending != 2 ||
		end.Last != rows[0].seq {
		t.Errorf("design documents: %v, %+v, %v", rows, end, err)
	}
}

// TestChangesGoesOn: a scan that takes longer than a snapshot lives sees every row once.
func TestChangesGoesOn(t *testing.T) {
	for _, descending := range []bool{false, true} {
		db := newTestDB(t, CreateOptions{})
		smallSeqBlocks(db.store)
		k := &agingStore{Store: db.store.kv, reads: 250}
		for i := range 300 {
			put(t, db, fmt.Sprint("doc", i), "", `{}`)
		}
		db.store.kv = k
		db.store.limits = k.Limits()
		rows, end := readChanges(t, db, ChangesOptions{Limit: -1, Descending: descending, IncludeDocs: true})
		if len(rows) != 300 || end.Pending != 0 || k.aged.Load() == 0 {
			t.Errorf("%d rows, end %+v, %d snapshots ended", len(rows), end, k.aged.Load())
		}
		for i, row := range rows {
			if want := uint64(i + 1); !descending && row.seq.N != want || descending && row.seq.N != 301-want {
				t.Fatalf("row %d has the number %d", i, row.seq.N)
			}
		}
	}
}
