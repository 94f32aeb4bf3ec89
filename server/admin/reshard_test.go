package admin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/reshard"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestReshardAtAllNodes: jobs and state of resharding are the same at each node of a store, and go with the database.
func TestReshardAtAllNodes(t *testing.T) {
	engine := memkv.New()
	jobs := reshard.New(engine, storage.ReshardPrefix())
	start := func(node string) *servertest.Server {
		store := servertest.OpenStore(t, engine)
		views := servertest.OpenViews(t, store, engine)
		return servertest.Start(t, server.Options{Store: store, Views: views, Node: node, Reshard: jobs})
	}
	a, b := start("couchdb@a"), start("couchdb@b")
	require.Equal(t, 201, a.Do("PUT", "/db?q=1", "").Code)
	answer := a.Do("POST", "/_reshard/jobs", `{"type":"split","db":"db"}`)
	require.Equal(t, 201, answer.Code, answer.Body.String())
	_, rest, _ := strings.Cut(answer.Body.String(), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	same := func(path string) string {
		t.Helper()
		at := a.Do("GET", path, "").Body.String()
		require.Equal(t, at, b.Do("GET", path, "").Body.String(), path)
		return at
	}
	require.Contains(t, same("/_reshard/jobs"), `"total_rows":1`)
	require.Contains(t, same("/_reshard/jobs/"+id), `"node":"couchdb@a"`)
	require.Equal(t, 200, b.Do("PUT", "/_reshard/state", `{"state":"stopped","reason":"maintenance"}`).Code)
	require.Contains(t, same("/_reshard"), `{"state":"stopped","state_reason":"maintenance","completed":1,`)
	long := `{"state":"stopped","reason":"` + strings.Repeat("x", reshard.MaxReason+1) + `"}`
	require.Equal(t, 400, b.Do("PUT", "/_reshard/state", long).Code)
	require.Equal(t, 200, a.Do("PUT", "/_reshard/state", `{"state":"running"}`).Code)
	require.Contains(t, same("/_reshard/state"), `{"state":"running"`)
	require.Equal(t, 400, b.Do("POST", "/_reshard/jobs", `{"type":"split","db":"db","node":"couchdb@c"}`).Code)

	require.Equal(t, 200, a.Do("DELETE", "/db", "").Code)
	require.Equal(t, 201, a.Do("PUT", "/db", "").Code)
	require.Contains(t, same("/_reshard/jobs/"+id), `not_found`)
	require.Contains(t, same("/_reshard/jobs"), `"total_rows":0`)
	left, err := jobs.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)

	answer = b.Do("POST", "/_reshard/jobs", `{"type":"split","db":"db"}`)
	_, rest, _ = strings.Cut(answer.Body.String(), `"id":"`)
	id, _, _ = strings.Cut(rest, `"`)
	require.Equal(t, 200, a.Do("DELETE", "/_reshard/jobs/"+id, "").Code)
	require.Equal(t, 404, b.Do("DELETE", "/_reshard/jobs/"+id, "").Code)
}
