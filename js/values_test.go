package js

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

func TestEmittedForms(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for source, want := range map[string]string{
		"emit(undefined, function(){})":                                      "null:null|",
		"emit(NaN, Infinity)":                                                "null:null|",
		"emit(-0, 1.0)":                                                      "0:1|",
		"emit(12345678901234567890, 1e21)":                                   "12345678901234567000:1.0e21|",
		"emit(1e-7, 0.000001)":                                               "1.0e-7:1.0e-6|",
		"emit(5e-324, [5e-324, 1e-310])":                                     "5.0e-324:[5.0e-324,1.0e-310]|",
		"emit('\\ud800', ['a\\udfff'])":                                      "\"\uFFFD\":[\"a\uFFFD\"]|",
		"emit('\\u001f\\u007f\\u2028/\\b', 1)":                               "\"\\u001F\u007f\u2028/\\b\":1|",
		"emit({b:1, 1:2, 0:3, a:undefined}, [undefined, Symbol()])":          `{"0":3,"1":2,"b":1}:[null,null]|`,
		"emit(1, new Error('x'))":                                            `1:{"error":"Error","message":"x"}|`,
		"emit(new Error('x'), {stack: 1, name: 'n', message: 'm', more: 1})": `{}:{"error":"n","message":"m"}|`,
		"emit(new Date(0), new String('s'))":                                 `"1970-01-01T00:00:00.000Z":"s"|`,
		"var o = {a: 1}; emit(1, o); o.a = 2;":                               `1:{"a":2}|`,
		"emit(1, {toJSON: function(k){ return 'j'; }})":                      `1:"j"|`,
		"emit({toJSON: k => typeof k + k}, {toJSON: k => ['v', k]})":         `"string0":["v","1"]|`,
		"emit([{toJSON: k => k}], {a: [0, {toJSON: k => k}]})":               `["0"]:{"a":[0,"1"]}|`,
		"emit({toJSON: k => undefined}, {toJSON: k => () => 1})":             "null:null|",
		"Array.prototype.toJSON = k => k; emit({toJSON: k => k}, [1])":       `"0":"1"|`,
		"BigInt.prototype.toJSON = k => k; emit(BigInt(1), [BigInt(1)])":     `"0":["0"]|`,
		"emit()":               "null:null|",
		"emit(doc.big, doc.s)": "9007199254740992:\"é\"|",
		"emit(doc); ":          `{"_id":"a","big":9007199254740992,"s":"é","list":[1,{"a":[]}]}:null|`,
		"doc.n = 5; doc.list.push = 1; delete doc.s; emit(doc.n, doc.s)":                   "null:\"é\"|",
		"'use strict'; try { doc.s = 1; } catch (e) { emit(String(e)) }":                   `"TypeError: \"s\" is read-only":null|`,
		"'use strict'; try { doc.list[1].a = 1; } catch (e) { emit(String(e)) }":           `"TypeError: \"a\" is read-only":null|`,
		"'use strict'; try { doc.list[1].a.push(1); } catch ({message}) { emit(message) }": `"can't define array index property past the end of an array with non-writable length":null|`,
		"emit(Object.isFrozen(doc.list[1].a), doc.list instanceof Array)":                  "true:false|",
		"emit(doc.list.map(x => typeof x), [...doc.list].length)":                          `["number","object"]:2|`,
	} {
		got, err := mapText(
			t,
			p,
			"function(doc){ "+source+" }",
			"",
			`{"_id":"a","big":9007199254740993,"s":"é","list":[1,{"a":[]}]}`,
		)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

// An exception drops the rows of its document and of its function alone, and is told.
func TestExceptions(t *testing.T) {
	p := newTestPool(t, Options{})
	results, err := p.Map(context.Background(), NewMapProgram("db", []string{
		"function(doc){ emit(1, 1); doc.x.y; }", "function(doc){ emit(2, 2); }", "function(doc){ if (doc._id == 'b') throw 'text'; emit(3, 3); }",
	}, nil), [][]byte{[]byte(`{"_id":"a","n":12345678901234567890}`), []byte(`{"_id":"b"}`)})
	require.NoError(t, err)
	require.Equal(
		t,
		`function raised exception (new TypeError("can't access property \"y\", it is null or undefined", "<unknown>", 3)) with doc._id a`,
		results[0][0].Err,
	)
	require.Empty(t, results[0][0].Rows)
	require.Len(t, results[0][1].Rows, 1)
	require.Len(t, results[0][2].Rows, 1)
	require.Equal(t, `function raised exception (new String("text")) with doc._id b`, results[1][2].Err)
}

func TestReduce(t *testing.T) {
	p := newTestPool(t, Options{})
	rows := []ReduceRow{
		{Key: []byte("1"), ID: "a", Value: []byte("1")},
		{Key: []byte("2"), ID: "b", Value: []byte("1")},
	}
	reduce := func(source string, limit bool) ReduceResult {
		got, err := p.Reduce(
			context.Background(),
			"db",
			source,
			ReduceLimit{On: limit, Threshold: 5000, Ratio: 2, View: "db/_design/d/_view/v"},
			[]ReduceGroup{{Rows: rows}, {Rereduce: true, Rows: []ReduceRow{{Value: []byte("1")}}}},
		)
		require.NoError(t, err)
		require.Len(t, got, 2)
		return got[0]
	}
	require.Equal(
		t,
		`[[[1,"a"],[2,"b"]],[1,1],false]`,
		string(reduce("function(k, v, r){ return [k, v, r]; }", true).Value),
	)
	require.Equal(t, "2", string(reduce("function(k, v){ return sum(v); }", true).Value))
	require.Equal(t, "null", string(reduce("function(){}", true).Value))
	require.Equal(t, "null", string(reduce("function(){ return NaN; }", true).Value))
	require.Equal(t, `"0"`, string(reduce("function(){ return {toJSON: k => k}; }", true).Value))
	require.Equal(t, "null", string(reduce("function(){ throw 1; }", true).Value))
	require.Equal(
		t,
		`["undefined","undefined"]`,
		string(reduce("function(){ return [typeof require, typeof index]; }", true).Value),
	)
	long := "function(k, v){ return Array(5001).join('x'); }"
	require.Equal(
		t,
		"reduce_overflow_error: Reduce output must shrink more rapidly: input size: 64 output size: 5004 "+
			"context: db/_design/d/_view/v",
		reduce(long, true).Overflow.Error(),
	)
	require.Len(t, reduce(long, false).Value, 5002)

	got, err := p.Reduce(
		context.Background(),
		"db",
		long,
		ReduceLimit{On: true, Threshold: 5000, Ratio: 2},
		[]ReduceGroup{{Rereduce: true, Rows: []ReduceRow{{Value: []byte("1")}}}},
	)
	require.NoError(t, err)
	require.Contains(t, got[0].Overflow.Reason, "input size: 24 ")
	_, err = p.Reduce(
		context.Background(),
		"db",
		"function(){ throw 'fatal_error'; }",
		ReduceLimit{},
		[]ReduceGroup{{Rows: rows}},
	)
	require.EqualError(t, err, "map_runtime_error: function raised 'fatal_error'")
	_, err = p.Reduce(context.Background(), "db", "function(", ReduceLimit{}, nil)
	require.ErrorContains(t, err, "compilation_error: (new Error(\"Line 1: Unexpected end of input\"")
}

// Errors that were caught tell where they were made as SpiderMonkey does.
func TestStack(t *testing.T) {
	p := newTestPool(t, Options{})
	got, err := mapText(
		t,
		p,
		"function(doc){ function f(){ doc.x.y; }\n try { f(); } catch (e) { emit([e.fileName, e.lineNumber, e.stack], Object.keys(e)); } }",
		"",
		`{}`,
	)
	require.NoError(t, err)
	require.Equal(t, `["<unknown>",3,"f@<unknown>:3:15\n@<unknown>:6:10\n"]:[]|`, got)
}

// Functions declared in blocks are visible outside in sloppy code.
func TestBlockFunctions(t *testing.T) {
	p := newTestPool(t, Options{})
	for source, want := range map[string]string{
		"if (doc.n) { function f(){ return 'yes'; } } emit(f(), f.name);": `"yes":"f"|`,
		"emit(typeof f, 1); { function f(){} }":                           `"undefined":1|`,

		"{ emit(f(), 1); function f(){ return 2; } }":                                                    "2:1|",
		"'use strict'; { function f(){} } emit(typeof f, 1);":                                            `"undefined":1|`,
		"let f = 1; { function f(){} } emit(f, 1);":                                                      "1:1|",
		"{ let f = 1; { function f(){ return 3; } emit(f(), f.name) } }":                                 `3:"f"|`,
		"switch (1) { case 1: function f(){ return 4; } } emit(f(), 1);":                                 "4:1|",
		"[1].forEach(x => { if (x) { function f(){ return x; } } emit(f(), 1); }); emit(typeof f, 2);":   `1:1|"undefined":2|`,
		"try { throw 5; } catch (e) { function f(){ return e; } } emit(f(), 1);":                         "5:1|",
		"for (var i = 0; i < 2; i++) { function f(){ return i; } } emit(f(), 1);":                        "2:1|",
		"{ function f(){ return n ? f(n - 1) + 1 : 0; } var n = 0; emit(f(), String(f).slice(0, 10)); }": `0:"function f"|`,
	} {
		got, err := mapText(t, p, "function(doc){ "+source+" }", "", `{"n":1}`)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

// The texts of modules are not parsed by esprima: newer syntax works there, and errors are the
// engine's.
func TestModules(t *testing.T) {
	p := newTestPool(t, Options{})
	got, err := mapText(
		t,
		p,
		"function(doc){ var m = require('views/lib/new'); emit(m.f({}), m.o); }",
		`{"new":"exports.f = d => d?.a ?? 'none'; exports.o = {...{a: 1}};"}`,
		`{}`,
	)
	require.NoError(t, err)
	require.Equal(t, `"none":{"a":1}|`, got)
	got, err = mapText(
		t,
		p,
		"function(doc){ var m = require('views/lib/a'); emit(m.b.name, m.name); }",
		`{"a":"exports.name = 'a'; exports.b = require('./b');","b":"exports.name = 'b' + typeof require('./a').name;"}`,
		`{}`,
	)
	require.NoError(t, err)
	require.Equal(t, `"bundefined":"a"|`, got)
}

func TestFrameTooLarge(t *testing.T) {
	require.Error(t, writeFrame(&bytes.Buffer{}, frameCall, make([]byte, maxFrame)))
}
