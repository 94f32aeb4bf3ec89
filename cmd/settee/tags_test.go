package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// tagNoter notes with which marks transactions came.
type tagNoter struct {
	kv.Store
	mu   sync.Mutex
	tags map[string]int
}

func (n *tagNoter) note(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tags[kv.Tag(ctx)]++
}

// noted are the marks since the last call, without those of what runs by itself.
func (n *tagNoter) noted() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	tags := map[string]bool{}
	for tag := range n.tags {
		if tag != "" && tag != "db:_users" && tag != "db:_replicator" && tag != "db:_global_changes" {
			tags[tag] = true
		}
	}
	clear(n.tags)
	return tags
}

// View implements kv.Store.
func (n *tagNoter) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	n.note(ctx)
	return n.Store.View(ctx, fn)
}

// Update implements kv.Store.
func (n *tagNoter) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	n.note(ctx)
	return n.Store.Update(ctx, fn)
}

// TestTransactionTags: transactions carry the name of the database, or of the user, as the setting
// says.
func TestTransactionTags(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	engine, store := shareStore(t)
	noter := &tagNoter{Store: store, tags: map[string]int{}}
	engines[engine] = func(appOptions, *slog.Logger) (kv.Store, error) { return kept{noter}, nil }
	o := serveOptions{listen: freeAddress(t)}
	o.engine, o.dataDir, o.node = engine, t.TempDir(), "couchdb@a"
	stop, err := tryServe(t, o, io.Discard)
	require.NoError(t, err)
	url := "http://" + o.listen
	do := func(credentials, method, path, body string, want int) {
		t.Helper()
		status, answer, _ := ask(t, credentials, method, url+path, body)
		require.Equal(t, want, status, answer)
	}
	set := func(value string) {
		t.Helper()
		do("admin:secret", "PUT", "/_node/_local/_config/settee/transaction_tags", `"`+value+`"`, 200)
		noter.noted()
	}
	do("admin:secret", "PUT", "/alpha", "", 201)
	do("admin:secret", "PUT", "/beta", "", 201)
	do("admin:secret", "PUT", "/alpha/_security", `{"members":{"roles":[]}}`, 200)
	do("admin:secret", "PUT", "/alpha/a", "{}", 201)
	require.Empty(t, noter.noted(), "it is off unless it is set")

	// What runs by itself, folding of counts, may come in between.
	set("database")
	do("admin:secret", "PUT", "/alpha/b", "{}", 201)
	do("admin:secret", "GET", "/alpha/_all_docs", "", 200)
	tags := noter.noted()
	require.Contains(t, tags, "db:alpha")
	require.NotContains(t, tags, "db:beta")
	do("admin:secret", "GET", "/beta", "", 200)
	require.Contains(t, noter.noted(), "db:beta")

	set("user")
	do("admin:secret", "PUT", "/alpha/c", "{}", 201)
	do("", "GET", "/alpha/c", "", 200)
	tags = noter.noted()
	require.Contains(t, tags, "user:admin")
	require.Contains(t, tags, "user:")

	set("none")
	do("admin:secret", "GET", "/alpha/c", "", 200)
	require.NotContains(t, noter.noted(), "user:admin")
	require.NoError(t, stop())
}
