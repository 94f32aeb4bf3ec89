package storage

import (
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// cost is what one call asked of the store.
type cost struct{ gets, getManys, ranges, rows, sets, clears, atomics, commits int64 }

// measuring compares what calls ask of a store.
func measuring(t *testing.T, count *kvtest.Counting) func(what string, call func(), want cost) {
	return func(what string, call func(), want cost) {
		t.Helper()
		count.Reset()
		call()
		c := count.Counts()
		got := cost{c.Gets, c.GetManys, c.Ranges, c.Rows, c.Sets, c.Clears + c.RangeClears, c.Atomics, c.Commits}
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

// TestCosts holds down what each call asks of the store. A higher number here is a slower settee:
// change it only on purpose. Writes of 1,000 documents come with the folding of their counts.
func TestCosts(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	began := time.Now()
	s.now = func() time.Time { return began } // a new second in the log is one more row
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	for i := range 300 {
		put(t, db, fmt.Sprintf("doc-%03d", i), "", `{"n":1}`)
	}
	measure := measuring(t, count)
	var rev string
	measure("new document", func() { rev = put(t, db, "doc-100a", "", `{"n":1}`) },
		cost{gets: 1, getManys: 1, ranges: 1, sets: 5, atomics: 4, commits: 1})
	measure("update", func() { rev = put(t, db, "doc-100a", rev, `{"n":2}`) },
		cost{gets: 1, getManys: 1, ranges: 1, rows: 1, sets: 6, clears: 2, atomics: 4, commits: 1})
	measure("read", func() { show(t, db, "doc-100a") },
		cost{gets: 1, ranges: 1, rows: 1})
	measure("read an old revision", func() { open(t, db, "doc-100a", docread.OpenOptions{Rev: path(t, rev).Rev()}) },
		cost{gets: 1, ranges: 1, rows: 1})
	measure("delete", func() { remove(t, db, "doc-100a", rev) },
		cost{gets: 1, getManys: 1, ranges: 1, rows: 1, sets: 6, clears: 3, atomics: 7, commits: 1})
	measure("conflict", func() { put(t, db, "doc-100", "", `{}`) },
		cost{gets: 1, getManys: 1, ranges: 1, rows: 1})
	measure("local document", func() { put(t, db, "_local/a", "", `{}`) },
		cost{gets: 1, sets: 1, clears: 1, commits: 1})
	measure("info", func() { _, _ = db.Info(t.Context()) },
		cost{gets: 10, getManys: 2})
	measure("page of ids", func() { list(t, db, RangeOptions{Limit: 20, Start: at("doc-150")}) },
		cost{gets: 3, getManys: 1, ranges: 6, rows: 74})
	measure(
		"page of documents",
		func() { list(t, db, RangeOptions{Limit: 20, IncludeDocs: true, Start: at("doc-150")}) },
		cost{gets: 3, getManys: 1, ranges: 6, rows: 74},
	)
	bulk := func(prefix string, revs []string, n int) []string {
		var docs []*compat.Document
		for i := range n {
			rev := ""
			if revs != nil {
				rev = revs[i]
			}
			docs = append(docs, doc(t, fmt.Sprintf("%s-%04d", prefix, i), rev, `{"n":1}`))
		}
		return update(t, db, UpdateOptions{}, docs...)
	}
	var revs []string
	measure("1000 new documents", func() { revs = bulk("new", nil, 1000) },
		cost{gets: 5, getManys: 7, ranges: 19, rows: 869, sets: 3015, clears: 1, atomics: 4, commits: 2})
	measure("1000 updates", func() { bulk("new", revs, 1000) },
		cost{gets: 5, getManys: 7, ranges: 11, rows: 1004, sets: 4005, clears: 2002, atomics: 4, commits: 2})
	measure("a page far from the beginning", func() { list(t, db, RangeOptions{Limit: 20, Skip: 1100}) },
		cost{gets: 3, getManys: 1, ranges: 6, rows: 350})
	feed := func(o ChangesOptions) Seq {
		end, err := db.Feed().Changes(t.Context(), o, func(*Change) error { return nil })
		must(t, err)
		return end.Last.Seq
	}
	end := feed(ChangesOptions{Limit: -1})
	for n := range 5 {
		bulk(fmt.Sprint("part-", n), nil, 400)
	}
	end = feed(ChangesOptions{Limit: 1, Since: end}) // the rest of its block, and its page, are read
	measure("page of the feed", func() { feed(ChangesOptions{Limit: 20, Since: end}) },
		cost{gets: 3, getManys: 1, ranges: 5, rows: 423})
}

// TestSliceCosts: in a database with access for each document an edit writes a row of the feed for
// each of two readers, and their last sequences, and reads nothing more than elsewhere; a user whose
// feed has nothing new reads neither a row of it nor one of anybody else.
func TestSliceCosts(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	s := openStore(t, count)
	began := time.Now()
	s.now = func() time.Time { return began }
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	for i := range 300 {
		put(t, db, fmt.Sprintf("doc-%03d", i), "", `{"_access":["bob"]}`)
	}
	for i := range 10 {
		put(t, db, fmt.Sprintf("doc-%03da", 30*i), "", `{"_access":["ann","role:x"]}`)
	}
	measure := measuring(t, count)
	var rev string
	measure("new document", func() { rev = put(t, db, "doc-a", "", `{"n":1,"_access":["ann","bob"]}`) },
		cost{gets: 1, getManys: 1, ranges: 1, sets: 11, atomics: 6, commits: 1})
	measure("update", func() { rev = put(t, db, "doc-a", rev, `{"n":2,"_access":["ann","bob"]}`) },
		cost{gets: 1, getManys: 1, ranges: 1, rows: 1, sets: 12, clears: 4, atomics: 4, commits: 1})
	ann := db.As(access.Of("ann", []string{"x", "y"}))
	feed := func(o ChangesOptions) (rows int, last Seq) {
		end, err := ann.Feed().Changes(t.Context(), o, func(*Change) error {
			rows++
			return nil
		})
		must(t, err)
		return rows, end.Last.Seq
	}
	_, last := feed(ChangesOptions{Limit: -1})
	put(t, db, "doc-b", "", `{"_access":["bob"]}`)
	measure("poll without news", func() {
		if rows, _ := feed(ChangesOptions{Limit: -1, Since: last, Unnumbered: true}); rows != 0 {
			t.Errorf("%d rows of others", rows)
		}
	}, cost{gets: 5, getManys: 1})
	put(t, db, "doc-c", "", `{"_access":["ann"]}`)
	measure("poll with one row", func() {
		if rows, _ := feed(ChangesOptions{Limit: -1, Since: last, Unnumbered: true}); rows != 1 {
			t.Errorf("%d rows", rows)
		}
	}, cost{gets: 5, getManys: 1, ranges: 1, rows: 1})
	measure("list", func() {
		if rows := list(t, ann, RangeOptions{Limit: -1}); rows == "" {
			t.Error("nothing is listed")
		}
	}, cost{gets: 9, getManys: 2, ranges: 4, rows: 44})
	before, err := readStates(db)(t.Context(), nil)
	must(t, err)
	put(t, db, "doc-d", "", `{"_access":["ann","role:x"]}`)
	measure("whose feeds an update wakes", func() {
		state, err := readStates(db)(t.Context(), before.Value)
		must(t, err)
		if len(state.Named) != 2 {
			t.Errorf("wakes %v", state.Named)
		}
	}, cost{gets: 2, ranges: 2, rows: 2})
}
