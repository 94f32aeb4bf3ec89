package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
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
	faults := faultkv.Rates{Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05}
	engines := []struct {
		name string
		open func(t *testing.T) kv.Store
	}{
		{"memory", func(t *testing.T) kv.Store { return memkv.New() }},
		{"faults", func(t *testing.T) kv.Store { return faultkv.New(memkv.New(), faultkv.Random(1, faults)) }},
		{"limits", func(t *testing.T) kv.Store { return kv.WithLimits(memkv.New(), kv.FDBLimits, time.Now) }},
		{"pebble", openPebble},
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { test(t, openStore(t, e.open(t))) })
	}
}

func openPebble(t *testing.T) kv.Store {
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{})
	must(t, err)
	return store
}

func openStore(t testing.TB, store kv.Store) *Store {
	checked := kv.Checked(store, func(violation string) { t.Error(violation) })
	s, err := Open(context.Background(), Options{KV: checked, Manual: true})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		checkStore(t, store)
		must(t, store.Close())
	})
	return s
}

// newTestDB is a database in memory.
func newTestDB(t testing.TB, o CreateOptions) *DB {
	s := openStore(t, memkv.New())
	must(t, s.Create(context.Background(), "db", o))
	return s.DB("db")
}

// tester is what a test and a property test have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// doc makes a document; rev is the newest revision and, after commas, the hashes of its ancestors.
func doc(t tester, id, rev, body string) *compat.Document {
	t.Helper()
	v, err := ejson.Parse([]byte(body))
	must(t, err)
	size, err := v.EncodedSize()
	must(t, err)
	d := &compat.Document{ID: id, Body: compat.Body{JSON: v.AppendJSON(nil), Term: v.AppendTerm(nil), Size: size}}
	d.Revs = path(t, rev)
	return d
}

func deleted(t testing.TB, id, rev string) *compat.Document {
	d := doc(t, id, rev, "{}")
	d.Deleted = true
	return d
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
	d, err := db.Open(context.Background(), id, OpenOptions{})
	if err != nil {
		if e, ok := compat.AsError(err); ok {
			return e.Reason
		}
		t.Fatal(err)
	}
	return d.Rev.String() + " " + string(d.Body)
}

func open(t testing.TB, db *DB, id string, o OpenOptions) *Document {
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

func want(t tester, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func path(t tester, rev string) compat.RevPath {
	t.Helper()
	if rev == "" {
		return compat.RevPath{}
	}
	var p compat.RevPath
	for i, part := range splitComma(rev) {
		if i > 0 {
			p.IDs = append(p.IDs, part)
			continue
		}
		r, err := compat.ParseRev(part)
		must(t, err)
		p.Start, p.IDs = r.Pos, append(p.IDs, r.Hash)
	}
	return p
}

func splitComma(s string) (parts []string) {
	for begin, i := 0, 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' {
			parts = append(parts, s[begin:i])
			begin = i + 1
		}
	}
	return parts
}
