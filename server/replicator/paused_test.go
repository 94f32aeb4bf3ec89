package replicator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// process is a server that has its store to itself.
type process struct {
	*servertest.Server
	queue *jobs.Queue
}

func begin(t *testing.T, engine kv.Store) *process {
	t.Helper()
	store := servertest.OpenStore(t, engine)
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	s := servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine), Jobs: queue,
	})
	return &process{s, queue}
}

// end is a shutdown.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.StopFollowers()
	require.NoError(t, p.queue.Close())
}

// ends has the replication run at three ends that are no shutdowns.
func ends(t *testing.T, engine kv.Store, id string) {
	t.Helper()
	jobstest.EndsWhile(t, engine, keyspace.JobsPrefix(), "replication", true, jobs.Spec{Type: "replication", ID: id})
}

const whyPaused = "the server ended without a shutdown three times in a row while it ran"

// TestPausedReplication: a replication of _replicate that ran at three ends of the server is
// refused with the reason, which _active_tasks shows, too, until it is cancelled. A shutdown while
// it runs breaks the row.
func TestPausedReplication(t *testing.T) {
	engine := memkv.New()
	s := begin(t, engine)
	for _, path := range []string{"/src", "/dst", "/src/a"} {
		require.Equal(t, 201, s.Do("PUT", path, "{}").Code)
	}
	const once, always = `{"source":"src","target":"dst"}`, `{"source":"src","target":"dst","continuous":true}`
	w := s.Do("POST", "/_replicate", always)
	require.Equal(t, 202, w.Code, w.Body)
	id := between(w.Body.String(), `"_local_id":"`, `+continuous"`)
	s.end(t)
	ends(t, engine, id)

	s = begin(t, engine)
	for range 2 {
		w = s.Do("POST", "/_replicate", once)
		require.Equal(t, 503, w.Code, w.Body)
		require.Contains(t, w.Body.String(), whyPaused)
	}
	require.Regexp(t, `"doc_id":null,"reason":"`+whyPaused+`","replication_id":"`+id+`","source":"[^"]*/src/?",`+
		`"started_on":\d+,"state":"paused","target":"[^"]*/dst/?","type":"replication",.*"user":"admin"`,
		s.Do("GET", "/_active_tasks", "").Body.String())
	require.Equal(t, 202, s.Do("POST", "/_replicate", always).Code, "another one")
	s.end(t)
	s = begin(t, engine)
	require.Equal(t, 503, s.Do("POST", "/_replicate", once).Code, "a shutdown ends no pause")
	const cancel = `{"source":"src","target":"dst","cancel":true}`
	require.Equal(t, 200, s.Do("POST", "/_replicate", cancel).Code)
	require.Equal(t, 404, s.Do("POST", "/_replicate", cancel).Code)
	require.NotContains(t, s.Do("GET", "/_active_tasks", "").Body.String(), "paused")
	require.Contains(t, s.Do("POST", "/_replicate", once).Body.String(), `"ok":true`)
	s.end(t)
}

// TestPausedDocument: the replication of a document that ran at three ends of the server is
// crashing with the reason when the server begins again, until the document is saved again.
func TestPausedDocument(t *testing.T) {
	engine := memkv.New()
	s := begin(t, engine)
	require.Equal(t, 201, s.Do("PUT", "/_replicator", "").Code)
	const doc = `{"source":"http://127.0.0.1:1/src","target":"http://127.0.0.1:1/dst","continuous":true`
	require.Equal(t, 201, s.Do("PUT", "/_replicator/r", doc+"}").Code)
	shown := func() string { return s.Do("GET", "/_scheduler/docs/_replicator/r", "").Body.String() }
	until := func(what, text string) {
		t.Helper()
		seen := func() bool { return strings.Contains(shown(), text) }
		require.Eventually(t, seen, time.Minute, 10*time.Millisecond, what)
	}
	until("it runs", `"state":"crashing"`) // against a wall
	require.Regexp(t, `"id":"replication_crashing","severity":"warning","subject":"_replicator/r",`+
		`"text":"The replication from http://127.0.0.1:1/src/ to http://127.0.0.1:1/dst/ has failed`,
		s.Do("GET", "/_node/_local/_overview", "").Body.String())
	require.NotContains(t, shown(), whyPaused)
	id := between(shown(), `"id":"`, `"`)
	s.end(t)
	ends(t, engine, id)

	s = begin(t, engine)
	until("it is paused", whyPaused)
	require.Contains(t, shown(), `"state":"crashing"`)
	require.Contains(t, s.Do("GET", "/_scheduler/jobs", "").Body.String(), whyPaused)
	require.Regexp(t, `"database":"_replicator","doc_id":"r","reason":"`+whyPaused,
		s.Do("GET", "/_active_tasks", "").Body.String())
	rev := between(s.Do("GET", "/_replicator/r", "").Body.String(), `"_rev":"`, `"`)
	require.Equal(t, 201, s.Do("PUT", "/_replicator/r", doc+`,"_rev":"`+rev+`"}`).Code)
	until("it runs", `econnrefused`)
	require.NotContains(t, s.Do("GET", "/_active_tasks", "").Body.String(), "paused")
	s.end(t)
}
