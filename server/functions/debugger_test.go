package functions_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
)

// StartDebugger begins a session that has caught the document d, or with the request {} none.
func (e *fakeEngine) StartDebugger(ctx context.Context, r *registry.Record, request []byte) *definition.Error {
	d := &registry.Debugging{
		Ref: r.Ref(), Instance: r.Instance, ID: rand.Text(), Secret: rand.Text(), Ends: time.Now().Add(time.Minute),
		Request: []byte("{}"),
	}
	if _, err := e.reg.BeginDebugging(ctx, d, debug.Most, func(nodes.ID) bool { return false }); err != nil {
		return definition.AsError(err)
	}
	wanted := func(*registry.Debugging) (debug.Wanted, error) { return debug.Wanted{}, nil }
	follow := func() error {
		all, changes, err := e.reg.Debugging(ctx)
		e.sessions.Follow(context.Background(), all, changes, here, wanted)
		return err
	}
	err := follow()
	if s := e.sessions.Of(r.Ref()); err == nil && string(request) != "{}" {
		_, _ = s.Claim(debug.Update, "d", func() (bool, error) { return true, nil })
		_, err = e.store.Update(ctx, func(tx kv.Tx) error { return registry.TakeDebugging(tx, s.Ref, s.ID, here, "d") })
		s.Catch()
	}
	if err != nil {
		return definition.AsError(err)
	}
	return nil
}

// here is the process of the tests.
var here = nodes.ID{1}

func (e *fakeEngine) Debugging() *debug.Sessions { return e.sessions }

// debuggerSteps are all requests of the debugger, with what they are answered in the middle of a session.
var debuggerSteps = []step{
	{"GET", "/functions/f/debugger", "", 200, 0, `"event": "d"`},
	{"GET", "/functions/f/debugger/effects", "", 200, 0, `"reads": [`},
	{"GET", "/functions/f/debugger/url", "", 200, 0, "devtools://devtools/bundled/js_app.html?"},
	{"POST", "/functions/f/debugger/url", "", 200, 0, "&ws=example.com/_eventing/debugger/"},
	{"GET", "/getDebuggerUrl?name=f", "", 200, 0, "devtools://"},
	{"GET", "/functions/f/debugger/json", "", 200, 0, `"title": "f: d"`},
	{"GET", "/functions/f/debugger/json/list", "", 200, 0, `"webSocketDebuggerUrl": "ws://example.com/_eventing/debugger/`},
	{"GET", "/functions/f/debugger/json/version", "", 200, 0, `"Protocol-Version": "1.3"`},
	{"POST", "/functions/f/debugger/stop", "", 200, 0, "Function: f Stopped Debugger"},
	{"POST", "/startDebugger?name=f", "x", 200, 0, "Function: f Started Debugger"},
	{"POST", "/stopDebugger?name=f", "", 200, 0, "Function: f Stopped Debugger"},
	{"POST", "/functions/f/debugger/start", "x", 200, 0, "Function: f Started Debugger"},
}

// TestDebugger: the debugger is switched off at first, then server admins may debug one session of a
// function at a time. Nobody else may, not even who manages the function.
func TestDebugger(t *testing.T) {
	x := newFixture(t)
	require.Equal(t, 200, x.Do("PUT", "/a/_security", `{"admins":{"names":["joe0"]}}`).Code)
	require.Equal(t, 200, x.Do("PUT", "/b/_security", `{"admins":{"names":["joe0"]}}`).Code)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
	})
	for _, s := range debuggerSteps {
		x.run([]step{{s.method, s.path, s.body, 400, 45, "enable_debugger"}})
		require.Equal(t, 403, x.Do(s.method, base+s.path, s.body, servertest.As("joe0")...).Code, s.path)
		require.Equal(t, 401, x.Anyone(s.method, base+s.path, s.body).Code, s.path)
	}
	x.run([]step{
		{"POST", "/config", `{"enable_debugger":true}`, 200, 0, ""},
		{"GET", "/functions/f/debugger/url", "", 400, 63, "not being debugged"},
		{"GET", "/functions/f/debugger", "", 200, 0, `"debugging": false`},
		{"POST", "/functions/f/debugger/stop", "", 400, 63, ""},
		{"GET", "/functions/f/debugger/start", "", 405, 62, ""},
		{"GET", "/stopDebugger?name=f", "", 405, 62, ""},
		{"POST", "/functions/g/debugger/start", "", 404, 13, ""},
		{"POST", "/functions/f/debugger/start", "{}", 200, 0, "Function: f Started Debugger"},
		{"GET", "/functions/f/debugger", "", 200, 0, `"event": ""`},
		{"GET", "/functions/f/debugger/json", "", 200, 0, "[]"},
		{"GET", "/functions/f/debugger/url", "", 200, 0, ""},
		{"GET", "/functions/f/debugger/socket", "", 400, 63, "No event"},
		{"GET", "/functions/f/debugger/effects", "", 400, 63, "No event"},
		{"POST", "/functions/f/debugger/start", "{}", 400, 63, "already"},
		{"POST", "/functions/f/debugger/stop", "", 200, 0, ""},
		{"POST", "/functions/f/debugger/start", "x", 200, 0, ""},
	})
	for _, s := range debuggerSteps {
		require.Equal(t, 403, x.Do(s.method, base+s.path, s.body, servertest.As("joe0")...).Code, s.path)
	}
	x.run(debuggerSteps)
	require.Equal(t, 404, x.Do("GET", "/_eventing/debugger/x", "").Code)
}

// debugged is a fixture that listens, with a session of f that has caught an event, and a WebSocket to
// it, with the status that opening it has.
func debugged(t *testing.T) (
	x *fixture, s *debug.Session, url string, dial func(address string, headers ...string) (*websocket.Conn, int),
) {
	x = newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""}, {"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/config", `{"enable_debugger":true}`, 200, 0, ""},
		{"POST", "/functions/f/debugger/start", "x", 200, 0, ""},
	})
	listening := httptest.NewServer(x.Server)
	t.Cleanup(listening.Close)
	s = x.engine.sessions.Of(definition.Ref{Scope: definition.Global, Name: "f"})
	return x, s, listening.URL, func(address string, headers ...string) (*websocket.Conn, int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		header := http.Header{}
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPHeader: header})
		require.NotNil(t, response, err)
		return conn, response.StatusCode
	}
}

// hears reads what a client has sent since it has come.
func hears(t *testing.T, s *debug.Session) string {
	t.Helper()
	for {
		in, err := s.Exchange(t.Context(), nil, true)
		require.NoError(t, err)
		if text := string(bytes.Join(in, nil)); text != "" {
			return text
		}
	}
}

// TestDebuggerSocket: DevTools and programs connect with a ticket, once each; pages of other sites do
// not. A second client takes the place of the first one, and the end of the session is told.
func TestDebuggerSocket(t *testing.T) {
	x, s, url, dial := debugged(t)
	ctx := t.Context()
	address := func() string { return url + "/_eventing/debugger/" + debug.NewTicket(s.Secret, time.Now()) }
	_, status := dial(address(), "Origin", "http://evil.example")
	require.Equal(t, 403, status)
	_, status = dial(address()+"0", "Origin", "devtools://devtools")
	require.Equal(t, 404, status)
	_, status = dial(url + "/_eventing/debugger/" + debug.NewTicket(s.Secret, time.Now().Add(-time.Hour)))
	require.Equal(t, 404, status)
	used := address()
	first, status := dial(used, "Origin", url)
	require.Equal(t, 101, status)
	_, status = dial(used, "Origin", url)
	require.Equal(t, 404, status)
	require.NoError(t, first.Write(ctx, websocket.MessageText, []byte("hello")))
	require.Equal(t, "hello", hears(t, s))

	second, status := dial(address(), "Origin", "devtools://devtools")
	require.Equal(t, 101, status)
	_, _, err := first.Read(ctx)
	require.ErrorContains(t, err, "another client has come")
	_, err = s.Exchange(ctx, [][]byte{[]byte("to you")}, false)
	require.NoError(t, err)
	_, text, err := second.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, "to you", string(text))
	x.run([]step{{"POST", "/functions/f/debugger/stop", "", 200, 0, ""}})
	_, _, err = second.Read(ctx)
	require.ErrorContains(t, err, "the debug session was stopped")
	_, status = dial(address())
	require.Equal(t, 404, status)
}

// TestDebuggerSocketOfAdmins: with name and password no ticket is needed, and nobody else gets in that
// way; of pages only those of this server do.
func TestDebuggerSocketOfAdmins(t *testing.T) {
	x, s, url, dial := debugged(t)
	var shown struct{ WebSocket, URL string }
	x.get("/functions/f/debugger", &shown)
	address := url + strings.TrimPrefix(shown.WebSocket, "ws://example.com")
	require.Contains(t, address, base)
	admin := []string{"Authorization", servertest.Basic("admin", "secret")}
	for status, headers := range map[int][]string{
		401: nil, 403: servertest.As("joe0"), 101: admin,
	} {
		conn, got := dial(address, headers...)
		require.Equal(t, status, got)
		if got == 101 {
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte("hello")))
			require.Equal(t, "hello", hears(t, s))
		}
	}
	_, status := dial(address, append(admin, "Origin", "http://evil.example")...)
	require.Equal(t, 403, status)
}

// TestDebuggerTargets: who has a ticket finds the session as DevTools look for it, with the address that
// the ticket opens, and who has none does not.
func TestDebuggerTargets(t *testing.T) {
	x, s, _, _ := debugged(t)
	ticket := debug.NewTicket(s.Secret, time.Now())
	for _, path := range []string{"/json", "/json/list", "/json/version"} {
		w := x.Anyone("GET", "/_eventing/debugger/"+ticket+path, "")
		require.Equal(t, 200, w.Code, w.Body.String())
		require.Contains(t, w.Body.String(),
			`"webSocketDebuggerUrl": "ws://example.com/_eventing/debugger/`+ticket+`"`)
		require.Equal(t, 404, x.Anyone("GET", "/_eventing/debugger/x"+ticket+path, "").Code)
		require.Equal(t, 401, x.Anyone("GET", base+"/functions/f/debugger"+path, "").Code)
	}
	var list []map[string]string
	require.NoError(t, json.Unmarshal(
		x.Anyone("GET", "/_eventing/debugger/"+ticket+"/json/list", "").Body.Bytes(), &list))
	require.Equal(t, "node", list[0]["type"])
	require.Equal(t, "devtools://devtools/bundled/js_app.html?v8only=true&ws="+
		"example.com/_eventing/debugger/"+ticket, list[0]["devtoolsFrontendUrl"])
}
