package find_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// TestPausedAllFields: an index over all fields whose build ran at three ends of the server is
// paused: _index and _info of its design document say so, and why, and queries go on without it. A
// compaction of its design document lets the build go on.
func TestPausedAllFields(t *testing.T) {
	engine := memkv.New()
	jobstest.EndsWhile(t, engine, keyspace.JobsPrefix(), "fieldindex", false, jobs.Spec{Type: "fieldindex", ID: "db"})
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	store := servertest.OpenStore(t, engine)
	v, err := views.Open(views.Options{Store: store, KV: engine, Jobs: queue})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		require.NoError(t, v.Close())
	})
	all, err := allfields.New(allfields.Options{Store: store, Jobs: queue, Split: mango.SplitField})
	require.NoError(t, err)
	queue.Start()
	s := servertest.Start(t, server.Options{Store: store, Views: v, AllFields: all, Jobs: queue})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{"a":1}`).Code)
	postJSON(s, "/db/_index", `{"index":{},"type":"auto","ddoc":"e","name":"all"}`)
	said := func(path string) string { return s.Do("GET", path, "").Body.String() }
	const state = `"state":"paused",.*"last_error":"the server ended without a shutdown three times in a row while it `
	require.Regexp(t, state, said("/db/_index"))
	require.Regexp(t, state, said("/db/_design/e/_info"))
	require.Contains(t, postJSON(s, "/db/_find", `{"selector":{"a":1}}`), `"_id":"x"`)
	require.Equal(t, 202, s.Do("POST", "/db/_compact/e", "{}").Code)
	require.Eventually(t, func() bool {
		ready, err := all.Wait(t.Context(), store.DB("db"))
		return err == nil && ready
	}, time.Minute, 10*time.Millisecond)
	require.NotContains(t, said("/db/_index"), "paused")
}
