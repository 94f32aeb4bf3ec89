package js

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// queryHost knows statements that read and one that writes.
func queryHost() *eventHost {
	h := newEventHost()
	h.rows = map[string][]string{
		"SELECT 3":  {"1", "2", "3"},
		"SELECT 2":  {`"a"`, `"b"`},
		"SELECT 0":  {},
		"SELECT E":  {"1", "2"},
		"UPDATE 2":  {"8", "9"},
		"(SELECT 3": {"1"},
	}
	h.fail = map[string]error{"SELECT E": &EventError{Code: 5, Name: "broken", Desc: "the index is gone"}}
	h.refuse = map[string]error{
		"SELECT X":  &EventError{Desc: "no such keyspace"},
		"UPDATE X":  &EventError{Desc: "duplicate key"},
		"UPDATE S":  &EventError{Class: "EventingError", Desc: "the source"},
		"SELECT 3x": nil,
	}
	return h
}

// Section 6.3: what leaves a loop closes the query, and nothing else does. Q3 and Q2 have three
// rows and two.
func TestEventLoops(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for _, c := range []struct{ name, body, logs, closed string }{
		{"end", `for (const r of Q3()) log(r); log("after")`, `1,2,3,"after"`, ""},
		{"break", `for (const r of Q3()) { log(r); break } log("after")`, `1,"after"`, "3"},
		{"continue", `for (const r of Q3()) { if (r === 2) continue; log(r) }`, `1,3`, ""},
		{"break to a plain loop", `x: while (true) { for (const r of Q3()) { log(r); break x } } log("after")`, `1,"after"`, "3"},
		{"break through queries", `x: for (const a of Q3()) { for (const b of Q2()) { log(a, b); break x } } log("after")`,
			`1 "a","after"`, "2,3"},
		{"continue of the outer query", `x: for (const a of Q3()) { for (const b of Q2()) { log(a, b); continue x } }`,
			`1 "a",2 "a",3 "a"`, "2,2,2"},
		{"nested", `for (const a of Q2()) for (const b of Q2()) log(a + b)`, `"aa","ab","ba","bb"`, ""},
		{"plain loops inside", `for (const r of Q3()) { for (let i = 0; i < 3; i++) { if (i) break; continue } do { continue } while (false); log(r) }`,
			`1,2,3`, ""},
		{"return", `function f() { for (const a of Q3()) for (const b of Q2()) return [a, b] } log(f())`, `[1,"a"]`, "2,3"},
		{"throw caught outside", `try { for (const r of Q3()) { throw r } } catch (e) { log("caught", e) }`, `"caught" 1`, "3"},
		{"throw caught inside", `for (const r of Q3()) { try { throw r } catch (e) { log(e) } }`, `1,2,3`, ""},
		{"throw in a callee", `function f() { throw new Error("f") } try { for (const r of Q3()) f() } catch (e) { log(e) }`,
			`"Error: f"`, "3"},
		{"runtime error", `try { for (const r of Q3()) null.x } catch (e) { log(e.name) }`, `"TypeError"`, "3"},
		{"uncaught", `for (const a of Q3()) for (const b of Q2()) throw "out"`, `!: "out"`, "2,3"},
		{"finally", `try { for (const r of Q3()) { try { break } finally { log("in") } } } finally { log("out") }`, `"in","out"`, "3"},
		{"destructuring", `const [a, b] = Q3(); log(a, b)`, `1 2`, "3"},
		{"spread", `log([...Q3()], Array.from(Q3()))`, `[1,2,3] [1,2,3]`, ""},
		{"generator", `function* g() { yield* Q3() } for (const r of g()) { log(r); break }`, `1`, "3"},
		{"error of next", `try { for (const r of N1QL("SELECT E")) log(r) } catch (e) { log(e instanceof N1QLError, e.message) }`,
			`1,true "the index is gone"`, "E"},
		{"no rows", `for (const r of N1QL("SELECT 0")) log(r); log("after")`, `"after"`, ""},
		{"a second loop has no rows", `const q = Q3(); for (const r of q) { log(r); break } for (const r of q) log(r); log("after")`,
			`1,"after"`, "3"},
		{"a second loop after the end", `const q = Q2(); for (const r of q) log(r); for (const r of q) log(r); log(q.execQuery())`,
			`"a","b",[]`, ""},
		{"plain iterables", `for (const r of [1]) log(r); for (const [k, v] of new Map([[1, 2]])) log(k, v); for (const c of "é") log(c)`,
			`1,1 2,"é"`, ""},
		{"close", `const q = Q3(); q.next(); log(q.close(), q.close(), q.next())`,
			`undefined undefined {"done":true}`, "3"},
		{"left open", `const q = Q3(); log(q.next().value)`, `1`, "3"},
		{"execQuery", `log(Q3().execQuery())`, `[1,2,3]`, ""},
		{"query", `log(Q3().query, new N1qlQuery("SELECT 2").query)`, `"SELECT 3" "SELECT 2"`, ""},
		{"iter", `log(Q3().iter(r => log(r)))`, `1,2,3,1`, ""},
		{"stopIter", `const q = Q3(); log(q.iter(r => { log(r); q.stopIter(); log("still") }))`, `1,"still",0`, "3"},
		{"stopIter with a tag", `const q = Q3(); log(q.iter(r => q.stopIter("break x")))`, `"break x"`, "3"},
		{"throw in iter", `try { Q3().iter(r => { throw r }) } catch (e) { log(e) }`, `1`, "3"},
		{"iter of nothing", `Q3().iter()`, `!EventingError: iter: the argument must be a function`, ""},
		{"again", `const q = new N1qlQuery("SELECT 2", {prepare: true}); log(q.execQuery(), q.execQuery()); for (const r of q) log(r)`,
			`["a","b"] ["a","b"],"a","b"`, ""},
		{"instance", `log(Q2() instanceof N1qlQuery)`, `true`, ""},
	} {
		host := queryHost()
		r := runBody(t, p, host, "const Q3 = () => N1QL('SELECT 3'), Q2 = () => couchbase.n1qlQuery('SELECT 2');\n"+c.body)
		assert.Equal(t, c.logs, strings.ReplaceAll(told(r), " | ", ","), c.name)
		assert.Equal(t, c.closed, strings.ReplaceAll(strings.Join(host.closed, ","), "SELECT ", ""), c.name)
		assert.Empty(t, host.open, c.name)
	}
}

// Section 6.2: a statement that reads is checked where it stands and run where it is used, others
// run at once.
func TestEventQueries(t *testing.T) {
	p := newTestPool(t, Options{})
	host := queryHost()
	r := runBody(t, p, host, `var n = 5; N1QL("SELECT 3", {$n: n}, {consistency: "request", isPrepared: true}); n = 6; log("unused")`)
	require.Equal(t, `"unused"`, told(r))
	require.Equal(t, []EventQuery{{
		Text: "SELECT 3", Params: []byte(`{"$n":5}`), Options: []byte(`{"consistency":"request","isPrepared":true}`), Check: true,
	}}, host.asked)

	// What the invocation wrote goes to the host before a query, what it read is read again after a
	// change.
	host = queryHost()
	host.put(0, "a", `{"a":1}`)
	host.rows["SELECT 2"] = []string{`1`}
	r = runBody(t, p, host, `dst.x = {a: 1}; log(dst.a, dst.x);
for (const row of N1QL("SELECT 3", [1])) { dst["y" + row] = {}; if (row === 2) break }
log(dst.x); N1QL("UPDATE 2"); log(dst.a, dst.x); dst.z = {}`)
	require.Equal(t, `{"a":1} {"a":1} | {"a":1} | {"a":1} undefined | set d/z {}`, told(r))
	var flushed []string
	for _, effects := range host.flushes {
		var texts []string
		for _, e := range effects {
			texts = append(texts, effectText(e))
		}
		flushed = append(flushed, strings.Join(texts, ","))
	}
	require.Equal(t, []string{"set d/x {\"a\":1}", "set d/y1 {},set d/y2 {}"}, flushed)
	require.Equal(t, []string{"a", "a", "x"}, host.gets)
	require.Equal(t, "[1]", string(host.asked[1].Params))
	require.Equal(t, []string{"SELECT 3", "UPDATE 2"}, host.closed)

	// Results of the invocations before are taken before a query runs.
	host = queryHost()
	taken := -1
	program := NewEventProgram(eventOptions(`function OnUpdate(doc, meta) { dst[meta.id] = doc; if (doc.q) N1QL("UPDATE 2"); if (doc.q > 1) throw 1; log(dst.m1) }`))
	var logs []string
	events := updates(`{"n":1}`, `{"q":1}`, `{"q":2}`, `{"n":4}`)
	err := p.RunEvents(t.Context(), program, events, host, func(i int, r *EventResult) error {
		taken = i
		logs = append(logs, told(r))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, taken)
	require.Equal(t, []string{`{"n":1} | set d/m1 {"n":1}`, `undefined`, `!: 1`, `undefined | set d/m4 {"n":4}`}, logs)
	require.Equal(t, []string{"m1", "m1"}, host.gets) // the host would know it
}

// Parameters may be among the options, as they were before version 6.5.
func TestEventQueryParameters(t *testing.T) {
	host := queryHost()
	r := runBody(t, newTestPool(t, Options{}), host, `new N1qlQuery("SELECT 2", {namedParams: {$a: 1}}).execQuery();
new N1qlQuery("SELECT 2", {posParams: [1, "b"]}).execQuery(); N1QL("SELECT 2", {$c: 2}, {namedParams: {$a: 1}});
N1QL("SELECT 2", null)`)
	require.Equal(t, EventDone, r.Outcome, told(r))
	params := make([]string, len(host.asked))
	for i, q := range host.asked {
		params[i] = string(q.Params)
	}
	require.Equal(t, []string{`{"$a":1}`, `[1,"b"]`, `{"$c":2}`, ``}, params)
}

// Errors of queries, and how many may be open.
func TestEventQueryErrors(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for _, c := range []struct{ body, want string }{
		{`N1QL("SELECT X")`, "!N1QLError: no such keyspace"},
		{`N1QL("UPDATE X")`, "!N1QLError: duplicate key"},
		{`N1QL("UPDATE S")`, "!EventingError: the source"},
		{`new N1qlQuery("SELECT X"); log("not yet")`, `"not yet"`},
		{`new N1qlQuery("UPDATE X").execQuery()`, "!N1QLError: duplicate key"},
		{`N1QL(5)`, "!N1QLError: the statement must be a string"},
		{`N1QL("SELECT 3", 5)`, "!N1QLError: the parameters must be an object or an array"},
		{`N1QL("SELECT 3", {}, "x")`, "!N1QLError: the options must be an object"},
		{`var all = []; for (let i = 0; i < 20; i++) all.push(N1QL("SELECT 3")); log("checked")`, `"checked"`},
		{`var all = []; try { for (let i = 0; i < 20; i++) { const q = N1QL("SELECT 3"); q.next(); all.push(q) } } catch (e) { log(all.length, e) }
all.pop().close(); log(N1QL("SELECT 2").execQuery())`,
			`10 "N1QLError: Connection pool maximum capacity reached" | ["a","b"]`},
		{`for (let i = 0; i < 30; i++) for (const r of N1QL("SELECT 3")) break; log("ok")`, `"ok"`},
	} {
		host := queryHost()
		r := runBody(t, p, host, c.body)
		require.Equal(t, c.want, told(r), c.body)
		require.Empty(t, host.open)
	}
	require.Equal(t, int64(1), runBody(t, p, queryHost(), `N1QL("UPDATE X")`).Counters["n1ql_op_exception_count"])
}

// An invocation whose time is over ends its queries, and runs none of its own blocks any more.
func TestEventLoopTimeout(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	host := queryHost()
	o := eventOptions(`function OnUpdate() {
  try { for (const a of N1QL("SELECT 3")) for (const b of N1QL("SELECT 2")) for (;;) {} } catch (e) { log("caught") } finally { log("finally") }
}`)
	events := []Event{{Kind: EventUpdate, Doc: []byte(`{}`), Meta: []byte(`{"id":"a"}`)}}
	// On a busy machine the time may be over before the loops have begun.
	for events[0].Timeout = 200 * time.Millisecond; len(host.closed) < 2; events[0].Timeout *= 4 {
		require.Less(t, events[0].Timeout, time.Minute)
		host.closed = nil
		results, err := runTestEvents(t, p, o, host, events)
		require.NoError(t, err)
		require.Equal(t, "!timeout", told(results[0]))
		require.Empty(t, host.open)
	}
	require.ElementsMatch(t, []string{"SELECT 2", "SELECT 3"}, host.closed)
}
