package functions_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// fakeEngine answers what tests want; states on the way are ended by fixture.settle.
type fakeEngine struct {
	compiled atomic.Int64 // how often
	reset    atomic.Int64
	tested   registry.Principal
	fakeLetters
	sessions *debug.Sessions
	reg      *registry.Registry
	store    kv.Store
	lines    string // of log, in place of its own
	shares   definition.Shares

	// What Request was asked, and answers.
	requested string
	readsOnly bool
	result    *js.EventResult
	failed    error
	owners    []nodes.ID
}

func (e *fakeEngine) Compile(_ context.Context, f *definition.Function) (definition.Compiled, *definition.Error) {
	e.compiled.Add(1)
	if at := strings.Index(f.Code, "syntax error"); at >= 0 {
		return definition.Compiled{}, definition.NewCompileError(at, 1, at+1, "SyntaxError: Unexpected identifier")
	}
	c := definition.Compiled{}
	if strings.Contains(f.Code, "N1qlQuery") {
		c.Warnings = []string{"N1qlQuery is deprecated"}
	}
	if _, db, ok := strings.Cut(f.Code, "INSERT INTO "); ok {
		name, _, _ := strings.Cut(db, " ")
		c.Queries = []string{name}
	}
	return c, nil
}

func (e *fakeEngine) NextCalls(_ context.Context, r *registry.Record) (list []schedule.Upcoming, err error) {
	for _, s := range r.Running().Settings.Schedules {
		next := time.UnixMilli(0).UTC()
		list = append(list, schedule.Upcoming{Schedule: s, Next: &next})
	}
	return list, nil
}

func (e *fakeEngine) Request(_ context.Context, _ *registry.Record, request []byte, readsOnly bool) (
	*js.EventResult, error,
) {
	e.requested, e.readsOnly = string(request), readsOnly
	return e.result, e.failed
}

func (e *fakeEngine) Owners(context.Context, *registry.Record) ([]nodes.ID, error) {
	return e.owners, nil
}

func (e *fakeEngine) Nodes(context.Context) (int, error) { return 2, nil }

func (e *fakeEngine) Stats(context.Context, *registry.Record, definition.Detail) (*definition.Stats, error) {
	return &definition.Stats{
		Execution: map[string]any{
			"on_update_success": 10, "dcp_mutation_msg_counter": 12, "curl": map[string]int64{"get": 3}, "timestamp": "now",
		},
		Failure: map[string]any{"timeout_count": 0, "timer_context_size_exceeded_counter": 1},
		Backlog: 7, Percentiles: map[string]int64{"50": 210, "100": 9800},
		StoreExceptions: map[string]int64{"13": 2}, WorkerPIDs: map[string]int64{"worker_f_0": 4711},
		Latency: map[string]int64{"200": 10}, Internal: map[string]any{"batches": 1},
	}, nil
}

func (e *fakeEngine) ResetStats(context.Context, *registry.Record) error {
	e.reset.Add(1)
	return nil
}

func (e *fakeEngine) AppLog(_ context.Context, r *registry.Record, aggregate bool, size int64) ([]byte, error) {
	if e.lines != "" {
		return []byte(e.lines), nil
	}
	text := "line of " + r.Draft.Name + "\n"
	if aggregate {
		text = strings.Repeat(text, 2)
	}
	return []byte(text)[:min(int64(len(text)), size)], nil
}

func (e *fakeEngine) Insight(_ context.Context, r *registry.Record, _ bool) (*definition.Insight, error) {
	return &definition.Insight{Script: r.Running().Code, Lines: map[int]definition.InsightLine{1: {CallCount: 2}}}, nil
}

func (e *fakeEngine) Test(
	_ context.Context,
	_ *definition.Function,
	who registry.Principal,
	request json.RawMessage,
) (json.RawMessage, *definition.Error) {
	e.tested = who
	return append(append([]byte(`{"asked":`), request...), '}'), nil
}

// fixture is a server with functions, databases a, b and c, and users joe0, joe1, joe2.
type fixture struct {
	*servertest.Server
	t      testing.TB
	engine *fakeEngine
	reg    *registry.Registry
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	x := newNode(t, memkv.New(), nil)
	x.PutUsers(3)
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, 201, x.Do("PUT", "/"+name, "").Code)
	}
	return x
}

// newNode is a server on a store, one of members.
func newNode(t testing.TB, store kv.Store, members *nodes.Members) *fixture {
	t.Helper()
	documents := servertest.OpenStore(t, store)
	reg := registry.New(store, registry.Hooks{})
	x := &fixture{t: t, engine: &fakeEngine{sessions: debug.NewSessions(), reg: reg, store: store}, reg: reg}
	x.Server = servertest.Start(t, server.Options{
		Store: documents, Views: servertest.OpenViews(t, documents, store), Functions: x.reg, FunctionEngine: x.engine,
		Nodes: members,
	})
	return x
}

// settle ends what is on the way: as it was asked for, or, with failed, as it was before.
func (x *fixture) settle(failed bool) {
	x.t.Helper()
	all, _, err := x.reg.List(x.t.Context())
	require.NoError(x.t, err)
	for _, r := range all {
		if r.State.Settled() {
			continue
		}
		to := r.State.Target()
		if failed && r.State == definition.Deploying {
			to = definition.Undeployed
		}
		require.NoError(x.t, x.reg.Finish(x.t.Context(), r.Ref(), r.Instance, r.State, to))
	}
}

const base = "/_eventing/api/v1"

// function is the text of a function f with the source a, which writes to b; further pairs replace
// parts of it.
func function(pairs ...string) string {
	text := `{"appname":"f","appcode":"function OnUpdate(doc,meta){}","depcfg":{"source_bucket":"a",` +
		`"buckets":[{"alias":"dst","bucket_name":"b","access":"rw"}]},"settings":{"worker_count":2}}`
	return strings.NewReplacer(pairs...).Replace(text)
}

// step is a request and what is answered: status, number of the envelope, and a part of the body.
type step struct {
	method, path, body string
	status, code       int
	part               string
}

// run makes requests of the administrator, or of a user.
func (x *fixture) run(steps []step, headers ...string) {
	x.t.Helper()
	for i, s := range steps {
		switch s.method {
		case "settle":
			x.settle(false)
			continue
		case "fail":
			x.settle(true)
			continue
		}
		w := x.Do(s.method, base+s.path, s.body, headers...)
		require.Equal(x.t, s.status, w.Code, "step %d, %s %s: %s", i, s.method, s.path, w.Body)
		requireStatus(x.t, s.code, w)
		require.Contains(x.t, w.Body.String(), s.part, "step %d, %s %s", i, s.method, s.path)
	}
}

// requireStatus: the header status has the envelope's number.
func requireStatus(t testing.TB, code int, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, []string{strconv.Itoa(code)}, w.Header()["Status"], w.Body.String())
	if code != 0 {
		var e struct {
			Code        int
			Name        string
			Description any
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
		require.Equal(t, code, e.Code, w.Body.String())
		require.Equal(t, definition.Code(code).Name(), e.Name)
		require.NotEmpty(t, e.Description)
	}
}

// get is the answer of a GET as JSON.
func (x *fixture) get(path string, into any, headers ...string) {
	x.t.Helper()
	w := x.Do("GET", base+path, "", headers...)
	require.Equal(x.t, 200, w.Code, w.Body.String())
	require.NoError(x.t, json.Unmarshal(w.Body.Bytes(), into), w.Body.String())
}

func TestStoreAndShow(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"GET", "/functions/f", "", 404, 13, "Function: f not found"},
		{"GET", "/functions", "", 200, 0, "[]"},
		{"POST", "/functions/f", function(), 200, 0, `"info": "Successfully stored"`},
		{"POST", "/functions/f", "[" + function() + "]", 200, 0, "Successfully stored"},
		{"POST", "/functions/f", "[]", 400, 63, ""},
		{"POST", "/functions/f", "[" + function() + "," + function() + "]", 400, 63, ""},
		{"POST", "/functions/f", `{"appname"`, 400, 63, ""},
		{"POST", "/functions/f", "", 400, 63, ""},
		{"POST", "/functions/g", function(), 422, 29, ""},
		{"POST", "/functions/f", function(`"worker_count":2`, `"worker_count":0`), 400, 38, "worker_count"},
		{"POST", "/functions/f", function(`function OnUpdate`, `syntax error`), 422, 27, `"column_number": 1`},
		{"POST", "/functions/f", function(`(doc,meta){}`, `(){N1qlQuery}`), 200, 0, "N1qlQuery is deprecated"},
		{"POST", "/functions/f", function(`"b"`, `"b","scope_name":"s"`), 400, 56, ""},
		{"PUT", "/functions/f", function(), 405, 62, "DELETE, GET, POST"},
		{"GET", "/functions/f?bucket=a&scope=_default", "", 404, 13, ""},
		{"GET", "/functions/f?bucket=a&scope=s", "", 400, 56, ""},
	})
	var f map[string]any
	x.get("/functions/f", &f)
	require.Equal(t, "f", f["appname"])
	require.Equal(t, map[string]any{"bucket": "*", "scope": "*"}, f["function_scope"])
	require.Equal(t, "7.2.0", f["settings"].(map[string]any)["language_compatibility"])
	w := x.Do("GET", base+"/functions/f", "")
	require.True(t, strings.HasPrefix(w.Body.String(), "{\n \"appname\": \"f\",\n"), "indented by one space")
	require.Equal(t, "application/json", w.Header()["Content-Type"][0])
	head := x.Do("HEAD", base+"/functions/f", "")
	require.Equal(t, 200, head.Code)
	require.Empty(t, head.Body.String())
}

func TestDelete(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"DELETE", "/functions/f", "", 404, 13, ""},
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"DELETE", "/functions/f?handleruuid=x", "", 400, 63, ""},
		{"DELETE", "/functions/f?handleruuid=2", "", 404, 13, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"DELETE", "/functions/f", "", 422, 22, ""},
		{"settle", "", "", 0, 0, ""},
		{"DELETE", "/functions/f", "", 422, 22, ""},
		{"POST", "/functions/g", function(`"f"`, `"g"`), 200, 0, ""},
		{"DELETE", "/functions", "", 200, 0, "Succesfully deleted"}, // skips what is deployed
		{"GET", "/functions/g", "", 404, 13, ""},
		{"POST", "/functions/f/undeploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
	})
	var f struct {
		UUID uint32 `json:"handleruuid"`
	}
	x.get("/functions/f", &f)
	x.run([]step{
		{"DELETE", "/functions/f?handleruuid=" + strconv.Itoa(int(f.UUID)), "", 200, 0,
			`"info": "Succesfully deleted"`},
		{"GET", "/functions/f", "", 404, 13, ""},
	})
}

func TestLifecycle(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f/deploy", "", 404, 53, ""},
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"GET", "/functions/f/deploy", "", 405, 62, "Only POST"},
		{"POST", "/functions/f/pause", "", 400, 63, "state transition not possible"},
		{"POST", "/functions/f/undeploy", "", 406, 12, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, `"info": "Function: f is deploying"`},
		{"POST", "/functions/f/deploy", "", 400, 63, "state transition not possible"},
		{"POST", "/functions/f", function(), 400, 63, "Try again later"},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "deploying"`},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "deployed"`},
		{"POST", "/functions/f/deploy", "", 422, 20, ""},
		{"POST", "/functions/f/resume", "", 422, 20, ""},
		{"POST", "/functions/f", function(), 200, 0, ""}, // changes nothing
		{"POST", "/functions/f", function(`"worker_count":2`, `"worker_count":3`), 400, 63, "worker_count"},
		{"POST", "/functions/f/appcode", "function OnDelete(meta){}", 400, 63, "appcode"},
		{"POST", "/functions/f/settings", `{"log_level":"TRACE"}`, 200, 0, `"info": "Function: f stored settings"`},
		{"POST", "/functions/f/pause", "", 200, 0, `"info": "Function: f is Pausing"`},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/functions/f/pause", "", 422, 64, ""},
		{"POST", "/functions/f/appcode", "function OnDelete(meta){}", 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"redeploy_required": true`},
		{"POST", "/functions/f/resume", "", 200, 0, `"info": "Function: f is Resuming"`},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "resuming"`},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"redeploy_required": false`},
		{"POST", "/functions/f/undeploy", "", 200, 0, `"info": "Function: f is undeploying"`},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "undeployed"`},
	})
}

// TestDeployChecks: what keeps a function from being deployed leaves it as it is.
func TestDeployChecks(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(`"bucket_name":"b"`, `"bucket_name":"missing"`), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 400, 41, "missing"},
		{"POST", "/functions/f", function(`(doc,meta){}`, `(){INSERT INTO a }`), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 400, 51, "source a"},
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"POST", "/functions/g", function(`"f"`, `"g"`, `"a"`, `"b"`, `"b"`, `"a"`), 200, 0, ""},
		{"POST", "/functions/g/deploy", "", 400, 51, "b -> a -> b"},
		{"POST", "/functions/h", function(`"f"`, `"h"`, `"bucket_name":"b"`, `"bucket_name":"a"`), 200, 0, ""},
		{"POST", "/functions/i", function(`"f"`, `"i"`, `"bucket_name":"b"`, `"bucket_name":"a"`), 200, 0, ""},
		{"POST", "/functions/h/deploy", "", 200, 0, ""},
		{"POST", "/functions/i/deploy", "", 400, 50, ""},
		{"POST", "/config", `{"allow_interbucket_recursion":true,"enable_curl":false}`, 200, 0, "Config saved for *"},
		{"POST", "/functions/i/deploy", "", 200, 0, ""},
		{"POST", "/functions/u", function(`"f"`, `"u"`, `"buckets"`,
			`"curl":[{"hostname":"http://h","value":"api"}],"buckets"`), 200, 0, ""},
		{"POST", "/functions/u/deploy", "", 400, 38, "enable_curl"},
		{"GET", "/status/u", "", 200, 0, `"composite_status": "undeployed"`},
	})
}

func TestWait(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"POST", "/functions/f/deploy?wait=never", "", 400, 63, "wait"},
		{"POST", "/functions/f/deploy?wait=1ms", "", 200, 0, "Function: f is deploying"},
		{"settle", "", "", 0, 0, ""},
	})
	// soon ends what the next request begins.
	soon := func(failed bool) (done chan struct{}) {
		done = make(chan struct{})
		_, seen, err := x.reg.List(t.Context())
		require.NoError(t, err)
		go func() {
			defer close(done)
			if x.reg.Watch(t.Context(), seen) == nil {
				x.settle(failed)
			}
		}()
		return done
	}
	ended := soon(false)
	x.run([]step{{"POST", "/functions/f/undeploy?wait=60s", "", 200, 0, "Function: f is undeployed"}})
	<-ended
	ended = soon(true)
	x.run([]step{{"POST", "/functions/f/deploy?wait=60", "", 400, 55, "Function: f is undeployed, not deployed"}})
	<-ended
}

func TestSettings(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"GET", "/functions/f/settings", "", 404, 13, ""},
		{"POST", "/functions/f/settings", `{}`, 404, 13, ""},
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"GET", "/functions/f/settings", "", 200, 0, `"worker_count": 2`},
		{"POST", "/functions/f/settings", `{"worker_count":5}`, 200, 0, ""},
		{"GET", "/functions/f/settings", "", 200, 0, `"worker_count": 5`},
		{"GET", "/functions/f/settings", "", 200, 0, `"execution_timeout": 60`},
		{"POST", "/functions/f/settings", `[]`, 400, 16, ""},
		{"POST", "/functions/f/settings", `{"worker_count":0}`, 400, 38, ""},
		{"POST", "/functions/f/settings", `{"function_timeout":500}`, 400, 38, "execution_timeout"},
		{"POST", "/functions/f/settings", `{"rbacuser":"u"}`, 200, 0, "there is no setting rbacuser"},
		{"POST", "/functions/f/settings", `{"deployment_status":1}`, 400, 23, ""},
		{"POST", "/functions/f/settings", `{"processing_status":true}`, 400, 38, ""},
		{"POST", "/functions/f/settings", `{"deployment_status":true}`, 400, 63, "state transition not possible"},
		{"POST", "/functions/f/settings", `{"deployment_status":true,"processing_status":true}`, 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "deploying"`},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/functions/f/settings", "", 200, 0, `"deployment_status": true`},
		{"POST", "/functions/f/settings", `{"worker_count":4,"processing_status":false}`, 400, 63, "worker_count"},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "deployed"`},
		{"POST", "/functions/f/settings", `{"processing_status":false}`, 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "pausing"`},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/functions/f/settings", `{"dcp_stream_boundary":"from_now"}`, 400, 63, "dcp_stream_boundary"},
		{"POST", "/functions/f/settings", `{"worker_count":4}`, 200, 0, ""},
		{"POST", "/functions/f/settings", `{"deployment_status":false}`, 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "undeploying"`},
	})
}

// TestStoredDeployed: a function that says of itself that it is deployed is deployed.
func TestStoredDeployed(t *testing.T) {
	x := newFixture(t)
	deployed := function(`"worker_count":2`, `"deployment_status":true,"processing_status":true`)
	x.run([]step{
		{"POST", "/functions/f", deployed, 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "deploying"`},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/functions/f/undeploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/import", "[" + deployed + "]", 200, 0, "Successfully stored"},
		{"GET", "/status/f", "", 200, 0, `"composite_status": "undeployed"`},
	})
}

func TestLists(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions", "[" + function() + "," + function(`"f"`, `"g"`, `"bucket_name":"b"`,
			`"bucket_name":"a"`) + `,{"appname":"-"},` + function(`"f"`, `"h"`, `"a"`, `"c"`, `"buckets"`,
			`"curl":[{"hostname":"http://h","value":"api"}],"buckets"`) + "]", 200, 0, `"code": 38`},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
		{"POST", "/functions", "{", 400, 63, ""},
		{"GET", "/list/functions?deployed=maybe", "", 400, 63, ""},
		{"GET", "/list/functions?function_type=x", "", 400, 63, ""},
	})
	for query, want := range map[string][]string{
		"": {"f", "g", "h"}, "?deployed=true": {"f"}, "?deployed=false": {"g", "h"}, "?source_bucket=c": {"h"},
		"?function_type=sbm": {"g"}, "?function_type=notsbm": {"f", "h"}, "?curl_binding=true": {"h"},
		"?curl_binding=false&deployed=false": {"g"}, "?bucket=a&scope=_default": {},
	} {
		var list struct{ Functions []string }
		for _, path := range []string{"/list/functions", "/list/functions/query"} {
			x.get(path+query, &list)
			require.Equal(t, want, list.Functions, path+query)
		}
	}
	var rows []struct {
		Code int
		Info any
	}
	w := x.Do("POST", base+"/functions", "["+function(`"f"`, `"k"`)+`,{"appname":"-"}]`)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &rows))
	require.Len(t, rows, 2)
	require.Equal(t, 0, rows[0].Code)
	require.Equal(t, "Successfully stored", rows[0].Info)
	require.Equal(t, 38, rows[1].Code)
	require.NotEmpty(t, rows[1].Info)
}

// TestAppLog: lines have Couchbase's form unless JSON is asked for.
func TestAppLog(t *testing.T) {
	x := newFixture(t)
	x.run([]step{{"POST", "/functions/f", function(), 200, 0, ""}})
	x.engine.lines = `{"time":"2026-11-22T22:58:53.244Z","level":"ERROR","function":"f","id":"t2","text":"Error: x\n at y"}
{"time":"2026-11-22T22:58:53.100Z","level":"ERROR","function":"f","callback":"Later","reference":"r","text":"Error: z"}
{"time":"2026-11-22T22:58:53.000Z","level":"INFO","function":"f","id":"t1","text":"\"saw\" {\"a\":1}"}
{"dropped":3}
`
	get := func(more string) string { return x.Do("GET", base+"/getAppLog?name=f"+more, "").Body.String() }
	require.Equal(t, `2026-11-22T22:58:53.244Z [ERROR] t2: Error: x\n at y
2026-11-22T22:58:53.100Z [ERROR] Later r: Error: z
2026-11-22T22:58:53.000Z [INFO] "saw" {"a":1}
[WARNING] 3 lines came too fast and are missing here
`, get(""))
	require.Equal(t, x.engine.lines, get("&format=json"))
}

func TestStatus(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"GET", "/status/f", "", 404, 13, ""},
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
	})
	const app = `{"composite_status":"deployed","name":"f","function_scope":{"bucket":"*","scope":"*"},
		"num_bootstrapping_nodes":0,"num_deployed_nodes":2,"deployment_status":true,"processing_status":true,
		"redeploy_required":false,"outbox":3,"dead_letters":2,"outbox_bytes":1000}`
	require.JSONEq(t, `{"apps":[`+app+`],"num_eventing_nodes":2}`, x.Do("GET", base+"/status", "").Body.String())
	require.JSONEq(t, `{"app":`+app+`,"num_eventing_nodes":2}`, x.Do("GET", base+"/status/f", "").Body.String())
}

func TestStats(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"GET", "/stats", "", 200, 0, "[]"},
		{"GET", "/stats/f", "", 200, 0, "[]"},
		{"GET", "/stats/unknown", "", 200, 0, "[]"},
		{"GET", "/stats?type=all", "", 400, 63, ""},
		{"GET", "/getExecutionStats?name=f", "", 406, 12, ""},
		{"GET", "/getExecutionStats?name=g", "", 404, 13, ""},
		{"GET", "/getExecutionStats", "", 400, 63, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""},
		{"settle", "", "", 0, 0, ""},
		{"GET", "/getExecutionStats?name=f", "", 200, 0, `"on_update_success": 10`},
		{"GET", "/getFailureStats?name=f", "", 200, 0, `"timeout_count": 0`},
		{"GET", "/getLatencyStats?name=f", "", 200, 0, `"200": 10`},
		{"GET", "/getDcpEventsRemaining?name=f", "", 200, 0, `"dcp_backlog": 7`},
		{"DELETE", "/resetStatsCounters?appName=f", "", 405, 62, ""},
		{"GET", "/resetStatsCounters?appName=f", "", 405, 62, ""},
		{"POST", "/resetStatsCounters?appName=f", "", 200, 0, ""},
		{"GET", "/getAppLog?name=f", "", 200, 0, "line of f\n"},
		{"GET", "/getAppLog?name=f&aggregate=true", "", 200, 0, "line of f\nline of f\n"},
		{"GET", "/getAppLog?name=f&size=4", "", 200, 0, "line"},
		{"GET", "/getAppLog?name=f&size=x", "", 400, 63, ""},
		{"GET", "/getInsight?name=f&aggregate=true", "", 200, 0, `"call_count": 2`},
		{"POST", "/functions/f/test", `{"doc":1}`, 200, 0, `"asked"`},
		{"POST", "/functions/f/test", `{`, 400, 16, ""},
		{"POST", "/startDebugger?name=f", "", 400, 45, ""},
	})
	require.EqualValues(t, 1, x.engine.reset.Load(), "not by GET")
	require.Equal(t, "admin", x.engine.tested.Name)
	const usual = `"function_name":"f","function_scope":{"bucket_name":"*","scope_name":"*"},
		"dcp_feed_boundary":"everything","execution_stats":{"on_update_success":10,"curl":{"get":3},"timestamp":"now",
			"dcp_mutation_msg_counter":12},
		"failure_stats":{"timeout_count":0,"timer_context_size_exceeded_counter":1},"event_processing_stats":{},
		"lcb_exception_stats":{"13":2},"events_remaining":{"dcp_backlog":7},
		"outbox_stats":{"outbox":3,"dead_letters":2,"outbox_bytes":1000},
		"latency_percentile_stats":{"50":210,"100":9800},"worker_pids":{"worker_f_0":4711},
		"internal_vb_distribution_stats":{}`
	for query, more := range map[string]string{
		"": "", "?type=full": `,"latency_stats":{"200":10}`,
		"?type=debug": `,"latency_stats":{"200":10},"debug_stats":{"batches":1}`,
	} {
		var one map[string]any
		x.get("/stats/f"+query, &one)
		require.NotZero(t, one["function_id"])
		delete(one, "function_id")
		text, err := json.Marshal(one)
		require.NoError(t, err)
		require.JSONEq(t, "{"+usual+more+"}", string(text), query)
		var all []map[string]any
		x.get("/stats"+query, &all)
		require.Len(t, all, 1)
		delete(all[0], "function_id")
		require.Equal(t, one, all[0])
	}
	metrics := x.Do("GET", "/_eventing/_prometheusMetrics", "")
	require.Equal(t, 200, metrics.Code)
	for _, line := range []string{
		`eventing_on_update_success{functionName="f"} 10`, `eventing_dcp_mutations_msg_counter{functionName="f"} 12`,
		`eventing_curl_get{functionName="f"} 3`, `eventing_outbox{functionName="f"} 3`,
		`eventing_timer_context_size_exception_counter{functionName="f"} 1`, `eventing_dcp_backlog{functionName="f"} 7`,
	} {
		require.Contains(t, metrics.Body.String(), line+"\n")
	}
	require.NotContains(t, metrics.Body.String(), "timestamp")
}

func TestConfig(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"GET", "/config", "", 200, 0, `"ram_quota": 60`},
		{"POST", "/config", `{"ram_quota":100}`, 200, 0, `"info": "Config saved for *"`},
		{"GET", "/config", "", 200, 0, `"ram_quota": 100`},
		{"POST", "/config", `{"ram_quota":"x"}`, 400, 38, ""},
		{"DELETE", "/config", "", 200, 0, ""},
		{"GET", "/config", "", 200, 0, `"ram_quota": 60`},
		{"PUT", "/config", "{}", 405, 62, ""},
		{"POST", "/config", `{"function_size":10}`, 200, 0, ""},
		{"POST", "/functions/f", function(), 400, 39, ""},
		{"GET", "/getErrorCodes", "", 200, 0, `"header_key": "status"`},
		{"POST", "/getErrorCodes", "", 405, 62, ""},
	})
	require.Equal(t, 200, x.Anyone("GET", "/_eventing/getErrorCodes", "").Code)
	require.Equal(t, 404, x.Do("GET", base+"/nothing", "").Code)
}
