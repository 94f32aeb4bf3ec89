package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// openLimited is a database on a store like FoundationDB.
func openLimited(t *testing.T) (*DB, *latencykv.Store) {
	store := latencykv.New(memkv.New(), latencykv.Options{})
	s := openStore(t, store)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	return s.DB("db"), store
}

// text is the body of a document of about that many bytes.
func text(size int, mark string) string {
	return fmt.Sprintf(`{"mark":%q,"text":%q}`, mark, strings.Repeat("x", size))
}

// What a bulk request replaces or deletes counts as much as what it brings.
func TestBulkCountsWhatItReplaces(t *testing.T) {
	for _, kb := range shorter([]int{20, 76, 160}, []int{76}) {
		db, store := openLimited(t)
		const n = 120
		bulk := func(revs []string, make func(id, rev string) *compat.Document) []string {
			docs := []*compat.Document{}
			for i := range n {
				rev := ""
				if revs != nil {
					rev = revs[i]
				}
				docs = append(docs, make(fmt.Sprintf("d%03d", i), rev))
			}
			store.Reset()
			revs = update(t, db, UpdateOptions{}, docs...)
			if c := store.Counts(); c.Runs > c.Commits {
				t.Errorf("%d KB: %d runs for %d commits", kb, c.Runs, c.Commits)
			}
			return revs
		}
		write := func(mark string) func(id, rev string) *compat.Document {
			return func(id, rev string) *compat.Document { return sized(id, path(t, rev).Rev(), kb*1000, mark) }
		}
		revs := bulk(bulk(nil, write("1")), write("2"))
		revs = bulk(revs, func(id, rev string) *compat.Document { return deleted(t, id, rev) })
		for i, rev := range revs {
			if !strings.HasPrefix(rev, "3-") {
				t.Fatalf("%d KB: document %d: %s", kb, i, rev)
			}
		}
	}
}

// A document that the store cannot hold is refused alone.
func TestOneDocumentOfABulkIsTooLarge(t *testing.T) {
	db, store := openLimited(t)
	long := strings.Repeat("i", 9_990)
	var docs []*compat.Document
	for i := range 100 {
		docs = append(docs, doc(t, fmt.Sprintf("a%03d", i), "", "{}"), doc(t, fmt.Sprintf("z%03d", i), "", "{}"))
	}
	docs[60] = doc(t, long, "", "{}")
	store.Reset()
	for i, got := range update(t, db, UpdateOptions{}, docs...) {
		if i == 60 {
			want(t, "an id beyond the limit", got, "illegal_docid")
		} else if got[:2] != "1-" {
			t.Fatalf("document %d: %s", i, got)
		}
	}
	if c := store.Counts(); c.Runs > 24 {
		t.Errorf("%d transactions", c.Runs)
	}
	want(t, "alone", put(t, db, long, "", "{}"), "illegal_docid")
	want(
		t,
		"local documents",
		update(
			t,
			db,
			UpdateOptions{},
			doc(t, "_local/a", "", "{}"),
			doc(t, "_local/"+long, "", "{}"),
			doc(
				t,
				"_local/c",
				"",
				text(11_000_000, ""),
			),
			doc(t, "_local/d", "", "{}"),
		),
		"[0-1 illegal_docid document_too_large 0-1]",
	)
	want(
		t,
		"stored",
		[]any{show(t, db, "_local/a"), show(t, db, "_local/d"), show(t, db, "a060")[:2]},
		"[0-1 {} 0-1 {} 1-]",
	)
}

// growing is an index whose rows are much larger than its documents.
type growing struct{ rows int }

func (g growing) Prepare(context.Context, *Tx) (IndexFunc, error) {
	return func(_ context.Context, tx *Tx, id string, _, after *docread.Document) error {
		prefix := tuple.AppendString(tx.AppendPrefix(nil, keyspace.TagViews), id)
		tx.BeforeCommit(func() error {
			for i := range g.rows {
				tx.KV().Set(tuple.AppendInt(prefix[:len(prefix):len(prefix)], int64(i)), make([]byte, 50_000))
			}
			return nil
		})
		return nil
	}, nil
}

// What indexes write is known at the end only: then a part is tried again by halves, and never
// twice at one size.
func TestBulkWithLargeIndexRows(t *testing.T) {
	db, store := openLimited(t)
	db.store.SetHooks(Hooks{Indexer: growing{rows: 10}})
	var docs []*compat.Document
	for i := range 150 {
		docs = append(docs, doc(t, fmt.Sprintf("d%03d", i), "", "{}"))
	}
	store.Reset()
	for i, got := range update(t, db, UpdateOptions{}, docs...) {
		if got[:2] != "1-" {
			t.Fatalf("document %d: %s", i, got)
		}
	}
	if c := store.Counts(); c.Commits < 7 || c.Runs > 2*c.Commits {
		t.Errorf("%+v for 75 MB", c)
	}
	db.store.SetHooks(Hooks{Indexer: growing{rows: 201}})
	want(
		t,
		"no document fits",
		update(t, db, UpdateOptions{}, doc(t, "a", "", "{}"), doc(t, "b", "", "{}")),
		"[document_too_large document_too_large]",
	)
}

// A request whose transactions take too long is cut, too.
func TestBulkTakesTooLong(t *testing.T) {
	db, store := openLimited(t)
	slow := func(_ context.Context, tx *Tx, _ string, _, _ *docread.Document) error {
		store.Elapse(30 * time.Millisecond)
		return nil
	}
	db.store.SetHooks(Hooks{Indexer: indexerFunc(slow)})
	var docs []*compat.Document
	for i := range 400 {
		docs = append(docs, doc(t, fmt.Sprintf("d%03d", i), "", "{}"))
	}
	store.Reset()
	for i, got := range update(t, db, UpdateOptions{}, docs...) {
		if got[:2] != "1-" {
			t.Fatalf("document %d: %s", i, got)
		}
	}
	if c := store.Counts(); c.TooOld > 3 {
		t.Errorf("%+v for 12 s", c)
	}
}

type indexerFunc IndexFunc

func (f indexerFunc) Prepare(context.Context, *Tx) (IndexFunc, error) { return IndexFunc(f), nil }

// late is a store whose transactions become too old, once it is told with what error.
type late struct {
	kv.Store
	err     error
	updates int
}

func (l *late) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if l.err == nil {
		return l.Store.Update(ctx, fn)
	}
	l.updates++
	return kv.Versionstamp{}, l.err
}

// A bulk request whose transaction becomes too old is tried in halves, but not where the store's
// servers do not answer: its client would wait for each of them.
func TestBulkEndsWithoutServers(t *testing.T) {
	for _, c := range []struct {
		err    error
		halves bool
	}{{kv.ErrTooOld, true}, {fmt.Errorf("%w: %w", kv.ErrTooOld, kv.ErrUnavailable), false}} {
		store := &late{Store: memkv.New()}
		s := openStore(t, store)
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		var docs []*compat.Document
		for i := range 8 {
			docs = append(docs, &compat.Document{ID: fmt.Sprint(i), Body: compat.Body{JSON: []byte("{}")}})
		}
		store.err = c.err
		_, err := s.DB("db").Update(t.Context(), docs, UpdateOptions{})
		if !errors.Is(err, c.err) || store.updates > 1 != c.halves {
			t.Errorf("%v: %v after %d transactions", c.err, err, store.updates)
		}
		store.err = nil
	}
}
