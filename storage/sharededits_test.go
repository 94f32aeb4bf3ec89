package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// held is a store whose transactions, of both kinds, wait until they are let go, and are counted
// then.
type held struct {
	kv.Store
	mu     sync.Mutex
	gate   chan struct{} // nil: nobody waits
	runs   int
	fail   func(run int) error // after a commit, or instead of a snapshot
	during func(run int)       // in a snapshot
}

// enter waits, and numbers the transaction.
func (h *held) enter() (run int) {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate != nil {
		<-gate
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs++
	return h.runs
}

func (h *held) failure(run int) error {
	if h.fail == nil {
		return nil
	}
	return h.fail(run)
}

// second is a failure of the second transaction.
func second(err error) func(run int) error {
	return func(run int) error {
		if run == 2 {
			return err
		}
		return nil
	}
}

func (h *held) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	run := h.enter()
	stamp, err := h.Store.Update(ctx, func(tx kv.Tx) error { return cmp.Or(fn(tx), ctx.Err()) })
	if err = cmp.Or(err, h.failure(run)); err != nil {
		return kv.Versionstamp{}, err
	}
	return stamp, nil
}

func (h *held) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	run := h.enter()
	if err := h.failure(run); err != nil {
		return err
	}
	return h.Store.View(ctx, func(r kv.ReadTx) error {
		err := fn(r)
		if h.during != nil {
			h.during(run)
		}
		return cmp.Or(err, ctx.Err())
	})
}

// hold lets no transaction happen before the returned function is called, and counts from here.
func (h *held) hold() (release func()) {
	gate := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate, h.runs = gate, 0
	return func() {
		h.pass()
		close(gate)
	}
}

// pass lets the transactions happen that begin now.
func (h *held) pass() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = nil
}

// count is how many transactions there were since hold.
func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs
}

// openHeld is a store with a database, in which edits share transactions as soon as one is under
// way.
func openHeld(t *testing.T) (*held, *DB) { return openHeldOn(t, memkv.New()) }

func openHeldOn(t *testing.T, store kv.Store) (*held, *DB) {
	h := &held{Store: store}
	s := openStore(t, h)
	setEditBatchers(s, 1, time.Hour)
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	return h, s.DB("db")
}

// setEditBatchers lets edits share when so many are under way.
func setEditBatchers(s *Store, running int, wait time.Duration) {
	l := coalesce.Limits{Running: running, Batch: 64, Wait: wait}
	s.edits = coalesce.NewBatchers[*compat.Document, EditResult](1, l)
}

// startEdit begins an edit, and returns when it is under way or waits in the batcher. The function
// gives its end.
func startEdit(t *testing.T, ctx context.Context, db *DB, d *compat.Document) func() (EditResult, error) {
	t.Helper()
	batcher := db.store.edits.Batcher("db\x00")
	before, end := batcher.Len(), make(chan struct{})
	var results []EditResult
	var err error
	go func() {
		defer close(end)
		results, err = db.Update(ctx, []*compat.Document{d}, UpdateOptions{})
	}()
	for batcher.Len() == before {
		time.Sleep(100 * time.Microsecond)
	}
	return func() (EditResult, error) {
		<-end
		if err != nil {
			return EditResult{}, err
		}
		return results[0], nil
	}
}

// TestSharedEdits: edits that wait for another one are stored in one transaction, each with the
// result that it has alone.
func TestSharedEdits(t *testing.T) {
	h, db := openHeld(t)
	other := db.store
	must(t, other.Create(t.Context(), "alone", CreateOptions{}))
	alone := other.DB("alone")
	var revs []string
	for _, d := range []*DB{db, alone} {
		revs = []string{put(t, d, "old", "", `{"n":1}`), put(t, d, "gone", "", `{}`), put(t, d, "left", "", `{}`)}
		remove(t, d, "gone", revs[1])
	}
	edits := func() []*compat.Document {
		list := []*compat.Document{
			doc(t, "first", "", `{}`),
			doc(t, "old", revs[0], `{"n":2}`),
			doc(t, "old", revs[0], `{"n":3}`), // in the next one, where it is a conflict
			doc(t, "left", "", `{}`),
			deleted(t, "new-1", revs[0]),
			doc(t, "gone", "", `{"again":true}`),
			doc(t, "large", "", `{"large":"`+strings.Repeat("x", sharedBytes-20)+`"}`),
		}
		for i := range 30 {
			list = append(list, doc(t, fmt.Sprint("new-", 10+i), "", fmt.Sprint(`{"i":`, i, `}`)))
		}
		return append(list, deleted(t, "left", revs[2]))
	}
	release := h.hold()
	var ends []func() (EditResult, error)
	for _, d := range edits() {
		ends = append(ends, startEdit(t, t.Context(), db, d))
	}
	release()
	results := make([]EditResult, len(ends))
	for i, end := range ends {
		var err error
		results[i], err = end()
		must(t, err)
	}
	if n := h.count(); n != 3 { // the first one, all others, and those of documents that were edited there
		t.Errorf("%d transactions for %d edits", n, len(ends))
	}
	for i, d := range edits() {
		want, err := alone.updateAlone(t.Context(), []*compat.Document{d}, &UpdateOptions{})
		must(t, err)
		if !reflect.DeepEqual(results[i], want[0]) {
			t.Errorf("%s: %+v, alone %+v", d.ID, results[i], want[0])
		}
	}
}

// TestSharedEditsAlone: edits of which somebody has to be asked leave the others, which do not wait
// for them; and where a validation function is in force each is seen by it with its own context.
func TestSharedEditsAlone(t *testing.T) {
	t.Run("deferred", func(t *testing.T) {
		h, db := openHeld(t)
		o := &oracle{t: t, indexes: true}
		stored := make(chan struct{})
		o.meanwhile = func(texts []string) {
			if !strings.Contains(texts[0], "first") {
				<-stored // the answer takes until all others are there
			}
		}
		db.store.hooks.Indexer = asksAbout{oracleIndexer{o}, "slow"}
		release := h.hold()
		ends := []func() (EditResult, error){startEdit(t, t.Context(), db, doc(t, "first", "", `{}`))}
		slow := startEdit(t, t.Context(), db, doc(t, "slow", "", `{}`))
		for i := range 5 {
			ends = append(ends, startEdit(t, t.Context(), db, doc(t, fmt.Sprint("quick-", i), "", `{}`)))
		}
		release()
		for _, end := range ends {
			_, err := end()
			must(t, err)
		}
		close(stored)
		_, err := slow()
		must(t, err)
		if o.row(db, "slow") == "" {
			t.Error("the edit that had to wait for an answer is not in the index")
		}
	})
	t.Run("validation", func(t *testing.T) {
		h, db := openHeld(t)
		type user struct{}
		db.store.hooks.Validator = validatorFunc(func(ctx context.Context, _, _ *docread.Document) error {
			if name, _ := ctx.Value(user{}).(string); name == "mallory" {
				return compat.NewError(compat.KindForbidden, "not you")
			}
			return nil
		})
		release := h.hold()
		var ends []func() (EditResult, error)
		names := []string{"alice", "bob", "mallory", "carol", "mallory"}
		for i, name := range names {
			ctx := context.WithValue(t.Context(), user{}, name)
			ends = append(ends, startEdit(t, ctx, db, doc(t, fmt.Sprint(i), "", `{}`)))
		}
		release()
		for i, name := range names {
			r, err := ends[i]()
			must(t, err)
			if refused := r.Err != nil; refused != (name == "mallory") {
				t.Errorf("%s: %v", name, r.Err)
			}
		}
	})
}

// TestSharedEditsChecked: a check that decides at once is asked in the transaction that edits
// share. Those that nobody is asked about, and those of which the context tells more, share none:
// another context would be theirs.
func TestSharedEditsChecked(t *testing.T) {
	h, db := openHeld(t)
	type told struct{}
	db.store.hooks.Validator = batchValidator(func(ctx context.Context, edits []ValidatedEdit) ([]error, error) {
		verdicts := make([]error, len(edits))
		for i, e := range edits {
			if alone := ctx.Value(told{}) != nil; alone && len(edits) > 1 {
				t.Errorf("%s is checked together with others", e.Edit.ID)
			}
			if strings.HasPrefix(e.Edit.ID, "bad") {
				verdicts[i] = compat.NewError(compat.KindForbidden, "not that")
			}
		}
		return verdicts, nil
	})
	release := h.hold()
	ends := map[string]func() (EditResult, error){}
	for _, id := range []string{"first", "good", "bad", "good too", "bad too"} {
		ends[id] = startEdit(t, t.Context(), db, doc(t, id, "", `{}`))
	}
	var wait sync.WaitGroup
	for id, o := range map[string]UpdateOptions{"bad but ours": {Trusted: true}, "apart": {Apart: true}} {
		wait.Go(func() {
			ctx := context.WithValue(t.Context(), told{}, true)
			results, err := db.Update(ctx, []*compat.Document{doc(t, id, "", `{}`)}, o)
			if err != nil || results[0].Err != nil {
				t.Errorf("%s: %v %v", id, results, err)
			}
		})
	}
	release()
	for id, end := range ends {
		r, err := end()
		must(t, err)
		if refused := r.Err != nil; refused != strings.HasPrefix(id, "bad") {
			t.Errorf("%s: %v", id, r.Err)
		}
	}
	wait.Wait()
	if n := h.count(); n != 4 { // the first one, the four behind it, and each of the others
		t.Errorf("%d transactions", n)
	}
}

// batchValidator is a check for many that is always in force.
type batchValidator ValidateBatchFunc

func (batchValidator) Prepare(context.Context, *Tx) (ValidateFunc, error) { return nil, nil }

func (f batchValidator) PrepareBatch(context.Context, *Tx) (ValidateBatchFunc, error) {
	return ValidateBatchFunc(f), nil
}

// validatorFunc is a check that is always in force.
type validatorFunc ValidateFunc

func (f validatorFunc) Prepare(context.Context, *Tx) (ValidateFunc, error) {
	return ValidateFunc(f), nil
}

// asksAbout is an indexer that indexes one document only.
type asksAbout struct {
	oracleIndexer
	id string
}

func (a asksAbout) Prepare(ctx context.Context, tx *Tx) (IndexFunc, error) {
	index, err := a.oracleIndexer.Prepare(ctx, tx)
	return func(ctx context.Context, tx *Tx, id string, before, after *docread.Document) error {
		if id != a.id {
			return nil
		}
		return index(ctx, tx, id, before, after)
	}, err
}

// TestSharedEditsFails: an edit whose client has gone leaves the batcher, and takes nobody with it;
// one whose commit has no known outcome has none for all; what fails otherwise is tried for each.
func TestSharedEditsFails(t *testing.T) {
	type end = func() (EditResult, error)
	start := func(t *testing.T, ctx context.Context, h *held, db *DB) (release func(), ends []end) {
		release = h.hold()
		ends = []end{startEdit(t, t.Context(), db, doc(t, "0", "", `{}`))}
		for i := range 4 {
			ends = append(ends, startEdit(t, ctx, db, doc(t, fmt.Sprint(1+i), "", `{}`)))
			ctx = t.Context()
		}
		return release, ends
	}
	t.Run("gone before", func(t *testing.T) {
		h, db := openHeld(t)
		ctx, cancel := context.WithCancel(t.Context())
		release, ends := start(t, ctx, h, db)
		cancel()
		if _, err := ends[1](); !errors.Is(err, context.Canceled) {
			t.Errorf("of the edit whose context has ended: %v", err)
		}
		release()
		for i, end := range ends {
			if _, err := end(); i != 1 && err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if _, err := db.Open(t.Context(), "1", docread.OpenOptions{}); !errors.Is(err, compat.KindNotFound) {
			t.Errorf("the edit whose context has ended was stored: %v", err)
		}
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		h, db := openHeld(t)
		ctx, cancel := context.WithCancel(t.Context())
		db.store.hooks.Indexer = indexerFunc(func(_ context.Context, _ *Tx, id string, _, _ *docread.Document) error {
			if id == "4" {
				cancel() // the transaction of all is under way, the leader's client is gone
			}
			return nil
		})
		release, ends := start(t, ctx, h, db)
		release()
		for i, end := range ends {
			if _, err := end(); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
	for _, c := range []struct {
		name    string
		err     error
		unknown bool
		updates int
	}{
		{"unknown outcome", kv.ErrUnavailable, true, 2},
		{"too old", kv.ErrTooOld, false, 6}, // they are there by then: conflicts
	} {
		t.Run(c.name, func(t *testing.T) {
			h, db := openHeld(t)
			release, ends := start(t, t.Context(), h, db)
			h.fail = second(c.err)
			release()
			for i, end := range ends {
				if _, err := end(); errors.Is(err, c.err) != (c.unknown && i > 0) {
					t.Errorf("%d: %v", i, err)
				}
			}
			if n := h.count(); n != c.updates {
				t.Errorf("%d transactions, %d expected", n, c.updates)
			}
		})
	}
}

// TestSharedEditsWaits: who has waited for a slow commit for a while goes on without it.
func TestSharedEditsWaits(t *testing.T) {
	h, db := openHeld(t)
	setEditBatchers(db.store, 1, time.Millisecond)
	release := h.hold()
	first := startEdit(t, t.Context(), db, doc(t, "slow", "", `{}`))
	h.pass()
	put(t, db, "quick", "", `{}`)
	release()
	_, err := first()
	must(t, err)
}

// TestSharedEditsConflict: a transaction that conflicts runs again with half of its edits; the
// others share the next one.
func TestSharedEditsConflict(t *testing.T) {
	batch, conflicted := false, false
	h, db := openHeldOn(t, faultkv.New(memkv.New(), faultkv.Plan{Commit: func(int, int) faultkv.Outcome {
		if batch && !conflicted {
			conflicted = true
			return faultkv.Conflict
		}
		return faultkv.Commit
	}}))
	db.store.hooks.Indexer = indexerFunc(func(_ context.Context, _ *Tx, id string, _, _ *docread.Document) error {
		batch = batch || id == "0"
		return nil
	})
	release := h.hold()
	ends := []func() (EditResult, error){startEdit(t, t.Context(), db, doc(t, "first", "", `{}`))}
	for i := range 8 {
		ends = append(ends, startEdit(t, t.Context(), db, doc(t, fmt.Sprint(i), "", `{}`)))
	}
	release()
	for i, end := range ends {
		if r, err := end(); err != nil || r.Err != nil {
			t.Errorf("%d: %v %v", i, r.Err, err)
		}
	}
	if n := h.count(); n != 3 {
		t.Errorf("%d transactions for %d edits", n, len(ends))
	}
}
