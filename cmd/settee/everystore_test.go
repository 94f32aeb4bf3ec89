package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/logins"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/cluster/settings"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// smallStore makes a small store with all that a store can have, which TestStoresOfEachFormat asks
// for its contents. Everything in it is the same each time, but sequences, random ids and times.
// Its nouveau indexes come as replicated ones, as they were before they had a lucene_version: what
// is edited now has other revisions than older stores have.
func smallStore(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	base, stop := startServe(t, dir)
	do := func(request, body string) { t.Helper(); mustAsk(t, base, request, body) }
	do("PUT /a?q=4", "")
	do("PUT /parts?partitioned=true", "")
	do("PUT /copy", "")
	do("PUT /out", "")
	do("PUT /gone", "")
	do("DELETE /gone", "")
	do("PUT /a/_security", `{"admins":{"names":["ada"],"roles":[]},"members":{"names":[],"roles":["reader"]}}`)
	do("PUT /a/_revs_limit", "77")
	do("PUT /_users/org.couchdb.user:ada", `{"name":"ada","type":"user","roles":["reader"],"password":"lovelace"}`)
	do("PUT /a/_design/d?new_edits=false", `{"_rev":"1-d026783cf46c02590a63a9a74a993017","views":{
		"n":{"map":"function (d) { if (d.n) emit(d.n, d.t.length); }","reduce":"_stats"},
		"js":{"map":"function (d) { if (d.n) emit(d.n % 3, 1); }","reduce":"function (k, v) { return sum(v); }"}},
		"indexes":{"s":{"index":"function (d) { if (d.t) index('t', d.t); if (d.n) index('n', d.n); }"}},
		"nouveau":{"s":{"index":"function (d) { if (d.t) index('text', 't', d.t); }"}}}`)
	do("PUT /a/_design/now", `{"options":{"interactive":true},
		"views":{"n":{"map":"function (d) { if (d.n) emit(-d.n); }","reduce":"_count"}}}`)
	do("PUT /parts/_design/p", `{"views":{"n":{"map":"function (d) { emit(d.n); }","reduce":"_count"}}}`)
	do("POST /a/_index", `{"ddoc":"json","index":{"fields":["n"],"partial_filter_selector":{"n":{"$gt":2}}}}`)
	do("POST /a/_index", `{"ddoc":"auto","type":"auto","index":{}}`)
	do("POST /a/_index", `{"ddoc":"text","type":"text","index":{"fields":[{"name":"t","type":"string"}]}}`)
	do("PUT /a/_design/nouveau?new_edits=false", `{"_rev":"1-b48fb6ac04a79c0c05df850a5cebe0d2","language":"query",
		"nouveau":{"81585c2758022fb07f3be9ab998c1192a596e4c4":{"index":{
			"default_analyzer":"keyword","default_field":{},"partial_filter_selector":{},"selector":{},
			"fields":[{"name":"t","type":"string"}],"index_array_lengths":true},
			"analyzer":{"name":"perfield","default":"keyword","fields":{"$default":"standard"}}}}}`)
	for name, code := range map[string]string{
		"copies": `function OnUpdate(d, m) { if (d.n) out["copied:" + m.id] = {n: d.n}; }`,
		"timers": `function OnUpdate(d, m) { if (m.id === "d04") createTimer(later, new Date(Date.now() + 3000), "r", {id: m.id}); }
			function later(c) { out["timer:" + c.id] = c; }`,
	} {
		do("POST /_eventing/api/v1/functions/"+name, fmt.Sprintf(`{"appname":%q,"appcode":%q,
			"depcfg":{"source_bucket":"a","buckets":[{"alias":"out","bucket_name":"out","access":"rw"}]},
			"settings":{}}`, name, code))
		do("POST /_eventing/api/v1/functions/"+name+"/deploy?wait=60s", "")
	}
	do("PUT /_replicator/r", `{"source":"http://127.0.0.1:1/a","target":"http://127.0.0.1:1/b","continuous":true}`)
	smallDocuments(t, base, 1, 12)
	stop()
	require.NoError(t, openSmall(t, dir).Close()) // tables of what the log has

	base, stop = startServe(t, dir)
	smallDocuments(t, base, 12, 16)
	do("POST /a/_purge", `{"d03":["1-b03"]}`)
	mustAsk(t, base, "PUT /a/expires", `{}`, "X-Settee-Expires", "2100-01-01T00:00:00Z")
	mustAsk(t, base, "PUT /out/expired", `{}`, "X-Settee-Expires", "1")
	do("POST /_eventing/api/v1/functions/timers/pause?wait=60s", "")
	for _, question := range []string{
		"GET /a/_design/d/_view/n", "GET /a/_design/d/_view/js", "GET /parts/_partition/p1/_design/p/_view/n",
		"GET /a/_design/d/_search/s?q=t:x", "GET /a/_design/d/_nouveau/s?q=t:x", "GET /_reshard",
	} {
		do(question, "") // what is built when it is asked for
	}
	require.Eventually(t, func() bool {
		seen, _, _ := ask(t, "admin:password", "GET", base+"/out/copied:d15", "")
		return seen == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	do("POST /_replicate", `{"source":"a","target":"copy","selector":{"n":{"$gt":0}}}`)
	stop()
	tellNodes(t, dir)
	return dir
}

// smallDocuments writes documents of every form, whose numbers are from from up to to.
func smallDocuments(t *testing.T, base string, from, to int) {
	t.Helper()
	var docs, parts []string
	add := func(i int, rev, more string) {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%02d","_rev":"%s","n":%d,"t":"word%d %s"%s}`, i, rev, i, i%4,
			strings.Repeat("x ", []int{3, 60, 7_000, 40_000}[i%4]), more))
	}
	for i := from; i < to; i++ {
		add(i, fmt.Sprintf("1-a%02d", i), "")
		switch i % 5 {
		case 1:
			add(i, fmt.Sprintf("2-c%02d", i), `,"_deleted":true`)
		case 2, 3:
			add(i, fmt.Sprintf("1-b%02d", i), "") // a conflict
		case 4:
			add(i, fmt.Sprintf("1-b%02d", i),
				`,"_attachments":{"small":{"content_type":"text/plain","data":"c21hbGw="}}`)
		}
		parts = append(parts, fmt.Sprintf(`{"_id":"p%d:%d","n":%d}`, i%2, i, i))
	}
	mustAsk(t, base, "POST /a/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`)
	mustAsk(t, base, "POST /parts/_bulk_docs", `{"docs":[`+strings.Join(parts, ",")+`]}`)
	mustAsk(t, base, fmt.Sprintf("PUT /a/large%02d/f", from), strings.Repeat("0123456789abcdef", 12_000))
	mustAsk(t, base, fmt.Sprintf("PUT /a/_local/l%02d", from), `{"x":1}`)
}

// tellNodes writes what only the processes of a shared store keep in it: settings and failed
// logins.
func tellNodes(t *testing.T, dir string) {
	t.Helper()
	c, err := loadConfig(&appOptions{dataDir: dir, dataChosen: true})
	require.NoError(t, err)
	engine := openSmall(t, dir)
	discard := slog.New(slog.DiscardHandler)
	shares, err := settings.Open(t.Context(), settings.Options{
		KV: engine, Prefix: keyspace.SettingsPrefix(), Config: c, Log: discard,
		Nodes: nodes.New(nodes.Options{KV: engine, Prefix: keyspace.NodesPrefix(), Log: discard}),
	})
	require.NoError(t, err)
	value := "4096"
	_, err = shares.Change("couchdb", "max_document_size", config.Change{Value: &value})
	require.NoError(t, err)
	log := logins.New(logins.Options{KV: engine, Prefix: keyspace.LoginsPrefix(), Log: discard})
	log.Follow(func(logins.Failure) {}, func() time.Duration { return time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	log.Tell(logins.Failure{1})
	require.Eventually(t, func() bool { return keysBelow(t, engine, keyspace.LoginsPrefix()) > 1 }, time.Minute,
		time.Millisecond)
	cancel()
	running.Wait()
	require.NoError(t, engine.Close())
}

// keysBelow counts the keys below a prefix.
func keysBelow(t *testing.T, engine kv.Store, prefix []byte) (n int) {
	t.Helper()
	require.NoError(t, engine.View(t.Context(), func(tx kv.ReadTx) error {
		n = 0
		it := tx.Range(prefix, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return it.Err()
	}))
	return n
}

// mustAsk sends a request of the administrator, which must not fail; headers are names and values in
// turn.
func mustAsk(t *testing.T, base, request, body string, headers ...string) string {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	require.NoError(t, err)
	r.SetBasicAuth("admin", "password")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	answer, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.Less(t, w.StatusCode, http.StatusBadRequest, "%s: %s", request, answer)
	return string(answer)
}
