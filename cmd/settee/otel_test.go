package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A collector keeps the spans that come to it, by trace.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []collectedSpan
}

type collectedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Attributes                          []struct {
		Key   string
		Value map[string]string
	}
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []collectedSpan }
			}
		}
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &body); err != nil {
			panic(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans = append(c.spans, body.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	t.Cleanup(c.Close)
	return c
}

// tree prints the spans of the trace that a span begins, which match says: names with those below
// them in parentheses, equal ones once, in the order of the alphabet.
func (c *collector) tree(match func(collectedSpan) bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.spans, match)
	if at < 0 {
		return ""
	}
	return c.below(c.spans[at])
}

func (c *collector) below(of collectedSpan) string {
	var names []string
	for _, s := range c.spans {
		if s.TraceID == of.TraceID && s.ParentSpanID == of.SpanID {
			names = append(names, c.below(s))
		}
	}
	if len(names) == 0 {
		return of.Name
	}
	slices.Sort(names)
	return of.Name + "(" + strings.Join(slices.Compact(names), " ") + ")"
}

func (s collectedSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value["stringValue"] + a.Value["intValue"]
		}
	}
	return ""
}

// traced starts a server that sends its traces to a collector.
func traced(t *testing.T, settings string) (base string, c *collector) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	c = newCollector(t)
	ini := filepath.Join(t.TempDir(), "local.ini")
	require.NoError(t, os.WriteFile(ini, fmt.Appendf(nil, "[otel]\nendpoint = %s\n%s", c.URL, settings), 0o600))
	o := serveOptions{appOptions: appOptions{
		engine: "pebble", dataDir: t.TempDir(), configFiles: []string{ini},
	}, listen: freeAddress(t)}
	end, err := tryServe(t, o, failedLog(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	return "http://" + o.listen, c
}

// TestTraces: the spans of a write, of a query with a build, of _find and of an event function,
// each below the one that it works for; the trace is the client's; no span names a database.
func TestTraces(t *testing.T) {
	base, c := traced(t, "")
	ask := func(method, path, text string) {
		t.Helper()
		require.Less(t, request(t, method, base+path, text), 400, path)
	}
	ask("PUT", "/accounts", "")
	ask("PUT", "/accounts-meta", "")
	ask("PUT", "/accounts/_design/d", `{"views":{"v":{"map":"function(doc){emit(doc.a)}"}}}`)

	parent := "0af7651916cd43dd8448eb211c80319c"
	r, err := http.NewRequest("PUT", base+"/accounts/x", strings.NewReader(`{"a":1}`))
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	r.Header.Set("Traceparent", "00-"+parent+"-b7ad6b7169203331-01")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	w.Body.Close()
	require.Equal(t, http.StatusCreated, w.StatusCode)

	ask("GET", "/accounts/_design/d/_view/v", "")
	ask("POST", "/accounts/_find", `{"selector":{"a":1}}`)
	ask("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":%q,"create_target":true}`,
		strings.Replace(base, "//", "//admin:secret@", 1)+"/accounts",
		strings.Replace(base, "//", "//admin:secret@", 1)+"/copy"))

	wait := func(want string, match func(collectedSpan) bool) {
		t.Helper()
		var got string
		if !assertEventually(func() bool { got = c.tree(match); return got == want }) {
			t.Errorf("spans are\n%s\nwant\n%s", got, want)
		}
	}
	wait("PUT /{db}/{id}(store read store update)", func(s collectedSpan) bool {
		return s.TraceID == parent && s.ParentSpanID == "b7ad6b7169203331"
	})
	ask("POST", "/_eventing/api/v1/functions/f", fmt.Sprintf(`{"appname":"f","appcode":%q,"depcfg":{
		"source_bucket":"accounts","metadata_bucket":"accounts-meta","buckets":[{"alias":"out","bucket_name":"copy","access":"rw"}],
		"curl":[{"hostname":%q,"value":"hook","auth_type":"no-auth","allow_cookies":false,"validate_ssl_certificate":false}]
		},"settings":{}}`,
		`function OnUpdate(d, m) { if (m.id === "x") { curl("POST", hook, {body: {}}); out["from:" + m.id] = {}; } }`,
		base))
	ask("POST", "/_eventing/api/v1/functions/f/deploy?wait=60s", "")
	named := func(name string) func(collectedSpan) bool {
		return func(s collectedSpan) bool { return s.Name == name }
	}
	wait("GET /{db}/_design/{name}/_view/{view}(index build(javascript store read store update) store read)",
		named("GET /{db}/_design/{name}/_view/{view}"))
	wait("POST /{db}/_find(find(store read) store read)", named("POST /{db}/_find"))
	require.True(t, assertEventually(func() bool {
		return strings.Contains(c.tree(named("replication batch")), "HTTP POST(POST /{db}/_bulk_docs(")
	}), "the other server's spans are below those of the replication")
	require.True(t, assertEventually(func() bool { // the request is refused: it would go to this machine
		batch := c.tree(func(s collectedSpan) bool {
			return s.Name == "function batch" && strings.Contains(c.below(s), "HTTP POST")
		})
		return strings.Contains(batch, "javascript")
	}), "a batch of events with what its handlers do")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		require.NotContains(t, fmt.Sprint(s), "accounts")
		if s.TraceID == parent && s.ParentSpanID == "b7ad6b7169203331" {
			require.Equal(t, "201", s.attribute("http.response.status_code"))
			require.Len(t, s.attribute("db.namespace"), 16)
		}
	}
}

// assertEventually is whether something becomes so within a minute.
func assertEventually(is func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// TestNoTraces: where no collector is named the store has no wrapper, nothing has a tracer, and no
// metric speaks of spans.
func TestNoTraces(t *testing.T) {
	a, err := openApp(t.Context(), appOptions{engine: "pebble", dataDir: t.TempDir()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, a.close()) }()
	require.Same(t, a.engine, a.kv)
	require.Nil(t, a.traces)
	require.Nil(t, a.tracer())
}

// TestTracesAreCounted: metrics say what became of spans, also where nobody takes them; requests
// are answered all the same.
func TestTracesAreCounted(t *testing.T) {
	base, c := traced(t, "names = true\n")
	require.Less(t, request(t, "PUT", base+"/accounts", ""), 400)
	require.True(t, assertEventually(func() bool {
		return c.tree(func(s collectedSpan) bool { return s.attribute("db.namespace") == "accounts" }) != ""
	}), "shown by name")
	c.Close()
	for range 100 {
		require.Less(t, request(t, "GET", base+"/accounts", ""), 400)
	}
	require.True(t, assertEventually(func() bool {
		p := readPrinted(t, body(t, base+"/_node/_local/_prometheus"))
		outcomes := map[string]bool{}
		for _, labels := range p["settee_trace_spans_total"] {
			outcomes[labels["outcome"]] = true
		}
		return outcomes["sent"] && outcomes["failed"] && outcomes["queue_full"] && outcomes["rejected"]
	}))
}
