package eventing

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

// inflating serves answers of some megabytes of zeros, compressed, with as many cookies as a header
// may have.
func inflating(t *testing.T) (url string, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		megabytes, _ := strconv.Atoi(r.URL.Query().Get("mb"))
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Set-Cookie", "c"+strconv.FormatInt(requests.Load(), 10)+"="+strings.Repeat("x", 20<<10))
		z := gzip.NewWriter(w)
		defer z.Close()
		for range megabytes {
			if _, err := z.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// defineCurl stores a function f over src with dst and a URL, api.
func (n *node) defineCurl(code, url, settings string) {
	n.t.Helper()
	f, err := definition.Parse(fmt.Appendf(nil, `{"appname":"f","appcode":%q,"depcfg":{"source_bucket":"src",
		"buckets":[{"alias":"dst","bucket_name":"dst","access":"rw"}],
		"curl":[{"hostname":%q,"value":"api","allow_cookies":true}]},"settings":%s}`, code, url, settings),
		definition.ParseOptions{Name: "f"})
	require.NoError(n.t, err)
	_, err = n.engine.Registry().Put(n.t.Context(), f, nil)
	require.NoError(n.t, err)
	require.Equal(n.t, definition.Deployed, n.deploy("f"))
}

// TestHandlersHoldTheirShare: whatever handlers hold comes out of the memory of all functions, and
// is given back. What is beyond it is an error that the handler can catch, and the function goes
// on.
func TestHandlersHoldTheirShare(t *testing.T) {
	url, requests := inflating(t)
	n := newAlone(t, "src", "dst")
	const all = 24 << 20
	n.engine.memory.Resize(all)
	long := strings.Repeat("x", 3<<20)
	for i := range 10 {
		n.put("dst", fmt.Sprint("long", i), `{"text":"`+long+`"}`)
	}
	n.defineCurl(`
function tried(id, what) { try { what(); dst[id] = {done: true}; } catch (e) { dst[id] = {error: e.constructor.name, text: String(e.message || e.desc)}; } }
function fire() {}
function OnUpdate(doc, meta) {
	switch (doc.how) {
	case "bomb": return tried("bomb", function () { curl("GET", api, {params: {mb: 1500}}); });
	case "sum": return tried("sum", function () { for (var i = 0; i < 60; i++) curl("GET", api, {params: {mb: 3, i: i}}); });
	case "reads": return tried("reads", function () { for (var i = 0; i < 10; i++) dst["long" + i]; });
	case "sort": return tried("sort", function () {
		var rows = SELECT REPEAT("x", 4000000) AS x FROM dst ORDER BY META().id || "x"; for (var row of rows) {} });
	case "changes": return tried("changes", function () { UPDATE dst SET n = 1 WHERE text LIKE "xxx%"; });
	case "logs": for (var i = 0; i < 100; i++) log("x".repeat(4000)); return;
	case "request": return tried("request", function () { curl("POST", api, {body: "x".repeat(20000000)}); });
	case "timer": createTimer(fire, new Date(), meta.id, {x: "x".repeat(5000000)}); return;
	default: dst[meta.id] = {};
	}
}`, url, `{"curl_max_allowed_resp_size":2000,"timer_context_size":6000000,"execution_timeout":60}`)
	for _, how := range []string{"bomb", "sum", "reads", "sort", "changes", "request", "timer"} {
		n.put("src", how, fmt.Sprintf(`{"how":%q}`, how))
		if how == "timer" {
			n.eventually(func() bool { return n.stat("f", "timer_callback_success") == 1 }, "the timer")
			continue
		}
		n.eventually(func() bool { return n.get("dst", how) != "" }, how)
		if got := n.get("dst", how); how == "sum" {
			require.Equal(t, `{"done":true}`, got, "answers that are over make room for others")
		} else {
			require.Contains(t, got, map[string]string{
				"bomb": "CurlError", "reads": "KVError", "sort": "N1QLError", "changes": "N1QLError", "request": "CurlError",
			}[how], how)
		}
	}
	require.Equal(t, int64(61), requests.Load(), "the request that was too long was not made")
	for i := range 300 { // 120 MB of lines
		n.put("src", fmt.Sprint("logs", i), `{"how":"logs"}`)
	}
	n.put("src", "last", `{}`)
	n.becomes("dst", "last", `{}`)
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 308 }, "all events")
	require.Zero(t, n.stat("f", "on_update_failure"))
	n.eventually(func() bool { return n.engine.memory.Usage().Free == all }, "all memory is given back")
}
