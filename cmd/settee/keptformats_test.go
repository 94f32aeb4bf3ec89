package main

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/autopurge"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// answeredAt is when the requests were answeredAt whose answers a store of testdata has: none of them
// is ever too old.
var answeredAt = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// TestKeptInEachFormat is TestStoresOfEachFormat of what stores keep for a time: replaced
// revisions, answers to requests that are sent again, times at which documents expire. What is
// there is asked by the questions in testdata/formats/kept, once as it was stored and once in the
// newest format, and all of it goes when its time has come.
func TestKeptInEachFormat(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	now := t.TempDir()
	base, stop := startServe(t, now)
	keepBeside(t, base, "all")
	docs := make([]string, 500) // the answer takes more than one row
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id":"%0200d","n":1}`, i)
	}
	body := `{"atomic":true,"docs":[` + strings.Join(docs, ",") + `]}`
	mustAsk(t, base, "POST /keptall/_bulk_docs", body, "Idempotency-Key", "long")
	stop()
	postponeAnswers(t, now, "long", "allexpires", "allput-off", "alldoes-not", "alldeleted")
	if os.Getenv("SETTEE_WRITE_FORMAT") != "" {
		packStore(t, filepath.Join(now, storeDir), packedKept(format.This.Newest))
	}
	want := keptFor(contents(t, now))
	require.Greater(t, len(want), 15)
	askKept(t, copyDir(t, now), body)
	for n := format.This.Oldest; n <= format.This.Newest; n++ {
		dir := t.TempDir()
		unpackStore(t, packedKept(n), filepath.Join(dir, storeDir))
		require.Equal(t, want, keptFor(contents(t, dir)), "format %d", n)
		askKept(t, copyDir(t, dir), body)
		o := upgradeOptions{appOptions: appOptions{engine: "pebble", dataDir: dir}, finalise: true}
		require.NoError(t, upgrade(t.Context(), o, io.Discard, io.Discard))
		require.Equal(t, want, keptFor(contents(t, dir)), "format %d", n)
		askKept(t, dir, body)
		forgetKept(t, dir)
	}
}

func packedKept(n byte) string {
	return filepath.Join("testdata", "formats", fmt.Sprintf("%d-kept.tar.gz", n))
}

// keptFor leaves of a store's contents what is kept for a time, without what is another each time.
func keptFor(all map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(key, _ string) bool {
		beside := strings.Contains(key, " was ") || strings.Contains(key, " expires") || key == "keptall"
		return !beside && !strings.HasPrefix(key, "answers/")
	})
	return all
}

// postponeAnswers has answers of the administrator kept as of the time answeredAt.
func postponeAnswers(t *testing.T, dir string, keys ...string) {
	t.Helper()
	engine := openSmall(t, dir)
	kept := map[*answers.Request]*answers.Answer{}
	for _, key := range keys {
		q := &answers.Request{User: "admin", Key: key, Now: time.Now()}
		require.NoError(t, engine.View(t.Context(), func(tx kv.ReadTx) error {
			const part = 1 // of the answers themselves, whose first row begins with the hash
			name := tuple.AppendString(tuple.AppendInt(keyspace.AnswersPrefix(), part), q.User)
			row, err := tx.Get(tuple.AppendBytes(name, q.Key))
			if err != nil {
				return err
			}
			copy(q.Hash[:], row)
			kept[q], err = q.Find(tx)
			return err
		}))
		require.NotNil(t, kept[q], key)
	}
	require.NoError(t, answers.Sweep(t.Context(), engine, answeredAt))
	for q, a := range kept {
		q.Now = answeredAt
		_, err := engine.Update(t.Context(), func(tx kv.Tx) error { return q.Keep(tx, a) })
		require.NoError(t, err)
	}
	require.NoError(t, engine.Close())
}

// askKept starts a server on a store with what is kept, compacts its database, asks it the
// questions in testdata, and sends the request with the long answer again.
func askKept(t *testing.T, dir, body string) {
	t.Helper()
	base, stop := startServe(t, dir)
	defer stop()
	mustAsk(t, base, "POST /keptall/_compact", "")
	require.Eventually(t, func() bool {
		return strings.Contains(mustAsk(t, base, "GET /keptall", ""), `"compact_running":false`)
	}, time.Minute, 10*time.Millisecond)
	datadriven.RunTest(t, "testdata/formats/kept", func(t *testing.T, d *datadriven.TestData) string {
		request, body, _ := strings.Cut(d.Input, "\n")
		var headers []string
		for _, arg := range d.CmdArgs { // key=…: a patch that is sent again
			headers = append(headers, "Content-Type", "application/merge-patch+json", "Idempotency-Key", arg.Vals[0])
		}
		return shortened(mustAsk(t, base, request, body, headers...))
	})
	rows := mustAsk(t, base, "POST /keptall/_bulk_docs", body, "Idempotency-Key", "long")
	require.Equal(t, 500, strings.Count(rows, `"ok":true`), "it was done again: there are conflicts")
}

// forgetKept has the time come at which everything goes that is kept.
func forgetKept(t *testing.T, dir string) {
	t.Helper()
	late := answeredAt.AddDate(2000, 0, 0)
	clock := func() time.Time { return late }
	engine := openSmall(t, dir)
	years := func(string) storage.History { return storage.History{Seconds: 1000 * 365 * 86400, Bytes: 1 << 30} }
	s, err := storage.Open(t.Context(), storage.Options{KV: engine, Manual: true, Now: clock})
	require.NoError(t, err)
	s.SetHooks(storage.Hooks{History: years})
	discard := slog.New(slog.DiscardHandler)
	h := autopurge.History{Store: s, Log: discard, Now: clock, Rate: func() int64 { return 1 << 30 }}
	for range 20 { // pieces, until the pass is over
		_, err := h.Step(t.Context())
		require.NoError(t, err)
	}
	done, next, err := expiry.Expire(t.Context(), engine, s, late.UnixMilli(), 100, nil)
	require.NoError(t, err)
	require.Positive(t, done)
	require.Zero(t, next)
	require.NoError(t, answers.Sweep(t.Context(), engine, late))
	require.NoError(t, s.Close())
	require.NoError(t, engine.Close())
	left := keptFor(contents(t, dir))
	maps.DeleteFunc(left, func(key, _ string) bool { return key == "keptall" })
	// What expired has been replaced only now.
	maps.DeleteFunc(left, func(key, _ string) bool { return strings.Contains(key, " was 4-") })
	require.Empty(t, left)
	o := appOptions{engine: "pebble", dataDir: dir}
	require.NoError(t, check(t.Context(), o, 0, io.Discard, io.Discard))
}
