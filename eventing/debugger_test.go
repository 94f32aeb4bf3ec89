package eventing

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// debugClient speaks the Chrome DevTools protocol with the session of function f.
type debugClient struct {
	t      *testing.T
	s      *debug.Session
	c      *debug.Client
	id     int
	events []debugMessage
}

type debugMessage struct {
	ID             int
	Method         string
	Params, Result json.RawMessage
	Error          *struct{ Message string }
}

// startDebugger begins a session of f, which the request describes.
func (n *node) startDebugger(request string) *debug.Session {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(n.t, err)
	if failed := n.engine.StartDebugger(context.Background(), r, []byte(request)); failed != nil {
		n.t.Fatal(failed)
	}
	return n.engine.Debugging().Of(refOf("f"))
}

// caught is the document or reference that a session has caught, empty for none.
func caught(s *debug.Session) string {
	if !s.Caught() {
		return ""
	}
	return s.Event()
}

// connect becomes the client of the session when it has caught an event.
func (n *node) connect(t *testing.T, s *debug.Session) *debugClient {
	n.eventually(func() bool { return caught(s) != "" }, "an event is caught")
	return &debugClient{t: t, s: s, c: s.Connect()}
}

func (c *debugClient) next() debugMessage {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := c.c.Receive(ctx)
	require.NoError(c.t, err)
	var m debugMessage
	require.NoError(c.t, json.Unmarshal(text, &m))
	return m
}

// ask sends a request, and reads the result.
func (c *debugClient) ask(method, params string, result any) {
	c.t.Helper()
	c.id++
	text := fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, c.id, method, params)
	require.NoError(c.t, c.c.Send(context.Background(), []byte(text)))
	for {
		m := c.next()
		if m.ID != c.id {
			c.events = append(c.events, m)
			continue
		}
		require.Nil(c.t, m.Error, method)
		if result != nil {
			require.NoError(c.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

// stop is where a handler has stopped.
type stop struct {
	CallFrames []struct {
		CallFrameID string
		Location    struct{ LineNumber int }
	}
}

// paused waits until the handler has stopped.
func (c *debugClient) paused() (p stop) {
	c.t.Helper()
	for {
		var m debugMessage
		if len(c.events) > 0 {
			m, c.events = c.events[0], c.events[1:]
		} else {
			m = c.next()
		}
		if m.Method == "Debugger.paused" {
			require.NoError(c.t, json.Unmarshal(m.Params, &p))
			return p
		}
	}
}

func (c *debugClient) begin() stop {
	c.t.Helper()
	c.ask("Debugger.enable", "{}", nil)
	c.ask("Runtime.runIfWaitingForDebugger", "{}", nil)
	return c.paused()
}

func (c *debugClient) evaluate(expression string) string {
	c.t.Helper()
	var got struct {
		Result struct{ Value json.RawMessage }
	}
	c.ask("Debugger.evaluateOnCallFrame",
		fmt.Sprintf(`{"callFrameId":"0","expression":%q,"returnByValue":true}`, expression), &got)
	return string(got.Result.Value)
}

const debuggedCode = `
function OnUpdate(doc, meta) {
  const known = dst["total"];
  const next = {n: doc.n + (known ? known.n : 0)};
  dst[meta.id] = next;
  log("done", meta.id);
}`

// TestDebugger: a session catches the event of one document and stops its handler at lines, shows and
// changes variables, reads documents, and writes none; meanwhile 1000 other events have their effects.
// When the handler has ended the event has them too, once.
func TestDebugger(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", debuggedCode, "", "+dst=dst")
	n.put("dst", "total", `{"n":40}`)
	n.deploy("f")
	s := n.startDebugger(`{"id":"caught"}`)
	n.put("src", "other", `{"n":1}`)
	n.put("src", "caught", `{"n":2}`)
	c := n.connect(t, s)
	require.Equal(t, "caught", caught(s))
	p := c.begin()
	require.Equal(t, 2, p.CallFrames[0].Location.LineNumber)
	c.ask("Debugger.setBreakpointByUrl", `{"lineNumber":4,"url":"handler.js"}`, nil)
	c.ask("Debugger.resume", "{}", nil)
	require.Equal(t, 4, c.paused().CallFrames[0].Location.LineNumber)
	require.Equal(t, `{"n":40}`, c.evaluate("known"))
	require.Equal(t, `{"n":42}`, c.evaluate("next"))
	for i := range 1000 {
		n.put("src", fmt.Sprint(i), `{"n":1}`)
	}
	n.eventually(func() bool { return n.count("dst") == 1002 }, "all other events have their effects")
	c.ask("Debugger.stepOver", "{}", nil)
	require.Equal(t, 5, c.paused().CallFrames[0].Location.LineNumber)
	require.Equal(t, `{"n":42}`, c.evaluate(`dst["caught"]`))
	require.Empty(t, n.get("dst", "caught"))
	c.ask("Debugger.resume", "{}", nil)
	<-s.Context().Done()
	n.becomes("dst", "caught", `{"n":42}`)
	require.Nil(t, n.engine.Debugging().Of(refOf("f")))
	require.EqualValues(t, 1002, n.counts()["on_update_success"])
}

// TestDebuggerEffects: while the handler stands, all that it has done so far is told in its order, and
// what it does next is not yet; nothing of it is in the store.
func TestDebuggerEffects(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.defineCurl(`
function OnUpdate(doc, meta) {
	log("begins", meta.id);
	const one = dst["one"], none = dst["none"];
	dst["a"] = {n: one.n};
	delete dst["one"];
	createTimer(Ring, new Date(1e12), "ref", {x: [1]});
	cancelTimer(Ring, "ref");
	curl("POST", api, {path: "/p", body: "b"});
	publish(api, {a: 1}, {id: "m", headers: {"X-A": "b"}});
	publish(dst, {b: 2});
	INSERT INTO dst (KEY, VALUE) VALUES ("q", {"by": "statement"});
	debugger;
	dst["late"] = {};
	debugger;
}
function Ring() {}`, "http://127.0.0.1:1", "{}")
	n.put("dst", "one", `{"n":1}`)
	s := n.startDebugger("")
	n.put("src", "x", `{}`)
	c := n.connect(t, s)
	effects := func() (e debug.Effects) {
		text, err := s.Effects()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &e))
		return e
	}
	c.begin()
	require.Empty(t, effects().Log)
	c.ask("Debugger.resume", "{}", nil)
	c.paused()
	want := debug.Effects{
		Reads: []debug.Read{{Database: "dst", ID: "one", Found: true}, {Database: "dst", ID: "none"}},
		Writes: []debug.Write{
			{Database: "dst", ID: "a", Doc: []byte(`{"n":1}`)}, {Database: "dst", ID: "one", Deleted: true},
			{Database: "dst", ID: "q", Doc: []byte(`{"by":"statement"}`)},
		},
		Timers: []debug.TimerOp{
			{Callback: "Ring", Reference: "ref", Due: "2001-09-09T01:46:40Z", Context: []byte(`{"x":[1]}`)},
			{Callback: "Ring", Reference: "ref", Cancelled: true},
		},
		Published: []outbox.Shown{
			{
				Destination: "api", ID: "m", Value: []byte(`{"a":1}`),
				Headers: map[string]string{"Content-Type": "application/json", "X-A": "b"},
			},
			{
				Destination: "dst", Value: []byte(`{"b":2}`),
				Headers: map[string]string{"Content-Type": "application/json"},
			},
		},
		Log:      []string{`"begins" "x"`},
		Requests: []debug.Request{{Binding: "api", Method: "POST", Path: "/p", Body: "b"}},
	}
	got := effects()
	require.Len(t, got.Statements, 1)
	require.Contains(t, got.Statements[0], "INSERT INTO")
	got.Statements = nil
	require.Equal(t, want, got)
	c.ask("Debugger.resume", "{}", nil)
	c.paused()
	require.Equal(t, "late", effects().Writes[3].ID)
	require.Equal(t, `{"n":1}`, n.get("dst", "one"))
	require.Empty(t, n.get("dst", "a"))
	require.Zero(t, n.sizes(), "what a debugged handler publishes is not stored")
	s.Stop(true)
}

// held is a function that counts how often it handled a document, and a session that has caught the first
// event of one.
func (n *node) held(request string) *debug.Session {
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: doc.n, times: (dst[meta.id] ? dst[meta.id].times : 0) + 1}; }
function OnDelete(meta) { dst[meta.id] = {gone: true}; }`, "", "+dst=dst")
	n.deploy("f")
	s := n.startDebugger(request)
	n.put("src", "caught", `{"n":1}`)
	n.eventually(func() bool { return caught(s) == "caught" }, "the event is caught")
	n.put("src", "other", `{"n":1}`)
	n.becomes("dst", "other", `{"n":1,"times":1}`)
	require.Empty(n.t, n.get("dst", "caught"))
	require.Empty(n.t, n.checked())
	return s
}

// TestDebuggerLetsGo: when a session ends, in whatever way, its event is handled once, without a client
// having come; not if it is thrown away, nor if the document has changed: then that change alone is.
func TestDebuggerLetsGo(t *testing.T) {
	for _, c := range []struct {
		name, request string
		end           func(n *node, s *debug.Session)
		want          string
	}{
		{"stop", "", func(_ *node, s *debug.Session) { s.Stop(false) }, `{"n":1,"times":1}`},
		{"drop", "", func(_ *node, s *debug.Session) { s.Stop(true) }, ""},
		{"time", `{"timeout":1}`, func(*node, *debug.Session) {}, `{"n":1,"times":1}`},
		{"changed", "", func(n *node, s *debug.Session) {
			n.put("src", "caught", `{"n":2}`)
			n.becomes("dst", "caught", `{"n":2,"times":1}`)
			s.Stop(false)
		}, `{"n":2,"times":1}`},
		{"deleted", "", func(n *node, s *debug.Session) {
			n.put("src", "caught", "")
			n.becomes("dst", "caught", `{"gone":true}`)
			s.Stop(false)
		}, `{"gone":true}`},
		{"paused", "", func(n *node, s *debug.Session) {
			n.pause("f")
			s.Stop(false)
			<-s.Context().Done()
			n.deploy("f")
		}, `{"n":1,"times":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newAlone(t, "src", "dst")
			s := n.held(c.request)
			c.end(n, s)
			<-s.Context().Done()
			n.eventually(func() bool { return !n.waits(s) }, "the event is let go")
			n.put("src", "after", `{"n":1}`)
			n.becomes("dst", "after", `{"n":1,"times":1}`)
			require.Equal(t, c.want, n.get("dst", "caught"))
			require.Nil(t, n.engine.Debugging().Of(refOf("f")))
			require.Empty(t, n.checked())
		})
	}
}

// waits reports whether the event of a session is held back.
func (n *node) waits(s *debug.Session) (found bool) {
	require.NoError(n.t, n.kv.View(context.Background(), func(tx kv.ReadTx) (err error) {
		found, err = spaceOf(s.Instance).timers().Has(tx, timers.Name{Callback: heldCallback, Reference: s.ID})
		return err
	}))
	return found
}

// TestDebuggerOfAnUndeployedFunction: the session ends, and nothing of it is left.
func TestDebuggerOfAnUndeployedFunction(t *testing.T) {
	n := newAlone(t, "src", "dst")
	s := n.held("")
	n.undeploy("f")
	<-s.Context().Done()
	require.Empty(t, n.checked())
	n.deploy("f")
	n.becomes("dst", "caught", `{"n":1,"times":1}`)
}

// TestDebuggerOfAProcessThatEnds: the next process handles the event.
func TestDebuggerOfAProcessThatEnds(t *testing.T) {
	store := memkv.New()
	n := newNode(t, store, 0)
	n.create("src", "dst")
	n.held("")
	n.close()
	n = newNode(t, store, 0)
	n.becomes("dst", "caught", `{"n":1,"times":1}`)
}

// TestDebuggerOfAProcessThatIsKilled: the event is handled as soon as others know that the process is gone, not
// at the end of the session; once, also if the process was not dead, but could not be seen.
func TestDebuggerOfAProcessThatIsKilled(t *testing.T) {
	store := memkv.New()
	const lease = 2 * time.Second
	keeper := newNode(t, store, lease)
	keeper.create("src", "dst")
	m := &mortal{Store: store}
	victim := newNode(t, m, lease)
	keeper.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {times: (dst[meta.id] ? dst[meta.id].times : 0) + 1}; }`, "", "+dst=dst")
	keeper.deploy("f")
	keeper.eventually(func() bool { return victim.owned() == partitions/2 }, "the partitions are not shared")
	sessions := func() []*registry.Debugging {
		all, _, err := keeper.engine.Registry().Debugging(t.Context())
		require.NoError(t, err)
		return all
	}
	written, event := int64(0), ""
	for event == "" { // until it is one of the victim's
		keeper.startDebugger("")
		keeper.eventually(func() bool {
			keeper.put("src", fmt.Sprint(written), `{}`)
			written++
			all := sessions()
			if all[0].Node == victim.engine.members.Self() {
				event = all[0].Event
			}
			return all[0].Node != (nodes.ID{})
		}, "no event is caught")
		if s := keeper.engine.Debugging().Of(refOf("f")); event == "" && s != nil {
			s.Stop(false)
			<-s.Context().Done()
			keeper.eventually(func() bool { return len(sessions()) == 0 }, "the session does not end")
		}
	}
	m.dead.Store(true)
	keeper.becomes("dst", event, `{"times":1}`)
	require.Empty(t, sessions())
	keeper.eventually(func() bool { return keeper.owned() == partitions }, "the dead still has partitions")
	m.dead.Store(false)
	keeper.eventually(func() bool { return victim.owned() == partitions/2 }, "the late one has no share again")
	keeper.eventually(func() bool { return keeper.count("dst") == written }, "not all are handled")
	for i := range written {
		require.Equal(t, `{"times":1}`, keeper.get("dst", fmt.Sprint(i)))
	}
	victim.close()
	require.Empty(t, keeper.checked())
}

// TestDebuggerRequests: what is asked wrongly is refused, and a process has so many sessions only.
func TestDebuggerRequests(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", debuggedCode, "", "+dst=dst")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	require.Equal(t, definition.CodeNotDeployed, n.engine.StartDebugger(t.Context(), r, nil).Code)
	n.deploy("f")
	r, err = n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	for _, request := range []string{`{`, `{"timeout":-1}`, `{"timeout":3601}`, `{"selector":{"$x":1}}`, `[]`, `{"event":"x"}`} {
		require.NotNil(t, n.engine.StartDebugger(t.Context(), r, []byte(request)), request)
	}
	for i := range debug.Most {
		n.define(fmt.Sprint("g", i), debuggedCode, "", "+dst=dst")
		n.deploy(fmt.Sprint("g", i))
		other, err := n.engine.Registry().Get(t.Context(), refOf(fmt.Sprint("g", i)))
		require.NoError(t, err)
		require.Nil(t, n.engine.StartDebugger(t.Context(), other, nil))
		require.ErrorContains(t, n.engine.StartDebugger(t.Context(), other, nil), "already")
	}
	require.ErrorContains(t, n.engine.StartDebugger(t.Context(), r, nil), "debug sessions already")
}

// kindsCode counts what it is called for, in documents of dst.
const kindsCode = `
function count(key) { dst[key] = {n: (dst[key] || {n: 0}).n + 1}; }
function OnUpdate(doc, meta) {
	count("update:" + meta.id);
	if (doc.timer) createTimer(Ring, new Date(), "ring-" + meta.id, {id: meta.id});
	if (doc.expires) couchbase.upsert(src, {id: meta.id, expiry_date: new Date()}, {left: true});
}
function OnDelete(meta, options) { count((options.expired ? "expiry:" : "delete:") + meta.id); }
function Ring(context) { count("timer:" + context.id); }`

// TestDebuggerCatchesEachKind: a session catches an event of the kind that it waits for, by the id or by
// what its selector finds in the document or the timer, and no other one. Let go, it is handled once.
func TestDebuggerCatchesEachKind(t *testing.T) {
	for request, want := range map[string]string{
		`{"event":"update","id":"u2"}`:                                     "update:u2",
		`{"event":"update","selector":{"n":{"$gt":1}}}`:                    "update:u2",
		`{"event":"delete","id":"d2"}`:                                     "delete:d2",
		`{"event":"delete","selector":{"_id":"d2"}}`:                       "delete:d2",
		`{"event":"expiry","id":"e2"}`:                                     "expiry:e2",
		`{"event":"expiry","selector":{"_id":"e2"}}`:                       "expiry:e2",
		`{"event":"timer","id":"ring-t2"}`:                                 "timer:t2",
		`{"event":"timer","selector":{"context.id":"t2"}}`:                 "timer:t2",
		`{"selector":{"callback":"Ring","reference":{"$regex":"^.*t2$"}}}`: "timer:t2",
	} {
		t.Run(request, func(t *testing.T) {
			n := newAlone(t, "src", "dst")
			n.define("f", kindsCode, "", "+dst=dst", "+src=src")
			n.deploy("f")
			s := n.startDebugger(request)
			var all []string
			for i := 1; i <= 2; i++ {
				n.put("src", fmt.Sprint("u", i), fmt.Sprintf(`{"n":%d}`, i))
				n.put("src", fmt.Sprint("t", i), `{"timer":true}`)
				n.put("src", fmt.Sprint("e", i), `{"expires":true}`)
				n.put("src", fmt.Sprint("d", i), `{}`)
				n.becomes("dst", fmt.Sprint("update:d", i), `{"n":1}`)
				n.put("src", fmt.Sprint("d", i), "")
				for _, kind := range []string{"update:u", "update:t", "update:e", "timer:t", "expiry:e", "delete:d"} {
					all = append(all, fmt.Sprint(kind, i))
				}
			}
			n.eventually(func() bool { return caught(s) != "" }, "an event is caught")
			for _, key := range all {
				if key != want {
					n.becomes("dst", key, `{"n":1}`)
				}
			}
			require.Empty(t, n.get("dst", want))
			require.Empty(t, n.checked())
			s.Stop(false)
			n.becomes("dst", want, `{"n":1}`)
			n.eventually(func() bool { return !n.waits(s) }, "the event is let go")
			for _, key := range all {
				require.Equal(t, `{"n":1}`, n.get("dst", key), key)
			}
			require.Empty(t, n.checked())
		})
	}
}

// TestDebuggerOfNodes: a session begun at one of three processes catches an event that another one has,
// whichever that is, one event in all; it is known at all of them where it is, and ends at all of them.
func TestDebuggerOfNodes(t *testing.T) {
	store := memkv.New()
	list := []*node{newNode(t, store, time.Hour), newNode(t, store, time.Hour), newNode(t, store, time.Hour)}
	n := list[0]
	n.create("src", "dst")
	n.define("f", kindsCode, "", "+dst=dst", "+src=src")
	n.deploy("f")
	n.eventually(func() bool {
		return list[0].owned() >= 21 && list[1].owned() >= 21 && list[2].owned() >= 21
	}, "the partitions are not shared")
	for round := range 3 {
		n.startDebugger("")
		for i := range 30 { // documents of all processes at once
			list[i%3].put("src", fmt.Sprint(round, "-", i), `{}`)
		}
		var at *node
		var d *registry.Debugging
		n.eventually(func() bool {
			all, _, err := n.engine.Registry().Debugging(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 1)
			d = all[0]
			for _, other := range list {
				s := other.engine.Debugging().Of(refOf("f"))
				if s != nil && caught(s) != "" && d.Node == other.engine.members.Self() {
					at = other
				}
			}
			return at != nil
		}, "an event is caught")
		s := at.engine.Debugging().Of(refOf("f"))
		n.eventually(func() bool { return n.count("dst") == int64(30*(round+1)-1) }, "the others are handled")
		for _, other := range list {
			other.eventually(func() bool {
				return other == at || other.engine.Debugging().Of(refOf("f")) == nil
			}, "other processes wait for an event no more")
			r, err := other.engine.Registry().Get(t.Context(), refOf("f"))
			require.NoError(t, err)
			require.ErrorContains(t, other.engine.StartDebugger(t.Context(), r, nil), "already")
		}
		c := at.connect(t, s)
		c.begin()
		c.ask("Debugger.resume", "{}", nil)
		n.becomes("dst", "update:"+caught(s), `{"n":1}`)
		n.eventually(func() bool {
			all, _, err := n.engine.Registry().Debugging(t.Context())
			return err == nil && len(all) == 0
		}, "the session is over")
	}
	n.startDebugger("")
	d := n.engine.Debugging().Of(refOf("f"))
	for _, other := range list {
		require.NotNil(t, other.engine.Debugging().Of(refOf("f")), "all wait when the start is answered")
	}
	require.NoError(t, list[1].engine.Registry().EndDebugging(t.Context(), refOf("f"), d.ID, true))
	<-d.Context().Done()
	require.Empty(t, n.checked())
}
