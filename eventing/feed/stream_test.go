package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// base is a store in memory with databases.
type base struct {
	t     *testing.T
	store *storage.Store
}

func newBase(t *testing.T, databases ...string) *base {
	store, err := storage.Open(t.Context(), storage.Options{KV: memkv.New()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for _, name := range databases {
		require.NoError(t, store.Create(t.Context(), name, storage.CreateOptions{Q: 1, N: 1}))
	}
	return &base{t, store}
}

// put writes a document over whatever is there.
func (n *base) put(database, id, body string) {
	n.t.Helper()
	require.NoError(n.t, n.store.Commit(n.t.Context(), &storage.Commit{Databases: []storage.DatabaseCommit{{
		DB: n.store.DB(database), Edits: []storage.Edit{{Doc: storagetest.Doc(n.t, id, "", body), Over: true}},
	}}}))
}

// newConsumer is a function's place in the stream of a database, of all partitions.
func (n *base) newConsumer(streams *Streams, database string) *Consumer {
	n.t.Helper()
	db := n.store.DB(database)
	key := Key{Partitions: 1<<Partitions - 1}
	require.NoError(n.t, db.View(n.t.Context(), func(s *storage.Snapshot) error {
		key.Source = s.UUID()
		return nil
	}))
	return streams.Join(db, key, storage.Seq{})
}

// TestSegments: who is behind gets what another one has read, cut down to what it may have, but
// nothing that was read before it joined; what nobody wants any more is not kept, nor what is too
// much.
func TestSegments(t *testing.T) {
	n := newBase(t, "src", "other")
	for i := range 10 {
		n.put("src", fmt.Sprint(i), `{"text":"`+strings.Repeat("x", 1000)+`"}`)
	}
	streams, ctx := New(1<<20), t.Context()
	first, second := n.newConsumer(streams, "src"), n.newConsumer(streams, "src")
	all, err := first.Next(ctx, storage.Seq{}, SegmentBytes)
	require.NoError(t, err)
	require.Len(t, all.Rows, 10)
	require.True(t, all.Last)
	late := n.newConsumer(streams, "src")
	some, err := second.Next(ctx, storage.Seq{}, 3500)
	require.NoError(t, err)
	require.Len(t, some.Rows, 3)
	require.False(t, some.Last)
	require.EqualValues(t, 7, some.pending)
	require.EqualValues(t, 10, streams.reads)
	rest, err := second.Next(ctx, some.End, SegmentBytes)
	require.NoError(t, err)
	require.Len(t, rest.Rows, 7)
	require.Equal(t, all.End, rest.End)
	require.True(t, rest.Last)
	require.EqualValues(t, 10, streams.reads)
	require.Empty(t, streams.kept)

	n.put("src", "0", `{}`) // who joins reads what is there then
	fresh, err := late.Next(ctx, storage.Seq{}, SegmentBytes)
	require.NoError(t, err)
	require.Equal(t, "0", fresh.Rows[9].ID)
	require.EqualValues(t, 20, streams.reads)

	// What was read before the others were told of news does not end theirs.
	first.News()
	early, err := first.Next(ctx, all.End, SegmentBytes)
	require.NoError(t, err)
	require.Len(t, early.Rows, 1)
	n.put("src", "1", `{}`)
	second.News()
	old, err := second.Next(ctx, all.End, SegmentBytes)
	require.NoError(t, err)
	require.Equal(t, early.Rows, old.Rows)
	require.False(t, old.Last)
	news, err := second.Next(ctx, old.End, SegmentBytes)
	require.NoError(t, err)
	require.Equal(t, "1", news.Rows[0].ID)
	require.True(t, news.Last)

	late.Leave()
	require.Len(t, streams.kept, 1) // for the first one
	streams.most = 0
	_, err = second.Next(ctx, news.End, SegmentBytes)
	require.NoError(t, err)
	require.Empty(t, streams.kept)
	require.Zero(t, streams.bytes)
	again, err := first.Next(ctx, early.End, SegmentBytes)
	require.NoError(t, err)
	require.Equal(t, "1", again.Rows[0].ID)
	first.Leave()
	second.Leave()
	require.Empty(t, streams.open)

	gone := n.newConsumer(streams, "src")
	gone.db = n.store.DB("other") // as if it had been deleted and made again
	_, err = gone.Next(ctx, storage.Seq{}, SegmentBytes)
	require.ErrorIs(t, err, ErrSourceGone)
}

// TestStreamsTellAll: functions of different speeds see each document as it is in the end, and what
// they see before is in the order of the stream, while documents change and however little is kept.
func TestStreamsTellAll(t *testing.T) {
	for _, most := range []int{0, 2000, 1 << 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			n := newBase(t, "src")
			streams := New(most)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var done sync.WaitGroup
			seen := make([]map[string]string, 5)
			for i := range seen {
				seen[i] = make(map[string]string)
				done.Go(func() { n.follow(ctx, streams, seen[i]) })
			}
			for i := range 400 {
				n.put("src", fmt.Sprint("doc-", rand.N(40)), fmt.Sprintf(`{"n":%d}`, i))
			}
			n.put("src", "end", `{"n":400}`)
			done.Wait()
			want := make(map[string]string)
			_, err := n.store.DB("src").Feed().Changes(ctx, storage.ChangesOptions{Limit: -1, IncludeDocs: true},
				func(ch *storage.Change) error {
					want[ch.ID] = string(ch.Doc.Body)
					return nil
				})
			require.NoError(t, err)
			for i := range seen {
				require.Equal(t, want, seen[i])
			}
			require.Empty(t, streams.open)
			require.Empty(t, streams.kept)
		})
	}
}

// follow notes what a function sees of documents, until it has seen the document end.
func (n *base) follow(ctx context.Context, streams *Streams, seen map[string]string) {
	listener, err := n.store.DB("src").Feed().Listen(ctx)
	if err != nil {
		n.t.Error(err)
		return
	}
	defer listener.Close()
	consumer := n.newConsumer(streams, "src")
	defer consumer.Leave()
	var since storage.Seq
	for seen["end"] == "" {
		p, err := consumer.Next(ctx, since, rand.N(3000))
		if err != nil {
			n.t.Error(err)
			return
		}
		for i := range p.Rows {
			if !since.Before(p.Rows[i].Seq.Seq) {
				n.t.Errorf("%s comes out of its turn", p.Rows[i].ID)
			}
			since = p.Rows[i].Seq.Seq
			seen[p.Rows[i].ID] = string(p.Rows[i].Doc.Body)
		}
		if p.End != (storage.Seq{}) {
			since = p.End
		}
		if p.Last && seen["end"] == "" {
			if err := listener.Wait(ctx); err != nil {
				n.t.Error(err)
				return
			}
			consumer.News()
		}
	}
}
