package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestDebuggerOverTheWire: a client of the Chrome DevTools protocol follows the address that the server
// gives, stops a handler at a line, reads a variable and lets it go on.
func TestDebuggerOverTheWire(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	settings := "[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile), []byte(settings), 0o600))
	base, stop := startServe(t, dir)
	defer stop()
	const functions = "/_eventing/api/v1"
	text := func(method, path, body string) string {
		r, err := http.NewRequest(method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		r.SetBasicAuth("admin", "secret")
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Less(t, response.StatusCode, 300, "%s %s: %s", method, path, answer)
		return string(answer)
	}
	text("PUT", "/src", "")
	text("PUT", "/dst", "")
	text("POST", functions+"/functions/f", `{"appname":"f","appcode":"function OnUpdate(doc, meta) {\n`+
		`  const twice = 2 * doc.n;\n  dst[meta.id] = {n: twice};\n}","depcfg":{"source_bucket":"src",`+
		`"buckets":[{"alias":"dst","bucket_name":"dst","access":"rw"}]},"settings":{}}`)
	text("POST", functions+"/functions/f/deploy?wait=60s", "")
	text("POST", functions+"/config", `{"enable_debugger":true}`)
	text("POST", functions+"/functions/f/debugger/start", `{"selector":{"n":{"$gt":20}}}`)
	text("PUT", "/src/small", `{"n":1}`)
	text("PUT", "/src/large", `{"n":21}`)

	address := ""
	for end := time.Now().Add(time.Minute); address == ""; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end))
		address = text("POST", functions+"/functions/f/debugger/url", "")
	}
	_, address, found := strings.Cut(address, "&ws=")
	require.True(t, found)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, "ws://"+address, nil)
	require.NoError(t, err)
	require.Equal(t, 101, response.StatusCode)
	id := 0
	var stopped, answered map[string]json.RawMessage
	send := func(method, params string) {
		id++
		request := fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, id, method, params)
		require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(request)))
	}
	// until reads messages up to the answer to the last request, or to an event.
	until := func(event string) {
		for {
			_, message, err := conn.Read(ctx)
			require.NoError(t, err)
			var m struct {
				ID             int
				Method         string
				Params, Result map[string]json.RawMessage
			}
			require.NoError(t, json.Unmarshal(message, &m))
			if m.Method == "Debugger.paused" {
				stopped = m.Params
			}
			if m.ID == id {
				answered = m.Result
			}
			if m.ID == id && event == "" || event != "" && m.Method == event {
				return
			}
		}
	}
	send("Debugger.enable", `{}`)
	until("")
	send("Debugger.setBreakpointByUrl", `{"lineNumber":2,"url":"handler.js"}`)
	until("")
	send("Runtime.runIfWaitingForDebugger", `{}`)
	until("Debugger.paused")
	send("Debugger.resume", `{}`)
	until("Debugger.paused")
	require.Contains(t, string(stopped["hitBreakpoints"]), "2:0:handler.js")
	send("Debugger.evaluateOnCallFrame", `{"callFrameId":"0","expression":"twice"}`)
	until("")
	require.Contains(t, string(answered["result"]), `"value":42`)
	send("Debugger.resume", `{}`)
	until("Inspector.detached")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end))
		if status, doc, _ := ask(t, "admin:secret", "GET", base+"/dst/large", ""); status == 200 {
			require.EqualValues(t, 42, doc.(map[string]any)["n"])
			return
		}
	}
}
