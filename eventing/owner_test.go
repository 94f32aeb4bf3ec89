package eventing

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
)

// people are the users that a test's functions have as owners.
type people struct {
	mu    sync.Mutex
	roles map[string][]string
}

func (p *people) rights(_ context.Context, name string) ([]string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	roles, known := p.roles[name]
	return roles, known, nil
}

func (p *people) set(name string, roles ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles[name] = roles
}

func (p *people) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.roles, name)
}

// secure sets the members of a database.
func (n *node) secure(database, members string) {
	n.t.Helper()
	object := []byte(`{"admins":{"roles":["_admin"]},"members":` + members + `}`)
	require.NoError(n.t, n.store.DB(database).Settings().SetSecurity(n.t.Context(), object))
}

// deployAs deploys f with an owner, and waits until it has copied a first document.
func (n *node) deployAs(owner registry.Principal) {
	n.t.Helper()
	n.ask("f", func(ctx context.Context, r *registry.Record) (*registry.Record, error) {
		return n.engine.Registry().Deploy(ctx, r, owner, nil)
	})
	n.put("src", "first", `{}`)
	n.becomes("dst", "first", `{}`)
}

// stopped waits until f is paused, and gives the reason.
func (n *node) stopped() (reason string) {
	n.t.Helper()
	n.eventually(func() bool {
		r, err := n.engine.Registry().Get(n.t.Context(), refOf("f"))
		require.NoError(n.t, err)
		reason = r.Reason
		return r.State == definition.Paused
	}, "f is paused")
	return reason
}

// TestOwnerLosesRights: a function has the rights that its owner has now. Where these do not let it
// read its source it is paused with the reason, and does nothing from the moment on when they were
// taken; to resume it takes rights.
func TestOwnerLosesRights(t *testing.T) {
	const copies = `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`
	for name, c := range map[string]struct {
		owner  registry.Principal
		take   func(n *node, p *people)
		reason string
	}{
		"removed from the members": {
			registry.Principal{Name: "eve", Roles: []string{}},
			func(n *node, _ *people) { n.secure("src", `{"names":["other"]}`) }, "its owner eve may not read src any more",
		},
		"role revoked": {
			registry.Principal{Name: "rolly", Roles: []string{"boss"}},
			func(_ *node, p *people) { p.set("rolly") }, "its owner rolly may not read src any more",
		},
		"user deleted": {
			registry.Principal{Name: "eve", Roles: []string{}},
			func(_ *node, p *people) { p.remove("eve") }, "its owner eve is not there any more",
		},
		"administrator deleted": {
			registry.Principal{Name: "root", Roles: []string{"_admin"}},
			func(_ *node, p *people) { p.remove("root") }, "its owner root is not there any more",
		},
		"administrator is a user": {
			registry.Principal{Name: "root", Roles: []string{"_admin"}},
			func(_ *node, p *people) { p.set("root") }, "its owner root may not read src any more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newAlone(t, "src", "dst")
			p := &people{roles: map[string][]string{"eve": {}, "rolly": {"boss"}, "root": {"_admin"}}}
			n.engine.rights = p.rights
			for _, database := range []string{"src", "dst"} {
				n.secure(database, `{"names":["eve"],"roles":["boss"]}`)
			}
			n.define("f", copies, "", "+dst=dst")
			n.deployAs(c.owner)
			time.Sleep(rightsFor) // a batch that has looked may go on for so long
			c.take(n, p)
			n.put("src", "secret", `{}`)
			require.Equal(t, c.reason, n.stopped())
			require.Empty(t, n.get("dst", "secret"))
			n.eventually(func() bool { return n.log("f") != "" }, "a line in the log")
			require.Contains(t, n.log("f"), c.reason)
			n.deployAs(registry.Principal{Name: "ann", Roles: []string{"_admin"}, External: true})
			n.becomes("dst", "secret", `{}`)
			r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
			require.NoError(t, err)
			require.Empty(t, r.Reason)
		})
	}
}

// TestOwnerLosesRightsWhileHandlersRun: timers, statements and requests have the rights of now,
// too, in the middle of a handler; an owner who may read the source still, but not write where the
// function does, gets an error for each write.
func TestOwnerLosesRightsWhileHandlersRun(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	for how, code := range map[string]string{
		"curl":  `for (;;) curl("GET", api);`,
		"reads": `curl("GET", api); for (var i = 0; ; i++) dst["x" + i];`,
		"rows": `curl("GET", api);
			for (;;) { var rows = SELECT * FROM dst; for (var r of rows) {} }`,
		"timer": `createTimer(fire, new Date(Date.now() + 2000), "t", {}); curl("GET", api);`,
	} {
		t.Run(how, func(t *testing.T) {
			n := newAlone(t, "src", "dst")
			p := &people{roles: map[string][]string{"eve": {}, "root": {"_admin"}}}
			n.engine.rights = p.rights
			n.secure("src", `{"names":["eve"]}`)
			n.secure("dst", `{"names":["eve"]}`)
			n.defineCurl(fmt.Sprintf(`
function fire() { dst["fired"] = {}; }
function OnUpdate(doc, meta) { if (meta.id === "go") { %s } else { dst[meta.id] = {}; } }`, code), server.URL, `{}`)
			n.pause("f")
			n.deployAs(registry.Principal{Name: "eve"})
			before := requests.Load()
			n.put("src", "go", `{}`)
			n.eventually(func() bool { return requests.Load() > before }, "the handler runs")
			p.remove("eve")
			require.Equal(t, "its owner eve is not there any more", n.stopped())
			require.Empty(t, n.get("dst", "fired"))
			after := requests.Load()
			n.put("src", "later", `{}`)
			require.Equal(t, after, requests.Load())
		})
	}
	t.Run("writes", func(t *testing.T) {
		n := newAlone(t, "src", "dst")
		n.engine.rights = (&people{roles: map[string][]string{"eve": {}}}).rights
		n.secure("src", `{"names":["eve"]}`)
		n.secure("dst", `{"names":["eve"]}`)
		n.define("f", `function OnUpdate(doc, meta) { try { dst[meta.id] = {}; } catch (e) { log("refused", e.message.name); } }`,
			"", "+dst=dst")
		n.deployAs(registry.Principal{Name: "eve"})
		time.Sleep(rightsFor)
		n.secure("dst", `{"names":["other"]}`)
		n.put("src", "second", `{}`)
		n.eventually(func() bool { return n.stat("f", "on_update_success") == 2 }, "the event is done")
		require.Empty(t, n.get("dst", "second"))
	})
}

// TestOwnersOfSomeDocuments: a function whose source has access for each document belongs to an
// administrator of it: another owner's is paused. As a target such a database is refused to whoever
// is none.
func TestOwnersOfSomeDocuments(t *testing.T) {
	n := newAlone(t, "dst")
	n.engine.rights = (&people{roles: map[string][]string{"eve": {}, "boss": {}}}).rights
	for name, admin := range map[string]string{"src": "boss", "other": "nobody"} {
		require.NoError(t, n.store.Create(t.Context(), name, storage.CreateOptions{Q: 1, N: 1, Access: true}))
		object := `{"admins":{"names":["` + admin + `"]},"members":{"roles":["_users"]}}`
		require.NoError(t, n.store.DB(name).Settings().SetSecurity(t.Context(), []byte(object)))
	}
	n.secure("dst", `{"names":["eve","boss"]}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	var code = 0;
	try { other[meta.id] = {}; } catch (e) { code = e.message.code; }
	dst[meta.id] = code === 403 ? {} : {code: code};
}`, "", "+dst=dst", "+other=other")
	n.ask("f", func(ctx context.Context, r *registry.Record) (*registry.Record, error) {
		return n.engine.Registry().Deploy(ctx, r, registry.Principal{Name: "eve"}, nil)
	})
	n.put("src", "secret", `{"_access":["eve"]}`)
	require.Equal(t, "its owner eve sees only some of the documents of src", n.stopped())
	require.Empty(t, n.get("dst", "secret"))
	n.deployAs(registry.Principal{Name: "boss"})
	n.becomes("dst", "secret", `{}`)
}
