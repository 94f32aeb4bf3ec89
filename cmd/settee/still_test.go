package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// stopped is a store whose process gets nothing from it while it stands still.
type stopped struct {
	kv.Store
	still sync.RWMutex // held for as long
}

func (s *stopped) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	s.still.RLock()
	defer s.still.RUnlock()
	return s.Store.View(ctx, fn)
}

func (s *stopped) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	s.still.RLock()
	defer s.still.RUnlock()
	return s.Store.Update(ctx, fn)
}

// TestNodeThatStoodStill: what others have changed while they did not wait for a node any more
// holds for all that it answers, from the first request on.
func TestNodeThatStoodStill(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	engine, store := shareStore(t)
	b := &stopped{Store: kept{store}}
	engines["stopped"] = func(appOptions, *slog.Logger) (kv.Store, error) { return b, nil }
	sharedEngines["stopped"] = true
	defer func() { delete(engines, "stopped"); delete(sharedEngines, "stopped") }()
	var urls []string
	for _, engine := range []string{engine, "stopped"} {
		o := serveOptions{listen: freeAddress(t)}
		o.engine, o.dataDir, o.node = engine, t.TempDir(), "couchdb@"+engine
		settings := []byte("[chttpd_auth]\niterations = 10\n")
		require.NoError(t, os.WriteFile(filepath.Join(o.dataDir, localFile), settings, 0o600))
		stop, err := tryServe(t, o, io.Discard)
		require.NoError(t, err)
		defer func() { require.NoError(t, stop()) }()
		urls = append(urls, "http://"+o.listen)
	}
	status, _, _ := ask(t, "admin:secret", "PUT", urls[0]+"/_node/_local/_config/admins/anna", `"one"`)
	require.Equal(t, 200, status)
	requests := []string{"/_session", "/_all_dbs", "/_node/_local/_config/admins/anna", "/_users/_all_docs"}
	for _, path := range requests {
		status, _, _ = ask(t, "anna:one", "GET", urls[1]+path, "")
		require.Equal(t, 200, status, path)
	}

	b.still.Lock()
	status, _, _ = ask(t, "admin:secret", "DELETE", urls[0]+"/_node/_local/_config/admins/anna", "")
	require.Equal(t, 200, status, "the others wait for a node no longer than it counts as there")
	var asking sync.WaitGroup
	for _, path := range requests {
		asking.Go(func() {
			if status, _, _ := ask(t, "anna:one", "GET", urls[1]+path, ""); status != 401 {
				t.Errorf("%s: %d for an administrator who was deleted", path, status)
			}
		})
	}
	status, _, _ = ask(t, "", "GET", urls[1]+"/_up", "")
	require.Equal(t, 503, status, "it asks for no settings")
	b.still.Unlock()
	asking.Wait()
	status, _, _ = ask(t, "admin:secret", "GET", urls[1]+"/_all_dbs", "")
	require.Equal(t, 200, status)
}
