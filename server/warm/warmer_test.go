package warm_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/server/warm"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// warmed is a server with a Warmer.
type warmed struct {
	*servertest.Server
	*warm.Warmer
	store *storage.Store
	views *views.Views
	queue *jobs.Queue
	texts *search.Indexes

	noRoom atomic.Bool // of Options.NoRoom
}

// oneWord is JavaScript whose index functions give each document one word.
type oneWord struct{}

func (oneWord) CheckMap(context.Context, string, string) error { return nil }

func (oneWord) Map(_ context.Context, _ *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	results := make([]js.DocResult, len(docs))
	for i := range results {
		results[i] = js.DocResult{{Rows: []js.Emitted{{Key: []byte(`["default","x"]`), Value: []byte("{}")}}}}
	}
	return results, nil
}

// newWarmed starts a server on an engine, and a Warmer with a queue on another or the same one.
func newWarmed(t *testing.T, engine, queueKV kv.Store) *warmed {
	t.Helper()
	store := servertest.OpenStore(t, engine)
	v := servertest.OpenViews(t, store, engine)
	s := servertest.Start(t, server.Options{Store: store, Views: v})
	queue, err := jobs.Open(
		t.Context(),
		jobs.Options{KV: queueKV, Prefix: keyspace.JobsPrefix(), Exclusive: true, Log: slog.New(slog.DiscardHandler)},
	)
	require.NoError(t, err)
	texts := search.New(search.Options{Store: store, KV: engine, JS: oneWord{}})
	t.Cleanup(texts.Close)
	w := &warmed{Server: s, store: store, views: v, queue: queue, texts: texts}
	w.Warmer = warm.New(
		warm.Options{
			NoRoom: w.noRoom.Load,
			Store:  store,
			Views:  v,
			Search: texts,
			Jobs:   queue,
			Config: s.Config,
			Log:    slog.New(slog.DiscardHandler),
			Pause:  time.Millisecond,
		},
	)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		w.Close()
	})
	return w
}

func TestWarmerFollowsWrites(t *testing.T) {
	s := newWarmed(t, memkv.New(), memkv.New())
	s.PutViews("")
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("PUT", "/db/_design/cold", `{"language":"member","autoupdate":false,"views":{"m":{"map":"x"}}}`).Code,
	)
	pending := func(ddoc string) int64 {
		info, err := s.views.Info(t.Context(), s.store.DB("db"), "_design/"+ddoc)
		require.NoError(t, err)
		return info.UpdatesPending
	}
	require.NotZero(t, pending("d"))
	s.Changed("db")
	s.Changed("none")
	require.Eventually(t, func() bool { return pending("d") == 0 }, time.Minute, 5*time.Millisecond)
	require.NotZero(t, pending("cold"))
}

// TestWarmerWithoutRoom: while there is no room, neither a write nor a design document has indexes
// built, nor does a job that was queued before.
func TestWarmerWithoutRoom(t *testing.T) {
	engine := memkv.New()
	s := newWarmed(t, engine, engine)
	s.noRoom.Store(true)
	s.PutViews("")
	s.Changed("db")
	ticket, err := s.queue.Add(t.Context(), jobs.Spec{Type: warm.IndexJob, ID: "db"})
	require.NoError(t, err)
	_, err = s.queue.Wait(t.Context(), ticket)
	require.ErrorIs(t, err, jobs.ErrNotFound) // it has forgotten itself
	info, err := s.views.Info(t.Context(), s.store.DB("db"), "_design/d")
	require.NoError(t, err)
	require.NotZero(t, info.UpdatesPending)
	s.noRoom.Store(false)
	s.Changed("db")
	require.Eventually(t, func() bool {
		info, err := s.views.Info(t.Context(), s.store.DB("db"), "_design/d")
		require.NoError(t, err)
		return info.UpdatesPending == 0
	}, time.Minute, 5*time.Millisecond)
}

// TestWarmerFollowsSearch: full-text indexes are built and removed as those of views are.
func TestWarmerFollowsSearch(t *testing.T) {
	s := newWarmed(t, memkv.New(), memkv.New())
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	const body = `{"autoupdate":{"nouveau":false},"indexes":{"i":{"index":"f"}},"nouveau":{"i":{"index":"f"}}}`
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", body).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{}`).Code)
	db := s.store.DB("db")
	info := func(kind segment.Kind) *search.Info {
		def, err := s.texts.Lookup(t.Context(), db, kind, "_design/d", "i")
		require.NoError(t, err)
		info, err := s.texts.Info(t.Context(), db, def)
		require.NoError(t, err)
		return info
	}
	s.Changed("db")
	require.Eventually(t, func() bool { return info(segment.Clouseau).Docs == 2 }, time.Minute, 5*time.Millisecond)
	require.False(t, info(segment.Nouveau).Built)

	def, err := s.texts.Lookup(t.Context(), db, segment.Clouseau, "_design/d", "i")
	require.NoError(t, err)
	rev := servertest.ETag(s.Do("HEAD", "/db/_design/d", "")) // in quotes
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", `{"_rev":`+rev+`}`).Code)
	ticket, err := s.queue.Add(t.Context(), jobs.Spec{Type: warm.CleanupJob, ID: "db"})
	require.NoError(t, err)
	_, err = s.queue.Wait(t.Context(), ticket)
	require.ErrorIs(t, err, jobs.ErrNotFound)
	left, err := s.texts.Info(t.Context(), db, def)
	require.NoError(t, err)
	require.False(t, left.Built)
}

// TestDesignJobs: a changed design document queues the building of its indexes and, for later, the
// removal of those that are left over.
func TestDesignJobs(t *testing.T) {
	engine := memkv.New()
	s := newWarmed(t, engine, engine)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/doc", `{"k":1}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", `{"language":"member","views":{"m":{"map":"k"}}}`).Code)
	changed := func() {
		require.NoError(
			t,
			s.store.DB("db").Transact(t.Context(), func(tx *storage.Tx) error { return s.DesignChanged(tx) }),
		)
	}
	changed()
	require.Eventually(t, func() bool {
		info, err := s.views.Info(t.Context(), s.store.DB("db"), "_design/d")
		require.NoError(t, err)
		return info.UpdatesPending == 0
	}, time.Minute, 5*time.Millisecond)
	job, err := s.queue.Get(t.Context(), warm.CleanupJob, "db")
	require.NoError(t, err)
	require.Equal(t, jobs.Pending, job.State)
	require.Greater(t, time.Until(job.Due), warm.CleanupPause-time.Minute)

	rev := servertest.ETag(s.Do("HEAD", "/db/_design/d", "")) // in quotes
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", `{"language":"member","views":{},"_rev":`+rev+`}`).Code)
	before := countKeys(t, engine)
	require.NoError(t, s.queue.Remove(t.Context(), warm.CleanupJob, "db"))
	ticket, err := s.queue.Add(t.Context(), jobs.Spec{Type: warm.CleanupJob, ID: "db"})
	require.NoError(t, err)
	_, err = s.queue.Wait(t.Context(), ticket)
	require.ErrorIs(t, err, jobs.ErrNotFound)
	require.Less(t, countKeys(t, engine), before)

	for _, key := range [][2]string{{"ken", "batch_channels"}, {"smoosh", "cleanup_channels"}} {
		s.Set(key[0], key[1], map[string]string{"ken": "0", "smoosh": ""}[key[0]])
	}
	changed()
	for _, name := range []string{warm.IndexJob, warm.CleanupJob} {
		_, err := s.queue.Get(t.Context(), name, "db")
		require.ErrorIs(t, err, jobs.ErrNotFound, name)
	}
}

func countKeys(t *testing.T, engine kv.Store) (n int) {
	require.NoError(t, engine.View(t.Context(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return it.Err()
	}))
	return n
}
