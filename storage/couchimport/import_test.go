package couchimport

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/couchfile"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// files gives the files of a real CouchDB.
func files(t *testing.T) string {
	t.Helper()
	f, err := os.Open("../../storage/couchfile/testdata/couchdb-3.5.0.tar.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "data")
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

func database(t *testing.T, name string, dirs ...string) *couchfile.Database {
	t.Helper()
	layout, err := couchfile.Directories(dirs, "_dbs")
	require.NoError(t, err)
	at := slices.IndexFunc(layout.Databases, func(d couchfile.Database) bool { return d.Name == name })
	require.GreaterOrEqual(t, at, 0)
	return &layout.Databases[at]
}

func strict(d *couchfile.Damage) error { return d }

// imported is every leaf that a store has of a database, after an import of it.
func imported(t *testing.T, store *storage.Store, d *couchfile.Database) map[string]string {
	t.Helper()
	_, err := Database(t.Context(), d, Options{To: Store(store), Damaged: strict})
	require.NoError(t, err)
	leaves := map[string]string{}
	requests := []docread.OpenRevsRequest{}
	for i := range d.Shards {
		for _, path := range d.Shards[i].Files {
			f, _, err := couchfile.Open(path)
			require.NoError(t, err)
			require.NoError(t, f.Leaves(func(id string, _ []compat.Rev) {
				requests = append(requests, docread.OpenRevsRequest{ID: id, OpenRevsOptions: docread.OpenRevsOptions{
					All: true, Open: docread.OpenOptions{Revs: true, Deleted: true},
				}})
			}))
			require.NoError(t, f.Close())
		}
	}
	require.NoError(t, store.DB(d.Name).BulkGet(t.Context(), slices.Values(requests),
		func(i int, revs []docread.RevResult, _ bool) error {
			for _, r := range revs {
				if r.Doc != nil {
					text := fmt.Sprint(r.Doc.Deleted, r.Doc.Revs, string(r.Doc.Body))
					leaves[requests[i].ID+r.Doc.Rev.String()] = text
				}
			}
			return nil
		}))
	return leaves
}

func newStore(t *testing.T) *storage.Store {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{KV: memkv.New(), Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// purges are the documents of which a file says that they were purged.
func purges(t *testing.T, f *couchfile.File) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	require.NoError(t, f.Purges(func(p couchfile.Purge) error { ids[p.ID] = true; return nil }, strict))
	return ids
}

// cutBeforePurges makes a file what it was before anything was purged: files are append-only, each
// header is one of their pasts.
func cutBeforePurges(t *testing.T, path string) (purged map[string]bool) {
	t.Helper()
	f, _, err := couchfile.Open(path)
	require.NoError(t, err)
	purged = purges(t, f)
	require.NoError(t, f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := len(whole) / 4096 * 4096; len(purged) > 0; at -= 4096 {
		require.NoError(t, os.WriteFile(path, whole[:at], 0o600))
		f, _, err := couchfile.Open(path)
		require.NoError(t, err)
		left := len(purges(t, f))
		require.NoError(t, f.Close())
		if left == 0 {
			break
		}
	}
	return purged
}

// TestCopies: of a shard whose copies on several nodes are of different times the later one counts:
// what it has purged does not come back by the other.
func TestCopies(t *testing.T) {
	const name = "from_deflate"
	late, early := files(t), files(t)
	var purged []string
	for _, s := range database(t, name, early).Shards {
		for id := range cutBeforePurges(t, s.Files[0]) {
			purged = append(purged, id)
		}
	}
	require.NotEmpty(t, purged)
	alone := imported(t, newStore(t), database(t, name, late))
	before := imported(t, newStore(t), database(t, name, early))
	for _, order := range [][]string{{late, early}, {early, late}} {
		require.True(t, maps.Equal(alone, imported(t, newStore(t), database(t, name, order...))), order)
	}
	back := 0
	for key := range before {
		if alone[key] == "" && slices.ContainsFunc(purged, func(id string) bool { return strings.HasPrefix(key, id) }) {
			back++
		}
	}
	require.Positive(t, back, "the earlier copy has what was purged later")
}

// TestCheckpoints: local documents with sequences of the database itself are left out, those of
// replications to it stay.
func TestCheckpoints(t *testing.T) {
	const seq = "512-g1AAAABIeJzLYWBgYMxgTmHgSU5zMDQy1zMAQsMcoChTIkMeC8N_IMjKYE4C8hlygaLsiZZmZkmmJmgasgBBlhBa"
	shards, ok := couchfile.ParseSeq(seq)
	require.True(t, ok)
	d := couchfile.Database{Clustered: true}
	own := work{d: &d, uuids: map[string]bool{shards[0].UUID + "aabbccdd": true}}
	foreign := work{d: &d, uuids: map[string]bool{"0123456789abcdef": true}}
	old := work{d: &couchfile.Database{}} // of a CouchDB 1.x
	for body, want := range map[string][2]bool{
		`{"session_id":"a","source_last_seq":"` + seq + `","history":[]}`:                    {true, false},
		`{"session_id":"a","history":[{"recorded_seq":"` + seq + `"}]}`:                      {true, false},
		`{"last_seq":"` + seq + `","session_id":"a","history":[{"last_seq":"` + seq + `"}]}`: {true, false},
		`{"session_id":"a","source_last_seq":7,"history":[]}`:                                {false, false},
		`{"session_id":"a","source_last_seq":"7","history":[]}`:                              {false, false},
		`{"session_id":"a","source_last_seq":"11-abcdef","history":[]}`:                      {false, false},
		`{"seq":"` + seq + `"}`: {false, false},
		`{"x":1}`:               {false, false},
		`{"history":3}`:         {false, false},
	} {
		require.Equal(t, want[0], own.isCheckpointFrom([]byte(body)), body)
		require.Equal(t, want[1], foreign.isCheckpointFrom([]byte(body)), body)
		number := strings.Contains(body, "7,") || strings.Contains(body, `"7"`)
		require.Equal(t, number, old.isCheckpointFrom([]byte(body)), body)
	}
}

// TestTranslated: a checkpoint leads to the last state that it has seen all of, wherever its own one
// lies; one that has seen none, or says nothing of this database, is left out.
func TestTranslated(t *testing.T) {
	w := work{marks: []mark{{[]int64{2, 0}, "1-a"}, {[]int64{5, 3}, "2-b"}, {[]int64{5, 9}, "3-c"}}}
	for seq, want := range map[[2]int64]string{
		{0, 0}: "", {1, 9}: "", {2, 0}: "1-a",
		{2, 9}: "1-a", {4, 3}: "1-a", {5, 3}: "2-b", {9, 8}: "2-b", {5, 9}: "3-c",
		{100, 100}: "3-c",
	} {
		after := w.last([]int64{seq[0], seq[1]})
		got := ""
		if after != nil {
			got = after.seq
		}
		require.Equal(t, want, got, seq)
	}
}
