package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

// twoDatabases runs a test on two databases of one store, on every kind of store.
func twoDatabases(t *testing.T, test func(t *testing.T, s *Store, a, b *DB)) {
	onStores(t, func(t *testing.T, s *Store) {
		must(t, s.Create(t.Context(), "a", CreateOptions{}))
		must(t, s.Create(t.Context(), "b", CreateOptions{}))
		test(t, s, s.DB("a"), s.DB("b"))
	})
}

// winner is the revision of a document as ReadRev has it.
func winner(t *testing.T, db *DB, id string) compat.Rev {
	t.Helper()
	d, err := db.Open(t.Context(), id, docread.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) {
		return compat.Rev{}
	}
	must(t, err)
	return d.Rev
}

// stands tells what stood against a commit: databases and ids.
func stands(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "nothing"
	}
	var found *CommitError
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	text := ""
	for _, d := range slices.Concat(found.Read, found.Stale) {
		text += fmt.Sprint("stale ", d.Database, d.ID, " ")
	}
	for _, d := range found.Refused {
		text += fmt.Sprint("refused ", d.Database, d.ID, ": ", d.Err.Reason, " ")
	}
	return text
}

func TestCommitIsOneForAll(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, b *DB) {
		put(t, b, "old", "", `{"v":1}`)
		read := winner(t, b, "old")
		key := append(keyspace.EventingPrefix(), 1)
		commit := func(reads ...ReadRev) error {
			return s.Commit(t.Context(), &Commit{
				With: func(tx kv.Tx) error { tx.Set(key, []byte("kept")); return nil },
				Databases: []DatabaseCommit{
					{DB: a, Edits: []Edit{{Doc: doc(t, "new", "", `{"v":2}`)}}},
					{DB: b, Reads: reads, Edits: []Edit{{Doc: doc(t, "old", read.String(), `{"v":3}`)}}},
				},
			})
		}
		kept := func() (value []byte) {
			must(t, s.kv.View(t.Context(), func(tx kv.ReadTx) error {
				found, err := tx.Get(key)
				value = bytes.Clone(found)
				return err
			}))
			return value
		}
		want(t, "read something that is there", stands(t, commit(ReadRev{ID: "old"})), "stale 1old ")
		want(t, "read something that is not", stands(t, commit(ReadRev{"gone", read})), "stale 1gone ")
		want(t, "nothing was written", show(t, a, "new"), "missing")
		want(t, "nor kept", kept() == nil, true)
		want(t, "all that was read is current", stands(t, commit(ReadRev{"old", read}, ReadRev{ID: "gone"})), "nothing")
		want(t, "first database", show(t, a, "new")[:2], "1-")
		want(t, "second database", winner(t, b, "old").Pos, 2)
		want(t, "beside them", string(kept()), "kept")
		want(t, "once more", stands(t, commit()), "stale 0new stale 1old ")
	})
}

func TestCommitOver(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, _ *DB) {
		over := func(d *compat.Document) error {
			edits := []Edit{{Doc: d, Over: true}}
			return s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{{DB: a, Edits: edits}}})
		}
		must(t, over(deleted(t, "d", "")))
		want(t, "a deletion of nothing", show(t, a, "d"), "missing")
		must(t, over(doc(t, "d", "", `{"v":1}`)))
		must(t, over(doc(t, "d", "7-abc", `{"v":2}`)))
		want(t, "over what is there", show(t, a, "d")[:2], "2-")
		must(t, over(deleted(t, "d", "")))
		want(t, "deleted", show(t, a, "d"), "deleted")
		must(t, over(deleted(t, "d", "")))
		must(t, over(doc(t, "d", "", `{"v":3}`)))
		want(t, "made again", show(t, a, "d")[:2], "4-")
		replicate(t, a, "d", "9-b,a", "9-c,a")
		must(t, over(doc(t, "d", "", `{"v":4}`)))
		d := open(t, a, "d", docread.OpenOptions{Conflicts: true})
		want(t, "the winner is replaced, the conflict stays", fmt.Sprint(d.Rev.Pos, len(d.Conflicts)), "10 2")
	})
}

// TestCommitKeepsAttachments: a new revision has the attachments of the one it replaces.
func TestCommitKeepsAttachments(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, _ *DB) {
		with := doc(t, "d", "", `{"v":1}`)
		with.Attachments = manyAttachments(2)
		rev := update(t, a, UpdateOptions{}, with)[0]
		for _, e := range []Edit{{Doc: doc(t, "d", rev, `{"v":2}`)}, {Doc: doc(t, "d", "", `{"v":3}`), Over: true}} {
			must(t, s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{{DB: a, Edits: []Edit{e}}}}))
			want(t, "attachments", len(open(t, a, "d", docread.OpenOptions{}).Attachments), 2)
		}
	})
}

// TestCommitStored: what is told of the edits when they are stored, and what is written for them.
func TestCommitStored(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, _ *DB) {
		put(t, a, "x", "", `{}`)
		var told []string
		commit := func(edits ...Edit) error {
			return s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{{DB: a, Edits: edits, Stored: func(
				x *Tx, results []EditResult,
			) error {
				told = nil
				for _, r := range results {
					told = append(told, fmt.Sprint(x.Name(), " ", r.ID, " ", r.Rev.Pos))
				}
				return nil
			}}}})
		}
		must(t, commit(Edit{Doc: doc(t, "y", "", `{}`)}, Edit{Doc: doc(t, "x", "", `{}`), Over: true},
			Edit{Doc: deleted(t, "z", ""), Over: true}))
		want(t, "told", told, "[a y 1 a x 2 a z 0]")
		told = nil
		want(t, "refused", stands(t, commit(Edit{Doc: doc(t, "y", "", `{}`)})), "stale 0y ")
		want(t, "told of none", told, "[]")
	})
}

// TestCommitAsks: hooks are asked as in an update; what they refuse stands against the whole
// commit.
func TestCommitAsks(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		o, db := newOracle(t, engine)
		s := db.store
		must(t, s.Create(t.Context(), "other", CreateOptions{}))
		commit := func(body string) error {
			return s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{
				{DB: db, Edits: []Edit{{Doc: doc(t, "d", "", body), Over: true}}},
				{DB: s.DB("other"), Edits: []Edit{{Doc: doc(t, "e", "", `{}`), Over: true}}},
				{DB: s.DB("nowhere")},
			}[:2]})
		}
		want(t, "refused", stands(t, commit(`{"v":"no"}`)), "refused 0d: no ")
		want(t, "the other one is not written", show(t, s.DB("other"), "e"), "missing")
		want(t, "accepted", stands(t, commit(`{"v":"yes"}`)), "nothing")
		want(t, "written", show(t, s.DB("other"), "e")[:2], "1-")
		want(t, "indexed", o.row(db, "d") != "", true)
		err := s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{{DB: s.DB("nowhere")}}})
		want(t, "no database", stands(t, err), "refused 0: Database does not exist. ")
	})
}

// TestCommitCounts: commits of several writers that read a counter and write it one higher lose
// none, and count the same in the other database.
func TestCommitCounts(t *testing.T) {
	twoDatabases(t, func(t *testing.T, s *Store, a, b *DB) {
		const writers, each = 4, 10
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for n := 0; n < each; {
					var count int
					rev := compat.Rev{}
					d, err := a.Open(context.Background(), "count", docread.OpenOptions{})
					if err == nil {
						rev = d.Rev
						_, err = fmt.Sscanf(string(d.Body), `{"n":%d}`, &count)
					}
					if err != nil && !errors.Is(err, compat.KindNotFound) {
						t.Error(err)
						return
					}
					edit := Edit{Doc: doc(t, "count", "", fmt.Sprintf(`{"n":%d}`, count+1)), Over: true}
					own := Edit{Doc: doc(t, fmt.Sprint(w, "-", n), "", `{}`)}
					err = s.Commit(context.Background(), &Commit{Databases: []DatabaseCommit{
						{DB: a, Reads: []ReadRev{{"count", rev}}, Edits: []Edit{edit}},
						{DB: b, Edits: []Edit{own}},
					}})
					var found *CommitError
					switch {
					case err == nil:
						n++
					case !errors.As(err, &found):
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		counted := string(open(t, a, "count", docread.OpenOptions{}).Body)
		want(t, "counted", counted, fmt.Sprintf(`{"n":%d}`, writers*each))
		info, err := b.Info(t.Context())
		must(t, err)
		want(t, "documents", info.DocCount, writers*each)
	})
}
