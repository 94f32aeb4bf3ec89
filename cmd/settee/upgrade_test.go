package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestUpgrade: nodes of two versions serve a store until the newer one's format is finalised. From
// then on the older one answers nothing, says why, and does not start again.
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

// TestStoppedUpgrade: a step of several pieces that is stopped after each of them goes on, whole or
// not at all. In between nobody takes the store for one of either format; in the end all is there.
func TestStoppedUpgrade(t *testing.T) {
	kvtest.Long(t)
	dir := t.TempDir()
	unpackStore(t, packed(format.This.Newest), filepath.Join(dir, storeDir))
	before, said := allRows(t, dir)
	require.Empty(t, said)
	now, next := format.This, format.This
	next.Newest++
	rewritten := map[string]int{}
	next.Steps = &[]format.Step{{From: now.Newest, Run: func(tx kv.Tx, cursor []byte) ([]byte, error) {
		it := tx.Range(cursor, []byte{0xff, 0xff}, kv.RangeOptions{Limit: 100})
		defer it.Close()
		n := 0
		for ; it.Next(); n++ {
			cursor = kv.AppendKeyAfter(nil, it.Key())
			if key := string(it.Key()); key != string(keyspace.HeadKey()) {
				rewritten[key]++
				tx.Set(bytes.Clone(it.Key()), bytes.Clone(it.Value()))
			}
		}
		if n < 100 {
			return nil, it.Err()
		}
		return cursor, it.Err()
	}}}
	o := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir, program: next}, finalise: true}
	old := o.appOptions
	old.program = now
	stops := 0
	for ; ; stops++ {
		ctx, stop := context.WithCancel(t.Context())
		err := upgrade(ctx, o, io.Discard, writerFunc(func(line []byte) {
			if bytes.Contains(line, []byte("pieces are rewritten")) {
				stop()
			}
		}))
		stop()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		if head := headOf(t, dir); head.Format == next.Newest {
			continue // it was stopped behind the last piece
		}
		require.ErrorIs(t, check(t.Context(), old, 0, io.Discard, io.Discard), kv.ErrFormat)
		err = check(t.Context(), o.appOptions, 0, io.Discard, io.Discard)
		require.ErrorContains(t, err, "settee upgrade --finalise")
	}
	require.Greater(t, stops, 3)
	after, said := allRows(t, dir)
	require.Empty(t, said)
	head := string(keyspace.HeadKey())
	require.NotEqual(t, before[head], after[head])
	delete(before, head)
	delete(after, head)
	require.Equal(t, before, after)
	for key := range before {
		require.Equal(t, 1, rewritten[key], "%q", key)
	}
}

// headOf is the head of a store.
func headOf(t *testing.T, dir string) format.Head {
	t.Helper()
	engine := openSmall(t, dir)
	defer func() { require.NoError(t, engine.Close()) }()
	head, err := format.Read(t.Context(), engine, keyspace.HeadKey())
	require.NoError(t, err)
	return head
}

// writerFunc is a writer that tells of what is written.
type writerFunc func([]byte)

// Write implements io.Writer.
func (w writerFunc) Write(b []byte) (int, error) { w(b); return len(b), nil }
