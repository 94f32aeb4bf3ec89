package js

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// What functions of a design document try to get out of their realm with. None of it reaches an
// object of the worker, of another realm, or of Go.
//
// A want that begins with * is how an error begins, one with ~ a pattern.
var waysOut = map[string]struct{ source, want string }{
	"modules of a host": {`function(){ return typeof require('fs') }`, "*TypeError"},
	"names of a host": {
		`function(){ return [typeof process, typeof global, typeof WebAssembly, typeof SharedArrayBuffer, typeof setTimeout, typeof load, typeof read, typeof print, typeof quit, typeof evalcx, typeof gc, typeof console, typeof GoError].join() }`,
		"~undefined(,undefined){12}",
	},
	"Function": {`function(){ return typeof Function('return this')() }`, "*TypeError"},
	"kinds of functions": {
		`function(){ return [(function(){}), (function*(){}), (async function(){}), (async () => 1), emit, log].map(function(f){ try { return typeof f.constructor('return this')() } catch (e) { return e.name } }).join() }`,
		"~EvalError(,EvalError){5}",
	},
	"Reflect": {
		`function(){ return typeof Reflect.construct(Function, ['return this'])() }`,
		"*TypeError",
	},
	"eval": {`function(){ return typeof (0, eval)('this').process }`, "~undefined|\\*.*"},
	"prepareStackTrace": {
		`function(){ var seen = 0; Error.prepareStackTrace = function(e, s){ seen++; return s }; try { null.x } catch (e) { return typeof e.stack + seen } }`,
		"string0",
	},
	"caller": {
		`function(){ 'use strict'; function f(){ return typeof f.caller } try { return f() } catch (e) { return e.name } }`,
		"~TypeError|undefined",
	},
	"caller of toJSON": {
		`function(){ var seen; JSON.stringify({toJSON: function f(){ try { seen = typeof f.caller } catch (e) { seen = e.name } }}); return String(seen) }`,
		"~undefined|TypeError",
	},
	"paths of require": {
		`function(){ return ['__proto__', 'constructor', '../../../etc/passwd', 'file:///etc/passwd', 'toString'].map(function(p){ try { require(p); return 'found ' + p } catch (e) { return 'no' } }).join() }`,
		"no,no,no,no,no",
	},
	"import": {`function(){ return import('fs') }`, "*compilation_error"},
	"reviver": {
		`function(){ var g; JSON.parse('[1]', function(k, v){ g = this; return v }); return typeof g.process }`,
		"undefined",
	},
	"proxy of the request": {
		`function(doc, req){ var seen = []; var p = new Proxy(req, {get: function(t, n){ seen.push(typeof n); return t[n] }}); String(p.method); return seen.join() }`,
		"string",
	},
	"getter of the answer": {`function(){ return {get body(){ return typeof globalThis.process }} }`, "undefined"},
	"toJSON of the answer": {
		`function(){ return {body: 'a', toJSON: function(){ return {body: typeof globalThis.process} }} }`,
		"~undefined|a",
	},
}

// TestWaysOut calls the ways out one by one.
func TestWaysOut(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Workers: 1})
	for name, way := range waysOut {
		d := p.Design("db", []byte(`{"_id":"_design/d","shows":{"f":`+string(quoted(way.source))+`}}`))
		reply, err := d.Call(t.Context(), anyLength, []string{"shows", "f"}, []byte("null"), []byte(`{"method":"GET"}`))
		got := ""
		if err != nil {
			got = "*" + err.Error()
		} else {
			for e := range reply.Elements() {
				if body, ok := e.Get("body"); ok {
					got = body.Text()
				}
			}
		}
		if pattern, ok := strings.CutPrefix(way.want, "~"); ok {
			assert.Regexp(t, "^("+pattern+")$", got, name)
			continue
		}
		if strings.HasPrefix(way.want, "*") {
			assert.True(t, strings.HasPrefix(got, way.want), "%s: %s", name, got)
			continue
		}
		assert.Equal(t, way.want, got, name)
	}
}

// TestPoisonStays: what a design document does to its globals and prototypes is seen by no other
// one, of no database, in the same worker.
func TestPoisonStays(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	poison := `function(){ Object.prototype.poison = 1; Array.prototype.map = String.prototype.split = JSON.stringify = null;
  Object.defineProperty(Object.prototype, 'shows', {get: function(){ return 'stolen' }}); globalThis.poison = 1; return 'done' }`
	look := `function(){ return [typeof ({}).poison, typeof poison, typeof [].map, typeof JSON.stringify, typeof ({}).shows].join() }`
	call := func(tenant, id, source string) string {
		d := p.Design(
			tenant,
			[]byte(
				`{"_id":"_design/`+id+`","shows":{"f":`+string(
					quoted(source),
				)+`},"filters":{"f":"function(){ return typeof poison === 'undefined' && !({}).poison }"},"validate_doc_update":"function(){ if (({}).poison) throw({forbidden: 'poison'}) }"}`,
			),
		)
		reply, err := d.Call(t.Context(), anyLength, []string{"shows", "f"}, []byte("null"), []byte("{}"))
		require.NoError(t, err)
		passes, err := d.Filter(t.Context(), []string{"filters", "f"}, [][]byte{[]byte(`{"_id":"a"}`)}, []byte("{}"))
		require.NoError(t, err)
		require.Equal(t, []bool{true}, passes, "%s/%s: a filter sees what a show function did", tenant, id)
		for e := range reply.Elements() {
			if body, ok := e.Get("body"); ok {
				return body.Text()
			}
		}
		return ""
	}
	require.Equal(t, "done", call("a", "d", poison))
	require.Equal(t, "undefined,undefined,function,function,undefined", call("a", "e", look))
	require.Equal(t, "undefined,undefined,function,function,undefined", call("b", "d", look))
	rows, err := mapText(t, p, "function(doc){ emit(typeof doc.poison, typeof [].map) }", "", `{"_id":"a"}`)
	require.NoError(t, err)
	require.Equal(t, `"undefined":"function"|`, rows)
}

// TestGrowth: results that grow without end cost their call only.
func TestGrowth(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{Workers: 1, MaxResult: 4 << 20, Memory: 128 << 20})
	_, err := p.Reduce(
		t.Context(),
		"db",
		"function(k, v){ return 'x'.repeat(1e7) }",
		ReduceLimit{},
		[]ReduceGroup{{Rows: []ReduceRow{{Key: []byte("1"), ID: "a", Value: []byte("1")}}}},
	)
	require.ErrorIs(t, err, errTooMuch)
	d := p.Design(
		"db",
		[]byte(
			`{"_id":"_design/d","shows":{"big":"function(){ return 'x'.repeat(1e7) }","logs":"function(){ for (var i = 0; i < 2000; i++) log('x'.repeat(5000)); return 'x' }"}}`,
		),
	)
	_, err = d.Call(t.Context(), anyLength, []string{"shows", "big"}, []byte("null"), []byte("{}"))
	require.ErrorIs(t, err, errTooMuch)
	_, err = d.Call(t.Context(), anyLength, []string{"shows", "logs"}, []byte("null"), []byte("{}"))
	require.NoError(t, err)
	require.NoError(t, p.CheckMap(t.Context(), "other", "function(doc){}"))
}

func quoted(text string) []byte { return []byte(script.Quote(text)) }
