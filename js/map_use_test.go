package js

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestDocumentUse: what a map function makes of a document that has only the members it names is
// what it makes of the whole one, and of which functions that is known.
func TestDocumentUse(t *testing.T) {
	kvtest.Long(t)
	docs := []string{
		`{"_id":"a","_rev":"1-x","type":"post","n":1,"tags":["x","y"],"o":{"a":{"b":2}},"s":"Text","toString":"t"}`,
		`{"_id":"b","_rev":"1-x","type":null,"o":null,"12":1,"hasOwnProperty":false,"big":12345678901234567890}`,
		`{"_id":"c","_rev":"1-x","__proto__":{"type":"post"},"tags":{"length":2},"n":-0.0,"constructor":1}`,
		`{"_id":"d","_rev":"1-x","_deleted":true,"_attachments":{"f":{"length":3}},"_conflicts":["1-y"]}`,
		`{}`,
	}
	for source, partial := range sourcesFor([]string{
		"function(doc){ emit(doc._id, doc.n) }",
		"function(doc){ if (doc.type == 'post' && doc.tags) doc.tags.forEach(" +
			"function (t) { emit([doc.type, t], doc.o) }) }",
		"function(doc){ emit(doc['o'] && doc.o.a.b, typeof doc) }",
		"function(doc){ doc.n = 2; doc.added = 1; delete doc.type; emit(doc.n, [doc.added, doc.type]) }",
		"function(doc){ 'use strict'; doc.n = 2 }",
		"function(doc){ 'use strict'; doc.added = 2 }",
		"function(doc){ emit(doc.hasOwnProperty('type'), 'n' in doc) }",
		"function(doc){ emit(doc.toString, doc.constructor) }",
		"function(doc){ var d = doc.o; for (var k in d) emit(k, d[k]) }",
		"function help(d) { return d.s.toLowerCase() } function(doc){ emit(help(doc)) }",
		"function(d){ emit(d.big, d.missing.x) }",
		"function(doc){ try { doc.missing.x } catch (e) { emit(e.message) } }",
		"function(doc){ emit(1) }",
		"function(){ emit(1) }",
		"function(doc){ emit(doc.tags.length); for (var i in doc.tags) emit(doc.tags[i], i) }",
	}, []string{
		"function(doc){ emit(doc._id, doc) }",
		"function(doc){ for (var k in doc) emit(k, doc[k]) }",
		"function(doc){ emit(Object.keys(doc), JSON.stringify(doc)) }",
		"function(doc){ var d = doc; emit(d.n) }",
		"function(doc){ emit(arguments[0].n) }",
		"function(doc){ eval('emit(doc.n)') }",
		"function(doc){ with (doc) { emit(_id) } }",
		"function(doc){ emit(doc.__proto__ === Object.prototype, doc.n) }",
		"function(doc){ emit('' + doc) }",
		"function(doc){ emit(`${doc}`) }",
		"function(doc){ var k = 'n'; emit(doc[k]) }",
		"function(doc){ emit(doc['12'], doc.n) }",
		"function(doc){ doc.valueOf().n }",
		"function(doc){ if (doc.f) return doc; [doc].map(function (d) { emit(d.s) }) }",
		"function({n, type}){ emit(n, type) }",
		"(doc) => { emit(doc.n) }",
		"var f = function(doc){ emit(doc.n) }; f",
		"function f(d) { emit(d) } (function(doc){ f(doc) })",
		"function f(d) { emit(d.n) } f = function (d) { emit(d) }; (function(doc){ f(doc) })",
	}) {
		w := newWorker(&bytes.Buffer{})
		results := func(whole bool) (all []string) {
			f, err := w.newMapFunction(&mapProgram{maps: []string{source}, root: libRoot(nil)}, 0)
			require.NoError(t, err, source)
			require.Equal(t, partial, !f.use.Complete, source)
			if whole {
				f.use = &script.Use{Complete: true}
			}
			for _, doc := range docs {
				var e encoder
				require.NoError(t, mapDocument(&e, []*mapFunction{f}, []byte(doc)))
				all = append(all, string(e.b))
			}
			return all
		}
		require.Equal(t, results(true), results(false), source)
	}
}

// sourcesFor are sources for which a member object does, and others.
func sourcesFor(yes, no []string) map[string]bool {
	all := map[string]bool{}
	for _, s := range yes {
		all[s] = true
	}
	for _, s := range no {
		all[s] = false
	}
	return all
}

// TestDeepDocument: a document that no function can be shown has no rows, whether or not what is
// deep is named.
func TestDeepDocument(t *testing.T) {
	kvtest.Long(t)
	deep := `{"_id":"a","n":1,"deep":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`
	rows, err := mapText(t, newTestPool(t, Options{Workers: 1}), "function(doc){ emit(doc.n) }", "", deep)
	require.NoError(t, err)
	require.Contains(t, rows, "too much recursion")
}
