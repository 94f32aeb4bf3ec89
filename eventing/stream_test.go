package eventing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage"
)

// readRows is how many rows functions of the node have read of streams.
func (n *node) readRows() int64 {
	n.engine.streams.mu.Lock()
	defer n.engine.streams.mu.Unlock()
	return n.engine.streams.reads
}

// TestFunctionsReadTogether: however many functions see a database, each of its changes is read
// once.
func TestFunctionsReadTogether(t *testing.T) {
	n := newAlone(t, "src", "dst")
	const functions, docs = 8, 1500
	for i := range functions {
		name := fmt.Sprint("f", i)
		n.define(name, `function OnUpdate(doc, meta) { dst["`+name+`:" + meta.id] = doc; }`, "", "+dst=dst")
		n.deploy(name)
	}
	n.put("src", "first", `{}`) // until there is something to do functions rest
	n.eventually(func() bool { return n.count("dst") == functions }, "a function does not read")
	before := n.readRows()
	for i := range docs {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, i))
	}
	n.eventually(func() bool { return n.count("dst") == functions*(docs+1) }, "not all were copied")
	require.EqualValues(t, docs, n.readRows()-before)
	n.eventually(func() bool {
		n.engine.streams.mu.Lock()
		defer n.engine.streams.mu.Unlock()
		return len(n.engine.streams.kept) == 0 && n.engine.streams.bytes == 0
	}, "what all have read is kept")
}

// newConsumer is a function's place in the stream of a database, of all partitions.
func (n *node) newConsumer(streams *streams, database string) *consumer {
	n.t.Helper()
	db := n.store.DB(database)
	key := streamKey{partitions: 1<<partitions - 1}
	require.NoError(n.t, db.View(n.t.Context(), func(s *storage.Snapshot) error {
		key.source = s.UUID()
		return nil
	}))
	return streams.join(db, key, storage.Seq{})
}

// TestSegments: who is behind gets what another one has read, cut down to what it may have, but
// nothing that was read before it joined; what nobody wants any more is not kept, nor what is too
// much.
func TestSegments(t *testing.T) {
	n := newAlone(t, "src", "other")
	for i := range 10 {
		n.put("src", fmt.Sprint(i), `{"text":"`+strings.Repeat("x", 1000)+`"}`)
	}
	streams, ctx := newStreams(1<<20), t.Context()
	first, second := n.newConsumer(streams, "src"), n.newConsumer(streams, "src")
	all, err := first.next(ctx, storage.Seq{}, chunkBytes)
	require.NoError(t, err)
	require.Len(t, all.rows, 10)
	require.True(t, all.last)
	late := n.newConsumer(streams, "src")
	some, err := second.next(ctx, storage.Seq{}, 3500)
	require.NoError(t, err)
	require.Len(t, some.rows, 3)
	require.False(t, some.last)
	require.EqualValues(t, 7, some.pending)
	require.EqualValues(t, 10, streams.reads)
	rest, err := second.next(ctx, some.end, chunkBytes)
	require.NoError(t, err)
	require.Len(t, rest.rows, 7)
	require.Equal(t, all.end, rest.end)
	require.True(t, rest.last)
	require.EqualValues(t, 10, streams.reads)
	require.Empty(t, streams.kept)

	n.put("src", "0", `{}`) // who joins reads what is there then
	fresh, err := late.next(ctx, storage.Seq{}, chunkBytes)
	require.NoError(t, err)
	require.Equal(t, "0", fresh.rows[9].ID)
	require.EqualValues(t, 20, streams.reads)

	// What was read before the others were told of news does not end theirs.
	first.news()
	early, err := first.next(ctx, all.end, chunkBytes)
	require.NoError(t, err)
	require.Len(t, early.rows, 1)
	n.put("src", "1", `{}`)
	second.news()
	old, err := second.next(ctx, all.end, chunkBytes)
	require.NoError(t, err)
	require.Equal(t, early.rows, old.rows)
	require.False(t, old.last)
	news, err := second.next(ctx, old.end, chunkBytes)
	require.NoError(t, err)
	require.Equal(t, "1", news.rows[0].ID)
	require.True(t, news.last)

	late.leave()
	require.Len(t, streams.kept, 1) // for the first one
	streams.most = 0
	_, err = second.next(ctx, news.end, chunkBytes)
	require.NoError(t, err)
	require.Empty(t, streams.kept)
	require.Zero(t, streams.bytes)
	again, err := first.next(ctx, early.end, chunkBytes)
	require.NoError(t, err)
	require.Equal(t, "1", again.rows[0].ID)
	first.leave()
	second.leave()
	require.Empty(t, streams.open)

	gone := n.newConsumer(streams, "src")
	gone.db = n.store.DB("other") // as if it had been deleted and made again
	_, err = gone.next(ctx, storage.Seq{}, chunkBytes)
	require.ErrorIs(t, err, errSourceGone)
}

// TestStreamsTellAll: functions of different speeds see each document as it is in the end, and what
// they see before is in the order of the stream, while documents change and however little is kept.
func TestStreamsTellAll(t *testing.T) {
	for _, most := range []int{0, 2000, 1 << 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			n := newAlone(t, "src")
			streams := newStreams(most)
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
func (n *node) follow(ctx context.Context, streams *streams, seen map[string]string) {
	listener, err := n.store.DB("src").Feed().Listen(ctx)
	if err != nil {
		n.t.Error(err)
		return
	}
	defer listener.Close()
	consumer := n.newConsumer(streams, "src")
	defer consumer.leave()
	var since storage.Seq
	for seen["end"] == "" {
		p, err := consumer.next(ctx, since, rand.N(3000))
		if err != nil {
			n.t.Error(err)
			return
		}
		for i := range p.rows {
			if !since.Before(p.rows[i].Seq.Seq) {
				n.t.Errorf("%s comes out of its turn", p.rows[i].ID)
			}
			since = p.rows[i].Seq.Seq
			seen[p.rows[i].ID] = string(p.rows[i].Doc.Body)
		}
		if p.end != (storage.Seq{}) {
			since = p.end
		}
		if p.last && seen["end"] == "" {
			if err := listener.Wait(ctx); err != nil {
				n.t.Error(err)
				return
			}
			consumer.news()
		}
	}
}
