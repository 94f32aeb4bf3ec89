package js

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// eventHost is a host with documents in maps, by binding, and statements whose rows are known.
type eventHost struct {
	docs    []map[string]EventDoc
	timers  map[string]bool
	gets    []string
	flushes [][]EventEffect
	asked   []EventQuery
	rows    map[string][]string // of statements, by their texts; each is a page of its own
	fail    map[string]error    // of statements, at their second page
	refuse  map[string]error    // of statements
	open    map[uint64]string
	at      map[uint64]int
	closed  []string
	next    uint64
	curl    func(r EventRequest) (EventResponse, error)
	delay   time.Duration
	onGet   func()
	told    int // revisions
}

func newEventHost() *eventHost {
	return &eventHost{
		docs: []map[string]EventDoc{{}, {}}, timers: map[string]bool{}, open: map[uint64]string{}, at: map[uint64]int{},
	}
}

func (h *eventHost) put(binding int, id, body string) {
	h.docs[binding][id] = EventDoc{Exists: true, Body: []byte(body), Cas: "1-" + id}
}

func (h *eventHost) Get(ctx context.Context, binding int, id string) (EventDoc, error) {
	h.gets = append(h.gets, id)
	if h.onGet != nil {
		h.onGet()
	}
	if h.delay > 0 {
		select {
		case <-time.After(h.delay):
		case <-ctx.Done():
			return EventDoc{}, ctx.Err()
		}
	}
	switch id {
	case "broken":
		return EventDoc{}, &EventError{Code: 7, Name: "LCB_BROKEN", Desc: "it is broken"}
	case "enough":
		return EventDoc{}, ErrEnough
	case "fatal":
		return EventDoc{}, errors.New("the lease is lost")
	}
	return h.docs[binding][id], nil
}

// Revision numbers the questions.
func (h *eventHost) Revision(context.Context, int, string, []byte) (string, error) {
	h.told++
	return fmt.Sprint("told-", h.told), nil
}

func (h *eventHost) HasTimer(_ context.Context, callback, reference string) (bool, error) {
	h.gets = append(h.gets, callback+":"+reference)
	return h.timers[callback+":"+reference], nil
}

func (h *eventHost) Flush(effects []EventEffect) error {
	h.flushes = append(h.flushes, effects)
	return nil
}

func (h *eventHost) Query(_ context.Context, q EventQuery) (uint64, bool, error) {
	h.asked = append(h.asked, q)
	if err := h.refuse[q.Text]; err != nil {
		return 0, false, err
	}
	if q.Check {
		return 0, false, nil
	}
	changed := strings.HasPrefix(q.Text, "UPDATE")
	if _, known := h.rows[q.Text]; !known {
		return 0, changed, nil
	}
	h.next++
	h.open[h.next] = q.Text
	return h.next, changed, nil
}

func (h *eventHost) Rows(_ context.Context, handle uint64) ([][]byte, bool, error) {
	text, ok := h.open[handle]
	if !ok {
		return nil, false, errors.New("no such handle")
	}
	at := h.at[handle]
	if err := h.fail[text]; err != nil && at > 0 {
		return nil, false, err
	}
	rows := h.rows[text]
	if at >= len(rows) {
		delete(h.open, handle)
		return nil, true, nil
	}
	h.at[handle]++
	return [][]byte{[]byte(rows[at])}, false, nil
}

func (h *eventHost) CloseQuery(handle uint64) {
	h.closed = append(h.closed, h.open[handle])
	delete(h.open, handle)
}

func (h *eventHost) Curl(_ context.Context, r EventRequest) (EventResponse, error) {
	if h.curl == nil {
		return EventResponse{}, &EventError{Desc: "no network"}
	}
	return h.curl(r)
}

// eventOptions are those of most tests: dst may be written, src may not, and both know the same
// URLs.
func eventOptions(code string) EventOptions {
	return EventOptions{
		Tenant: "f", Code: "'use strict';\n" + code, HeaderLines: 1, Source: "source",
		Bindings:  []EventBinding{{"dst", "d", true}, {"src", "source", false}},
		Constants: []EventConstant{{"debug", "true"}, {"config", "{limits: [1, 2]}"}},
		Curls:     []string{"api"},
		Timeout:   time.Minute,
	}
}

func updates(docs ...string) []Event {
	events := make([]Event, len(docs))
	for i, doc := range docs {
		events[i] = Event{Kind: EventUpdate, Doc: []byte(doc), Meta: fmt.Appendf(nil, `{"id":"m%d","cas":"1-a"}`, i+1)}
	}
	return events
}

// runTestEvents runs events and gives the results as they were taken.
func runTestEvents(t testing.TB, p *Pool, o EventOptions, host EventHost, events []Event) ([]*EventResult, error) {
	t.Helper()
	var results []*EventResult
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := p.RunEvents(ctx, NewEventProgram(o), events, host, func(i int, r *EventResult) error {
		require.Len(t, results, i)
		results = append(results, r)
		return nil
	})
	return results, err
}

// runBody runs one event with a body of OnUpdate and tells what came of it.
func runBody(t testing.TB, p *Pool, host EventHost, body string, change ...func(o *EventOptions)) *EventResult {
	t.Helper()
	o := eventOptions("function OnUpdate(doc, meta) {\n" + body + "\n}\nfunction Callback(context) { log(context) }")
	for _, f := range change {
		f(&o)
	}
	results, err := runTestEvents(t, p, o, host, updates(`{"n":1,"list":[1,2]}`))
	require.NoError(t, err, body)
	require.Len(t, results, 1)
	return results[0]
}

// told is a result as a text: logs, failure and effects.
func told(r *EventResult) string {
	var parts []string
	parts = append(parts, r.Logs...)
	switch r.Outcome {
	case EventFailed:
		parts = append(parts, "!"+r.Failure.Name+": "+r.Failure.Message)
	case EventTimedOut:
		parts = append(parts, "!timeout")
	case EventSkipped:
		parts = append(parts, "skipped")
	}
	for _, e := range r.Effects {
		parts = append(parts, effectText(e))
	}
	return strings.Join(parts, " | ")
}

func effectText(e EventEffect) string {
	switch e.Kind {
	case EffectSet:
		text := "set " + e.Database + "/" + e.ID + " " + string(e.Body)
		if e.Expiry > 0 {
			text += fmt.Sprint(" until ", e.Expiry)
		}
		if e.SelfRecursion {
			text += " recursive"
		}
		return text
	case EffectDelete:
		return "delete " + e.Database + "/" + e.ID
	case EffectCreateTimer:
		context := "undefined"
		if e.Context != nil {
			context = string(e.Context)
		}
		return fmt.Sprintf("timer %s %s at %d with %s", e.Callback, e.Reference, e.Due, context)
	}
	if e.Kind == EffectPublish {
		return "publish " + e.Callback + " " + e.Reference + " " + string(e.Context)
	}
	return "cancel " + e.Callback + " " + e.Reference
}

// Invocations of a batch see what those before them wrote, ask for a document once, and leave
// nothing if they fail.
func TestEventBatch(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	host := newEventHost()
	host.put(0, "counter", `{"n":10}`)
	code := `function OnUpdate(doc, meta) {
  var c = dst.counter;
  c.n += doc.n;
  dst.counter = c;
  dst[meta.id] = doc;
  if (doc.n === 2) throw new Error("two");
  log(dst.counter.n, dst.m2 === undefined, meta.id);
}
function OnDelete(meta, options) { delete dst[meta.id]; log(meta.id, options.expired, dst[meta.id]); }`
	events := append(updates(`{"n":1}`, `{"n":2}`, `{"n":3}`),
		Event{Kind: EventDelete, Meta: []byte(`{"id":"m1"}`), Options: []byte(`{"expired":true}`)})
	results, err := runTestEvents(t, p, eventOptions(code), host, events)
	require.NoError(t, err)
	require.Len(t, results, 4)
	require.Equal(t, `11 true "m1" | set d/counter {"n":11} | set d/m1 {"n":1}`, told(results[0]))
	require.Equal(t, "!Error: two", told(results[1]))
	require.Equal(t, EventFailure{
		Name: "Error", Message: "two", Line: 6, Column: results[1].Failure.Column, Handler: "OnUpdate",
		Stack: fmt.Sprintf("Error: two\n    at OnUpdate (handler.js:6:%d)", results[1].Failure.Column),
	}, *results[1].Failure)
	require.Equal(t, `14 true "m3" | set d/counter {"n":14} | set d/m3 {"n":3}`, told(results[2]))
	require.Equal(t, `"m1" true undefined | delete d/m1`, told(results[3]))
	require.Equal(t, []string{"counter", "m2"}, host.gets)
	require.Positive(t, results[0].Took)
}

// Each line counts what it called.
func TestEventLines(t *testing.T) {
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `log("a");
for (var i = 0; i < 3; i++) dst["k" + i] = doc;
try { couchbase.get(dst) } catch (e) { log("b", e.name) }
nothing();`)
	lines := map[int]EventLine{}
	for _, l := range r.Lines {
		l.Took = 0
		lines[l.Line] = l
	}
	require.Equal(t, map[int]EventLine{
		2: {Line: 2, Calls: 1, LastLog: `"a"`},
		3: {Line: 3, Calls: 3},
		4: {Line: 4, Calls: 2, Errors: 1, LastLog: `"b" "TypeError"`},
		5: {Line: 5, Errors: 1, LastError: "ReferenceError: nothing is not defined"},
	}, lines)
	require.Equal(t, map[string]int64{"bucket_op_exception_count": 1}, r.Counters)
}

// Nothing of an invocation is seen by the next one.
func TestEventIsolation(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	for _, attempt := range []string{
		"globalThis.x = 1", "OnUpdate.x = 1", "Object.prototype.x = 1", "Array.prototype.x = 1", "config.x = 1",
		"config.limits.push(1)", "OnUpdate['proto' + 'type'].x = 1", "couchbase.get.x = 1", "KVError.x = 1", "log.x = 1",
		"console.x = 1", "Math.x = 1", "Error.prototype.x = 1", "Object.prototype.toString = null",
		"Error.prototype.name = 'x'", "[][Symbol.iterator]().__proto__.next = null", "undefined = 1", "dst = 1",
		"Object.setPrototypeOf(Math, {x: 1})", "JSON.parse = null", "(function* () {}).__proto__.x = 1",
		"Array.prototype.push.x = 1", "Math.max.x = 1", "(/a/).test.x = 1", "new Map().set.x = 1",
		"Object.getOwnPropertyDescriptor(Map.prototype, 'size').get.x = 1", "Date.now.x = 1", "JSON.parse.x = 1",
		"[].values().next.x = 1", "Uint8Array.from.x = 1", "couchbase.MutateInSpec.insert.x = 1",
		"couchbase.MutateInSpec.x = 1", "Object.defineProperty(dst, 'x', {value: 1})", "N1qlQuery.prototype.x = 1",
	} {
		r := runBody(t, p, newEventHost(), "try { "+attempt+"; log('done') } catch (e) { log(e.name) }")
		require.Contains(t, []string{`"TypeError"`, `"EventingError"`}, told(r), attempt)
	}
	dated := eventOptions(`function OnUpdate() { log(+debug); debug.setTime(5) }`)
	dated.Constants = []EventConstant{{"debug", "new Date(1)"}}
	results, err := runTestEvents(t, p, dated, newEventHost(), updates(`{}`, `{}`))
	require.NoError(t, err)
	require.Equal(t, "1,1", told(results[0])+","+told(results[1]))
	// Where it can be done, the realm is dropped.
	sloppy := eventOptions(`function OnUpdate(doc, meta) { log(typeof leak); leak = 1; log(leak) }`)
	sloppy.Code, sloppy.HeaderLines = strings.TrimPrefix(sloppy.Code, "'use strict';\n"), 0
	results, err = runTestEvents(t, p, sloppy, newEventHost(), updates(`{}`, `{}`))
	require.NoError(t, err)
	require.Equal(t, `"undefined" | 1`, told(results[0]))
	require.Equal(t, `"undefined" | 1`, told(results[1]))
	results, err = runTestEvents(t, p, eventOptions(`function Animal(n) { this.n = n }
function OnUpdate() { log(typeof Animal.prototype.say); Animal.prototype.say = function () { return this.n }; log(new Animal(2).say()) }`),
		newEventHost(), updates(`{}`, `{}`))
	require.NoError(t, err)
	require.Equal(t, `"undefined" | 2`, told(results[0]))
	require.Equal(t, `"undefined" | 2`, told(results[1]))
}

// What frozen prototypes have does not hinder members of the same names.
func TestEventOverride(t *testing.T) {
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `
var o = {}; o.toString = function () { return "mine" }; o.constructor = 1; o.hasOwnProperty = 2;
var e = new Error("a"); e.name = "Mine"; e.message = "b";
function Own(m) { this.message = m; this.name = "Own" }
Own.prototype = Object.create(Error.prototype);
class Sub extends KVError {}
log("" + o, Object.keys(o), "" + e, "" + new Own("c"), new Own("d") instanceof Error, {}.hasOwnProperty("x"));
log(new Sub("m") instanceof KVError, new Sub("m").message, "" + new KVError({code: 1}), new EventingError().message);`)
	require.Equal(t, `"mine" ["toString","constructor","hasOwnProperty"] "Mine: b" "Own: c" true false | true "m" `+
		`"KVError: {\"code\":1}" ""`, told(r))
}

// Code of strings and what needs an event loop is not there.
func TestEventRemoved(t *testing.T) {
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `
log(typeof eval, typeof Promise, typeof setTimeout, typeof require, typeof emit, typeof sum, typeof GoError, typeof process);
for (const f of [Function, (function () {}).constructor, (function* () {}).constructor, (() => 1).constructor]) {
  try { f("return 1")(); log("ran") } catch (e) { log(e.name) }
  try { new f("return 1"); log("ran") } catch (e) { log(e.name) }
}
log(OnUpdate instanceof Function);`)
	require.Equal(t, `"undefined" "undefined" "undefined" "undefined" "undefined" "undefined" "undefined" "undefined"`+
		strings.Repeat(` | "EvalError"`, 8)+" | true", told(r))
}

// Events that have no handler, and timers without their function, are skipped.
func TestEventKinds(t *testing.T) {
	p := newTestPool(t, Options{})
	code := `function OnUpdate(doc, meta, xattrs) { log(doc, meta.expiry_date instanceof Date, +meta.expiry_date, xattrs) } // with a third parameter
function OnDeploy(action) { log(action.reason, action.delay) }
function Ring(context) { log("ring", context) }`
	results, err := runTestEvents(t, p, eventOptions(code), newEventHost(), []Event{
		{Kind: EventUpdate, Doc: []byte(`{"a":[1,"é",null,12.5]}`), Meta: []byte(`{"id":"a","expiry_date":86400000}`)},
		{Kind: EventUpdate, Doc: []byte(`{"$value":5}`), Meta: []byte(`{"id":"a"}`), Options: []byte(`{"x":1}`)},
		{Kind: EventDelete, Meta: []byte(`{}`), Options: []byte(`{}`)},
		{Kind: EventDeploy, Options: []byte(`{"reason":"Deploy","delay":0}`)},
		{Kind: EventTimer, Callback: "Ring", Context: []byte(`{"a":1}`)},
		{Kind: EventTimer, Callback: "Ring"},
		{Kind: EventTimer, Callback: "Gone"},
	})
	require.NoError(t, err)
	want := []string{
		`{"a":[1,"é",null,12.5]} true 86400000 {}`, `5 false NaN {"x":1}`, "skipped", `"Deploy" 0`,
		`"ring" {"a":1}`, `"ring" undefined`, "skipped",
	}
	for i, r := range results {
		require.Equal(t, strings.ReplaceAll(want[i], "NaN", "null"), told(r))
	}
}

// Errors of the host that a handler may see are exceptions, others end the call.
func TestEventHostErrors(t *testing.T) {
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `
try { dst.broken } catch (e) { log(e instanceof KVError, e instanceof Error, e.name, e.message) }
couchbase.get(dst, {id: "broken"})`)
	require.Equal(t, `true true "KVError" {"code":7,"name":"LCB_BROKEN","desc":"it is broken"} | `+
		`!KVError: {"code":7,"name":"LCB_BROKEN","desc":"it is broken"}`, told(r))
	require.Equal(t, map[string]int64{"bucket_op_exception_count": 2, "kv_error_7": 2}, r.Counters)
	results, err := runTestEvents(t, p, eventOptions(`function OnUpdate(doc, meta) { dst[doc.id] }`), newEventHost(),
		updates(`{"id":"a"}`, `{"id":"fatal"}`))
	require.EqualError(t, err, "the lease is lost")
	require.LessOrEqual(t, len(results), 1)
	_, err = runTestEvents(t, p, eventOptions(`function OnUpdate() {}`), newEventHost(), updates(`{}`))
	require.NoError(t, err)
	stop := errors.New("stop")
	err = p.RunEvents(t.Context(), NewEventProgram(eventOptions(`function OnUpdate() {}`)), updates(`{}`, `{}`),
		newEventHost(), func(int, *EventResult) error { return stop })
	require.ErrorIs(t, err, stop)
}

// A write that was refused when the invocation ran before throws.
func TestEventRefusals(t *testing.T) {
	p := newTestPool(t, Options{})
	events := updates(`{}`)
	events[0].Refusals = []EventRefusal{{"d", "x", EventError{Code: 3, Name: "forbidden", Desc: "no"}}}
	results, err := runTestEvents(t, p, eventOptions(`function OnUpdate() {
  dst.y = {};
  try { dst.x = {} } catch (e) { log(e.name, e.message) }
  try { couchbase.upsert(dst, {id: "x"}, {}) } catch (e) { log(e.message.name) }
  try { delete dst.x } catch (e) { log(e.message.desc) }
}`), newEventHost(), events)
	require.NoError(t, err)
	require.Equal(t, `"KVError" {"code":3,"name":"forbidden","desc":"no"} | "forbidden" | "no" | set d/y {}`,
		told(results[0]))
}

// Two names of one database show the same documents.
func TestEventSharedDatabase(t *testing.T) {
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `dst.a = {n: 1}; log(same.a, couchbase.get(same, {id: "a"}).meta.cas)`,
		func(o *EventOptions) { o.Bindings[1] = EventBinding{"same", "d", false} })
	require.Equal(t, `{"n":1} "told-1" | set d/a {"n":1}`, told(r))
}

// The host is asked for the revision of a write once, when a handler looks at it; else it is a
// member as any other.
func TestEventCas(t *testing.T) {
	host := newEventHost()
	r := runBody(t, newTestPool(t, Options{}), host, `
couchbase.upsert(dst, {id: "a"}, {});
var meta = couchbase.upsert(dst, {id: "b"}, {}).meta, copied = Object.assign({}, meta);
log(Object.keys(meta), meta.cas === copied.cas, couchbase.get(dst, {id: "b"}).meta.cas === meta.cas);
meta.cas = "mine"; log(meta.cas, Object.freeze(copied).cas, couchbase.replace(dst, meta, {}).success)`)
	require.Equal(t, `["id","cas"] true true | "mine" "told-1" false | set d/a {} | set d/b {}`, told(r))
	require.Equal(t, 1, host.told)
}

// More invocations than a realm serves.
func TestEventRealms(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Workers: 1})
	docs := make([]string, 3*eventsPerRealm+10)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	results, err := runTestEvents(t, p, eventOptions(`function OnUpdate(doc, meta) {
  if (doc.n % 100 === 7) throw doc;
  dst[meta.id] = {n: doc.n + 1};
}`), newEventHost(), updates(docs...))
	require.NoError(t, err)
	require.Len(t, results, len(docs))
	for i, r := range results {
		if i%100 == 7 {
			require.Equal(t, fmt.Sprintf(`!: {"n":%d}`, i), told(r))
			continue
		}
		require.Equal(t, fmt.Sprintf(`set d/m%d {"n":%d}`, i+1, i+1), told(r))
	}
}

// The JSON of texts that came through a realm is what it was.
func TestEventValues(t *testing.T) {
	p := newTestPool(t, Options{})
	code := `function OnUpdate(doc, meta) { dst.a = doc; log(dst.a) }`
	for _, doc := range []string{
		`{"a":"🪀é\u0000\"\\","b":[[],{}],"__proto__":{"x":1},"constructor":null,"1":2,"0":{"$value":3}}`,
		`{}`, `{"n":-0.5,"m":9007199254740991,"e":1e+300}`,
	} {
		results, err := runTestEvents(t, p, eventOptions(code), newEventHost(), updates(doc))
		require.NoError(t, err)
		require.Equal(t, EventDone, results[0].Outcome)
		var want, got any
		require.NoError(t, json.Unmarshal([]byte(doc), &want))
		require.NoError(t, json.Unmarshal(results[0].Effects[0].Body, &got))
		require.Equal(t, want, got)
	}
	results, err := runTestEvents(t, p, eventOptions(code), newEventHost(),
		updates(`{"a":9007199254740993,"b":[12345678901234567890],"c":"12345678901234567890"}`))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"inexact_integers_written": 2}, results[0].Counters)
	r := runBody(t, p, newEventHost(), `dst.a = {s: "\ud83e", t: "\\ud83e"}`)
	require.Equal(t, "set d/a {\"s\":\"\uFFFD\",\"t\":\"\\\\ud83e\"}", told(r))
}

// Values that a handler has no use for are not made, however it could get at them.
func TestEventUnusedParameters(t *testing.T) {
	for code, want := range map[string][2]bool{
		"function OnUpdate() {}":                                               {true, true},
		"function OnUpdate(doc, meta) {}":                                      {true, true},
		"function OnUpdate(doc, meta) { log(meta.doc) }":                       {true, false},
		"function OnUpdate(doc, meta) { log({doc}) }":                          {false, true},
		"function OnUpdate(doc, meta) { (() => doc)() }":                       {false, true},
		"function OnUpdate(doc, meta) { log(arguments[0]) }":                   {false, false},
		"function OnUpdate(...all) {}":                                         {false, false},
		"function OnUpdate({a}, meta = 1) {}":                                  {false, false},
		"function OnUpdate(doc, meta, x = doc) {}":                             {false, true},
		"function OnUpdate(doc) { doc = 1 }":                                   {false, true},
		"function OnUpdate(doc, meta) { class A { [doc]() {} m() { meta } } }": {false, false},
		"function OnUpdate(doc, meta) { for (doc of [1]) `${meta}` }":          {false, false},
	} {
		program, err := compileEvents(NewEventProgram(eventOptions(code)).encoded)
		require.NoError(t, err)
		require.Nil(t, program.refused, code)
		require.Equal(t, want, [2]bool{!program.uses[0].Mentioned, !program.uses[1].Mentioned}, code)
	}
	p := newTestPool(t, Options{})
	for body, want := range map[string]string{
		"return function inner() { return doc }()": "", "log(doc.n)": "1", "log(eval)": "!ReferenceError: eval is not defined",
		"log(arguments.length, arguments[0].n, OnUpdate.length)": "2 1 2",
	} {
		require.Equal(t, want, told(runBody(t, p, newEventHost(), body)), body)
	}
}

// A worker keeps realms of a few programs only.
func TestEventRealmsOfManyPrograms(t *testing.T) {
	w := newWorker(&bytes.Buffer{})
	var programs []*eventProgram
	for i := range 3 * maxWarm {
		o := eventOptions(fmt.Sprintf(`function OnUpdate(doc) { log(%d) }`, i))
		program, err := compileEvents(NewEventProgram(o).encoded)
		require.NoError(t, err)
		programs = append(programs, program)
		r, refused, err := newEventBatch(w, program, time.Minute).invoke(&updates(`{}`)[0])
		require.NoError(t, err)
		require.Nil(t, refused)
		require.Equal(t, fmt.Sprint(i), told(r))
	}
	kept := 0
	for _, program := range programs {
		if program.realm != nil {
			kept++
		}
	}
	require.Equal(t, maxWarm, kept)
	require.NotNil(t, programs[len(programs)-1].realm)
}

// With isolate: "invocation" each invocation has a realm of its own, otherwise they follow each
// other in one.
func TestEventIsolate(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		w := newWorker(&bytes.Buffer{})
		o := eventOptions(`function OnUpdate(doc) { log(doc.n) }`)
		o.Isolate = isolate
		program, err := compileEvents(NewEventProgram(o).encoded)
		require.NoError(t, err)
		batch := newEventBatch(w, program, time.Minute)
		events := updates(`{"n":1}`, `{"n":2}`)
		for i := range events {
			r, _, err := batch.invoke(&events[i])
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i+1), told(r))
			require.Equal(t, isolate, program.realm == nil)
		}
	}
}
