package storage

import (
	"testing"
)

// TestExpiry: a revision that expires is deleted when its time has come, unless another one has taken its place.
func TestExpiry(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, b *DB) {
		over := func(db *DB, id string, ms int64) {
			must(t, s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{
				{DB: db, Edits: []Edit{{Doc: doc(t, id, "", `{}`), Over: true, Expires: ms}}},
			}}))
		}
		expire := func(now int64) (done int, next int64) {
			done, next, err := s.Expire(t.Context(), now, 10, []byte("x"))
			must(t, err)
			return done, next
		}
		over(a, "first", 1000)
		over(a, "replaced", 1000)
		over(a, "later", 2000)
		over(b, "other", 1500)
		over(b, "never", 0)
		put(t, a, "replaced", winner(t, a, "replaced").String(), `{"v":1}`)
		must(t, a.ViewAgain(t.Context(), func(s *Snapshot) error {
			times, err := s.Expiries([]ReadRev{
				{"first", winner(t, a, "first")},
				{"replaced", winner(t, a, "replaced")},
				{"none", winner(t, a, "none")},
			})
			want(t, "when they expire", times, "[1000 0 0]")
			return err
		}))
		done, next := expire(999)
		want(t, "before anything is due", []int64{int64(done), next}, "[0 1000]")
		done, next = expire(1500)
		want(t, "what is due", []int64{int64(done), next}, "[3 2000]")
		want(t, "expired", show(t, a, "first"), "deleted")
		want(t, "expired in another database", show(t, b, "other"), "deleted")
		want(t, "replaced", show(t, a, "replaced")[:2], "2-")
		must(t, a.ViewAgain(t.Context(), func(s *Snapshot) error {
			d, err := s.Open("first", OpenOptions{Deleted: true})
			must(t, err)
			origins, err := s.Origins([]ReadRev{{"first", d.Rev}})
			want(t, "origin of the deletion", string(origins[0]), "x")
			return err
		}))
		must(t, s.Delete(t.Context(), "a"))
		must(t, s.Create(t.Context(), "a", CreateOptions{}))
		put(t, s.DB("a"), "later", "", `{}`)
		done, next = expire(5000)
		want(t, "of a database that is gone", []int64{int64(done), next}, "[1 0]")
		want(t, "its successor's document", show(t, s.DB("a"), "later")[:2], "1-")
		want(t, "without a time", show(t, b, "never")[:2], "1-")
	})
}
