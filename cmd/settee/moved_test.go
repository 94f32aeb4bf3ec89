package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// shareStores registers an engine whose stores are all the one that the result points to, for the
// time of a test.
func shareStores(t *testing.T, engine string) *kv.Store {
	t.Helper()
	var store kv.Store = memkv.New()
	engines[engine], sharedEngines[engine] = func(appOptions, *slog.Logger) (kv.Store, error) {
		return kept{store}, nil
	}, true
	t.Cleanup(func() {
		delete(engines, engine)
		delete(sharedEngines, engine)
		require.NoError(t, store.Close())
	})
	return &store
}

// move copies all keys into a new store, whose versions begin anew: what restoring a backup in
// another cluster does.
func move(t *testing.T, from kv.Store) kv.Store {
	t.Helper()
	to := memkv.New()
	_, err := to.Update(context.Background(), func(tx kv.Tx) error {
		return from.View(context.Background(), func(r kv.ReadTx) error {
			it := r.Range(nil, []byte{0xff}, kv.RangeOptions{})
			defer it.Close()
			for it.Next() {
				tx.Set(it.Key(), it.Value())
			}
			return it.Err()
		})
	})
	require.NoError(t, err)
	require.NoError(t, from.Close())
	return to
}

// TestMoved: a store that was restored in another cluster, whose versionstamps are lower, goes on
// with higher sequences: feeds give what is written next, each document once, replications go on
// where they were, lists and indexes count right. Then it moves once more.
func TestMoved(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	store := shareStores(t, "movable")
	target, stopTarget := startServe(t, t.TempDir())
	defer stopTarget()
	copyTo := strings.Replace(target, "://", "://admin:secret@", 1) + "/copy"
	listen := freeAddress(t) // always the same: a replication is named by the URL of its source
	node := func() (base string, stop func()) {
		o := serveOptions{listen: listen}
		o.engine, o.dataDir, o.node = "movable", t.TempDir(), "couchdb@a"
		end, err := tryServe(t, o, io.Discard)
		require.NoError(t, err)
		return "http://" + o.listen, func() { require.NoError(t, end()) }
	}
	get := func(url string) map[string]any {
		t.Helper()
		status, answer, _ := ask(t, "admin:secret", "GET", url, "")
		require.Equal(t, 200, status, answer)
		return answer.(map[string]any)
	}
	before := 0
	// replicate returns how many revisions it has looked at.
	replicate := func(base string) int {
		t.Helper()
		source := strings.Replace(base, "://", "://admin:secret@", 1) + "/db"
		status, answer, _ := ask(t, "admin:secret", "POST", target+"/_replicate",
			fmt.Sprintf(`{"source":%q,"target":%q,"create_target":true}`, source, copyTo))
		require.Equal(t, 200, status, answer)
		session := answer.(map[string]any)["history"].([]any)[0].(map[string]any)
		looked := int(session["missing_checked"].(float64)) // also in the sessions before this one
		defer func() { before = looked }()
		return looked - before
	}
	base, stop := node()
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	require.Equal(t, 200, postJSON(t, base+"/db/_index", `{"index":{"fields":["n"]}}`))
	require.Equal(t, 201, request(t, "PUT", base+"/db/_design/d", `{"options":{"interactive":true},"views":{"v":{
		"map":"function (doc) { emit(doc.n, doc.n) }",
		"reduce":"function (keys, values) { return sum(values) }"}}}`))
	const each = 30
	ids := map[string]bool{}
	write := func(base string, round int) {
		t.Helper()
		for i := range each {
			id := fmt.Sprintf("d%d-%d", round, i)
			require.Equal(t, 201, request(t, "PUT", base+"/db/"+id, fmt.Sprintf(`{"n":%d}`, i)))
			ids[id] = true
		}
		changed := fmt.Sprintf("d%d-0", max(0, round-1)) // one of before
		rev := get(base + "/db/" + changed)["_rev"].(string)
		require.Equal(t, 201, request(t, "PUT", base+"/db/"+changed+"?rev="+rev, `{"n":0,"again":true}`))
	}
	write(base, 0)
	require.Equal(t, each+2, replicate(base), "all, and design documents")
	since := get(base + "/db/_changes?since=now")["last_seq"].(string)
	info := get(base + "/db")
	for round := 1; round <= 2; round++ {
		stop()
		*store = move(t, *store)
		base, stop = node()
		require.Empty(t, get(base + "/db/_changes?since=" + since)["results"])
		require.Equal(t, info["doc_count"], get(base + "/db")["doc_count"])
		write(base, round)
		fresh := get(base + "/db/_changes?since=" + since)
		require.Len(t, fresh["results"], each+1, "what was written since")
		require.Greater(t, number(fresh["last_seq"]), number(since))
		rows := get(base + "/db/_changes?limit=7")
		seen := map[string]bool{}
		for len(rows["results"].([]any)) > 0 {
			for _, row := range rows["results"].([]any) {
				id := row.(map[string]any)["id"].(string)
				require.False(t, seen[id], "%s is in the feed twice", id)
				seen[id] = true
			}
			rows = get(base + "/db/_changes?limit=7&since=" + rows["last_seq"].(string))
		}
		require.Len(t, seen, len(ids)+2)
		_, found, _ := ask(t, "admin:secret", "POST", base+"/db/_find", `{"selector":{"n":{"$gte":0}},"limit":1000}`)
		require.Len(t, found.(map[string]any)["docs"], len(ids))
		require.Equal(t, each+1, replicate(base), "only what was written since")
		since, info = get(base + "/db/_changes?since=now")["last_seq"].(string), get(base+"/db")
	}
	stop()
	var out bytes.Buffer
	require.NoError(t, checkStore(context.Background(), *store, &out, io.Discard), out.String())
}

// called is a store on a cluster with a name.
type called struct {
	kv.Store
	name string
}

func (c called) Identity(context.Context) ([]byte, error) { return []byte(c.name), nil }

// TestMovedHigher: a store that was restored in another cluster, whose versionstamps are above
// those of the copy but below what the first cluster went on to, is found to have moved, by the
// cluster's identity: who followed the first one to its end gets what is written. A node that
// starts where the store was before changes nothing.
func TestMovedHigher(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	store := shareStores(t, "movable")
	open := engines["movable"]
	cluster := "first"
	engines["movable"] = func(o appOptions, log *slog.Logger) (kv.Store, error) {
		s, err := open(o, log)
		return called{s, cluster}, err
	}
	node := func() (base string, stop func()) {
		o := serveOptions{listen: freeAddress(t)}
		o.engine, o.dataDir, o.node = "movable", t.TempDir(), "couchdb@a"
		end, err := tryServe(t, o, io.Discard)
		require.NoError(t, err)
		return "http://" + o.listen, func() { require.NoError(t, end()) }
	}
	changes := func(base, since string) (ids []string, last string) {
		t.Helper()
		status, answer, _ := ask(t, "admin:secret", "GET", base+"/db/_changes?since="+since, "")
		require.Equal(t, 200, status, answer)
		feed := answer.(map[string]any)
		for _, row := range feed["results"].([]any) {
			ids = append(ids, row.(map[string]any)["id"].(string))
		}
		return ids, feed["last_seq"].(string)
	}
	// commits raises a store's version by n at least, and to at least least.
	commits := func(s kv.Store, n int, least uint64) (version uint64) {
		t.Helper()
		for ; n > 0 || version < least; n-- {
			_, err := s.Update(t.Context(), func(tx kv.Tx) (err error) {
				tx.Clear([]byte("\xfe"))
				version, err = tx.ReadVersion()
				return err
			})
			require.NoError(t, err)
		}
		return version
	}
	base, stop := node()
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	require.Equal(t, 201, request(t, "PUT", base+"/db/before", "{}"))
	stop()
	base, stop = node() // where it was before
	require.Equal(t, 201, request(t, "PUT", base+"/db/again", "{}"))
	stop()
	s, err := storage.Open(t.Context(), storage.Options{KV: kept{*store}, Manual: true})
	require.NoError(t, err)
	last, err := s.DB("db").Feed().Last(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.EqualValues(t, 1, last.Seq.Incarnation, "where the store stays")

	copied := move(t, kept{*store})
	commits(copied, 0, commits(*store, 1, 0)+1)
	base, stop = node()
	commits(*store, 10_000, 0)
	require.Equal(t, 201, request(t, "PUT", base+"/db/lost", "{}"))
	_, since := changes(base, "now")
	stop()
	require.NoError(t, (*store).Close())
	*store, cluster = copied, "second"
	base, stop = node()
	require.Equal(t, 201, request(t, "PUT", base+"/db/after", "{}"))
	ids, _ := changes(base, since)
	require.Equal(t, []string{"after"}, ids)
	stop()
	var out bytes.Buffer
	require.NoError(t, checkStore(context.Background(), *store, &out, io.Discard), out.String())
}

// number is the number that a sequence begins with.
func number(seq any) (n int) {
	_, _ = fmt.Sscanf(seq.(string), "%d-", &n)
	return n
}
