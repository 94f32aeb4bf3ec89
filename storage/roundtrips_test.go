package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestRoundTrips holds calls to a number of round trips on a store across a network, the one that
// begins each transaction among them, commits not. server/lists, views and mango have such budgets
// for what they add.
func TestRoundTrips(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	s := openStore(t, format.Guarded(engine, keyspace.HeadKey(), format.This)) // as stores are that processes share
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	pad := strings.Repeat("x", 300)
	many := func(name string, revs []string) (now []string) {
		var docs []*compat.Document
		for i := range 1000 {
			rev := ""
			if revs != nil {
				rev = revs[i]
			}
			docs = append(docs, doc(t, fmt.Sprintf("%s-%04d", name, i), rev, fmt.Sprintf(`{"n":%d,"pad":%q}`, i, pad)))
		}
		return update(t, db, UpdateOptions{}, docs...)
	}
	fold := func() { // of another process, as it were
		_, err := s.foldSome(t.Context(), "db")
		must(t, err)
	}
	s.sizes.FoldItems = 1 << 20
	var rev string
	var revs []string
	var since Seq
	drain := func(o ChangesOptions) {
		end, err := db.Feed().Changes(t.Context(), o, func(*Change) error { return nil })
		must(t, err)
		since = end.Last.Seq
	}
	for _, c := range []struct {
		name   string
		call   func()
		budget int64
	}{
		{"the first document", func() { rev = put(t, db, "a", "", `{}`) }, 3},
		{"new document", func() { rev = put(t, db, "a2", "", `{}`) }, 2},
		{"update", func() { rev = put(t, db, "a2", rev, `{"n":1}`) }, 2},
		{"deletion", func() { remove(t, db, "a2", rev) }, 2},
		{"a conflict", func() { put(t, db, "a", "1-x", `{}`) }, 3},
		{"1,000 new documents", func() { revs = many("b", nil) }, 8},
		{"1,000 updates", func() { revs = many("b", revs) }, 8},
		{"1,000 new documents between others", func() { many("b-0", nil) }, 8},
		{"a document", func() { open(t, db, "b-0001", docread.OpenOptions{}) }, 2},
		{"a page of ids", func() { list(t, db, RangeOptions{Limit: 20, Start: at("b-0500")}) }, 9},
		{"folding", fold, 12},
		{"a page of ids then", func() { list(t, db, RangeOptions{Limit: 20, Start: at("b-0500")}) }, 9},
		{"a page of the feed", func() { drain(ChangesOptions{Limit: 500}) }, 7},
		{"the next page", func() { drain(ChangesOptions{Limit: 100, Since: since}) }, 9},
	} {
		engine.Reset()
		c.call()
		if n := engine.Reset(); n.RoundTrips > c.budget || n.Runs > n.Updates {
			t.Errorf("%s: %+v, at most %d round trips", c.name, n, c.budget)
		} else {
			t.Logf("%s: %d round trips", c.name, n.RoundTrips)
		}
	}
}
