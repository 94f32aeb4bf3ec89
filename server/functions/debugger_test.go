package functions_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/servertest"
)

// StartDebugger begins a session that has caught the document d.
func (e *fakeEngine) StartDebugger(r *registry.Record, request []byte) *definition.Error {
	s, failed := e.sessions.Start(context.Background(), debug.Options{Ref: r.Ref(), Time: time.Minute})
	if failed == nil && string(request) != "{}" {
		_, _ = s.Claim("d", func() (bool, error) { return true, nil })
		s.Catch()
	}
	return failed
}

func (e *fakeEngine) Debugging() *debug.Sessions { return e.sessions }

// debuggerSteps are all requests of the debugger, with what they are answered in the middle of a session.
var debuggerSteps = []step{
	{"GET", "/functions/f/debugger", "", 200, 0, `"event": "d"`},
	{"GET", "/functions/f/debugger/url", "", 200, 0, "devtools://devtools/bundled/js_app.html?"},
	{"POST", "/functions/f/debugger/url", "", 200, 0, "&ws=example.com/_eventing/debugger/"},
	{"GET", "/getDebuggerUrl?name=f", "", 200, 0, "devtools://"},
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
	x.run([]step{{"POST", "/functions/f", function(), 200, 0, ""}})
	for _, s := range debuggerSteps {
		x.run([]step{{s.method, s.path, s.body, 400, 45, "enable_debugger"}})
		require.Equal(t, 403, x.Do(s.method, base+s.path, s.body, servertest.As("joe0")...).Code, s.path)
		require.Equal(t, 401, x.Anyone(s.method, base+s.path, s.body).Code, s.path)
	}
	x.run([]step{
		{"POST", "/config", `{"enable_debugger":true}`, 200, 0, ""},
		{"GET", "/functions/f/debugger/url", "", 400, 63, "not being debugged"},
		{"POST", "/functions/f/debugger/stop", "", 400, 63, ""},
		{"GET", "/functions/f/debugger/start", "", 405, 62, ""},
		{"GET", "/stopDebugger?name=f", "", 405, 62, ""},
		{"POST", "/functions/g/debugger/start", "", 404, 13, ""},
		{"POST", "/functions/f/debugger/start", "{}", 200, 0, "Function: f Started Debugger"},
		{"GET", "/functions/f/debugger", "", 200, 0, `"event": ""`},
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

// TestDebuggerSocket: DevTools and programs connect with the address of a session, pages of other sites
// do not. A second client takes the place of the first one, and the end of the session is told.
func TestDebuggerSocket(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"POST", "/config", `{"enable_debugger":true}`, 200, 0, ""},
		{"POST", "/functions/f/debugger/start", "x", 200, 0, ""},
	})
	listening := httptest.NewServer(x.Server)
	defer listening.Close()
	s := x.engine.sessions.Of(definition.Ref{Scope: definition.Global, Name: "f"})
	address := strings.Replace(listening.URL, "http", "ws", 1) + "/_eventing/debugger/" + s.Token
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dial := func(address, origin string) (*websocket.Conn, int) {
		conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {origin}},
		})
		require.NotNil(t, response, err)
		return conn, response.StatusCode
	}
	_, status := dial(address, "http://evil.example")
	require.Equal(t, 403, status)
	_, status = dial(address+"x", "devtools://devtools")
	require.Equal(t, 404, status)
	first, status := dial(address, listening.URL)
	require.Equal(t, 101, status)
	require.NoError(t, first.Write(ctx, websocket.MessageText, []byte("hello")))
	in, err := s.Exchange(ctx, nil, true)
	for err == nil && len(in) < 2 {
		var more [][]byte
		more, err = s.Exchange(ctx, nil, true)
		in = append(in, more...)
	}
	require.NoError(t, err)
	require.Equal(t, [][]byte{{}, []byte("hello")}, in)

	second, status := dial(address, "devtools://devtools")
	require.Equal(t, 101, status)
	_, _, err = first.Read(ctx)
	require.ErrorContains(t, err, "another client has come")
	_, err = s.Exchange(ctx, [][]byte{[]byte("to you")}, false)
	require.NoError(t, err)
	_, text, err := second.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, "to you", string(text))
	x.run([]step{{"POST", "/functions/f/debugger/stop", "", 200, 0, ""}})
	_, _, err = second.Read(ctx)
	require.ErrorContains(t, err, "the debug session was stopped")
}
