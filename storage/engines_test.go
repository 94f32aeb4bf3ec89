package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// onEngines runs a test on every kind of store. The database `db` exists.
func onEngines(t *testing.T, test func(t *testing.T, db *DB)) {
	onStores(t, func(t *testing.T, s *Store) {
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		test(t, s.DB("db"))
	})
}

// onStores is onEngines without a database.
func onStores(t *testing.T, test func(t *testing.T, s *Store)) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) { test(t, openStore(t, engine)) })
}

func openStore(t testing.TB, store kv.Store) *Store {
	checked := kvtest.Checked(store, func(violation string) { t.Error(violation) })
	s, err := Open(context.Background(), Options{KV: checked, Manual: true})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		checkSized(t, store, s.sizes)
		must(t, store.Close())
	})
	return s
}

// shorter is full, or short in the short form of the tests, which runs under the race detector:
// what takes minutes there is copying of large bodies, not what may race.
func shorter[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}

// newTestDB is a database in memory.
func newTestDB(t testing.TB, o CreateOptions) *DB {
	s := openStore(t, memkv.New())
	must(t, s.Create(context.Background(), "db", o))
	return s.DB("db")
}

// The words of the kit.
var (
	must = storagetest.Must
	want = storagetest.Want
	doc  = storagetest.Doc
	path = storagetest.Path
)

func deleted(t testing.TB, id, rev string) *compat.Document {
	return doc(t, id, rev, "")
}

// update stores documents and gives the results as text: revision or error word.
func update(t testing.TB, db *DB, o UpdateOptions, docs ...*compat.Document) []string {
	t.Helper()
	results, err := db.Update(context.Background(), docs, o)
	must(t, err)
	var out []string
	for i, r := range results {
		if r.ID != docs[i].ID {
			t.Errorf("result %d is for %q", i, r.ID)
		}
		if r.Err != nil {
			out = append(out, r.Err.Word())
		} else {
			out = append(out, r.Rev.String())
		}
	}
	return out
}

// put stores one interactive edit and gives its revision.
func put(t testing.TB, db *DB, id, rev, body string) string {
	t.Helper()
	return update(t, db, UpdateOptions{}, doc(t, id, rev, body))[0]
}

// remove stores a tombstone.
func remove(t testing.TB, db *DB, id, rev string) string {
	t.Helper()
	return update(t, db, UpdateOptions{}, deleted(t, id, rev))[0]
}

// replicate stores revisions with new_edits=false; a trailing `!` of a rev makes a tombstone.
func replicate(t testing.TB, db *DB, id string, revs ...string) {
	t.Helper()
	for _, rev := range revs {
		d := doc(t, id, rev, fmt.Sprintf(`{"rev":%q}`, rev))
		if rev[len(rev)-1] == '!' {
			d = deleted(t, id, rev[:len(rev)-1])
		}
		update(t, db, UpdateOptions{Replicated: true}, d)
	}
}

// show gives the winner as text.
func show(t testing.TB, db *DB, id string) string {
	t.Helper()
	d, err := db.Open(context.Background(), id, docread.OpenOptions{})
	if err != nil {
		if e, ok := compat.AsError(err); ok {
			return e.Reason
		}
		t.Fatal(err)
	}
	return d.Rev.String() + " " + string(d.Body)
}

func open(t testing.TB, db *DB, id string, o docread.OpenOptions) *docread.Document {
	t.Helper()
	d, err := db.Open(context.Background(), id, o)
	must(t, err)
	return d
}

func wantError(t testing.TB, err error, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
