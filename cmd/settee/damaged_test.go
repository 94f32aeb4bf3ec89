package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestDamagedBlockCostsItsDocuments: documents whose block of a table is broken answer 500, all
// others as ever, and /_up says that something is wrong.
func TestDamagedBlockCostsItsDocuments(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	dir := t.TempDir()
	salvageData(t, dir)
	engine := openSmall(t, dir) // tables of all that was written
	require.NoError(t, engine.Close())
	table := largest(t, dir, ".sst")
	b, err := os.ReadFile(table)
	require.NoError(t, err)
	for i := 8_000; i < 8_400; i++ {
		b[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(table, b, 0o600))

	base, stop := startServe(t, dir)
	defer stop()
	failed, fine := 0, 0
	for _, db := range []string{"a", "b"} {
		for i := range 160 {
			status, body := fetch(t, fmt.Sprintf("%s/%s/doc%04d", base, db, i))
			switch {
			case status == http.StatusInternalServerError:
				require.Contains(t, body, "What the store has here is damaged")
				failed++
			case status == http.StatusOK:
				fine++
			default:
				require.Equal(t, http.StatusNotFound, status, body)
			}
		}
	}
	require.Positive(t, failed)
	require.Greater(t, fine, failed)
	status, body := fetch(t, base+"/_up")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "damaged")
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	req.SetBasicAuth("admin", "password")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func largest(t *testing.T, dir, suffix string) (path string) {
	t.Helper()
	most := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, storeDir, "*"+suffix))
	require.NoError(t, err)
	for _, f := range files {
		if n := size(t, f); n > most {
			most, path = n, f
		}
	}
	require.NotEmpty(t, path)
	return path
}

// TestMissingTableIsNamed: the start ends with the file's name and what to do.
func TestMissingTableIsNamed(t *testing.T) {
	dir := t.TempDir()
	salvageData(t, dir)
	table := largest(t, dir, ".sst")
	require.NoError(t, os.Remove(table))
	_, err := openEngine(appOptions{engine: "pebble", dataDir: dir}, nil)
	require.ErrorIs(t, err, kv.ErrCorrupt)
	require.ErrorContains(t, err, filepath.Base(table)+": it is missing")
	require.ErrorContains(t, err, "settee salvage "+dir)
	require.Equal(t, 1, strings.Count(err.Error(), "settee salvage"))
}
