package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestStoresOfEachFormat: a store of each format from the oldest known one on, as it was written
// then, opens, has what it had, answers as one that was made now, passes the check and can be
// raised to the newest format. No index is built anew, but those over all fields that are of
// another allfields.Version. One of the newest is written by SETTEE_WRITE_FORMAT=1, once, when the
// format has got a new number; what is asked, and what is right, is in testdata/formats/questions.
func TestStoresOfEachFormat(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	now := smallStore(t)
	if os.Getenv("SETTEE_WRITE_FORMAT") != "" {
		packStore(t, filepath.Join(now, storeDir), packed(format.This.Newest))
		for key := range contents(t, now) {
			require.NotContains(t, key, "timer:", "it was too slow: the timer has to be there still")
		}
	}
	want := lasting(contents(t, now))
	askEverything(t, copyDir(t, now), false)
	for n := format.This.Oldest; n <= format.This.Newest; n++ {
		dir := t.TempDir()
		unpackStore(t, packed(n), filepath.Join(dir, storeDir))
		require.Equal(t, want, lasting(contents(t, dir)), "format %d", n)
		o := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir}, finalise: true}
		var out bytes.Buffer
		require.NoError(t, check(t.Context(), o.appOptions, 0, &out, io.Discard), &out)
		askEverything(t, copyDir(t, dir), n <= lastBeforeFields4)
		require.NoError(t, upgrade(t.Context(), o, &out, io.Discard))
		require.Contains(t, out.String(), fmt.Sprintf("The store is of format %d.", n))
		require.NoError(t, check(t.Context(), o.appOptions, 0, &out, io.Discard), &out)
		require.Equal(t, want, lasting(contents(t, dir)))
	}
}

// lastBeforeFields4 is the last format whose store in testdata has an index over all fields of
// version 3.
const lastBeforeFields4 = 7

// lasting leaves out of the contents of a small store what is another each time that one is made.
func lasting(all map[string]string) map[string]string {
	other := []string{"_global_changes/", "_users/", "_replicator/", "out/expired", "out/timer:"}
	maps.DeleteFunc(all, func(key, value string) bool {
		differs := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		return strings.Contains(value, `"session_id"`) || slices.ContainsFunc(other, differs)
	})
	return all
}

// askEverything starts a server on a small store, asks it the questions in testdata, and sees that
// what was under way goes on. Its index over all fields is built anew at the start if otherFields
// says so, and no other.
func askEverything(t *testing.T, dir string, otherFields bool) {
	t.Helper()
	base, stop := startServe(t, dir)
	defer stop()
	require.Eventually(t, func() bool {
		return !strings.Contains(mustAsk(t, base, "GET /a/_index", ""), `"state":"building"`)
	}, time.Minute, 10*time.Millisecond)
	datadriven.RunTest(t, "testdata/formats/questions", func(t *testing.T, d *datadriven.TestData) string {
		request, body, _ := strings.Cut(d.Input, "\n")
		return shortened(volatile.ReplaceAllString(mustAsk(t, base, request, body), ""))
	})
	metrics := mustAsk(t, base, "GET /_node/_local/_prometheus", "")
	for build, want := range map[string]bool{
		`js_calls_total{command="map"`: false, `job_seconds_count{type="view"`: false,
		`job_seconds_count{type="fieldindex"`: otherFields,
	} {
		require.Equal(t, want, strings.Contains(metrics, "settee_"+build), "an index is built anew: %s", build)
	}
	for _, db := range []string{"a", "copy"} {
		checkpoints := mustAsk(t, base, "GET /"+db+"/_local_docs?include_docs=true", "")
		require.Regexp(t, `"source_last_seq":"[1-9].*"docs_written":[1-9]`, checkpoints)
	}
	status, _, _ := ask(t, "ada:lovelace", "GET", base+"/a/d05", "")
	require.Equal(t, http.StatusOK, status)
	mustAsk(t, base, "PUT /a/d99", `{"n":99,"t":"late"}`)
	mustAsk(t, base, "POST /_eventing/api/v1/functions/timers/resume?wait=60s", "")
	for path, want := range map[string]int{
		"/_scheduler/docs/_replicator/r": http.StatusOK, "/out/copied:d99": http.StatusOK,
		"/out/timer:d04": http.StatusOK, "/out/expired": http.StatusNotFound,
	} {
		require.Eventually(t, func() bool {
			status, _, _ := ask(t, "admin:password", "GET", base+path, "")
			return status == want
		}, time.Minute, 10*time.Millisecond, path)
	}
}

// shortened is an answer as it stands in testdata.
func shortened(answer string) string {
	if len(answer) > 2000 {
		return fmt.Sprintf("%d bytes, MD5 %x\n", len(answer), md5.Sum([]byte(answer)))
	}
	return strings.TrimRight(strings.ReplaceAll(answer, "\r", ""), "\n") + "\n"
}

// volatile are the members of answers whose values are others in each store.
var volatile = regexp.MustCompile(`,?"(update_seq|seq|last_seq|purge_seq|instance_start_time|` +
	`bookmark)": ?("[^"]*"|[0-9]+)|,?"(sizes|order)":(\{[^}]*\}|\[[^]]*\])`)

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
