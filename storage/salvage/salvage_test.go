package salvage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/verify"
)

// revisions is how many revisions each document of keptStore has.
const revisions = 5

// keptStore is a store with the database "a" of three documents that expire, whose replaced
// revisions are kept for a time.
func keptStore(t *testing.T) kv.Store {
	t.Helper()
	engine := memkv.New()
	s := open(t, engine)
	s.SetHooks(storage.Hooks{History: func(string) storage.History { return storage.History{Seconds: 1000} }})
	require.NoError(t, s.Create(t.Context(), "a", storage.CreateOptions{Q: 2, N: 1}))
	for n := range revisions {
		for id := range 3 {
			doc := &compat.Document{ID: fmt.Sprint(id), HasID: true, Revs: compat.RevPath{Start: int64(n) + 1}}
			for depth := n; depth >= 0; depth-- {
				doc.Revs.IDs = append(doc.Revs.IDs, fmt.Sprintf("%032d", depth))
			}
			var err error
			doc.Body, err = compat.NewBody(fmt.Appendf(nil, `{"n":%d}`, n))
			require.NoError(t, err)
			results, err := s.DB("a").Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{
				Replicated: true,
				Stored: func(x *storage.Tx, results []storage.EditResult) error {
					expiry.Set(x, doc.ID, results[0].Rev, int64(1000+n))
					expiry.Set(x, doc.ID, results[0].Rev, int64(2000+n)) // it was put off
					return nil
				},
			})
			require.NoError(t, err)
			require.Nil(t, results[0].Err)
		}
	}
	return engine
}

func open(t *testing.T, engine kv.Store) *storage.Store {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// salvaged salvages a store of which keys were removed.
func salvaged(t *testing.T, from kv.Store, remove func(kv.Tx, keyspace.Space)) (to *storage.Store, losses []string) {
	t.Helper()
	rec, err := open(t, from).DB("a").Settings().Record(t.Context())
	require.NoError(t, err)
	_, err = from.Update(t.Context(), func(tx kv.Tx) error {
		remove(tx, keyspace.NewSpace(rec.Prefix))
		return nil
	})
	require.NoError(t, err)
	engine := memkv.New()
	to = open(t, engine)
	require.NoError(t, Run(t.Context(), Options{
		From: from, To: to, Lost: func(l Loss) { losses = append(losses, l.String()) }, Done: func(Result) {},
	}))
	violations, err := verify.Check(t.Context(), engine, nil)
	require.NoError(t, err)
	require.Empty(t, violations)
	found, err := expiry.Check(t.Context(), engine, to)
	require.NoError(t, err)
	require.Empty(t, found)
	return to, losses
}

// expires gives when a document expires.
func expires(t *testing.T, s *storage.Store, id string) (ms int64) {
	t.Helper()
	require.NoError(t, s.DB("a").View(t.Context(), func(s *storage.Snapshot) error {
		rev, err := s.WinnerRev(id)
		if err != nil {
			return err
		}
		times, err := expiry.Of(s, []storage.ReadRev{{ID: id, Rev: rev}})
		ms = times[0]
		return err
	}))
	return ms
}

// TestExpiry: a document expires when it did, by what its database says of it or else by the list of
// all databases; one whose current revision is lost does not.
func TestExpiry(t *testing.T) {
	s, losses := salvaged(t, keptStore(t), func(tx kv.Tx, keys keyspace.Space) {
		own := keys.Sub(nil, keyspace.TagExpiry)
		tx.Clear(storage.BesideKey(own, "1"))
		rev := compat.Rev{Pos: revisions, Hash: fmt.Sprintf("%032d", revisions-1)}
		tx.Clear(keys.Leaf(nil, keyspace.TagRevs, "2", false, rev))
	})
	require.Equal(t, int64(2000+revisions-1), expires(t, s, "0"))
	require.Equal(t, int64(2000+revisions-1), expires(t, s, "1"))
	require.Zero(t, expires(t, s, "2"))
	require.Contains(t, fmt.Sprint(losses), `document "2"`)
	require.NotContains(t, fmt.Sprint(losses), `document "1"`)
}

// TestReplaced: what is kept of replaced revisions comes back, and what does not is told.
func TestReplaced(t *testing.T) {
	old := func(n int) compat.Rev { return compat.Rev{Pos: int64(n) + 1, Hash: fmt.Sprintf("%032d", n)} }
	s, losses := salvaged(t, keptStore(t), func(tx kv.Tx, keys keyspace.Space) {
		tx.Set(keys.History(nil, "0", old(2)), []byte("?"))
		tx.Clear(keys.Leaf(nil, keyspace.TagRevs, "1", false, old(revisions-1)))
	})
	for id, want := range map[string]int{"0": revisions - 2, "1": 0, "2": revisions - 1} {
		n := 0
		for i := range revisions - 1 {
			doc, err := s.DB("a").Open(t.Context(), id, docread.OpenOptions{Rev: old(i)})
			if err == nil {
				require.Equal(t, fmt.Sprintf(`{"n":%d}`, i), string(doc.Body))
				n++
			}
		}
		if id == "1" { // the newest is the current one now, and there is nothing that leads to the others
			want = 1
		}
		require.Equal(t, want, n, "%s: %v", id, losses)
	}
	require.Len(t, losses, 1+3+2, losses)
}

// TestUsersLocals: users of a database with access for each document get their local documents back,
// each its own, but for checkpoints, and groups have the members that they had.
func TestUsersLocals(t *testing.T) {
	engine := memkv.New()
	s := open(t, engine)
	require.NoError(t, s.Create(t.Context(), "a", storage.CreateOptions{Access: true}))
	large := `{"n":"` + strings.Repeat("x", 300_000) + `"}`
	for user, body := range map[string]string{"ann": large, "bob": `{"n":2}`} {
		for id, text := range map[string]string{
			"_local/l": body, "_local/checkpoint": `{"session_id":"x","history":[]}`,
		} {
			doc := &compat.Document{ID: id, HasID: true}
			var err error
			doc.Body, err = compat.NewBody([]byte(text))
			require.NoError(t, err)
			as := s.DB("a").As(access.Of(user, nil))
			results, err := as.Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{})
			require.NoError(t, err)
			require.Nil(t, results[0].Err)
		}
	}
	team := &groups.Group{Name: "team", Revision: 7, Members: []string{"g:other", "u:ann"}}
	restore := func(tx kv.Tx, g groups.Groups) error { return g.Restore(tx, team) }
	require.NoError(t, s.DB("a").Settings().ChangeGroups(t.Context(), restore))
	to, losses := salvaged(t, engine, func(kv.Tx, keyspace.Space) {})
	require.Empty(t, losses)
	require.NoError(t, to.DB("a").ViewAgain(t.Context(), func(s *storage.Snapshot) error {
		got, err := s.Groups().Get(s.KV(), "team")
		require.NoError(t, err)
		require.Equal(t, team.Members, got.Members)
		require.Equal(t, team.Rev(), got.Rev())
		return nil
	}))
	for user, want := range map[string]string{"ann": large, "bob": `{"n":2}`} {
		as := to.DB("a").As(access.Of(user, nil))
		doc, err := as.Open(t.Context(), "_local/l", docread.OpenOptions{})
		require.NoError(t, err)
		require.JSONEq(t, want, string(doc.Body))
		_, err = as.Open(t.Context(), "_local/checkpoint", docread.OpenOptions{})
		require.ErrorIs(t, err, compat.KindNotFound)
	}
}
