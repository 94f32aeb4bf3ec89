package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestNodesShareDebugSessions: a debug session that was begun at one node catches an event of any; its
// client connects to either node, by name and password or with a ticket of the other one, and it is
// shown and stopped at either.
func TestNodesShareDebugSessions(t *testing.T) {
	const admin, api = "admin:secret", "/_eventing/api/v1"
	urls := startNodes(t, "", "n1@one", "n2@two")
	want := func(status int, method, url, body string) any {
		t.Helper()
		got, answer, _ := ask(t, admin, method, url, body)
		require.Equal(t, status, got, "%s %s: %v", method, url, answer)
		return answer
	}
	want(201, "PUT", urls[0]+"/src", "")
	want(201, "PUT", urls[0]+"/meta", "")
	want(200, "POST", urls[0]+api+"/functions/f", `{"appname":"f","appcode":"function OnUpdate(doc, meta) {\n  log(doc.n);\n}",
		"depcfg":{"source_bucket":"src","metadata_bucket":"meta"},"settings":{}}`)
	want(200, "POST", urls[1]+api+"/functions/f/deploy?wait=60s", "")
	want(200, "POST", urls[1]+api+"/config", `{"enable_debugger":true}`)
	connect := func(address string) *websocket.Conn {
		t.Helper()
		header := http.Header{}
		if strings.Contains(address, api) {
			r, _ := http.NewRequest("GET", "/", nil)
			r.SetBasicAuth("admin", "secret")
			header = r.Header
		}
		conn, _, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{HTTPHeader: header})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}
	// asks evaluates an expression where the handler stands, as the first thing that a client does.
	asks := func(conn *websocket.Conn) string {
		t.Helper()
		for i, method := range []string{"Debugger.enable", "Runtime.runIfWaitingForDebugger"} {
			request := fmt.Appendf(nil, `{"id":%d,"method":%q}`, i, method)
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, request))
		}
		for {
			_, text, err := conn.Read(t.Context())
			require.NoError(t, err)
			var m struct {
				ID     int
				Method string
				Result struct {
					Result struct{ Value json.RawMessage }
				}
			}
			require.NoError(t, json.Unmarshal(text, &m))
			if m.Method == "Debugger.paused" {
				require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"id":9,
					"method":"Debugger.evaluateOnCallFrame","params":{"callFrameId":"0","expression":"doc.n"}}`)))
			} else if m.ID == 9 {
				return string(m.Result.Result.Value)
			}
		}
	}
	for round := range 4 {
		want(200, "POST", urls[round/2]+api+"/functions/f/debugger/start", "")
		want(201, "PUT", fmt.Sprintf("%s/src/%d", urls[1], round), fmt.Sprintf(`{"n":%d}`, round))
		var shown map[string]any
		require.Eventually(t, func() bool {
			shown = want(200, "GET", urls[1]+api+"/functions/f/debugger", "").(map[string]any)
			return shown["caught"] == true
		}, time.Minute, 10*time.Millisecond)
		require.Equal(t, fmt.Sprint(round), shown["event"])
		for _, url := range urls {
			conn := connect(url + api + "/functions/f/debugger/socket")
			require.Equal(t, fmt.Sprint(round), asks(conn))
			_, ticket, _ := strings.Cut(shown["url"].(string), "/debugger/")
			if url == urls[0] {
				evil := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://evil.example"}}}
				_, _, err := websocket.Dial(t.Context(), url+"/_eventing/debugger/"+ticket, evil)
				require.Error(t, err) // and the ticket is still good, whichever process has the session
				require.Equal(t, fmt.Sprint(round), asks(connect(url+"/_eventing/debugger/"+ticket)))
			}
			_, _, err := websocket.Dial(t.Context(), url+"/_eventing/debugger/"+ticket+"x", nil)
			require.Error(t, err)
		}
		at := urls[round%2]
		conn := connect(at + api + "/functions/f/debugger/socket")
		want(200, "POST", at+api+"/functions/f/debugger/stop", "")
		_, _, err := conn.Read(t.Context())
		for err == nil {
			_, _, err = conn.Read(t.Context())
		}
		require.ErrorContains(t, err, "the debug session was stopped")
	}
}
