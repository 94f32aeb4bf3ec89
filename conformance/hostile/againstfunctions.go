package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// functionAttacks are design documents.
var functionAttacks = []attack{
	{
		name:  "slow maps",
		shows: "maps of 300 ms a document in two databases, while a third one validates",
		short: 0.02,
		run:   slowMaps,
	},
	{
		name:  "greedy functions",
		shows: "endless loops, gigabytes and recursion in map, reduce, validation, filter, show, update, list",
		run:   greedyFunctions,
		limit: 5 * time.Minute,
	},
	{
		name:  "ways out of the sandbox",
		shows: "Function, eval, prototypes, require and names of other engines",
		short: 1,
		run:   waysOut,
	},
	{
		name:  "deep documents",
		shows: "documents nested 10,000 deep beside views, filters and validation",
		short: 1,
		run:   deepDocuments,
	},
}

// slowMaps builds views that are slow, and measures validation in a database of the attacker's own,
// which suffers at least as much as those of others.
func slowMaps(ctx context.Context, a *assault) error {
	var names []string
	for i := range 2 {
		b := newAssault(a.target, fmt.Sprintf("%s-slow%d", a.db, i), 0, a.scale)
		remove, err := b.database(ctx)
		if err != nil {
			return err
		}
		defer remove()
		names = append(names, b.db)
		if err := b.fill(ctx, a.n(3000), func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }); err != nil {
			return err
		}
	}
	remove, err := a.database(ctx,
		`{"_id":"_design/v","validate_doc_update":"function(doc) { if (doc.bad) throw {forbidden: 'bad'} }"}`)
	if err != nil {
		return err
	}
	defer remove()
	const slow = `{"views":{"v":{"map":"function(doc) { var end = Date.now() + 300; while (Date.now() < end); emit(1, 1) }"}}}`
	for _, name := range names {
		a.send(ctx, request{method: "PUT", path: "/" + name + "/_design/slow", body: text(slow)}, http.StatusCreated)
	}
	var worst time.Duration
	for n := range max(5, a.n(300)) {
		begin := time.Now()
		a.put(ctx, fmt.Sprintf("checked-%d", n), text(`{}`), nil, http.StatusCreated)
		worst = max(worst, time.Since(begin))
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	const bound = 10 * time.Second // it was 40 s, and failed then
	if worst > bound {
		a.fault("a validation took %s", worst.Round(time.Millisecond))
	}
	return nil
}

// greedy are bodies of functions.
var greedy = []string{
	`for (;;) ;`,
	`for (;;) { try { for (;;) {} } catch (e) {} finally { continue; } }`,
	`var a = []; for (;;) a.push('x'.repeat(1e6) + a.length);`,
	`var a = []; for (;;) a.push({a: a.length});`,
	`return 'x'.repeat(1e9);`,
	`return new Array(5e8).fill(0);`,
	`return new Uint8Array(4e9);`,
	`return /(?=.*b)^(a|aa)+c$/.test('a'.repeat(80) + 'b');`,
	`(function f() { try { f(); } catch (e) { f(); } })();`,
	`var a = []; for (var i = 0; i < 1e7; i++) a = [a]; return a;`,
	`return {toJSON: function() { for (;;) {} }};`,
	`throw {toString: function() { for (;;) {} }};`,
	`return 'x'.repeat(1e5).replace(/x/g, '$` + "`" + `');`,
	`var s = new Set(); for (;;) s.add({});`,
}

func greedyFunctions(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	sources := greedy[:a.n(len(greedy))]
	together(4, func(worker int) {
		for i, source := range sources {
			if i%4 == worker && ctx.Err() == nil {
				a.greedyDesign(ctx, i, source)
			}
		}
	})
	return nil
}

// greedyDesign stores the function as each kind there is and lets each run.
func (a *assault) greedyDesign(ctx context.Context, i int, source string) {
	function := "function(a, b, c, d) { " + source + " }"
	text, err := json.Marshal(map[string]any{
		"views": map[string]any{"map": map[string]string{"map": function},
			"reduce": map[string]string{"map": "function(doc) { emit(1, 1) }", "reduce": function}},
		"filters": map[string]string{
			"f": function,
		}, "shows": map[string]string{"f": function}, "updates": map[string]string{"f": function},
		"lists": map[string]string{
			"f": function,
		}, "validate_doc_update": "function(doc) { if (doc.checked == " + fmt.Sprint(i) + ") { " + source + " } }"})
	if err != nil {
		a.fault("%v", err)
		return
	}
	design := fmt.Sprintf("/%s/_design/greedy%d", a.db, i)
	stored := a.send(ctx, request{method: "PUT", path: design, body: bodyOf(text)}, append(refusals, 201)...)
	rev, ok := acknowledgedRev(stored)
	if !ok {
		return
	}
	for _, r := range []request{
		{method: "GET", path: design + "/_view/map"},
		{method: "GET", path: design + "/_view/reduce"},
		{method: "GET", path: fmt.Sprintf("/%s/_changes?filter=greedy%d/f", a.db, i)},
		{method: "GET", path: design + "/_show/f/a"},
		{method: "PUT", path: design + "/_update/f/a"},
		{method: "GET", path: design + "/_list/f/reduce?reduce=false"},
		{
			method: "PUT", path: fmt.Sprintf("/%s/checked%d", a.db, i),
			body: bodyOf(fmt.Appendf(nil, `{"checked":%d}`, i)),
		},
	} {
		within, cancel := context.WithTimeout(ctx, 20*time.Second)
		a.send(within, r, append(refusals, 200, 201, 202, 500)...)
		cancel()
	}
	a.send(context.WithoutCancel(ctx), request{method: "DELETE", path: design + "?rev=" + rev}, 200, 202)
}

// bodyOf is a body of bytes.
func bodyOf(b []byte) body { return text(string(b)) }

// ways are expressions that lead out of the sandbox unless it is closed: each must be undefined or
// throw.
var ways = []string{
	`Function("return this")()`, `new Function("return 1")()`, `(function() {}).constructor("return this")()`, `(function*() {}).constructor("yield 1")()`,
	`(async function() {}).constructor("return 1")()`, `(() => 1).constructor("return 1")()`, `eval("1+1")`, `(0, eval)("this")`, `Reflect.construct(Function, ["return 7"])()`,
	`Object.getPrototypeOf(Object.getPrototypeOf(function() {})).constructor("return 1")()`, `emit.constructor("return 9")()`, `log.constructor("return 9")()`,
	`[].constructor.constructor("return this")()`, `"".sub.constructor("return this")()`, `Error.constructor("return this")()`, `Function.prototype.constructor("return 1")()`,
	`process`, `process.env`, `require("fs")`, `require("../../../etc/passwd")`, `require("file:///etc/passwd")`, `load("/etc/passwd")`, `read("/etc/passwd")`, `readline()`, `quit()`, `gc()`,
	`evalcx("1")`, `WebAssembly`, `SharedArrayBuffer`, `Deno`, `console`, `GoError`, `XMLHttpRequest`, `fetch("http://127.0.0.1")`, `setTimeout("1", 1)`, `global`, `window`,
	`Object.prototype.poison`, `Array.prototype.poison`,
}

// waysOut tries each of them in a map function and in a show function, after others have tried to spoil what all share.
func waysOut(ctx context.Context, a *assault) error {
	var try strings.Builder
	try.WriteString(`var r = []; `)
	for i, way := range ways {
		fmt.Fprintf(&try, "try { var v = %s; if (v !== undefined) r.push(%d); } catch (e) {} ", way, i)
	}
	spoil := `function(doc) { try { Object.prototype.poison = 1; Array.prototype.poison = 1; JSON.parse = null; Date.now = null; } catch (e) {} emit(1, 1); }`
	design, err := json.Marshal(map[string]any{"_id": "_design/out",
		"views": map[string]any{
			"a": map[string]string{"map": spoil},
			"v": map[string]string{"map": "function(doc) { " + try.String() + " emit(r, r.length); }"},
		},
		"shows": map[string]string{
			"spoil": "function() { Object.prototype.poison = 1; Array.prototype.poison = 1; return 'x'; }",
			"s":     "function() { " + try.String() + " return JSON.stringify(r); }",
		}})
	if err != nil {
		return err
	}
	remove, err := a.database(ctx, `{"_id":"a"}`, string(design))
	if err != nil {
		return err
	}
	defer remove()
	at := "/" + a.db + "/_design/out"
	for range 3 {
		for _, path := range []string{"/_view/a", "/_view/v", "/_show/spoil", "/_show/s"} {
			got := a.send(ctx, request{method: "GET", path: at + path, whole: true}, http.StatusOK,
				http.StatusInternalServerError)
			if slices.Contains([]string{"/_view/v", "/_show/s"}, path) {
				a.judgeWays(path, got)
			}
		}
	}
	return nil
}

// judgeWays names the ways that led somewhere.
func (a *assault) judgeWays(path string, got reply) {
	var found []int
	if path == "/_show/s" {
		if err := json.Unmarshal([]byte(got.start), &found); err != nil {
			a.fault("%s: %d %.200s", path, got.status, got.start)
		}
	} else {
		var answer struct{ Rows []struct{ Key []int } }
		if err := json.Unmarshal([]byte(got.start), &answer); err != nil || len(answer.Rows) != 1 {
			a.fault("%s: %d %.200s", path, got.status, got.start)
			return
		}
		found = answer.Rows[0].Key
	}
	for _, i := range found {
		a.fault("%s yields something in %s", ways[i], path)
	}
}

// deepDocuments stores documents that are nested deeply, some too deeply for JavaScript. One such
// document must not keep the other documents out of a view or a feed, nor make all later writes
// fail their validation.
func deepDocuments(ctx context.Context, a *assault) error {
	remove, err := a.database(
		ctx,
		`{"_id":"good"}`,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id, 1) }"}},"filters":{"f":"function() { return true }"}}`,
	)
	if err != nil {
		return err
	}
	defer remove()
	for _, depth := range []int{1000, 10_000, 64_000} {
		nested := repeat(`{"a":`, "[", depth, "").then(repeat("", "]", depth, "}"))
		a.put(ctx, fmt.Sprintf("deep-%d", depth), nested, nil, 201, 400, 403, 413, 503)
	}
	for _, path := range []string{"/_design/d/_view/v", "/_changes?filter=d/f", "/_changes?include_docs=true", "/_all_docs?include_docs=true"} {
		got := a.send(
			ctx,
			request{method: "GET", path: "/" + a.db + path, whole: true},
			http.StatusOK,
			http.StatusServiceUnavailable,
		)
		if got.status == http.StatusOK && !strings.Contains(got.start, `"good"`) {
			a.fault("%s: %d %.200s", path, got.status, got.start)
		}
	}
	always := request{method: "PUT", path: "/" + a.db + "/_design/v", body: text(`{"validate_doc_update":"function() {}"}`)}
	a.send(ctx, always, http.StatusCreated, http.StatusServiceUnavailable)
	a.put(ctx, "fine", text(`{}`), nil, http.StatusCreated, http.StatusServiceUnavailable)
	return nil
}
