package lastuse_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/lastuse"
	"github.com/settee-db/settee/storage/storagetest"
)

// clock is a time that tests move.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(c.seconds.Load(), 0).UTC() }

func (c *clock) pass(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

// start makes Uses as a program on the store has it, for the time of the test.
func start(t *testing.T, store *storage.Store, c *clock) *lastuse.Uses {
	u := lastuse.New(lastuse.Options{Store: store, Log: slog.New(slog.DiscardHandler), Now: c.now})
	t.Cleanup(u.Close)
	store.SetHooks(storage.Hooks{Indexer: u, IndexUsed: u.Note})
	return u
}

// TestUses: a thousand uses in an hour are one transaction of one write, a restart within the hour
// writes nothing, the next hour does; and what is gone is forgotten.
func TestUses(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	store, err := storage.Open(t.Context(), storage.Options{KV: count, Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	c := new(clock)
	c.seconds.Store(1_800_000_000)
	u := start(t, store, c)
	require.NoError(t, store.Create(t.Context(), "db", storage.CreateOptions{}))
	db := store.DB("db")
	made := c.now()
	put := func(id, rev, body string) storage.EditResult {
		doc := storagetest.Doc(t, id, rev, body)
		results, err := db.Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{})
		require.NoError(t, err)
		return results[0]
	}
	list := func() []lastuse.Design {
		list, err := u.List(t.Context(), db)
		require.NoError(t, err)
		return list
	}
	used := func(want time.Time) {
		t.Helper()
		require.Eventually(t, func() bool {
			l := list()
			return len(l) == 1 && len(l[0].Indexes) == 2 && l[0].Indexes[1].Used.Equal(want)
		}, time.Minute, time.Millisecond)
	}
	rev := put("_design/a", "", `{"views":{}}`).Rev
	put("plain", "", `{}`)
	require.Equal(t, []lastuse.Design{{ID: "_design/a", Changed: made}}, list())

	c.pass(time.Minute)
	storage.IndexUsed(db, "_design/a", "search", "v")
	storage.IndexUsed(db, "_design/a", "view", "v")
	used(c.now())
	require.Equal(t, lastuse.Index{Kind: "search", Name: "v", Used: c.now()}, list()[0].Indexes[0])

	first := c.now()
	count.Reset()
	for range 1000 {
		c.pass(time.Second)
		storage.IndexUsed(db, "_design/a", "view", "v")
	}
	require.Zero(t, count.Counts().Gets+count.Counts().Commits, "uses within the hour cost nothing")

	u = start(t, store, c) // as after a restart
	storage.IndexUsed(db, "_design/a", "view", "v")
	storage.IndexUsed(db, "_design/a", "view", "w") // written after the one before
	require.Eventually(t, func() bool { return len(list()[0].Indexes) == 3 }, time.Minute, time.Millisecond)
	require.Equal(t, first, list()[0].Indexes[1].Used, "one that is not an hour old stays")
	require.Equal(t, int64(1), count.Counts().Sets)
	c.pass(time.Hour)
	storage.IndexUsed(db, "_design/a", "view", "v")
	require.Eventually(t, func() bool {
		return list()[0].Indexes[1].Used.Equal(c.now())
	}, time.Minute, time.Millisecond)

	// A change is noted, a deletion takes all, and uses that come late bring nothing back.
	c.pass(time.Hour)
	rev = put("_design/a", rev.String(), `{"views":{},"n":1}`).Rev
	require.Equal(t, c.now(), list()[0].Changed)
	require.Len(t, list()[0].Indexes, 3)
	gone := storagetest.Doc(t, "_design/a", rev.String(), `{}`)
	gone.Deleted = true
	_, err = db.Update(t.Context(), []*compat.Document{gone}, storage.UpdateOptions{})
	require.NoError(t, err)
	require.Empty(t, list())
	put("_design/b", "", `{}`)
	storage.IndexUsed(store.DB("none"), "_design/a", "view", "v")
	storage.IndexUsed(db, "_design/a", "view", "late")
	storage.IndexUsed(db, "_design/b", "view", "v")
	require.Eventually(t, func() bool {
		return len(list()) == 1 && len(list()[0].Indexes) == 1
	}, time.Minute, time.Millisecond)
	_, err = db.Purge(t.Context(), []storage.IDRevs{{ID: "_design/b", Revs: []compat.Rev{winner(t, db, "_design/b")}}})
	require.NoError(t, err)
	require.Empty(t, list())
}

func winner(t *testing.T, db *storage.DB, id string) (rev compat.Rev) {
	require.NoError(t, db.View(t.Context(), func(s *storage.Snapshot) (err error) {
		rev, err = s.WinnerRev(id)
		return err
	}))
	return rev
}

// TestDamagedUses: what no program writes is an error, no panic.
func TestDamagedUses(t *testing.T) {
	store, err := storage.Open(t.Context(), storage.Options{KV: memkv.New(), Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	u := start(t, store, new(clock))
	require.NoError(t, store.Create(t.Context(), "db", storage.CreateOptions{}))
	for _, suffix := range []string{"x", "\x02a\x00", "\x02a\x00\x02v\x00", "\x02a\x00\x02v\x00x"} {
		require.NoError(t, store.DB("db").Transact(t.Context(), func(tx *storage.Tx) error {
			prefix := tx.AppendPrefix(nil, keyspace.TagUses)
			tx.KV().ClearRange(keyspace.Children(prefix))
			tx.KV().Set(append(prefix, suffix...), []byte{0x80})
			return nil
		}))
		_, err := u.List(t.Context(), store.DB("db"))
		require.Error(t, err, suffix)
	}
}
