package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// oracle is a validation function and a map function that take their time, so that they are asked
// between the transactions. Both depend on a version that is a key of the database. The first
// refuses documents with "no" in them; the second keeps, for each document, the version, the winner
// and its conflicts.
type oracle struct {
	t                  *testing.T
	validates, indexes bool
	// asked are the texts in the order in which they were answered; meanwhile is called before each
	// answer is given.
	asked     []string
	meanwhile func(texts []string)
	running   atomic.Int64 // transactions
}

func (o *oracle) version(tx *Tx) (string, error) {
	v, err := tx.KV().Get(append(tx.AppendPrefix(nil, keyspace.TagViews), 'v'))
	return string(v), err
}

// setVersion is what a new design document does.
func (o *oracle) setVersion(db *DB, version string) {
	must(o.t, db.Transact(o.t.Context(), func(tx *Tx) error {
		tx.KV().Set(append(tx.AppendPrefix(nil, keyspace.TagViews), 'v'), []byte(version))
		return nil
	}))
}

func (o *oracle) ask(tx *Tx, text string) (any, error) {
	return tx.Defer(sha256.Sum256([]byte(text)), o, func() any { return text })
}

func (o *oracle) RunDeferred(_ context.Context, args []any) ([]any, error) {
	if o.running.Load() > 0 {
		o.t.Error("run inside of a transaction")
	}
	var texts []string
	results := make([]any, len(args))
	for i, arg := range args {
		texts = append(texts, arg.(string))
		results[i] = texts[i]
		if strings.HasPrefix(texts[i], "validate") && strings.Contains(texts[i], "no") {
			results[i] = compat.NewError(compat.KindForbidden, "no")
		}
	}
	o.asked = append(o.asked, texts...)
	if o.meanwhile != nil {
		o.meanwhile(texts)
	}
	return results, nil
}

type oracleValidator struct{ *oracle }

func (oracleValidator) Prepare(context.Context, *Tx) (ValidateFunc, error) { return nil, nil }

func (o oracleValidator) PrepareBatch(_ context.Context, tx *Tx) (ValidateBatchFunc, error) {
	if !o.validates {
		return nil, nil
	}
	version, err := o.version(tx)
	return func(_ context.Context, edits []ValidatedEdit) ([]error, error) {
		verdicts := make([]error, len(edits))
		for i, e := range edits {
			parent := ""
			if e.Parent != nil {
				parent = e.Parent.Rev.String()
			}
			answer, err := o.ask(
				tx,
				fmt.Sprint("validate ", version, " ", e.Edit.ID, " ", string(e.Edit.Body), " ", parent),
			)
			if err == nil {
				err, _ = answer.(error)
			}
			verdicts[i] = err
		}
		return verdicts, nil
	}, err
}

type oracleIndexer struct{ *oracle }

func (o oracleIndexer) Prepare(_ context.Context, tx *Tx) (IndexFunc, error) {
	if !o.indexes {
		return nil, nil
	}
	version, err := o.version(tx)
	return func(_ context.Context, tx *Tx, id string, _, after *docread.Document) error {
		key := tuple.AppendString(tx.AppendPrefix(nil, keyspace.TagMango), id)
		if after == nil {
			tx.KV().Clear(key)
			return nil
		}
		row, err := o.ask(tx, fmt.Sprint("map ", version, " ", id, " ", after.Rev, " ", after.Conflicts))
		if err != nil {
			return err
		}
		tx.BeforeCommit(func() error { tx.KV().Set(key, []byte(row.(string))); return nil })
		return nil
	}, err
}

// row is what the index has of a document.
func (o *oracle) row(db *DB, id string) (row string) {
	must(o.t, db.ViewAgain(o.t.Context(), func(s *Snapshot) error {
		v, err := s.KV().Get(tuple.AppendString(s.AppendPrefix(nil, keyspace.TagMango), id))
		row = string(v)
		return err
	}))
	return row
}

// counted counts the transactions that run.
type counted struct {
	kv.Store
	o *oracle
}

func (c counted) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	c.o.running.Add(1)
	defer c.o.running.Add(-1)
	return c.Store.Update(ctx, fn)
}

func (c counted) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	c.o.running.Add(1)
	defer c.o.running.Add(-1)
	return c.Store.View(ctx, fn)
}

// newOracle makes a database that has one.
func newOracle(t *testing.T, store kv.Store) (*oracle, *DB) {
	o := &oracle{t: t, validates: true, indexes: true}
	s := openStore(t, counted{store, o})
	s.SetHooks(Hooks{Validator: oracleValidator{o}, Indexer: oracleIndexer{o}})
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	return o, s.DB("db")
}

// once makes fn run at the first call only.
func once(fn func()) func([]string) {
	called := false
	return func([]string) {
		if !called {
			called = true
			fn()
		}
	}
}

func TestDeferredRunsOnce(t *testing.T) {
	store := latencykv.New(memkv.New(), latencykv.Options{})
	o, db := newOracle(t, store)
	var docs []*compat.Document
	for i := range 100 {
		docs = append(docs, doc(t, fmt.Sprintf("d%03d", i), "", fmt.Sprintf(`{"n":%q}`, []string{"yes", "no"}[i%10/9])))
	}
	others := 0
	o.meanwhile = func([]string) { // writers of other documents wait for nothing, and change nothing
		if running := o.meanwhile; others < 5 {
			o.meanwhile = nil
			put(t, db, fmt.Sprintf("other%d", others), "", "{}")
			others++
			o.meanwhile = running
		}
	}
	store.Reset()
	for i, got := range update(t, db, UpdateOptions{}, docs...) {
		if refused := i%10 == 9; refused != (got == "forbidden") || !refused && got[:2] != "1-" {
			t.Errorf("document %d: %s", i, got)
		}
	}
	want(t, "deferred calls", len(o.asked), 100+90+5*2)
	want(t, "row", o.row(db, "d000"), "map  d000 "+open(t, db, "d000", docread.OpenOptions{}).Rev.String()+" []")
	// The request runs three times: for the verdicts, for the rows, and to write.
	if c := store.Counts(); c.Runs != 3+5*3 || c.Commits != 1+5 {
		t.Errorf("%+v", c)
	}
}

// Whoever does not ask pays nothing.
func TestNothingDeferred(t *testing.T) {
	store := latencykv.New(memkv.New(), latencykv.Options{})
	o, db := newOracle(t, store)
	o.validates, o.indexes = false, false
	store.Reset()
	put(t, db, "a", "", "{}")
	trips := store.Counts().RoundTrips
	want(t, "one write", store.Reset(), latencykv.Counts{RoundTrips: trips, Updates: 1, Runs: 1, Commits: 1})
	if trips > 8 { // 6, and more where the sequence index looks how full its blocks are
		t.Errorf("%d round trips", trips)
	}
	o.validates = true
	put(t, db, "b", "", "{}")
	if c := store.Reset(); c.Runs != 2 || c.Commits != 1 {
		t.Errorf("with a deferred call: %+v", c)
	}
}

// What changes while callbacks run is deferred again, and nothing else.
func TestAnswersThatCountNoMore(t *testing.T) {
	setup := func(t *testing.T) (*oracle, *DB, []string) {
		o, db := newOracle(t, latencykv.New(memkv.New(), latencykv.Options{}))
		revs := update(t, db, UpdateOptions{}, doc(t, "a", "", "{}"), doc(t, "b", "", "{}"), doc(t, "c", "", "{}"))
		o.asked = nil
		return o, db, revs
	}
	edits := func(t *testing.T, revs []string) []*compat.Document {
		return []*compat.Document{
			doc(t, "a", revs[0], `{"n":2}`),
			doc(t, "b", revs[1], `{"n":2}`),
			doc(t, "c", revs[2], `{"n":2}`),
		}
	}
	quietly := func(o *oracle, fn func()) func([]string) {
		return once(func() {
			asked := o.asked
			fn()
			o.asked = asked
		})
	}
	t.Run("another function", func(t *testing.T) {
		o, db, revs := setup(t)
		o.meanwhile = quietly(o, func() { o.setVersion(db, "2") })
		got := update(t, db, UpdateOptions{}, edits(t, revs)...)
		want(t, "rows", o.row(db, "a"), "map 2 a "+got[0]+" []")
		want(t, "deferred calls", len(o.asked), 3+3+3)
	})
	t.Run("another index", func(t *testing.T) {
		o, db, revs := setup(t)
		o.validates, o.indexes = false, true
		o.meanwhile = quietly(o, func() { o.setVersion(db, "2") })
		got := update(t, db, UpdateOptions{}, edits(t, revs)...)
		want(t, "rows", []string{o.row(db, "a"), o.row(db, "c")}, "[map 2 a "+got[0]+" [] map 2 c "+got[2]+" []]")
	})
	t.Run("a conflict", func(t *testing.T) {
		o, db, revs := setup(t)
		o.validates = false
		o.meanwhile = quietly(o, func() { replicate(t, db, "b", "1-0000") })
		got := update(t, db, UpdateOptions{}, edits(t, revs)...)
		want(t, "row", o.row(db, "b"), "map  b "+got[1]+" [1-0000]")
		want(t, "deferred calls", len(o.asked), 3+1)
	})
	t.Run("another edit", func(t *testing.T) {
		o, db, revs := setup(t)
		var other string
		o.meanwhile = quietly(o, func() { other = put(t, db, "b", revs[1], `{"other":1}`) })
		got := update(t, db, UpdateOptions{}, edits(t, revs)...)
		want(t, "results", []string{got[0][:2], got[1], got[2][:2]}, "[2- conflict 2-]")
		want(t, "row", o.row(db, "b"), "map  b "+other+" []")
	})
	t.Run("a purge", func(t *testing.T) {
		o, db, revs := setup(t)
		replicate(t, db, "b", "1-0000")
		o.meanwhile = quietly(o, func() { replicate(t, db, "b", "1-0001") })
		_, err := db.Purge(t.Context(), []IDRevs{{ID: "b", Revs: []compat.Rev{path(t, revs[1]).Rev()}}})
		must(t, err)
		want(t, "row", o.row(db, "b"), "map  b 1-0001 [1-0000]")
	})
}

// A document that others change all the time ends; the others of its request do not wait for it.
func TestDocumentThatAlwaysChanges(t *testing.T) {
	o, db := newOracle(t, latencykv.New(memkv.New(), latencykv.Options{}))
	o.validates = false
	revs := update(t, db, UpdateOptions{}, doc(t, "a", "", "{}"), doc(t, "b", "", "{}"))
	n := 0
	o.meanwhile = func(texts []string) {
		if running := o.meanwhile; slices.ContainsFunc(
			texts,
			func(s string) bool { return strings.HasPrefix(s, "map  b") },
		) {
			o.meanwhile = nil
			n++
			replicate(t, db, "b", fmt.Sprintf("1-%04d", n))
			o.meanwhile = running
		}
	}
	got := update(t, db, UpdateOptions{}, doc(t, "a", revs[0], `{"n":2}`), doc(t, "b", revs[1], `{"n":2}`))
	want(t, "interactive", []string{got[0][:2], got[1]}, "[2- conflict]")
	want(t, "rounds", n, maxLacks+1)
	_, err := db.Update(
		t.Context(),
		[]*compat.Document{doc(t, "a", "3-x,y", "{}"), doc(t, "b", "3-x,y", "{}")},
		UpdateOptions{Replicated: true},
	)
	wantError(t, err, compat.KindTimeout)
	want(t, "the other one", show(t, db, "a"), "3-x {}")
}

// 400 documents whose map function takes 15 ms are written in parts, none of which is too old.
func TestSlowAnswers(t *testing.T) {
	store := latencykv.New(memkv.New(), latencykv.Options{})
	o, db := newOracle(t, store)
	o.validates = false
	now := time.Now()
	db.store.now = func() time.Time { return now }
	longest, committed := 0, int64(0)
	o.meanwhile = func(texts []string) {
		now = now.Add(time.Duration(len(texts)) * 15 * time.Millisecond)
		store.Elapse(time.Duration(len(texts)) * 15 * time.Millisecond)
		if c := store.Counts().Commits; c == committed {
			longest += len(texts)
		} else {
			longest, committed = len(texts), c
		}
		if longest > 150 {
			t.Fatalf("%d documents were answered without a commit", longest)
		}
	}
	var docs []*compat.Document
	for i := range 400 {
		docs = append(docs, doc(t, fmt.Sprintf("d%03d", i), "", "{}"))
	}
	docs = append(docs, doc(t, "_design/x", "", "{}"))
	store.Reset()
	for i, got := range update(t, db, UpdateOptions{}, docs...) {
		if got[:2] != "1-" {
			t.Errorf("document %d: %s", i, got)
		}
	}
	if n := len(o.asked); n > 402 { // the design document's answer was forgotten meanwhile
		t.Errorf("%d deferred calls", n)
	}
	if c := store.Counts(); c.Commits < 5 || c.TooOld > 0 || c.Runs > 4*c.Commits {
		t.Errorf("%+v", c)
	}
}

// Whatever the store does, each row in the end is what the map function makes of the document as it
// is.
func TestAnswersOnAFaultyStore(t *testing.T) {
	faults := faultkv.Rates{
		Conflict:         0.3,
		UnknownAborted:   0.1,
		UnknownCommitted: 0.1,
		TooOld:           0.1,
		TooLarge:         0.1,
		TooOldRead:       0.002,
	}
	for seed := range uint64(5) {
		plan := faultkv.Random(seed, faults)
		tooOld := plan.TooOld
		// the check at the end gives up after a few
		plan.TooOld = func(r faultkv.Read) bool { return r.Update && tooOld(r) }
		o, db := newOracle(t, faultkv.New(memkv.New(), plan))
		n := 0
		o.meanwhile = func(texts []string) {
			running := o.meanwhile
			o.meanwhile = nil
			defer func() { o.meanwhile = running }()
			switch n++; n % 3 {
			case 0:
				replicateAny(t, db, fmt.Sprintf("d%02d", n%20), fmt.Sprintf("1-%04d", n))
			case 1:
				replicateAny(t, db, fmt.Sprintf("other%d", n), "1-x")
			}
		}
		for round := range 4 {
			var docs []*compat.Document
			for i := range 20 {
				docs = append(
					docs,
					doc(t, fmt.Sprintf("d%02d", i), fmt.Sprintf("%d-r%d,r%d", round+2, round+1, round), `{}`),
				)
			}
			_, err := db.Update(t.Context(), docs, UpdateOptions{Replicated: true})
			if err != nil && !errors.Is(err, kv.ErrTooOld) {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			id := fmt.Sprintf("d%02d", i)
			d, err := db.Open(t.Context(), id, docread.OpenOptions{Conflicts: true})
			if err == nil {
				want(t, fmt.Sprint("seed ", seed), o.row(db, id), fmt.Sprint("map  ", id, " ", d.Rev, " ", d.Conflicts))
			}
		}
	}
}

// replicateAny is replicate on a store that may refuse it.
func replicateAny(t *testing.T, db *DB, id, rev string) {
	_, err := db.Update(t.Context(), []*compat.Document{doc(t, id, rev, "{}")}, UpdateOptions{Replicated: true})
	if err != nil && !errors.Is(err, kv.ErrTooOld) {
		t.Error(err)
	}
}
