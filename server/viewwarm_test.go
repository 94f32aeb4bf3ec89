package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/server/warm"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newWarmer starts a Warmer with a queue on a server's engine.
func newWarmer(t *testing.T, s *Server, engine kv.Store) (*warm.Warmer, *jobs.Queue) {
	t.Helper()
	queue, err := jobs.Open(
		t.Context(),
		jobs.Options{KV: engine, Prefix: storage.JobsPrefix(), Exclusive: true, Log: slog.New(slog.DiscardHandler)},
	)
	require.NoError(t, err)
	w := warm.New(
		warm.Options{
			Store:  s.env.Store,
			Views:  s.env.Views,
			Jobs:   queue,
			Config: s.env.Config,
			Log:    s.env.Log,
			Pause:  time.Millisecond,
		},
	)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		w.Close()
	})
	return w, queue
}

func TestWarmerFollowsWrites(t *testing.T) {
	s := newViewServer(t, "")
	queueStore := memkv.New()
	w, _ := newWarmer(t, s, queueStore)
	require.Equal(
		t,
		http.StatusCreated,
		do(s, "PUT", "/db/_design/cold", `{"language":"member","autoupdate":false,"views":{"m":{"map":"x"}}}`).Code,
	)
	pending := func(ddoc string) int64 {
		info, err := s.env.Views.Info(context.Background(), s.env.Store.DB("db"), "_design/"+ddoc)
		require.NoError(t, err)
		return info.UpdatesPending
	}
	require.NotZero(t, pending("d"))
	w.Changed("db")
	w.Changed("none")
	require.Eventually(t, func() bool { return pending("d") == 0 }, time.Minute, 5*time.Millisecond)
	require.NotZero(t, pending("cold"))
}

// TestDesignJobs: a changed design document queues the building of its indexes and, for later, the removal of those
// that are left over.
func TestDesignJobs(t *testing.T) {
	engine := memkv.New()
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	require.NoError(t, err)
	defer store.Close()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	s := newTestServerOn(t, engine, store, c, "")
	w, queue := newWarmer(t, s, engine)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/db/doc", `{"k":1}`).Code)
	require.Equal(t, 201, do(s, "PUT", "/db/_design/d", `{"language":"member","views":{"m":{"map":"k"}}}`).Code)
	changed := func() {
		require.NoError(
			t,
			store.DB("db").Transact(t.Context(), func(tx *storage.Tx) error { return w.DesignChanged(tx) }),
		)
	}
	changed()
	require.Eventually(t, func() bool {
		info, err := s.env.Views.Info(t.Context(), store.DB("db"), "_design/d")
		require.NoError(t, err)
		return info.UpdatesPending == 0
	}, time.Minute, 5*time.Millisecond)
	job, err := queue.Get(t.Context(), warm.CleanupJob, "db")
	require.NoError(t, err)
	require.Equal(t, jobs.Pending, job.State)
	require.Greater(t, time.Until(job.Due), warm.CleanupPause-time.Minute)

	require.Equal(
		t,
		201,
		do(s, "PUT", "/db/_design/d", `{"language":"member","views":{},"_rev":`+revOf(s, "/db/_design/d")+`}`).Code,
	)
	before := countKeys(t, engine)
	require.NoError(t, queue.Remove(t.Context(), warm.CleanupJob, "db"))
	ticket, err := queue.Add(t.Context(), jobs.Spec{Type: warm.CleanupJob, ID: "db"})
	require.NoError(t, err)
	_, err = queue.Wait(t.Context(), ticket)
	require.ErrorIs(t, err, jobs.ErrNotFound)
	require.Less(t, countKeys(t, engine), before)

	for _, key := range [][2]string{{"ken", "batch_channels"}, {"smoosh", "cleanup_channels"}} {
		_, err := c.Set(key[0], key[1], map[string]string{"ken": "0", "smoosh": ""}[key[0]], false)
		require.NoError(t, err)
	}
	changed()
	for _, name := range []string{warm.IndexJob, warm.CleanupJob} {
		_, err := queue.Get(t.Context(), name, "db")
		require.ErrorIs(t, err, jobs.ErrNotFound, name)
	}
}

// revOf is the current revision of a document, in quotes.
func revOf(s *Server, path string) string { return etagOf(do(s, "HEAD", path, "")) }

// etagOf is the entity tag of an answer, whose header has CouchDB's spelling.
func etagOf(w *httptest.ResponseRecorder) string {
	for name, values := range w.Header() {
		if strings.EqualFold(name, call.HeaderETag) {
			return values[0]
		}
	}
	return ""
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
