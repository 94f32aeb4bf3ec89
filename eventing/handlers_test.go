package eventing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestOnDeploy: OnDeploy runs before any event, when a function is deployed and when it is resumed,
// and is told which, and after how long.
func TestOnDeploy(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("src", "before", `{}`)
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {last: dst["deployed"].reason}; }
function OnDeploy(action) { dst["deployed"] = {reason: action.reason, delay: action.delay}; }`, "", "+dst=dst")
	n.deploy("f")
	require.Equal(t, `{"reason":"Deploy","delay":0}`, n.get("dst", "deployed"))
	n.becomes("dst", "before", `{"last":"Deploy"}`)
	n.pause("f")
	n.put("src", "meanwhile", `{}`)
	time.Sleep(30 * time.Millisecond)
	n.deploy("f")
	var action struct {
		Reason string
		Delay  int64
	}
	require.NoError(t, json.Unmarshal([]byte(n.get("dst", "deployed")), &action))
	require.Equal(t, "Resume", action.Reason)
	require.GreaterOrEqual(t, action.Delay, int64(30))
	n.becomes("dst", "meanwhile", `{"last":"Resume"}`)
	n.undeploy("f")
	n.deploy("f")
	require.Equal(t, `{"reason":"Deploy","delay":0}`, n.get("dst", "deployed"))
}

// TestAdvancedOperations: each operation of couchbase tells what came of it, and that is what is
// stored.
func TestAdvancedOperations(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("dst", "old", `{"v":0}`)
	n.put("dst", "gone", `{}`)
	n.put("dst", "text", `{"$value":"no number"}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	var told = [], cas = couchbase.get(dst, {id: "old"}).meta.cas, M = couchbase.MutateInSpec, L = couchbase.LookupInSpec;
	function ask(r) { told.push(r.success ? "ok" : r.error.name); return r; }
	ask(couchbase.get(dst, {id: "none"}));
	ask(couchbase.insert(dst, {id: "a"}, {v: 1}));
	ask(couchbase.insert(dst, {id: "a"}, {v: 2}));
	ask(couchbase.upsert(dst, {id: "b"}, {v: 3}));
	ask(couchbase.replace(dst, {id: "none"}, {}));
	ask(couchbase.replace(dst, {id: "old", cas: "1-other"}, {}));
	ask(couchbase.replace(dst, {id: "old", cas: cas}, {v: 4}));
	ask(couchbase.delete(dst, {id: "gone"}));
	ask(couchbase.delete(dst, {id: "gone"}));
	ask(couchbase.increment(dst, {id: "up"}));
	ask(couchbase.increment(dst, {id: "up"}));
	ask(couchbase.decrement(dst, {id: "down"}));
	ask(couchbase.increment(dst, {id: "text"}));
	ask(couchbase.touch(dst, {id: "b", expiry_date: new Date(Date.now() + 3600000)}));
	ask(couchbase.touch(dst, {id: "none", expiry_date: new Date()}));
	ask(couchbase.mutateIn(dst, {id: "a"}, [M.upsert("list", [1]), M.arrayAppend("list", 2), M.replace("v", 9)]));
	ask(couchbase.mutateIn(dst, {id: "a"}, [M.upsert("lost", 1), M.replace("nothing", 1)]));
	var found = ask(couchbase.lookupIn(dst, {id: "a"}, [L.get("list[1]"), L.get("nothing")]));
	dst["told"] = {told: told.join(" "), found: found.doc[0].value, not: found.doc[1].success};
}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "told", `{"told":"LCB_KEY_ENOENT ok LCB_KEY_EEXISTS ok LCB_KEY_ENOENT LCB_KEY_EEXISTS ok ok `+
		`LCB_KEY_ENOENT ok ok ok LCB_DELTA_BADVAL ok LCB_KEY_ENOENT ok LCB_ERR_SUBDOC_PATH_NOT_FOUND ok",`+
		`"found":2,"not":false}`)
	for id, want := range map[string]string{
		"a": `{"v":9,"list":[1,2]}`, "b": `{"v":3}`, "old": `{"v":4}`, "gone": "", "none": "", "up": `{"count":2}`,
		"down": `{"count":-1}`,
	} {
		require.Equal(t, want, n.get("dst", id), id)
	}
}

// TestN1QLCall: N1QL() and couchbase.n1qlQuery() take the text of a statement, values by name or by
// number and options, and give rows that a loop goes over, until they are closed. Statements read
// no text index.
func TestN1QLCall(t *testing.T) {
	n := newAlone(t, "src", "dst", "data")
	n.put("data", "_design/text", `{"language":"query","indexes":{"all":{"index":{"fields":"all_fields"},"analyzer":"keyword"}}}`)
	for i := range 5 {
		n.put("data", fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, i))
	}
	n.define("f", `
function OnUpdate(doc, meta) {
	var named = [], numbered = [], closed = [];
	for (var row of N1QL("SELECT n FROM data WHERE n >= $low ORDER BY n", {$low: 3}, {consistency: "request"})) named.push(row.n);
	for (var row of couchbase.n1qlQuery("SELECT RAW n FROM data WHERE n IN [$1, $2] ORDER BY n", [0, 2], {isPrepared: true})) {
		numbered.push(row);
	}
	var open = N1QL("SELECT RAW n FROM data ORDER BY META().id");
	for (var row of open) { closed.push(row); open.close(); }
	N1QL("UPDATE data SET seen = true WHERE n = $1", [4]);
	dst[meta.id] = {named: named, numbered: numbered, closed: closed};
}`, "", "+dst=dst", "+data=data")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "x", `{"named":[3,4],"numbered":[0,2],"closed":[0]}`)
	n.becomes("data", "4", `{"n":4,"seen":true}`)
}

// TestOptionalQueryExecution: a SELECT whose rows nobody wants is not run; a statement that changes
// documents is.
func TestOptionalQueryExecution(t *testing.T) {
	n := newAlone(t, "src", "dst", "data")
	n.put("data", "a", `{}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	var unused = SELECT ARRAY_RANGE(0, 1000000000) FROM data; // which fails when it runs
	var failed = false;
	try { for (var row of unused) {} } catch (e) { failed = e instanceof N1QLError; }
	var never = SELECT ARRAY_RANGE(0, 1000000000) FROM data;
	var changed = UPDATE data SET seen = true;
	dst[meta.id] = {failed: failed};
}`, "", "+dst=dst", "+data=data")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "x", `{"failed":true}`)
	n.becomes("data", "a", `{"seen":true}`)
}

// TestInsight: for each line of the code as it was stored there is what it called, what failed and
// what it logged.
func TestInsight(t *testing.T) {
	n := newAlone(t, "src", "dst")
	const code = "function OnUpdate(doc, meta) {\n  log('seen', meta.id);\n  dst[meta.id] = doc;\n\n" +
		"  if (doc.bad) nothing();\n}"
	n.define("f", code, `{"handler_headers":["'use strict';","// two","// three"]}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{}`)
	n.becomes("dst", "1", `{}`)
	n.put("src", "2", `{"bad":true}`)
	n.eventually(func() bool { return n.stat("f", "on_update_failure") == 1 }, "one failure")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	insight, err := n.engine.Insight(t.Context(), r, true)
	require.NoError(t, err)
	require.Equal(t, code, insight.Script)
	lines := insight.Lines
	require.EqualValues(t, 2, lines[2].CallCount)
	require.Equal(t, `"seen" "2"`, lines[2].LastLog)
	require.EqualValues(t, 2, lines[3].CallCount)
	require.Zero(t, lines[3].ErrorCount)
	require.EqualValues(t, 1, lines[5].ErrorCount)
	require.Contains(t, lines[5].ErrorMessage, "nothing is not defined")
	require.NotContains(t, lines, 4)
}

// TestStatsAddUp: when all is done, the events that handlers got are those that succeeded, failed
// or had no handler.
func TestStatsAddUp(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	if (doc.bad) throw new Error("bad");
	if (doc.slow) for (;;) {}
	if (doc.back) src[meta.id] = {back: false, was: true};
	createTimer(fire, new Date(Date.now() + 3600000), meta.id, {});
	dst[meta.id] = {};
}
function fire() {}`, `{"execution_timeout":1}`, "+dst=dst", "+src=src")
	n.deploy("f")
	for i, body := range []string{`{}`, `{"bad":true}`, `{}`, `{"bad":true}`, `{"slow":true}`, `{"back":true}`} {
		n.put("src", fmt.Sprint(i), body)
	}
	n.becomes("src", "5", `{"back":false,"was":true}`)
	n.put("src", "0", "") // there is no OnDelete
	n.eventually(func() bool { return n.stat("f", "num_processed_events") == 7 }, "seven events")
	n.eventually(func() bool { return n.stat("f", "dcp_mutation_suppressed_counter") == 1 }, "its own write")
	for name, want := range map[string]int64{
		"on_update_success": 3, "on_update_failure": 3, "timeout_count": 1, "no_op_counter": 1, "on_delete_success": 0,
		"dcp_mutation_sent_to_worker": 6, "dcp_deletion_sent_to_worker": 1, "timer_create_counter": 3,
		"timer_callback_success": 0, "retries": 0,
	} {
		require.Equal(t, want, n.stat("f", name), name)
	}
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	s, err := n.engine.Stats(t.Context(), r, definition.Full)
	require.NoError(t, err)
	handled := int64(0)
	for _, count := range s.Latency {
		handled += count
	}
	require.EqualValues(t, 6, handled, "a time for each call of a handler")
	require.GreaterOrEqual(t, s.Percentiles["100"], int64(1_000_000), "the slow one, in microseconds")
	require.NoError(t, n.engine.ResetStats(t.Context(), r))
	require.Zero(t, n.stat("f", "on_update_success"))
}

// TestHeadersAndFooters: lines before and after the code are part of it; the lines that errors name
// stay those of the code.
func TestHeadersAndFooters(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", "function OnUpdate(doc, meta) {\n  dst[meta.id] = {head: head(), foot: foot()};\n  if (doc.bad) nothing();\n}",
		`{"handler_headers":["'use strict';","function head() { return 1; }"],"handler_footers":["function foot() {","return 2; }"]}`,
		"+dst=dst")
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.becomes("dst", "a", `{"head":1,"foot":2}`)
	n.put("src", "b", `{"bad":true}`)
	n.eventually(func() bool { return strings.Contains(n.log("f"), `"at":"3:`) }, "an error of line 3")
}

// TestLanguageCompatibility: code that was written for versions before 6.5.0 gets an exception for
// a document that is not there, other code undefined.
func TestLanguageCompatibility(t *testing.T) {
	n := newAlone(t, "src", "dst")
	for name, settings := range map[string]string{
		"f": `{"language_compatibility":"6.0.0"}`, "g": `{"language_compatibility":"6.5.0"}`, "h": "",
	} {
		n.define(name, `
function OnUpdate(doc, meta) {
	var found = "nothing";
	try { found = typeof dst["none"]; } catch (e) { found = e instanceof KVError; }
	dst[me] = {found: found};
}`, settings, "+dst=dst")
		r, err := n.engine.Registry().Get(t.Context(), refOf(name))
		require.NoError(t, err)
		f := r.Draft.Clone()
		f.Bindings.Constants = []definition.Constant{{Value: "me", Literal: "'" + name + "'"}}
		_, err = n.engine.Registry().Put(t.Context(), f, r)
		require.NoError(t, err)
	}
	require.NoError(t, n.engine.Registry().MergeConfig(t.Context(), []byte(`{"allow_interbucket_recursion":true}`)))
	for _, name := range []string{"f", "g", "h"} {
		n.deploy(name)
	}
	n.put("src", "x", `{}`)
	n.becomes("dst", "f", `{"found":true}`)
	n.becomes("dst", "g", `{"found":"undefined"}`)
	n.becomes("dst", "h", `{"found":"undefined"}`)
}

// TestSkipTimerThreshold: timers that are later than the setting allows are dropped and counted,
// others run.
func TestSkipTimerThreshold(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	createTimer(fire, new Date(Date.now() - 3600000), "late", {id: "late"});
	createTimer(fire, new Date(Date.now() + 20), "soon", {id: "soon"});
}
function fire(context) { dst[context.id] = {}; }`, `{"skip_timer_threshold":600}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "soon", `{}`)
	n.eventually(func() bool { return n.stat("f", "timers_skipped") == 1 }, "a timer is dropped")
	require.Empty(t, n.get("dst", "late"))
	require.EqualValues(t, 1, n.stat("f", "timer_callback_success"))
}

// TestTimersDoNotBlock: a callback that throws, one that never ends and one that is not in the code
// any more hold up none of those that come after them.
func TestTimersDoNotBlock(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	var now = Date.now();
	createTimer(throws, new Date(now + 10), "a", {});
	createTimer(loops, new Date(now + 20), "b", {});
	createTimer(fire, new Date(now + 30), "c", {});
}
function throws() { throw new Error("no"); }
function loops() { for (;;) {} }
function fire() { dst["fired"] = {}; }`, `{"execution_timeout":1}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "fired", `{}`)
	n.eventually(func() bool { return n.stat("f", "timer_callback_failure") == 2 }, "two failures")
	require.Empty(t, n.checked(), "nothing is left of them")
}

// TestCurlOfHandlers: requests have the credentials of their binding and stay below its path;
// answers of any status come back, and no more bytes of them than the setting allows.
func TestCurlOfHandlers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case strings.HasSuffix(r.URL.Path, "/large"):
			_, _ = w.Write(make([]byte, 3<<20))
		case strings.HasSuffix(r.URL.Path, "/moved"):
			http.Redirect(w, r, "/base/elsewhere", http.StatusFound)
		default:
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"at":%q,"user":%q,"body":%q}`, r.Method+" "+r.URL.String(), user+":"+password, body)
		}
	}))
	defer server.Close()
	n := newAlone(t, "src", "dst")
	code := `
function OnUpdate(doc, meta) {
	var r = curl("POST", api, {path: "/a/../../../x", params: {q: "1 2"}, body: {n: 1}});
	dst["answer"] = {status: r.status, body: r.body};
	dst["moved"] = {status: curl("GET", api, {path: "/moved", redirect: false}).status,
		followed: curl("GET", api, {path: "/moved"}).body.at};
	try { curl("GET", api, {path: "/large"}); } catch (e) { dst["large"] = {curl: e instanceof CurlError}; }
}`
	f, err := definition.Parse(fmt.Appendf(nil, `{"appname":"f","appcode":%q,"depcfg":{"source_bucket":"src",
		"buckets":[{"alias":"dst","bucket_name":"dst","access":"rw"}],
		"curl":[{"hostname":"%s/base","value":"api","auth_type":"basic","username":"ada","password":"secret"}]},
		"settings":{"curl_max_allowed_resp_size":1}}`, code, server.URL), definition.ParseOptions{Name: "f"})
	require.NoError(t, err)
	_, err = n.engine.Registry().Put(t.Context(), f, nil)
	require.NoError(t, err)
	require.Equal(t, definition.Deployed, n.deploy("f"))
	n.put("src", "x", `{}`)
	n.becomes("dst", "answer",
		`{"status":418,"body":{"at":"POST /base/x?q=1+2","user":"ada:secret","body":"{\"n\":1}"}}`)
	n.becomes("dst", "moved", `{"status":302,"followed":"GET /base/elsewhere"}`)
	n.becomes("dst", "large", `{"curl":true}`)
}

// TestOldMeta: docid and expiry of functions of version 5 are there, whether a document expires or
// not.
func TestOldMeta(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	dst[meta.docid] = {expiry: meta.expiry, same: meta.expiry === meta.expiration};
	if (meta.id === "a") couchbase.upsert(src, {id: "b", expiry_date: new Date(4e12)}, {}, {self_recursion: true});
}
function OnDelete(meta) { dst["gone:" + meta.docid] = {expiry: meta.expiry}; }`, "", "+dst=dst", "+src=src")
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.becomes("dst", "a", `{"expiry":0,"same":true}`)
	n.becomes("dst", "b", `{"expiry":4000000000,"same":true}`)
	n.put("src", "a", "")
	n.becomes("dst", "gone:a", `{"expiry":0}`)
}

// TestTrials: a test of a function runs its handler, deployed or not, on what there is, and shows
// what it would have written; nothing is stored.
func TestTrials(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("src", "a", `{"v":1}`)
	n.put("dst", "old", `{"v":2}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	log("saw", doc.v);
	dst["new"] = {sum: doc.v + dst["old"].v};
	delete dst["old"];
	createTimer(fire, new Date(5000), "t", {x: 1});
	if (doc.bad) throw new Error("bad");
}
function OnDelete(meta) { dst["gone:" + meta.id] = {}; }
function fire(context) { dst["fired"] = context; publish(dst, {p: context.y}, {id: "m"}); }`, "", "+dst=dst")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	for request, want := range map[string]string{
		`{"id":"a"}`: `{"outcome":"success","statements":[],"log":["\"saw\" 1"],"writes":[{"database":"dst","id":"new","doc":{"sum":3}},
			{"database":"dst","id":"old","deleted":true}],
			"timers":[{"callback":"fire","reference":"t","due":"1970-01-01T00:00:05Z","context":{"x":1}}],"published":[]}`,
		`{"id":"none","doc":{"v":5,"bad":true}}`: `{"outcome":"failure","statements":[],"log":["\"saw\" 5"],
			"writes":[],"timers":[],"published":[]}`,
		`{"id":"b","delete":true}`: `{"outcome":"success","statements":[],"log":[],"writes":[{"database":"dst","id":"gone:b","doc":{}}],
			"timers":[],"published":[]}`,
		`{"timer":"fire","context":{"y":2}}`: `{"outcome":"success","statements":[],"log":[],
			"writes":[{"database":"dst","id":"fired","doc":{"y":2}}],"timers":[],
			"published":[{"destination":"dst","id":"m","headers":{"Content-Type":"application/json"},"value":{"p":2}}]}`,
	} {
		answer, wrong := n.engine.Test(t.Context(), r.Draft, registry.Principal{Name: "root", Roles: admin.Roles},
			json.RawMessage(request))
		require.Nil(t, wrong, request)
		var have map[string]any
		require.NoError(t, json.Unmarshal(answer, &have))
		if have["outcome"] == "failure" {
			require.Equal(t, "bad", have["error"].(map[string]any)["message"])
		}
		delete(have, "took_us")
		delete(have, "error")
		text, err := json.Marshal(have)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text), request)
	}
	require.Equal(t, `{"v":2}`, n.get("dst", "old"))
	require.EqualValues(t, 1, n.count("dst"))
	require.Equal(t, definition.Undeployed, n.state("f"))
}

// TestCheckpointInterval: how far events without effects have come is stored after the interval, so
// that a process that takes over from one that died repeats only what came after it.
func TestCheckpointInterval(t *testing.T) {
	for settings, repeated := range map[string]int{`{"checkpoint_interval":1}`: 0, `{"checkpoint_interval":86400}`: 1} {
		store := memkv.New()
		m := &mortal{Store: store}
		n := newNode(t, m, 500*time.Millisecond)
		n.create("src")
		n.define("f", `function OnUpdate(doc, meta) { log("saw " + meta.id); }`, settings)
		n.deploy("f")
		before := n.kept("f")
		n.put("src", "a", `{}`)
		n.eventually(func() bool { return strings.Contains(n.log("f"), "saw a") }, "a in the log")
		if repeated == 0 {
			n.eventually(func() bool { return n.kept("f") != before }, "the progress is stored")
		}
		m.dead.Store(true)
		n.close()
		other := newNode(t, store, 500*time.Millisecond)
		other.put("src", "b", `{}`)
		other.eventually(func() bool { return strings.Contains(other.log("f"), "saw b") }, "b in the log")
		require.Equal(t, 1+repeated, strings.Count(other.log("f"), "saw a"), settings)
	}
}

// kept is what is stored of how far the partitions of a function are done.
func (n *node) kept(name string) string {
	n.t.Helper()
	r, err := n.engine.Registry().Get(n.t.Context(), refOf(name))
	require.NoError(n.t, err)
	var all strings.Builder
	require.NoError(n.t, kv.ViewAgain(n.t.Context(), n.kv, func(tx kv.ReadTx) error {
		all.Reset()
		begin, end := below(spaceOf(r.Instance).sub(tagDone))
		it := tx.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			fmt.Fprintf(&all, "%x %x\n", it.Key(), it.Value())
		}
		return it.Err()
	}))
	return all.String()
}

// TestStoreUnavailable: while the store refuses everything, events wait; afterwards each has its
// effects, once, and none has failed.
func TestStoreUnavailable(t *testing.T) {
	store := memkv.New()
	m := &mortal{Store: store}
	n := newNode(t, m, 0)
	n.create("src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1}; }`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "before", `{}`)
	n.becomes("dst", "before", `{"n":1}`)
	m.dead.Store(true)
	s, err := storage.Open(t.Context(), storage.Options{KV: store, Manual: true})
	require.NoError(t, err)
	body, err := compat.NewBody([]byte(`{}`))
	require.NoError(t, err)
	var docs []*compat.Document
	for i := range 10 {
		docs = append(docs, &compat.Document{ID: fmt.Sprint(i), HasID: true, Body: body})
	}
	_, err = s.DB("src").Update(t.Context(), docs, storage.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	time.Sleep(300 * time.Millisecond) // attempts fail
	m.dead.Store(false)
	for i := range docs {
		n.becomes("dst", fmt.Sprint(i), `{"n":1}`)
	}
	require.Zero(t, n.stat("f", "on_update_failure"))
	require.Equal(t, `{"n":1}`, n.get("dst", "before"))
}

// TestOperationsWhileNodesComeAndGo: a function is paused, resumed, undeployed and deployed while
// its partitions move between processes, and does its work afterwards.
func TestOperationsWhileNodesComeAndGo(t *testing.T) {
	store := memkv.New()
	keeper := newNode(t, store, time.Hour)
	keeper.create("src", "dst")
	keeper.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {v: doc.v}; }`, "", "+dst=dst")
	ctx, stop := context.WithCancel(t.Context())
	var moving sync.WaitGroup
	moving.Go(func() {
		for ctx.Err() == nil {
			newNode(t, store, time.Hour).close()
		}
	})
	for i := range 4 {
		require.Equal(t, definition.Deployed, keeper.deploy("f"))
		require.Equal(t, definition.Paused, keeper.pause("f"))
		keeper.put("src", "a", fmt.Sprintf(`{"v":%d}`, i))
		require.Equal(t, definition.Deployed, keeper.deploy("f"))
		keeper.becomes("dst", "a", fmt.Sprintf(`{"v":%d}`, i))
		require.Equal(t, definition.Undeployed, keeper.undeploy("f"))
	}
	stop()
	moving.Wait()
	require.Empty(t, keeper.checked())
}

// TestLogOfAllNodes: what handlers log in any process is read in each of them.
func TestLogOfAllNodes(t *testing.T) {
	store := memkv.New()
	a, b := newNode(t, store, time.Hour), newNode(t, store, time.Hour)
	a.create("src")
	a.define("f", `function OnUpdate(doc, meta) { log("saw", meta.id, "."); }`, "")
	a.deploy("f")
	a.eventually(func() bool { return a.owned() == partitions/2 && b.owned() == partitions/2 }, "both have a half")
	for i := range 40 {
		a.put("src", fmt.Sprint(i), `{}`)
	}
	for _, n := range []*node{a, b} {
		n.eventually(func() bool { return strings.Count(n.log("f"), `\"saw\"`) == 40 }, "all lines")
		require.NotZero(t, n.counts()[updatesDone], "both have done some")
	}
}

// TestSlowHandlerAmongWorkers: while a handler waits for another server, those of the function's
// other workers go on.
func TestSlowHandlerAmongWorkers(t *testing.T) {
	called, released := make(chan struct{}), make(chan struct{})
	call, release := sync.OnceFunc(func() { close(called) }), sync.OnceFunc(func() { close(released) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		call()
		<-released
	}))
	defer server.Close()
	defer release() // also where the test fails: Close waits for the answer
	n := newAlone(t, "src", "dst")
	f, err := definition.Parse(fmt.Appendf(nil, `{"appname":"f","appcode":%q,"depcfg":{"source_bucket":"src",
		"buckets":[{"alias":"dst","bucket_name":"dst","access":"rw"}],"curl":[{"hostname":%q,"value":"api"}]},
		"settings":{"worker_count":2}}`,
		`function OnUpdate(doc, meta) { if (doc.slow) curl("GET", api); dst[meta.id] = {}; }`, server.URL),
		definition.ParseOptions{Name: "f"})
	require.NoError(t, err)
	_, err = n.engine.Registry().Put(t.Context(), f, nil)
	require.NoError(t, err)
	n.deploy("f")
	slow, other := "slow", ""
	for i := 0; other == ""; i++ { // a partition of the other half
		if id := fmt.Sprint(i); feed.PartitionOf(id)/(partitions/2) != feed.PartitionOf(slow)/(partitions/2) {
			other = id
		}
	}
	n.put("src", slow, `{"slow":true}`)
	<-called
	n.put("src", other, `{}`)
	n.becomes("dst", other, `{}`)
	require.Empty(t, n.get("dst", slow))
	release()
	n.becomes("dst", slow, `{}`)
}
