package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// TestStoresOfEachFormat: a store of each format from the oldest known one on, as it was written then, opens, has what
// it had, passes the check and can be raised to the newest format. One of the newest is written by
// SETTEE_WRITE_FORMAT=1, once, when the format has got a new number.
func TestStoresOfEachFormat(t *testing.T) {
	now := t.TempDir()
	smallData(t, now)
	if os.Getenv("SETTEE_WRITE_FORMAT") != "" {
		packStore(t, filepath.Join(now, storeDir), packed(format.This.Newest))
	}
	want := contents(t, now)
	for n := format.This.Oldest; n <= format.This.Newest; n++ {
		dir := t.TempDir()
		unpackStore(t, packed(n), filepath.Join(dir, storeDir))
		require.Equal(t, want, contents(t, dir), "format %d", n)
		o := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir}, finalise: true}
		var out bytes.Buffer
		require.NoError(t, upgrade(t.Context(), o, &out, io.Discard))
		require.Contains(t, out.String(), fmt.Sprintf("The store is of format %d.", n))
		require.NoError(t, check(t.Context(), o.appOptions, 0, &out, io.Discard), &out)
		require.Equal(t, want, contents(t, dir))
	}
}

// smallData is a store with revisions of all forms but long ones.
func smallData(t *testing.T, dir string) {
	t.Helper()
	engine := openSmall(t, dir)
	s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), "a", storage.CreateOptions{Q: 2, N: 1}))
	db, random := s.DB("a"), rand.New(rand.NewPCG(1, 2))
	var docs []*compat.Document
	for i := range 20 {
		if i%10 == 3 || i%10 == 4 || i == 15 {
			continue // long, or with a long attachment
		}
		docs = append(docs, revision(t, db, random, 1, i))
		if i%3 == 0 {
			docs = append(docs, revision(t, db, random, 2, i))
		}
	}
	results, err := db.Update(t.Context(), docs, storage.UpdateOptions{Replicated: true})
	require.NoError(t, err)
	for _, r := range results {
		require.Nil(t, r.Err)
	}
	require.NoError(t, s.Close())
	require.NoError(t, engine.Close())
}

func packed(n byte) string { return filepath.Join("testdata", "formats", fmt.Sprintf("%d.tar.gz", n)) }

func packStore(t *testing.T, dir, to string) {
	t.Helper()
	f, err := os.Create(to)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
}

func unpackStore(t *testing.T, from, dir string) {
	t.Helper()
	f, err := os.Open(from)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o750))
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600))
	}
}
