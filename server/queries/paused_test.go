package queries_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/jobs/jobstest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/views"
)

// TestPausedBuildIsShown: _info of a design document says that the build of its indexes is paused,
// and why, when it ran at three ends of the server; that of another one does not.
func TestPausedBuildIsShown(t *testing.T) {
	const bad, good = `{"language":"member","views":{"v":{"map":"k"}}}`, `{"language":"member","views":{"v":{"map":"g"}}}`
	first := servertest.New(t)
	require.Equal(t, 201, first.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, first.Do("PUT", "/db/_design/bad", bad).Code)
	var info struct {
		Index struct{ Signature string } `json:"view_index"`
	}
	require.NoError(t, json.Unmarshal(first.Do("GET", "/db/_design/bad/_info", "").Body.Bytes(), &info))
	signature, err := hex.DecodeString(info.Index.Signature)
	require.NoError(t, err)

	engine := memkv.New()
	data := packed.AppendText(packed.AppendText(packed.AppendText(nil, "db"), "_design/bad"), string(signature))
	jobstest.EndsWhile(t, engine, keyspace.JobsPrefix(), "view", false,
		jobs.Spec{Type: "view", ID: "db\x00" + info.Index.Signature, Data: data})
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	store := servertest.OpenStore(t, engine)
	v, err := views.Open(views.Options{
		Store: store, KV: engine, Jobs: queue, Languages: map[string]views.Language{"member": servertest.Language{}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		require.NoError(t, v.Close())
	})
	queue.Start()
	s := servertest.Start(t, server.Options{Store: store, Views: v, Jobs: queue})
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/bad", bad).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/good", good).Code)
	const paused = `"state":"paused","reason":"the server ended without a shutdown three times in a row while it ran"`
	require.Eventually(t, func() bool { // the queue finds what its last owner left by and by
		return strings.Contains(s.Do("GET", "/db/_design/bad/_info", "").Body.String(), paused)
	}, time.Minute, 10*time.Millisecond)
	require.NotContains(t, s.Do("GET", "/db/_design/good/_info", "").Body.String(), "paused")
}
