package js

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// Handlers that never end, or overflow, fail alone; the batch goes on in the same worker.
func TestEventHostileHandlers(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Workers: 1, Memory: 256 << 20})
	for _, c := range []struct{ name, body, want string }{
		{"endless loop", `while (true) {}`, "!timeout"},
		{"endless loop that catches", `while (true) { try { for (;;) {} } catch (e) {} finally { continue } }`, "!timeout"},
		{"endless getter", `dst.x = {get a() { for (;;) {} }}`, "!timeout"},
		{"endless text of what is thrown", `throw {toJSON() { for (;;) {} }}`, "!timeout"},
		{"endless name of what is thrown", `var e = new Error(); Object.defineProperty(e, "name", {get() { for (;;) {} }}); throw e`, "!timeout"},
		{"endless query loop", `for (const r of N1QL("SELECT 3")) for (;;) {}`, "!timeout"},
		{"recursion", `(function f() { f() })()`, "!RangeError: Maximum call stack size exceeded"},
		{"recursion that catches", `(function f() { try { f() } catch (e) { f() } })()`, "!RangeError: Maximum call stack size exceeded"},
		{"many writes", `for (let i = 0; i < 1e6; i++) dst["k" + i] = doc`, "!EventingError: an invocation may make at most 10000 writes and timers"},
		{"many timers", `for (let i = 0; i < 1e6; i++) createTimer(Callback, new Date(1), "r" + i, 1)`,
			"!EventingError: an invocation may make at most 10000 writes and timers"},
		{"large writes", `for (;;) dst.x = {s: "x".repeat(1e6)}`, "!EventingError: an invocation may write at most 8 MB"},
		{"limits are caught once", `try { for (;;) dst.x = {s: "x".repeat(1e6)} } catch (e) { log(e.name) }
try { dst.y = {s: "x".repeat(1e6)} } catch (e) { log(e.name); throw "x" }`, `"EventingError" | "EventingError" | !: "x"`},
	} {
		o := eventOptions("function OnUpdate(doc, meta) { if (!doc.bad) { dst[meta.id] = doc; return }\n" + c.body + "\n}\nfunction Callback() {}")
		o.Timeout = 200 * time.Millisecond
		results, err := runTestEvents(t, p, o, queryHost(), []Event{
			{Kind: EventUpdate, Doc: []byte(`{}`), Meta: []byte(`{"id":"a"}`), Timeout: time.Minute},
			{Kind: EventUpdate, Doc: []byte(`{"bad":true}`), Meta: []byte(`{"id":"b"}`), Timeout: timeFor(c.want)},
			{Kind: EventUpdate, Doc: []byte(`{}`), Meta: []byte(`{"id":"c"}`), Timeout: time.Minute},
		})
		require.NoError(t, err, c.name)
		require.Len(t, results, 3, c.name)
		require.Equal(t, "set d/a {}", told(results[0]))
		require.Equal(t, c.want, told(results[1]), c.name)
		require.Equal(t, "set d/c {}", told(results[2]))
	}
	require.Equal(t, int64(0), p.Stats().Killed)
}

// timeFor is a short time for what must run out of it.
func timeFor(want string) time.Duration {
	if want == "!timeout" {
		return 200 * time.Millisecond
	}
	return time.Minute
}

// What cannot be interrupted is killed a second after its time; the results before have been taken,
// or are made anew.
func TestEventKilled(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector ends with the memory before the worker can say so")
	}
	p := newTestPool(t, Options{Workers: 1, Memory: 256 << 20, Timeout: time.Hour})
	for _, c := range []struct {
		name, body string
		time       time.Duration
		want       EventOutcome
	}{
		{"regular expression", `/(?=.*b)^(a|aa)+c$/.test("a".repeat(80) + "b")`, hostileTime, EventTimedOut},
		{"memory", `var a = []; for (;;) a.push("x".repeat(1e6) + a.length)`, time.Minute, EventFailed},
		{"built-in memory", `"x".repeat(2 ** 40)`, time.Minute, EventFailed},
		{"nesting", `var a = []; for (let i = 0; i < 1e7; i++) a = [a]; dst.x = a`, time.Minute, EventFailed},
	} {
		o := eventOptions("function OnUpdate(doc, meta) { if (!doc.bad) { dst[meta.id] = doc; return }\n" + c.body + "\n}")
		o.Timeout = c.time
		events := updates(`{}`, `{}`, `{"bad":true}`, `{}`)
		done := 0
		var outcomes []EventOutcome
		for alone := false; done < len(events); {
			batch := events[done:]
			if alone {
				batch = batch[:1]
			}
			results, err := runTestEvents(t, p, o, newEventHost(), batch)
			for _, r := range results {
				outcomes = append(outcomes, r.Outcome)
			}
			done += len(results)
			if alone && err != nil {
				r := KilledEvent(err)
				require.NotNil(t, r, "%s: %v", c.name, err)
				outcomes = append(outcomes, r.Outcome)
				done++
			}
			alone = err != nil && !alone
		}
		require.Len(t, outcomes, len(events), c.name)
		require.Equal(t, c.want, outcomes[2], c.name)
		outcomes[2] = EventDone
		require.Equal(t, []EventOutcome{EventDone, EventDone, EventDone, EventDone}, outcomes, c.name)
	}
	require.Positive(t, p.Stats().Killed)
}

// Calls to the host take from the time of the invocation; it does not begin anew with each.
func TestEventHostTime(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	host := newEventHost()
	host.delay = 50 * time.Millisecond
	o := eventOptions(`function OnUpdate(doc) { for (var i = 0; i < doc.n; i++) dst["k" + i] }`)
	o.Timeout = 500 * time.Millisecond
	results, err := runTestEvents(t, p, o, host, updates(`{"n":1000}`))
	require.NoError(t, err)
	require.Equal(t, EventTimedOut, results[0].Outcome)
	require.Less(t, len(host.gets), 100)
	host.delay = time.Hour // its context ends
	results, err = runTestEvents(t, p, o, host, updates(`{"n":1}`))
	require.NoError(t, err)
	require.Equal(t, EventTimedOut, results[0].Outcome)
}

// Results come while a long batch runs.
func TestEventResultsCome(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	o := eventOptions(`function OnUpdate(doc, meta) { var t = Date.now(); while (Date.now() - t < 100); dst[meta.id] }`)
	host := newEventHost()
	taken, seen := 0, 0
	host.onGet = func() { seen = taken }
	err := p.RunEvents(t.Context(), NewEventProgram(o), updates(`{}`, `{}`, `{}`, `{}`, `{}`, `{}`, `{}`, `{}`), host,
		func(int, *EventResult) error {
			taken++
			return nil
		})
	require.NoError(t, err)
	require.Equal(t, 8, taken)
	require.GreaterOrEqual(t, seen, 4)
	// Programs of two functions share a worker, and nothing else.
	other := o
	other.Tenant, other.Code = "g", strings.Replace(o.Code, "dst[meta.id]", "dst.y = {}", 1)
	results, err := runTestEvents(t, p, other, newEventHost(), updates(`{}`))
	require.NoError(t, err)
	require.Equal(t, "set d/y {}", told(results[0]))
}

// Many batches at once, in several workers.
func TestEventsConcurrently(t *testing.T) {
	p := newTestPool(t, Options{Workers: 3})
	errs := make(chan error, 12)
	for i := range cap(errs) {
		go func() {
			o := eventOptions(fmt.Sprintf(`function OnUpdate(doc, meta) { dst[meta.id] = {n: doc.n + %d} }`, i%4))
			n := 0
			events := updates(`{"n":1}`, `{"n":2}`, `{"n":3}`)
			errs <- p.RunEvents(t.Context(), NewEventProgram(o), events, newEventHost(),
				func(at int, r *EventResult) error {
					if want := fmt.Sprintf(`set d/m%d {"n":%d}`, at+1, at+1+i%4); told(r) != want {
						return fmt.Errorf("got %s, want %s", told(r), want)
					}
					n++
					return nil
				})
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}
