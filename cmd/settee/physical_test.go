package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// numberedWriters put documents w0-1, w0-2, … of several writers into a database, each after the
// one before it was acknowledged, until stop.
type numberedWriters struct {
	acknowledged [3]atomic.Int64
	end          chan struct{}
	running      sync.WaitGroup
}

func writeNumbered(t *testing.T, db string) *numberedWriters {
	w := &numberedWriters{end: make(chan struct{})}
	for i := range w.acknowledged {
		w.running.Go(func() {
			for n := int64(1); !t.Failed(); n++ {
				select {
				case <-w.end:
					return
				default:
				}
				if status := request(t, "PUT", fmt.Sprintf("%s/w%d-%d", db, i, n), `{"n":1}`); status != 201 {
					t.Errorf("writer %d: %d", i, status)
					return
				}
				w.acknowledged[i].Store(n)
			}
		})
	}
	return w
}

func (w *numberedWriters) stop() {
	close(w.end)
	w.running.Wait()
}

// await waits until each writer has written so many documents more.
func (w *numberedWriters) await(t *testing.T, more int64) {
	t.Helper()
	for i := range w.acknowledged {
		from := w.acknowledged[i].Load()
		require.Eventually(t, func() bool { return w.acknowledged[i].Load() >= from+more }, time.Minute,
			time.Millisecond)
	}
}

// TestPhysicalBackup copies the data directory of a server that is written to: the copy has all
// that was acknowledged before it began, of each writer a beginning, and its index; its sequences
// go on above those that were given out after it was made. Meanwhile the data is checked, too.
func TestPhysicalBackup(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backups", "monday")
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile), []byte("[log]\nlevel = none\n"), 0o600))
	base, stop := startServe(t, dir)
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	require.Equal(t, 200, postJSON(t, base+"/db/_index", `{"index":{"fields":["n"]}}`))
	w := writeNumbered(t, base+"/db")
	w.await(t, 20)
	var before [len(w.acknowledged)]int64
	for i := range before {
		before[i] = w.acknowledged[i].Load()
	}
	o := appOptions{engine: "pebble", dataDir: dir}
	require.NoError(t, physicalBackup(t.Context(), o, to, io.Discard))
	require.ErrorIs(t, physicalBackup(t.Context(), o, to, io.Discard), os.ErrExist)
	w.await(t, 5)
	var out bytes.Buffer
	require.NoError(t, check(t.Context(), o, 0, &out, io.Discard), out.String())
	w.stop()
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(dir, copyPattern))
		return err == nil && len(left) == 0
	}, time.Minute, time.Millisecond, "copies are removed")
	_, feed, _ := ask(t, "admin:secret", "GET", base+"/db/_changes?since=now", "")
	since := feed.(map[string]any)["last_seq"].(string)
	stop()

	out.Reset()
	restored := appOptions{engine: "pebble", dataDir: to}
	require.NoError(t, check(t.Context(), restored, 0, &out, io.Discard))
	require.Equal(t, "no violations\n", out.String())
	base, stop = startServe(t, to)
	defer func() { stop() }()
	_, all, _ := ask(t, "admin:secret", "GET", base+"/db/_all_docs", "")
	has := map[string]bool{}
	for _, row := range all.(map[string]any)["rows"].([]any) {
		has[row.(map[string]any)["id"].(string)] = true
	}
	documents := 0
	for i, n := range before {
		last := int64(0)
		for ; has[fmt.Sprintf("w%d-%d", i, last+1)]; last++ {
			documents++
		}
		require.GreaterOrEqual(t, last, n, "writer %d", i)
	}
	require.Len(t, has, documents+1, "nothing without what came before it, and a design document")
	_, found, _ := ask(t, "admin:secret", "POST", base+"/db/_find",
		`{"selector":{"n":1},"limit":100000,"fields":["_id"]}`)
	require.Len(t, found.(map[string]any)["docs"], documents)
	require.Equal(t, 201, request(t, "PUT", base+"/db/new", "{}"))
	_, feed, _ = ask(t, "admin:secret", "GET", base+"/db/_changes?since="+since, "")
	require.Len(t, feed.(map[string]any)["results"], 1, "who has followed the original goes on")

	// at rest, and twice from one server
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, physicalBackup(t.Context(), o, again, io.Discard))
	require.NoError(t, check(t.Context(), appOptions{engine: "pebble", dataDir: again}, 0, io.Discard, io.Discard))
	require.Error(t, physicalBackup(t.Context(), appOptions{engine: "pebble", dataDir: t.TempDir()}, again+"2",
		io.Discard), "there is no store")
}

// TestNoCopyWithoutServer: a store that is in use by a process that offers no copies is refused, as
// it was before.
func TestNoCopyWithoutServer(t *testing.T) {
	dir := t.TempDir()
	store := openSmall(t, dir)
	err := check(t.Context(), appOptions{engine: "pebble", dataDir: dir}, 0, io.Discard, io.Discard)
	require.ErrorIs(t, err, kv.ErrLocked)
	require.NoError(t, store.Close())
}
