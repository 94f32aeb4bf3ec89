package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

func TestDatabases(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		for _, name := range []string{"b", "a", "a/b", "c"} {
			must(t, s.Create(t.Context(), name, CreateOptions{Q: 2, N: 1}))
		}
		wantError(t, s.Create(t.Context(), "a", CreateOptions{}), compat.ErrFileExists)
		names := func(o RangeOptions) string {
			var all []string
			must(t, s.AllDBs(t.Context(), o, func(name string) error {
				all = append(all, name)
				return nil
			}))
			return strings.Join(all, " ")
		}
		want(t, "all", names(RangeOptions{Limit: -1}), "a a/b b c")
		want(t, "descending", names(RangeOptions{Limit: 2, Skip: 1, Descending: true}), "b a/b")
		want(t, "range", names(RangeOptions{Limit: -1, Start: at("a/"), End: before("c")}), "a/b b")
		put(t, s.DB("b"), "x", "", `{}`)
		must(t, s.Delete(t.Context(), "b"))
		wantError(t, s.Delete(t.Context(), "b"), compat.ErrNoDatabase)
		_, err := s.DB("b").Open(t.Context(), "x", docread.OpenOptions{})
		wantError(t, err, compat.ErrNoDatabase)
		must(t, s.Create(t.Context(), "b", CreateOptions{}))
		want(t, "a new database is empty", show(t, s.DB("b"), "x"), "missing")
		info, err := s.DB("c").Info(t.Context())
		must(t, err)
		want(t, "info", []any{info.Name, info.Q, info.N, info.DocCount, info.Partitioned}, "[c 2 1 0 false]")
		exists, err := s.DB("nothing").Exists(t.Context())
		must(t, err)
		want(t, "exists", exists, false)
	})
}

// TestEachDB: EachDB passes all databases, also where one is deleted meanwhile, and ends with the
// first other error.
func TestEachDB(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		for _, name := range []string{"b", "a", "c"} {
			must(t, s.Create(t.Context(), name, CreateOptions{}))
		}
		var seen []string
		must(t, s.EachDB(t.Context(), func(db *DB) error {
			seen = append(seen, db.Name())
			if db.Name() == "a" {
				must(t, s.Delete(t.Context(), "b"))
			}
			_, err := db.Info(t.Context())
			return err
		}))
		want(t, "databases", seen, "[a b c]")
		seen = nil
		broken := errors.New("broken")
		wantError(t, s.EachDB(t.Context(), func(db *DB) error {
			seen = append(seen, db.Name())
			return broken
		}), broken)
		want(t, "databases up to the error", seen, "[a]")
	})
}

func TestStoreKeepsItsIdentity(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	var uuids [][16]byte
	for range 2 {
		s, err := Open(t.Context(), Options{KV: store, Manual: true})
		must(t, err)
		uuids = append(uuids, s.UUID())
		must(t, s.Close())
	}
	want(t, "uuid", uuids[0] == uuids[1], true)
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		tx.Set(keyspace.HeadKey(), append([]byte{format.This.Newest + 1}, uuids[0][:]...))
		return nil
	})
	must(t, err)
	_, err = Open(t.Context(), Options{KV: store})
	wantError(t, err, kv.ErrFormat)
}

func TestCreateWithSecurity(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		large := `{"x":"` + strings.Repeat("n", 200_000) + `"}`
		for name, object := range map[string]string{"small": `{}`, "large": large} {
			must(t, s.Create(t.Context(), name, CreateOptions{Security: []byte(object)}))
			got, err := s.DB(name).Settings().Security(t.Context())
			must(t, err)
			want(t, name, string(got) == object, true)
		}
	})
}

func TestSettings(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		object, err := db.Settings().Security(t.Context())
		must(t, err)
		want(t, "security of a new database", object == nil, true)
		large := `{"admins":{"names":["` + strings.Repeat("n", 200_000) + `"]}}`
		for _, object := range []string{large, `{}`, `{"a":1}`} {
			must(t, db.Settings().SetSecurity(t.Context(), []byte(object)))
			got, err := db.Settings().Security(t.Context())
			must(t, err)
			want(t, "security", string(got) == object, true)
		}
		must(t, db.Settings().SetRevsLimit(t.Context(), 7))
		must(t, db.Settings().SetPurgedInfosLimit(t.Context(), 8))
		must(t, db.Settings().SetAutoPurge(t.Context(), "30_days"))
		rec, err := db.Settings().Record(t.Context())
		must(t, err)
		want(t, "settings", []any{rec.RevsLimit, rec.PurgedInfosLimit, rec.AutoPurge}, "[7 8 30_days]")
	})
}

func TestPartitions(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		var limit int64
		s.SetHooks(Hooks{MaxPartitionSize: func() int64 { return limit }})
		must(t, s.Create(t.Context(), "db", CreateOptions{Partitioned: true}))
		db := s.DB("db")
		rev := put(t, db, "p:a", "", `{"n":1}`)
		put(t, db, "p:b", "", `{"n":1}`)
		remove(t, db, "p:a", rev)
		put(t, db, "q:a", "", `{"n":1}`)
		put(t, db, "_design/d", "", `{}`)
		show := func(name string) string {
			info, err := db.PartitionInfo(t.Context(), name)
			must(t, err)
			return fmt.Sprint(info.DocCount, info.DocDelCount, info.SizeExternal)
		}
		want(t, "p", show("p"), "1 1 9")
		want(t, "q", show("q"), "1 0 7")
		want(t, "none", show("r"), "0 0 0")
		limit = 9
		want(
			t,
			"full",
			update(t, db, UpdateOptions{}, doc(t, "p:c", "", `{}`), doc(t, "q:c", "", `{}`)),
			"[partition_overflow 1-967a00dff5e02add41819138abb3284d]",
		)
		rev = open(t, db, "p:b", docread.OpenOptions{}).Rev.String()
		want(t, "larger", put(t, db, "p:b", rev, `{"n":10}`), "partition_overflow")
		want(t, "not larger", put(t, db, "p:b", rev, `{"n":2}`)[:2], "2-")
		replicate(t, db, "p:d", "1-x")
		want(t, "replicated", show("p")[:3], "2 1")
	})
}

// Batches are cut to fit the store's transactions; each document is stored whole.
func TestBatchesFitTransactions(t *testing.T) {
	if testing.Short() { // under the race detector
		t.Skip("has one goroutine, where the race detector finds nothing; runs without -short")
	}
	store := kvtest.NewCounting(wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
	s := openStore(t, store)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	var docs []*compat.Document
	for i := range 60 {
		docs = append(docs, doc(t, fmt.Sprintf("%02d", i), "", `{"long":"`+strings.Repeat("x", 500_000)+`"}`))
	}
	store.Reset()
	results := update(t, db, UpdateOptions{}, docs...)
	if n := store.Counts().Commits; n < 6 || n > 12 {
		t.Errorf("%d transactions for 30 MB", n)
	}
	want(t, "stored", slices.ContainsFunc(results, func(r string) bool { return r[:2] != "1-" }), false)
	large := doc(t, "huge", "", `{"long":"`+strings.Repeat("x", 11_000_000)+`"}`)
	want(t, "a body that is larger than a transaction", update(t, db, UpdateOptions{}, large)[0][:2], "1-")
	tooLarge := doc(t, "long list", "", `{}`)
	for i := range 30 {
		tooLarge.Attachments = append(
			tooLarge.Attachments,
			compat.Attachment{Name: strings.Repeat("n", 400_000+i), Source: compat.SourceStored},
		)
	}
	want(
		t,
		"one that is too large",
		update(t, db, UpdateOptions{}, doc(t, "small", "", `{}`), tooLarge),
		"[1-967a00dff5e02add41819138abb3284d document_too_large]",
	)
}

// onlyOdd refuses documents whose n is even.
type onlyOdd struct{}

func (h onlyOdd) Prepare(context.Context, *Tx) (ValidateFunc, error) {
	return func(_ context.Context, edit, parent *docread.Document) error {
		if strings.HasSuffix(string(edit.Body), `0}`) {
			return compat.NewError(compat.KindForbidden, "even")
		}
		return nil
	}, nil
}

type recorder struct{ changes *[]string }

func (h recorder) Prepare(context.Context, *Tx) (IndexFunc, error) {
	*h.changes = nil
	return func(_ context.Context, tx *Tx, id string, before, after *docread.Document) error {
		text := func(d *docread.Document) string {
			if d == nil {
				return "-"
			}
			return string(d.Body)
		}
		*h.changes = append(*h.changes, id+" "+text(before)+" "+text(after))
		tx.KV().Set(tx.AppendPrefix(nil, keyspace.TagViews), []byte("x"))
		return nil
	}, nil
}

func TestHooks(t *testing.T) {
	onStores(t, func(t *testing.T, s *Store) {
		var changes []string
		s.SetHooks(Hooks{Validator: onlyOdd{}, Indexer: recorder{&changes}})
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		db := s.DB("db")
		got := update(t, db, UpdateOptions{}, doc(t, "a", "", `{"n":1}`), doc(t, "b", "", `{"n":10}`))
		want(t, "validated", []any{got[0][:2], got[1]}, "[1- forbidden]")
		want(t, "new", changes, `[a - {"n":1}]`)
		rev := put(t, db, "a", got[0], `{"n":3}`)
		want(t, "changed", changes, `[a {"n":1} {"n":3}]`)
		want(t, "unknown parent under validation", put(t, db, "z", "1-abc", `{"n":1}`), "conflict")
		d := doc(t, "a", "3-z,"+strings.Repeat("y", 4), `{"n":20}`)
		want(t, "replicated and refused", update(t, db, UpdateOptions{Replicated: true}, d), "[forbidden]")
		remove(t, db, "a", rev)
		want(t, "deleted", changes, `[a {"n":3} -]`)
	})
}
