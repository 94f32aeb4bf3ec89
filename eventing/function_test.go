package eventing

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestOnUpdateAndOnDelete: a function sees documents that were there, later ones, changes and
// deletions, and nothing of design documents.
func TestOnUpdateAndOnDelete(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("src", "before", `{"v":1}`)
	n.put("src", "_design/d", `{"views":{}}`)
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {v: doc.v, created: meta.created}; }
function OnDelete(meta, options) { dst["gone:" + meta.id] = {expired: options.expired}; delete dst[meta.id]; }`, "",
		"+dst=dst")
	require.Equal(t, definition.Deployed, n.deploy("f"))
	n.becomes("dst", "before", `{"v":1,"created":true}`)
	n.put("src", "later", `{"v":2}`)
	n.becomes("dst", "later", `{"v":2,"created":true}`)
	n.put("src", "later", `{"v":3}`)
	n.becomes("dst", "later", `{"v":3,"created":false}`)
	n.put("src", "later", "")
	n.becomes("dst", "gone:later", `{"expired":false}`)
	n.becomes("dst", "later", "")
	require.Empty(t, n.get("dst", "_design/d"))
}

// TestFromNow: a function that begins now sees what is written after the request that deploys it,
// and nothing before.
func TestFromNow(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("src", "before", `{}`)
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`, `{"dcp_stream_boundary":"from_now"}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "after", `{}`)
	n.becomes("dst", "after", `{}`)
	require.Empty(t, n.get("dst", "before"))
}

// TestFromTime: a function that begins at a time sees what was written then and later; what is no
// time is refused.
func TestFromTime(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("src", "a", `{}`)
	const code = `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`
	n.define("f", code, `{"dcp_stream_boundary":"2099-01-01T00:00:00Z"}`, "+dst=dst")
	n.define("g", `function OnUpdate(doc, meta) { dst["g" + meta.id] = {}; }`,
		`{"dcp_stream_boundary":"2001-01-01T00:00:00Z"}`, "+dst=dst")
	n.deploy("f")
	n.deploy("g")
	n.becomes("dst", "ga", `{}`)
	n.put("src", "b", `{}`)
	n.becomes("dst", "b", `{}`)
	require.Empty(t, n.get("dst", "a"))
	for value, good := range map[string]bool{
		"2026-11-27T12:00:00Z": true, "2026-13-27T12:00:00Z": false, "now": false,
	} {
		err := json.Unmarshal(fmt.Appendf(nil, `{"dcp_stream_boundary":%q}`, value), new(definition.Settings))
		require.Equal(t, good, err == nil, value)
	}
}

// TestPauseAndResume: what is written meanwhile is seen after the function resumes, once.
func TestPauseAndResume(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1}; }
function OnDeploy(action) { dst["deployed"] = {reason: action.reason}; }`, "", "+dst=dst")
	n.deploy("f")
	n.becomes("dst", "deployed", `{"reason":"Deploy"}`)
	n.put("src", "a", `{}`)
	n.becomes("dst", "a", `{"n":1}`)
	require.Equal(t, definition.Paused, n.pause("f"))
	n.put("src", "b", `{}`)
	require.Equal(t, definition.Deployed, n.deploy("f"))
	n.becomes("dst", "b", `{"n":1}`)
	n.becomes("dst", "deployed", `{"reason":"Resume"}`)
	require.Equal(t, `{"n":1}`, n.get("dst", "a"))
}

// TestProgressLost: a function whose progress is gone begins with all documents again, and says so.
func TestProgressLost(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1}; }`, "", "+dst=dst")
	n.put("src", "a", `{}`)
	n.deploy("f")
	n.becomes("dst", "a", `{"n":1}`)
	n.pause("f")
	_, err := n.kv.Update(t.Context(), func(tx kv.Tx) error {
		tx.Clear(spaceOf(1).progress())
		return nil
	})
	require.NoError(t, err)
	n.deploy("f")
	n.becomes("dst", "a", `{"n":2}`)
	require.Contains(t, n.log("f"), "was lost")
	require.EqualValues(t, 1, n.stat("f", progressesLost))
}

// TestUndeployForgets: nothing of an instance is left; deployed anew, a function begins with all
// documents.
func TestUndeployForgets(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1};
	createTimer(late, new Date(Date.now() + 3600000), meta.id, {});
}
function late(context) {}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "a", `{}`)
	n.becomes("dst", "a", `{"n":1}`)
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	keys := func() (count int) {
		require.NoError(t, n.kv.View(t.Context(), func(tx kv.ReadTx) error {
			count = 0
			begin, end := below([]byte(spaceOf(r.Instance)))
			it := tx.Range(begin, end, kv.RangeOptions{})
			defer it.Close()
			for it.Next() {
				count++
			}
			return it.Err()
		}))
		return count
	}
	require.Positive(t, keys())
	require.Equal(t, definition.Undeployed, n.undeploy("f"))
	require.Zero(t, keys())
	n.deploy("f")
	n.becomes("dst", "a", `{"n":2}`)
}

// TestFailedHandlerLeavesNothing: an exception voids what its handler has done, and is in the log;
// others go on.
func TestFailedHandlerLeavesNothing(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	dst["half:" + meta.id] = {};
	log("seen", meta.id);
	if (doc.bad) throw new Error("no " + meta.id);
	dst[meta.id] = {};
}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{"bad":true}`)
	n.put("src", "2", `{}`)
	n.becomes("dst", "2", `{}`)
	require.Empty(t, n.get("dst", "half:1"))
	require.Equal(t, `{}`, n.get("dst", "half:2"))
	require.EqualValues(t, 1, n.stat("f", "on_update_failure"))
	require.Contains(t, n.log("f"), "no 1")
	require.Contains(t, n.log("f"), `"seen\" \"2`)
}

// TestCounterIsExact: handlers that read and write one document, in several workers, beside others
// who write it, lose no count.
func TestCounterIsExact(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { var c = dst["count"] || {n: 0}; dst["count"] = {n: c.n + 1, other: c.other}; }`,
		`{"worker_count":4}`, "+dst=dst")
	n.deploy("f")
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range 50 {
				n.put("src", fmt.Sprint(w, "-", i), `{}`)
			}
		})
	}
	writers.Wait()
	n.eventually(func() bool { return n.get("dst", "count") == `{"n":150}` }, "150 events are not counted")
}

// TestSelfRecursion: a function does not see what it writes to its own source, but sees it where it
// asks to; another write to the document is an event again.
func TestSelfRecursion(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	dst["n:" + meta.id] = {n: (dst["n:" + meta.id] ? dst["n:" + meta.id].n : 0) + 1};
	if (doc.down > 0) couchbase.upsert(src, {id: meta.id}, {down: doc.down - 1}, {self_recursion: true});
	else if (!doc.seen) { doc.seen = true; src[meta.id] = doc; }
}`, "", "+dst=dst", "+src=src")
	n.deploy("f")
	n.put("src", "a", `{"v":1}`)
	n.becomes("src", "a", `{"v":1,"seen":true}`)
	n.put("src", "down", `{"down":3,"seen":true}`)
	n.becomes("dst", "n:down", `{"n":4}`)
	require.Equal(t, `{"n":1}`, n.get("dst", "n:a"))
	n.put("src", "a", `{"v":2,"seen":true}`)
	n.becomes("dst", "n:a", `{"n":2}`)
}

// TestWriteBackLosesNoUpdate: what a handler writes back to its event's document never covers a
// change that came meanwhile.
func TestWriteBackLosesNoUpdate(t *testing.T) {
	n := newAlone(t, "src")
	n.define("f", `
function OnUpdate(doc, meta) { doc.seen = doc.v; src[meta.id] = doc; }`, "", "+src=src")
	n.deploy("f")
	for v := range 60 {
		n.put("src", "a", fmt.Sprintf(`{"v":%d}`, v))
	}
	n.becomes("src", "a", `{"v":59,"seen":59}`)
}

// TestRefusedWrites: a handler can catch what a validation function or selector says to a write of
// it.
func TestRefusedWrites(t *testing.T) {
	for refusal, design := range map[string]string{
		"not that":              `{"validate_doc_update":"function (doc) { if (doc.bad) throw {forbidden: 'not that'}; }"}`,
		"document is not valid": `{"language":"query","validate_doc_update":{"newDoc.bad":{"$exists":false}}}`,
	} {
		t.Run(refusal, func(t *testing.T) { testRefusedWrites(t, refusal, design) })
	}
}

func testRefusedWrites(t *testing.T, refusal, design string) {
	n := newAlone(t, "src", "dst")
	n.put("dst", "_design/v", design)
	n.define("f", `
function OnUpdate(doc, meta) {
	try { dst[meta.id] = doc; } catch (e) { dst["no:" + meta.id] = {kv: e instanceof KVError, desc: e.message.desc}; }
}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{"bad":true}`)
	n.put("src", "2", `{"v":2}`)
	n.becomes("dst", "2", `{"v":2}`)
	n.becomes("dst", "no:1", `{"kv":true,"desc":"`+refusal+`"}`)
	require.Empty(t, n.get("dst", "1"))
}

// TestOwnersRights: a function may do what its owner may, and nothing else.
func TestOwnersRights(t *testing.T) {
	n := newAlone(t, "src", "dst", "secret")
	for _, name := range []string{"src", "dst"} {
		settings := n.store.DB(name).Settings()
		require.NoError(t, settings.SetSecurity(t.Context(), []byte(`{"members":{"names":["ada"]}}`)))
	}
	settings := n.store.DB("secret").Settings()
	require.NoError(t, settings.SetSecurity(t.Context(), []byte(`{"members":{"names":["eve"]}}`)))
	n.define("f", `
function OnUpdate(doc, meta) {
	try { dst[meta.id] = {read: secret["x"]}; } catch (e) { dst[meta.id] = {code: e.message.code}; }
}`, "", "+dst=dst", "secret=secret")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	_, err = n.engine.Registry().Deploy(t.Context(), r, registryPrincipal("ada"), nil)
	require.NoError(t, err)
	n.put("src", "1", `{}`)
	n.becomes("dst", "1", `{"code":403}`)
}

// TestRetriesAndDeadLetters: an event whose handler fails is tried as often as max_retries says,
// and then told of in another database.
func TestRetriesAndDeadLetters(t *testing.T) {
	n := newAlone(t, "src", "dst", "dead")
	n.define("f", `
function OnUpdate(doc, meta) { if (doc.bad) throw new TypeError("bad " + meta.id); dst[meta.id] = {}; }`,
		`{"max_retries":2,"dead_letter_database":"dead"}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{"bad":true}`)
	n.put("src", "2", `{}`)
	n.becomes("dst", "2", `{}`)
	n.eventually(func() bool { return n.count("dead") == 1 }, "no dead letter")
	require.EqualValues(t, 2, n.stat("f", "retries"))
	var letters []string
	_, err := n.db("dead").Bare().Feed().Changes(t.Context(), storage.ChangesOptions{Limit: -1, IncludeDocs: true},
		func(ch *storage.Change) error {
			letters = append(letters, string(ch.Doc.Body))
			return nil
		})
	require.NoError(t, err)
	require.Contains(t, letters[0], `"message":"bad 1"`)
	require.Contains(t, letters[0], `"attempts":3`)
}

// TestRetriesKeepTheWorker: an exception, however often it is tried again, costs no worker process.
func TestRetriesKeepTheWorker(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { if (doc.bad) throw new Error("bad"); dst[meta.id] = {}; }`, `{"max_retries":4}`,
		"+dst=dst")
	for i := range 20 {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"bad":%t}`, i == 3))
	}
	n.deploy("f")
	n.eventually(func() bool { return n.stat("f", "on_update_failure") == 1 && n.count("dst") == 19 }, "all events")
	require.EqualValues(t, 4, n.stat("f", "retries"))
	require.Zero(t, n.js.Stats().Killed)
	require.EqualValues(t, 1, n.js.Stats().Started)
}

// TestTimers: callbacks run once, not before their time, in their order, with their contexts; a
// timer of the same name replaces an earlier one; cancelled ones do not run.
func TestTimers(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	var at = ms => new Date(Date.now() + ms);
	createTimer(fire, at(300), "a", {id: "a"});
	createTimer(fire, at(100), "b", {id: "b"});
	createTimer(fire, at(50), "c", {id: "never"});
	createTimer(fire, at(200), "c", {id: "c"});
	createTimer(fire, at(150), "d", {id: "never"});
	dst["cancelled"] = {d: cancelTimer(fire, "d"), e: cancelTimer(fire, "e")};
	createTimer(plain, at(1), null);
}
function fire(context) {
	var list = dst["fired"] || {ids: []};
	list.ids.push(context.id);
	dst["fired"] = list;
}
function plain(context) { dst["plain"] = {type: typeof context}; }`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "fired", `{"ids":["b","c","a"]}`)
	n.becomes("dst", "cancelled", `{"d":true,"e":false}`)
	n.becomes("dst", "plain", `{"type":"undefined"}`)
	n.eventually(func() bool { return n.stat("f", "timer_callback_success") == 4 }, "four callbacks")
}

// TestTimersWaitForResume: nothing fires while a function is paused; what was due meanwhile fires
// when it resumes.
func TestTimersWaitForResume(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { createTimer(fire, new Date(Date.now() + 1500), "a", {}); dst["made"] = {}; }
function fire(context) { dst["fired"] = {}; }`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "x", `{}`)
	n.becomes("dst", "made", `{}`)
	n.pause("f")
	time.Sleep(1700 * time.Millisecond)
	require.Empty(t, n.get("dst", "fired"))
	n.deploy("f")
	n.becomes("dst", "fired", `{}`)
}

// TestSourceGoes: a function whose source is deleted is undeployed.
func TestSourceGoes(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`, "", "+dst=dst")
	n.deploy("f")
	require.NoError(t, n.store.Delete(t.Context(), "src"))
	n.eventually(func() bool {
		r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
		return err == nil && r.State == definition.Undeployed
	}, "the function is still deployed")
}

// TestSelector: a function sees only what its selector selects.
func TestSelector(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {}; }`, `{"selector":{"type":"order"}}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{"type":"note"}`)
	n.put("src", "2", `{"type":"order"}`)
	n.becomes("dst", "2", `{}`)
	require.Empty(t, n.get("dst", "1"))
}

// TestSlowAndHostileHandlers: one that never ends, and one that takes all memory, cost their event
// only.
func TestSlowAndHostileHandlers(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	if (doc.loop) for (;;) {}
	if (doc.memory) { var a = []; for (;;) a.push("x".repeat(1e6) + a.length); }
	dst[meta.id] = {};
}`, `{"execution_timeout":1}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{}`)
	n.put("src", "2", `{"loop":true}`)
	n.put("src", "3", `{"memory":true}`)
	n.put("src", "4", `{}`)
	n.becomes("dst", "1", `{}`)
	n.becomes("dst", "4", `{}`)
	n.eventually(func() bool { return n.stat("f", "on_update_failure") == 2 }, "two failures")
	require.Equal(t, int64(2), n.count("dst"))
}

// TestHopLimit: functions that write to each other's sources end.
func TestHopLimit(t *testing.T) {
	n := newAlone(t, "src", "other")
	n.define("f", `function OnUpdate(doc, meta) { other[meta.id] = {n: doc.n + 1}; }`, `{"hop_limit":4}`, "+other=other")
	n.deploy("f")
	n.define("g", `function OnUpdate(doc, meta) { src[meta.id] = {n: doc.n + 1}; }`, `{"hop_limit":4}`, "+src=src")
	r, err := n.engine.Registry().Get(t.Context(), refOf("g"))
	require.NoError(t, err)
	g := r.Draft.Clone()
	g.Bindings.SourceBucket = "other"
	_, err = n.engine.Registry().Put(t.Context(), g, r)
	require.NoError(t, err)
	require.NoError(t, n.engine.Registry().MergeConfig(t.Context(), []byte(`{"allow_interbucket_recursion":true}`)))
	n.deploy("g")
	n.put("src", "a", `{"n":0}`)
	n.becomes("src", "a", `{"n":4}`)
	time.Sleep(100 * time.Millisecond)
	n.becomes("src", "a", `{"n":4}`)
}

// TestExpiry: a document that a handler lets expire is deleted at its time, and its deletion tells
// why.
func TestExpiry(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	if (doc.ms) couchbase.upsert(src, {id: meta.id, expiry_date: new Date(Date.now() + doc.ms)}, {left: true});
	else dst[meta.id] = {expires: meta.expiry_date instanceof Date};
}
function OnDelete(meta, options) { dst["gone:" + meta.id] = {expired: options.expired}; }`, "", "+dst=dst", "+src=src")
	n.deploy("f")
	n.put("src", "a", `{"ms":300}`)
	n.put("src", "b", `{}`)
	n.becomes("dst", "b", `{"expires":false}`)
	n.becomes("src", "a", `{"left":true}`)
	n.becomes("dst", "gone:a", `{"expired":true}`)
	require.Empty(t, n.get("src", "a"))
}

// TestConflictsAndReplicatedChanges: a replicated revision is an event as any other one; a function
// sees the winner.
func TestConflictsAndReplicatedChanges(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {v: doc.v, rev: meta.rev}; }
function OnDelete(meta) { delete dst[meta.id]; }`, "", "+dst=dst")
	n.deploy("f")
	replicate := func(hash string, v int, deleted bool) {
		doc := &compat.Document{ID: "a", HasID: true, Deleted: deleted}
		var err error
		doc.Body, err = compat.NewBody(fmt.Appendf(nil, `{"v":%d}`, v))
		require.NoError(t, err)
		doc.Revs = compat.RevPath{Start: 1, IDs: []string{strings.Repeat(hash, 16)}}
		_, err = n.store.DB("src").Update(t.Context(), []*compat.Document{doc}, storage.UpdateOptions{Replicated: true})
		require.NoError(t, err)
	}
	rev := func(digit string) string { return "1-" + strings.Repeat(digit, 32) }
	replicate("\x22", 2, false)
	n.becomes("dst", "a", `{"v":2,"rev":"`+rev("2")+`"}`)
	replicate("\x33", 3, false)
	n.becomes("dst", "a", `{"v":3,"rev":"`+rev("3")+`"}`)
	replicate("\x11", 1, false)
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 3 }, "the third change")
	require.Equal(t, `{"v":3,"rev":"`+rev("3")+`"}`, n.get("dst", "a"))
}

// TestOnDeployDecides: a function whose OnDeploy fails, or takes longer than its own time, is not
// deployed.
func TestOnDeployDecides(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {}; }
function OnDeploy(action) { dst["tried"] = {}; throw new Error("not now"); }`, "", "+dst=dst")
	require.Equal(t, definition.Undeployed, n.deploy("f"))
	require.Contains(t, n.log("f"), "not now")
	require.Empty(t, n.get("dst", "tried"))
	n.define("g", `
function OnUpdate(doc, meta) { dst[meta.id] = {}; }
function OnDeploy(action) { for (;;) {} }`, `{"on_deploy_timeout":1}`, "+dst=dst")
	require.Equal(t, definition.Undeployed, n.deploy("g"))
	n.put("src", "a", `{}`)
	time.Sleep(50 * time.Millisecond)
	require.Empty(t, n.get("dst", "a"))
}

// TestOnDeployRunsOnce: what OnDeploy has done is there together with the state that it leads to,
// so that nobody runs it again, whenever a process ends.
func TestOnDeployRunsOnce(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnDeploy(action) { dst["count"] = {n: (dst["count"] || {n: 0}).n + 1}; }
function OnUpdate(doc, meta) {}`, "", "+dst=dst")
	for round := 1; round <= 20; round++ {
		want := fmt.Sprintf(`{"n":%d}`, round)
		seen := make(chan definition.State, 1)
		go func() {
			for n.get("dst", "count") != want {
				runtime.Gosched()
			}
			seen <- n.state("f")
		}()
		n.deploy("f")
		require.Equal(t, definition.Deployed, <-seen)
		require.Equal(t, want, n.get("dst", "count"))
		if round%2 == 0 {
			n.undeploy("f")
		} else {
			n.pause("f")
		}
	}
}

// TestKilledHandlerLeavesNothing: what a handler has written before its worker was killed is void
// when it runs again.
func TestKilledHandlerLeavesNothing(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.put("dst", "count", `{"n":0}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	UPDATE dst USE KEYS "count" SET n = n + 1;
	var rows = SELECT n FROM dst USE KEYS "count";
	for (var row of rows) log(row.n);
	if (Date.now() < doc.until) /^(a+)+(?!b)[!]$/.test("a".repeat(40)); // nothing but the end of the worker ends it
	dst["done"] = {};
}`, `{"execution_timeout":1,"max_retries":20}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "a", fmt.Sprintf(`{"until":%d}`, time.Now().Add(time.Second).UnixMilli()))
	n.becomes("dst", "done", `{}`)
	require.Equal(t, `{"n":1}`, n.get("dst", "count"))
}

// TestTooLargeFailsItsOwnEvent: of a batch that cannot be stored only the event fails whose handler
// is the reason.
func TestTooLargeFailsItsOwnEvent(t *testing.T) {
	n := newNode(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now), 0)
	n.create("src", "dst")
	for i := range 6 {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"size":%d}`, i%3*6000))
	}
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id + "x".repeat(doc.size)] = {}; }`, "", "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.stat("f", "num_processed_events") == 6 }, "six events")
	require.EqualValues(t, 2, n.stat("f", "on_update_failure"), "ids of 12,000 bytes")
	require.EqualValues(t, 4, n.count("dst"))
}

// TestTargetGoes: a database that is written to may go and come again: the function stays, its
// handlers are told.
func TestTargetGoes(t *testing.T) {
	n := newAlone(t, "src", "dst", "other")
	n.define("f", `
function OnUpdate(doc, meta) {
	try { dst[meta.id] = {}; } catch (e) { other[meta.id] = {code: e.message.code}; }
}`, "", "+dst=dst", "+other=other")
	n.deploy("f")
	require.NoError(t, n.store.Delete(t.Context(), "dst"))
	n.put("src", "a", `{}`)
	n.becomes("other", "a", `{"code":404}`)
	n.create("dst")
	n.put("src", "b", `{}`)
	n.becomes("dst", "b", `{}`)
	require.Equal(t, definition.Deployed, n.state("f"))
}

// TestUnreadable: what cannot be verified cannot be read, and holds up nobody: local documents, and
// those of a database that hides some from the owner.
func TestUnreadable(t *testing.T) {
	n := newAlone(t, "src", "dst", "_users")
	for _, name := range []string{"src", "dst", "_users"} {
		settings := n.store.DB(name).Settings()
		require.NoError(t, settings.SetSecurity(t.Context(), []byte(`{"members":{"names":["ada"]}}`)))
	}
	n.put("_users", "org.couchdb.user:bob", `{"name":"bob","type":"user","roles":[]}`)
	n.define("f", `
function OnUpdate(doc, meta) {
	try { dst[meta.id] = {found: users[doc.read] !== undefined}; } catch (e) { dst[meta.id] = {code: e.message.code}; }
}`, "", "+dst=dst", "users=_users")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	_, err = n.engine.Registry().Deploy(t.Context(), r, registryPrincipal("ada"), nil)
	require.NoError(t, err)
	for i, read := range []string{"org.couchdb.user:bob", "org.couchdb.user:nobody", "_local/x"} {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"read":%q}`, read))
	}
	n.becomes("dst", "0", `{"code":404}`)
	n.becomes("dst", "1", `{"code":404}`)
	n.becomes("dst", "2", `{"code":400}`)
}
