package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestUpgrade: nodes of two versions serve a store until the newer one's format is finalised. From then on the older
// one answers nothing, says why, and does not start again.
func TestUpgrade(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	engine, _ := shareStore(t)
	now, next := format.This, format.This
	next.Newest++
	start := func(name string, p format.Program) (url string, stop func() error, err error) {
		o := serveOptions{listen: freeAddress(t)}
		o.engine, o.dataDir, o.node, o.program = engine, t.TempDir(), name, p
		stop, err = tryServe(t, o, io.Discard)
		return "http://" + o.listen, stop, err
	}
	older, stopOlder, err := start("couchdb@older", now)
	require.NoError(t, err)
	newer, stopNewer, err := start("couchdb@newer", next)
	require.NoError(t, err)
	status := func(url, method, path, body string) int {
		t.Helper()
		status, _, _ := ask(t, "admin:secret", method, url+path, body)
		return status
	}
	require.Equal(t, 201, status(older, "PUT", "/db", ""))
	require.Equal(t, 201, status(newer, "PUT", "/db/a", "{}"))
	require.Equal(t, 201, status(older, "PUT", "/db/b", "{}"))
	require.Equal(t, 200, status(older, "GET", "/db/a", ""))

	var out bytes.Buffer
	o := upgradeOptions{appOptions: appOptions{engine: engine, program: next}}
	require.NoError(t, upgrade(t.Context(), o, &out, io.Discard))
	require.Contains(t, out.String(), "couchdb@older")
	require.NotContains(t, out.String(), "couchdb@newer")
	o.finalise = true
	require.ErrorContains(t, upgrade(t.Context(), o, io.Discard, io.Discard), "couchdb@older")
	require.Equal(t, 200, status(older, "GET", "/db/a", ""))
	o.force = true
	require.NoError(t, upgrade(t.Context(), o, io.Discard, io.Discard))

	for method, path := range map[string]string{"GET": "/db/a", "PUT": "/db/c"} {
		code, answer, _ := ask(t, "admin:secret", method, older+path, "{}")
		require.Equal(t, 503, code)
		require.Contains(t, answer.(map[string]any)["reason"], "format of another version")
	}
	require.Eventually(t, func() bool { return status(older, "GET", "/_up", "") == 503 }, time.Minute, time.Millisecond)
	require.Equal(t, 404, status(newer, "GET", "/db/c", ""), "nothing was written")
	require.Equal(t, 201, status(newer, "PUT", "/db/c", "{}"))
	require.Equal(t, 200, status(newer, "GET", "/_up", ""))
	_, _, err = start("couchdb@late", now)
	require.ErrorIs(t, err, kv.ErrFormat)
	_ = stopOlder() // what it stops may need the store
	require.NoError(t, stopNewer())
}
