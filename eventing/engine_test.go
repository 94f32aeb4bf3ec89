package eventing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// node is one process with functions over a store.
type node struct {
	t      testing.TB
	kv     kv.Store
	store  *storage.Store
	docs   *documents.Store
	jobs   *jobs.Queue
	views  *views.Views
	js     *js.Pool
	engine *Engine
	leave  context.CancelFunc // of the processes on the store
	closed bool
}

// newNode opens a node over a store, which the test closes after it. Lease is that of its jobs, 0:
// it is alone.
func newNode(t testing.TB, store kv.Store, lease time.Duration) *node {
	t.Helper()
	return newNodeAt(t, store, lease, time.Now)
}

// newNodeAt is newNode whose functions have a clock.
func newNodeAt(t testing.TB, store kv.Store, lease time.Duration, now func() time.Time) *node {
	t.Helper()
	n := &node{t: t, kv: store}
	var err error
	n.store, err = storage.Open(context.Background(), storage.Options{KV: store})
	require.NoError(t, err)
	n.jobs, err = jobs.Open(context.Background(), jobs.Options{
		KV: store, Prefix: keyspace.JobsPrefix(), Exclusive: lease == 0, Lease: lease,
	})
	require.NoError(t, err)
	n.js = js.NewPool(js.Options{Workers: 4, Memory: 256 << 20})
	n.views, err = views.Open(views.Options{
		Store: n.store, KV: store, Jobs: n.jobs,
		Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	require.NoError(t, err)
	n.docs = newDocuments(t, n.store, n.views, n.js)
	members := nodes.New(nodes.Options{
		KV: store, Prefix: keyspace.NodesPrefix(), Info: nodes.Info{Name: "node"}, Lease: lease,
		Log: slog.New(slog.DiscardHandler),
	})
	present, leave := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() { defer close(gone); members.Run(present) }()
	n.leave = func() { leave(); <-gone }
	n.engine = New(Options{
		KV: store, Store: n.store, Views: n.views, Jobs: n.jobs, JS: n.js, Log: slog.New(slog.DiscardHandler),
		Now: now, Nodes: members, Connects: func(netip.Addr) bool { return true },
	})
	n.engine.retryAfter = 5 * time.Millisecond
	require.NoError(t, n.engine.Start(n.docs, nil, nil))
	t.Cleanup(n.close)
	return n
}

// close ends the node as a process ends that is told to.
func (n *node) close() {
	if n.closed {
		return
	}
	n.closed = true
	require.NoError(n.t, n.jobs.Close())
	n.engine.Close()
	n.leave()
	require.NoError(n.t, n.views.Close())
	n.js.Close()
	require.NoError(n.t, n.store.Close())
}

// newAlone is a node over a store of its own in memory, with databases.
func newAlone(t testing.TB, databases ...string) *node {
	t.Helper()
	n := newNode(t, memkv.New(), 0)
	n.create(databases...)
	return n
}

func (n *node) create(databases ...string) {
	n.t.Helper()
	for _, name := range databases {
		require.NoError(n.t, n.store.Create(context.Background(), name, storage.CreateOptions{Q: 1, N: 1}))
	}
}

var admin = principal.Principal{Name: "root", Roles: []string{"_admin"}}

func (n *node) db(name string) *documents.Database {
	return n.docs.Database(name, admin, documents.Origin{})
}

// put writes a document over whatever is there; body is without _id, empty for a deletion.
func (n *node) put(database, id, body string) {
	n.t.Helper()
	for {
		d := n.db(database)
		text := fmt.Sprintf(`{"_id":%q`, id)
		if old, err := d.Open(context.Background(), id, docread.OpenOptions{}); err == nil {
			text += fmt.Sprintf(`,"_rev":%q`, old.Rev)
		} else if body == "" {
			return // another writer has deleted it
		}
		switch {
		case body == "":
			text += `,"_deleted":true}`
		case body == "{}":
			text += "}"
		default:
			text += "," + body[1:]
		}
		p, err := d.Parser(context.Background(), false)
		require.NoError(n.t, err)
		doc, err := p.ParseText([]byte(text))
		require.NoError(n.t, err)
		_, err = d.Write(context.Background(), doc, documents.WriteOptions{})
		if errors.Is(err, compat.KindConflict) {
			continue
		}
		require.NoError(n.t, err)
		return
	}
}

// get is the body of a document, "" where there is none.
func (n *node) get(database, id string) string {
	n.t.Helper()
	doc, err := n.db(database).Open(context.Background(), id, docread.OpenOptions{})
	if errors.Is(err, compat.KindNotFound) {
		return ""
	}
	require.NoError(n.t, err)
	return string(doc.Body)
}

// count is the number of documents.
func (n *node) count(database string) int64 {
	n.t.Helper()
	info, err := n.db(database).Bare().Info(context.Background())
	require.NoError(n.t, err)
	return info.DocCount
}

// define stores a function over the database src. bindings are alias=database, with a + in front of
// the alias for one that may be written; settings is JSON.
func (n *node) define(name, code, settings string, bindings ...string) {
	n.t.Helper()
	ctx := context.Background()
	f := &definition.Function{
		Name: name, Code: code, Scope: definition.Global, Settings: definition.DefaultSettings(),
		Bindings: definition.Bindings{SourceBucket: "src", SourceScope: "_default", SourceCollection: "_default"},
	}
	if settings != "" {
		require.NoError(n.t, f.Settings.Merge([]byte(settings), true))
	}
	for _, b := range bindings {
		alias, database, _ := strings.Cut(b, "=")
		access := definition.ReadOnly
		if alias[0] == '+' {
			alias, access = alias[1:], definition.ReadWrite
		}
		f.Bindings.Buckets = append(f.Bindings.Buckets, definition.DatabaseBinding{
			Alias: alias, BucketName: database, ScopeName: "_default", CollectionName: "_default", Access: access,
		})
	}
	_, wrong := n.engine.Compile(ctx, f)
	if wrong != nil {
		n.t.Fatal(wrong)
	}
	seen, err := n.engine.Registry().Get(ctx, f.Ref())
	require.NoError(n.t, err)
	_, err = n.engine.Registry().Put(ctx, f, seen)
	require.NoError(n.t, err)
}

func refOf(name string) definition.Ref { return definition.Ref{Scope: definition.Global, Name: name} }

// ask begins a change of state and waits for it.
func (n *node) ask(
	name string,
	begin func(ctx context.Context, r *registry.Record) (*registry.Record, error),
) definition.State {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		r, err := n.engine.Registry().Get(ctx, refOf(name))
		require.NoError(n.t, err)
		if _, err = begin(ctx, r); errors.Is(err, registry.ErrChanged) {
			continue
		}
		require.NoError(n.t, err)
		r, err = n.engine.Registry().WaitFor(ctx, refOf(name))
		require.NoError(n.t, err)
		return r.State
	}
}

func (n *node) deploy(name string) definition.State {
	n.t.Helper()
	return n.ask(name, func(ctx context.Context, r *registry.Record) (*registry.Record, error) {
		c, wrong := n.engine.Compile(ctx, r.Draft)
		if wrong != nil {
			return nil, wrong
		}
		owner := registry.Principal{Name: admin.Name, Roles: admin.Roles}
		return n.engine.Registry().Deploy(ctx, r, owner, c.Queries)
	})
}

func (n *node) pause(name string) definition.State {
	n.t.Helper()
	return n.ask(name, n.engine.Registry().Pause)
}

func (n *node) undeploy(name string) definition.State {
	n.t.Helper()
	return n.ask(name, n.engine.Registry().Undeploy)
}

// eventually waits until what becomes true.
func (n *node) eventually(what func() bool, why string) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			log := n.log("f")
			n.t.Fatalf("not within a minute: %s; log of f: %s", why, log)
		}
	}
}

// becomes waits until a document has a body.
func (n *node) becomes(database, id, body string) {
	n.t.Helper()
	last := ""
	n.eventually(func() bool { last = n.get(database, id); return last == body },
		fmt.Sprintf("%s/%s is not %s", database, id, body))
}

// stat is a number of a function's statistics, by its name.
func (n *node) stat(name, counter string) int64 {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf(name))
	require.NoError(n.t, err)
	s, err := n.engine.Stats(context.Background(), r, definition.Usual)
	require.NoError(n.t, err)
	for _, m := range []map[string]any{s.Execution, s.Failure, s.EventProcessing} {
		if v, ok := m[counter]; ok {
			return v.(int64)
		}
	}
	n.t.Fatalf("no counter %q", counter)
	return 0
}

func registryPrincipal(name string) registry.Principal { return registry.Principal{Name: name} }

// log is what a function has logged.
func (n *node) log(name string) string {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf(name))
	require.NoError(n.t, err)
	if r == nil {
		return ""
	}
	text, err := n.engine.AppLog(context.Background(), r, true, 10_000)
	require.NoError(n.t, err)
	return string(text)
}
