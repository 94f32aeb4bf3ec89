package moved_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/moved"
	"github.com/settee-db/settee/storage/storagetest"
)

var (
	must = storagetest.Must
	want = storagetest.Want
)

func open(t *testing.T, engine kv.Store) *storage.Store {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// move copies all keys into a new store, whose versions begin anew.
func move(t *testing.T, from kv.Store) kv.Store {
	t.Helper()
	to := memkv.New()
	_, err := to.Update(t.Context(), func(tx kv.Tx) error {
		return from.View(t.Context(), func(r kv.ReadTx) error {
			it := r.Range(nil, []byte{0xff}, kv.RangeOptions{})
			defer it.Close()
			for it.Next() {
				tx.Set(it.Key(), it.Value())
			}
			return it.Err()
		})
	})
	must(t, err)
	return to
}

func write(t *testing.T, s *storage.Store, db, id string) {
	t.Helper()
	results, err := s.DB(db).Update(t.Context(), []*compat.Document{storagetest.Doc(t, id, "", `{}`)},
		storage.UpdateOptions{})
	must(t, err)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
}

func last(t *testing.T, s *storage.Store, db string) storage.Seq {
	t.Helper()
	seq, err := s.DB(db).Feed().Last(t.Context())
	must(t, err)
	return seq.Seq
}

func is(t *testing.T, s *storage.Store, home moved.Home) bool {
	t.Helper()
	moved, err := moved.Is(t.Context(), s, home)
	must(t, err)
	return moved
}

// errDied ends a Settle in the middle.
var errDied = errors.New("died")

// TestSettle: databases of a store with lower versions give out higher sequences afterwards, also
// when the first Settle died in the middle, on an engine with faults; one that is settled, or new,
// is not touched again.
func TestSettle(t *testing.T) {
	first := memkv.New()
	s, home := open(t, first), moved.Home{KV: first}
	for i, db := range []string{"_global_changes", "a", "b", "c"} {
		must(t, s.Create(t.Context(), db, storage.CreateOptions{}))
		for n := range 10 + i {
			write(t, s, db, fmt.Sprint("d", n))
		}
	}
	want(t, "moved where it was made", is(t, s, home), false)
	prepared := 0
	prepare := func(context.Context, *storage.DB) error {
		prepared++
		return nil
	}
	n, err := moved.Settle(t.Context(), s, home, prepare)
	must(t, err)
	want(t, "databases that had to be settled", n+prepared, 0)

	before := map[string]storage.Seq{}
	for _, db := range []string{"_global_changes", "a", "b", "c"} {
		before[db] = last(t, s, db)
	}
	rates := faultkv.Rates{Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05}
	home.KV = faultkv.New(move(t, first), faultkv.Random(1, rates))
	s = open(t, home.KV)
	must(t, s.Create(t.Context(), "new", storage.CreateOptions{}))
	want(t, "moved", is(t, s, home), true)
	n, err = moved.Settle(t.Context(), s, home, func(ctx context.Context, db *storage.DB) error {
		if db.Name() == "b" {
			return errDied
		}
		return nil
	})
	if !errors.Is(err, errDied) || n != 1 {
		t.Fatal(n, err)
	}
	want(t, "moved, when it is half done", is(t, s, home), true)
	n, err = moved.Settle(t.Context(), s, home, prepare)
	must(t, err)
	want(t, "settled later", n, 3)
	want(t, "prepared", prepared, 3)
	want(t, "moved afterwards", is(t, s, home), false)
	for db, seq := range before {
		write(t, s, db, "after")
		if now := last(t, s, db); !seq.Before(now) {
			t.Errorf("%s: %v after %v", db, now, seq)
		}
		ids := 0
		_, err := s.DB(db).Feed().Changes(t.Context(), storage.ChangesOptions{Since: seq, Limit: -1},
			func(c *storage.Change) error {
				ids++
				want(t, "what was written since", c.ID, "after")
				return nil
			})
		must(t, err)
		want(t, "rows since", ids, 1)
	}
	want(t, "incarnation of a new database", last(t, s, "new").Incarnation, 1)
	n, err = moved.Settle(t.Context(), s, home, prepare)
	must(t, err)
	want(t, "settled twice", n, 0)
}

// TestHome: a store that was copied to another cluster, whose versions are above the copy's but
// below those that the first one has given out since, gives out higher sequences than that one;
// each node of the new cluster finds that, the ones that come later find nothing. What stays where
// it is, or comes back to where it was, is not touched.
func TestHome(t *testing.T) {
	first := memkv.New()
	s, home := open(t, first), moved.Home{KV: first, Cluster: []byte("first")}
	prepare := func(context.Context, *storage.DB) error { return nil }
	databases := []string{"a", "b", "empty"}
	for _, db := range databases {
		must(t, s.Create(t.Context(), db, storage.CreateOptions{}))
	}
	for n := range 10 {
		write(t, s, "a", fmt.Sprint("d", n))
		write(t, s, "b", fmt.Sprint("d", n))
	}
	want(t, "moved, of a store that names no home", is(t, s, home), false)
	must(t, home.Keep(t.Context()))
	want(t, "moved at home", is(t, s, home), false)

	second := move(t, first)
	for range 40 { // as fdbrestore does
		_, err := second.Update(t.Context(), func(tx kv.Tx) error {
			tx.Clear([]byte("\xfe"))
			return nil
		})
		must(t, err)
	}
	for n := range 100 {
		write(t, s, "a", fmt.Sprint("later", n))
	}
	since := last(t, s, "a")
	s = open(t, second)
	want(t, "moved, by versions alone", is(t, s, moved.Home{KV: second}), false)
	home = moved.Home{KV: second, Cluster: []byte("second")}
	want(t, "moved", is(t, s, home), true)
	n, err := moved.Settle(t.Context(), s, home, func(ctx context.Context, db *storage.DB) error {
		if db.Name() == "a" {
			return errDied
		}
		return nil
	})
	if !errors.Is(err, errDied) || n != len(databases)-1 {
		t.Fatal(n, err)
	}
	want(t, "moved, when it is half done", is(t, s, home), true)
	n, err = moved.Settle(t.Context(), s, home, prepare)
	must(t, err)
	want(t, "settled later", n, 1)
	want(t, "moved afterwards", is(t, s, home), false)
	for _, db := range databases {
		write(t, s, db, "after")
		want(t, "incarnation of "+db, last(t, s, db).Incarnation, 2)
	}
	if now := last(t, s, "a"); !since.Before(now) {
		t.Errorf("%v after %v", now, since)
	}
	n, err = moved.Settle(t.Context(), s, home, prepare)
	must(t, err)
	want(t, "settled twice", n, 0)
}
