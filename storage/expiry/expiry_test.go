package expiry

import (
	"errors"
	"slices"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

var (
	must = storagetest.Must
	want = storagetest.Want
)

// show is the state of a document, and its depth.
func show(t *testing.T, db *storage.DB, id string) any {
	t.Helper()
	d, err := db.Open(t.Context(), id, docread.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) {
		return err.Error()
	}
	must(t, err)
	return d.Rev.Pos
}

// TestExpire: a revision that expires is deleted when its time has come, unless another one has
// taken its place.
func TestExpire(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
		must(t, err)
		defer func() {
			must(t, s.Close())
			must(t, engine.Close())
		}()
		must(t, s.Create(t.Context(), "a", storage.CreateOptions{}))
		must(t, s.Create(t.Context(), "b", storage.CreateOptions{}))
		a, b := s.DB("a"), s.DB("b")
		over := func(db *storage.DB, id string, ms int64) {
			must(t, s.Commit(t.Context(), &storage.Commit{Databases: []storage.DatabaseCommit{{
				DB: db, Edits: []storage.Edit{{Doc: storagetest.Doc(t, id, "", `{}`), Over: true}},
				Stored: func(x *storage.Tx, results []storage.EditResult) error {
					if ms > 0 {
						Set(x, id, results[0].Rev, ms)
					}
					return nil
				},
			}}}))
		}
		var deleted []string
		expire := func(now int64) []int64 {
			told := func(_ *storage.Tx, r []storage.EditResult) error {
				for i := range r {
					if !slices.Contains(deleted, r[i].ID) {
						deleted = append(deleted, r[i].ID)
					}
				}
				return nil
			}
			done, next, err := Expire(t.Context(), engine, s, now, 10, told)
			if errors.Is(err, kv.ErrTooOld) { // of the kind of store that fails at random, before anything is done
				done, next, err = Expire(t.Context(), engine, s, now, 10, nil)
			}
			must(t, err)
			return []int64{int64(done), next}
		}
		over(a, "first", 1000)
		over(a, "replaced", 1000)
		over(a, "later", 2000)
		over(b, "other", 1500)
		over(b, "never", 0)
		over(a, "replaced", 0)
		must(t, a.ViewAgain(t.Context(), func(s *storage.Snapshot) error {
			revs := make([]storage.ReadRev, 3)
			for i, id := range []string{"first", "replaced", "none"} {
				revs[i].ID = id
				if d, err := s.Open(id, docread.OpenOptions{}); err == nil {
					revs[i].Rev = d.Rev
				}
			}
			times, err := Of(s, revs)
			want(t, "when they expire", times, "[1000 0 0]")
			return err
		}))
		want(t, "before anything is due", expire(999), "[0 1000]")
		want(t, "what is due", expire(1500), "[3 2000]")
		want(t, "expired", show(t, a, "first"), compat.ErrDeleted.Error())
		want(t, "expired in another database", show(t, b, "other"), compat.ErrDeleted.Error())
		want(t, "replaced", show(t, a, "replaced"), 2)
		over(b, "twice", 2500)
		over(b, "twice", 2400)
		over(b, "put off", 2400)
		over(b, "put off", 2500)
		want(t, "what was to expire at two times", expire(2500), "[5 0]")
		want(t, "brought forward", show(t, b, "twice"), compat.ErrDeleted.Error())
		want(t, "put off", show(t, b, "put off"), compat.ErrDeleted.Error())
		over(a, "later", 4000)
		must(t, s.Delete(t.Context(), "a"))
		must(t, s.Create(t.Context(), "a", storage.CreateOptions{}))
		over(s.DB("a"), "later", 0)
		want(t, "of a database that is gone", expire(5000), "[1 0]")
		want(t, "its successor's document", show(t, s.DB("a"), "later"), 1)
		want(t, "without a time", show(t, b, "never"), 1)
	})
}
