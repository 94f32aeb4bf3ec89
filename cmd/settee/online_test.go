package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// shortLived is a store whose snapshots become too old after so many reads.
type shortLived struct {
	kv.Store
	reads int
	ended *atomic.Int64 // how many did
}

// View implements kv.Store.
func (s shortLived) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return s.Store.View(ctx, func(tx kv.ReadTx) error {
		reads := 0
		return fn(wrapkv.GateReads(tx, func() error {
			if reads++; reads > s.reads {
				s.ended.Add(1)
				return kv.ErrTooOld
			}
			return nil
		}))
	})
}

// Limits implements kv.Store.
func (s shortLived) Limits() kv.Limits { return kv.Limits{ReadTime: 1} }

// busy does what servers do until stop is called: documents come, change, go and are purged,
// indexes of all kinds follow. await waits until so many batches more were written.
func busy(t *testing.T, db string) (await func(more int64), stop func()) {
	t.Helper()
	require.Equal(t, 201, request(t, "PUT", db, ""))
	require.Equal(t, 201, request(t, "PUT", db+"/_design/d", `{"views":{
		"sum":{"map":"function (doc) { emit(doc.n, doc.n) }","reduce":"_sum"},
		"stats":{"map":"function (doc) { emit(doc.n % 7, 1) }","reduce":"_stats"}},
		"indexes":{"t":{"index":"function (doc) { if (doc.text) index('text', doc.text) }"}}}`))
	for _, index := range []string{
		`{"index":{"fields":["n"]}}`, `{"index":{},"type":"auto"}`,
	} {
		status := postJSON(t, db+"/_index", index)
		require.Contains(t, []int{200, 201}, status, index)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var written atomic.Int64 // batches
	loop := func(step func(n int)) {
		running.Go(func() {
			for n := 0; ctx.Err() == nil && !t.Failed(); n++ {
				step(n)
			}
		})
	}
	for w := range 2 {
		loop(func(n int) {
			docs := make([]string, 10)
			for i := range docs {
				id := fmt.Sprintf("w%d-%d", w, (10*n+i)%300)
				docs[i] = fmt.Sprintf(`{"_id":%q,"n":%d}`, id, n)
				if i == 0 && n%5 == 0 { // the log of a full-text index is read from one snapshot
					docs[i] = fmt.Sprintf(`{"_id":%q,"n":%d,"text":"number %d"}`, id, n, i)
				}
				if rev := revOf(t, db, id); rev != "" {
					docs[i] = fmt.Sprintf(`{"_id":%q,"_rev":%q,"n":%d,"_deleted":%t}`, id, rev, n, (n+i)%5 == 0)
				}
			}
			if status := postJSON(t, db+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`); status != 201 {
				t.Errorf("_bulk_docs: %d", status)
			}
			written.Add(1)
		})
	}
	loop(func(n int) {
		id := fmt.Sprintf("p%d", n%50)
		request(t, "PUT", db+"/"+id, `{"n":1,"_attachments":{"a":{"data":"AAAA"}}}`)
		request(t, "PUT", db+"/_local/"+id, `{"n":1}`)
		if rev := revOf(t, db, id); rev != "" && n%2 == 0 {
			postJSON(t, db+"/_purge", fmt.Sprintf(`{%q:[%q]}`, id, rev))
		}
	})
	loop(func(int) {
		request(t, "GET", db+"/_design/d/_view/sum?group=true", "")
		request(t, "GET", db+"/_design/d/_view/stats", "")
		request(t, "GET", db+"/_design/d/_search/t?q=text:number", "")
		postJSON(t, db+"/_find", `{"selector":{"n":{"$gt":3}}}`)
	})
	await = func(more int64) {
		from := written.Load()
		require.Eventually(t, func() bool { return written.Load() >= from+more }, time.Minute, time.Millisecond)
	}
	return await, func() { cancel(); running.Wait() }
}

// revOf is the revision of a document, "" if there is none.
func revOf(t *testing.T, db, id string) string {
	r, err := http.NewRequest("HEAD", db+"/"+id, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	r.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	w.Body.Close()
	return strings.Trim(w.Header.Get("ETag"), `"`)
}

// TestCheckOnline: a check of a store that other processes write to, whose snapshots do not live as
// long as a window of it takes, finds nothing where nothing is wrong; and what is.
func TestCheckOnline(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	store := shareStores(t, "busy")
	o := serveOptions{listen: freeAddress(t)}
	o.engine, o.dataDir, o.node = "busy", t.TempDir(), "couchdb@a"
	end, err := tryServe(t, o, failedLog(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, end()) }()
	db := "http://" + o.listen + "/db"
	await, stop := busy(t, db)
	defer stop()
	var ended atomic.Int64
	online := func() (string, error) {
		var out bytes.Buffer
		c := checker{
			store: shortLived{*store, 1000, &ended}, out: &out, progress: io.Discard, again: confirmations,
		}
		err := c.run(t.Context())
		return out.String(), err
	}
	batches, rounds := int64(60), 3
	if testing.Short() { // under the race detector
		batches, rounds = 20, 1
	}
	await(batches)
	for range rounds {
		await(5)
		text, err := online()
		require.NoError(t, err, text)
	}
	require.Positive(t, ended.Load())
	require.Equal(t, 201, request(t, "PUT", db+"/victim", `{"n":1}`))
	harm(t, *store, keyspace.TagRevs, "victim")
	text, err := online()
	require.Error(t, err)
	require.Contains(t, text, `"victim"`)
}

// harm removes the keys of a document below a tag.
func harm(t *testing.T, store kv.Store, tag keyspace.Tag, id string) {
	t.Helper()
	removed := 0
	_, err := store.Update(context.Background(), func(tx kv.Tx) error {
		removed = 0
		it := tx.Snapshot().Range(tuple.AppendInt(nil, 32), []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			_, rest, err := tuple.ReadInt(it.Key())
			if err != nil {
				return err
			}
			at, rest, err := tuple.ReadInt(rest)
			if err == nil && keyspace.Tag(at) == tag && bytes.HasPrefix(rest, tuple.AppendString(nil, id)) {
				tx.Clear(bytes.Clone(it.Key()))
				removed++
			}
		}
		return it.Err()
	})
	require.NoError(t, err)
	require.Positive(t, removed)
}
