package functions_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// newMember is a process on a store that others reach over the network, and its ends.
func newMember(t *testing.T, store kv.Store, name string) (*fixture, *nodes.Members, *httptest.Server) {
	t.Helper()
	members := nodes.New(nodes.Options{
		KV: store, Prefix: []byte("members"), Info: nodes.Info{Name: name}, Lease: time.Minute,
		Log: slog.New(slog.DiscardHandler),
	})
	x := newNode(t, store, members)
	listener := httptest.NewServer(x.Server)
	t.Cleanup(listener.Close)
	members.Advertise(listener.URL)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		members.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return x, members, listener
}

// TestRequestsElsewhere: a process that has no share of a function has one answer that has: with the user's
// rights, the body unpacked, and the headers of the answer. A request is passed on once at most.
func TestRequestsElsewhere(t *testing.T) {
	store := memkv.New()
	here, self, front := newMember(t, store, "n1@one")
	there, owner, listener := newMember(t, store, "n2@two")
	here.PutUsers(3)
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, 201, here.Do("PUT", "/"+name, "").Code)
	}
	here.deployedFor(`["_authenticated"]`)
	here.engine.failed = eventing.ErrNotServing
	there.engine.result = &js.EventResult{Outcome: js.EventDone, Answer: []byte(`{"status":418,"text":"tea",
		"type":"text/html","headers":[["ETag","\"1\""],["Retry-After","7"],["Set-Cookie","a=b"]]}`)}

	w := here.Do("POST", "/_functions/f", "{}")
	require.Equal(t, 503, w.Code, "nobody has a share")
	here.engine.owners = []nodes.ID{{1}, owner.Self()}
	require.Eventually(t, func() bool {
		w = here.Do("PUT", "/_functions/f/a%2Fb?k=1", `{"v":1}`, "X-Thing", "t")
		return w.Code != 503
	}, time.Minute, time.Millisecond)
	require.Equal(t, 418, w.Code)
	require.Equal(t, "tea", w.Body.String())
	for name, value := range map[string]string{
		"Content-Type": "text/html", "Retry-After": "7", "Content-Security-Policy": "sandbox",
		"X-Content-Type-Options": "nosniff", "Set-Cookie": "",
	} {
		require.Equal(t, value, w.Header().Get(name), name)
	}
	require.Equal(t, `"1"`, servertest.ETag(w))
	asked := func() (got map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(there.engine.requested), &got))
		return got
	}
	got := asked()
	require.Equal(t, []any{"PUT", "/a/b", `{"v":1}`}, []any{got["method"], got["path"], got["body"]})
	require.Equal(t, map[string]any{"k": []any{"1"}}, got["query"])
	require.Equal(t, "t", got["headers"].(map[string]any)["x-thing"])
	require.Equal(t, "admin", got["user"].(map[string]any)["name"])

	require.Equal(t, 401, here.Anyone("GET", "/_functions/f", "").Code)
	require.Equal(t, 418, here.Do("GET", "/_functions/f", "", servertest.As("joe1")...).Code)
	require.Equal(t, "joe1", asked()["user"].(map[string]any)["name"])
	require.True(t, there.engine.readsOnly)
	w = here.Do("HEAD", "/_functions/f", "")
	require.Equal(t, 418, w.Code)
	require.Empty(t, w.Body.String())
	require.Equal(t, 413, here.Do("POST", "/_functions/f", strings.Repeat("x", 1<<20+1)).Code)

	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"packed":1}`)
	require.NoError(t, z.Close())
	require.Equal(t, 418, here.Do("POST", "/_functions/f", packed.String(), "Content-Encoding", "gzip").Code)
	require.Equal(t, `{"packed":1}`, asked()["body"])

	// A page of this site may send what a page of another site may not, though the other process has
	// another address.
	form := []string{"Content-Type", "text/plain", "Origin", front.URL}
	url := front.URL + "/_functions/f"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("x"))
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	for i := 0; i < len(form); i += 2 {
		r.Header.Set(form[i], form[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, 418, answer.StatusCode)
	form[3] = "http://evil.example"
	require.Equal(t, 403, here.Do("POST", "/_functions/f", "x", form...).Code)

	// Partitions that have moved meanwhile do not send a request round and round.
	there.engine.failed, there.engine.owners = eventing.ErrNotServing, []nodes.ID{self.Self()}
	there.engine.requested = ""
	require.Equal(t, 503, here.Do("POST", "/_functions/f", "{}").Code)
	require.NotEmpty(t, there.engine.requested)

	listener.CloseClientConnections()
	listener.Close()
	w = here.Do("POST", "/_functions/f", "{}")
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "n2@two does not answer")
}

// TestDebuggerElsewhereUnreachable: a session whose process does not answer is there all the same, 503 and not
// 404.
func TestDebuggerElsewhereUnreachable(t *testing.T) {
	store := memkv.New()
	here, _, front := newMember(t, store, "n1@one")
	_, owner, listener := newMember(t, store, "n2@two")
	require.Equal(t, 201, here.Do("PUT", "/a", "").Code)
	require.Equal(t, 201, here.Do("PUT", "/b", "").Code)
	here.deployedFor(`[]`)
	here.run([]step{{"POST", "/config", `{"enable_debugger":true}`, 200, 0, ""}})
	r, err := here.reg.Get(t.Context(), definition.Ref{Scope: definition.Global, Name: "f"})
	require.NoError(t, err)
	d := &registry.Debugging{
		Ref: r.Ref(), Instance: r.Instance, ID: "id", Secret: "secret", Request: []byte("{}"),
		Ends: time.Now().Add(time.Hour),
	}
	_, err = here.reg.BeginDebugging(t.Context(), d, 1, func(nodes.ID) bool { return false })
	require.NoError(t, err)
	_, err = store.Update(t.Context(), func(tx kv.Tx) error {
		return registry.TakeDebugging(tx, d.Ref, d.ID, owner.Self(), "doc")
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(here.Do("GET", base+"/functions/f/debugger", "").Body.String(), `"caught": true`)
	}, time.Minute, time.Millisecond)
	listener.CloseClientConnections()
	listener.Close()
	for _, request := range [][2]string{{"GET", "/effects"}, {"POST", "/stop"}} {
		w := here.Do(request[0], base+"/functions/f/debugger"+request[1], "")
		require.Equal(t, 503, w.Code, w.Body)
		require.Contains(t, w.Body.String(), "n2@two does not answer")
	}
	asks, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL, nil)
	require.NoError(t, err)
	asks.SetBasicAuth("admin", "secret")
	_, w, err := websocket.Dial(t.Context(), front.URL+base+"/functions/f/debugger/socket",
		&websocket.DialOptions{HTTPHeader: asks.Header})
	require.Error(t, err)
	require.Equal(t, 503, w.StatusCode)
}
