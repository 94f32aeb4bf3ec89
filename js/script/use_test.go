package script

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the syntax tree shows of the uses of doc: "complete", or the members with what is done with
// them.
func TestHandlerUses(t *testing.T) {
	for _, c := range [][2]string{
		{``, ""},
		{`dst[meta.id] = doc`, "written"},
		{`dst.x = doc;`, "written"},
		{`if (doc.a) dst[doc.b.c] = doc`, "a b written"},
		{`couchbase.upsert(dst, meta, doc)`, "written"},
		{
			`couchbase.insert(dst, {id: "x"}, doc, {self_recursion: true}); couchbase.replace(dst, doc, doc)`,
			"cas expiry_date id written",
		},
		{`doc.a.b = 1; doc["c d"] = doc.e++; dst.x = doc`, "a c d! e! written"},
		{`log(doc.a, doc?.b, doc?.["c"], doc.d?.e(), typeof doc)`, "a b c d"},
		{`if (!doc || doc === null || doc == null) return doc && doc.a`, "a"},
		{`(() => { for (const x of [1]) log(doc.a + x) })()`, "a"},
		{`delete doc.a; dst.x = doc`, "a- written"},
		{`delete doc.a; doc.b = 1; dst.x = doc`, "a- b! written"},
		{`delete doc.a; doc.a = 1; log(1)`, "a!-"},
		{`helper(doc); other(1, doc)`, "h o written"},
		{`log({a: doc.a, b: [doc.b], ...doc.c}, doc.d ? doc.e : 1)`, "a b c! d e"},
		{`[doc.a] = [1]; ({a: doc.b} = {}); for (doc.c of []);`, "a! b! c!"},
		{`const {a, "b c": d = 1, [1 ? "e" : ""]: f} = doc`, "complete"},
		{`const {a, "b c": d = doc.g, e: {f}} = doc; dst.x = doc`, "a b c e g written"},
		{`log("a" in doc, doc.hasOwnProperty("b")); dst.x = doc`, "a b hasOwnProperty written"},
		{`doc.hasOwnProperty = 1; dst.x = doc`, "complete"},
		{`doc.hasOwnProperty(doc.a)`, "complete"},
		{`doc.hasOwnProperty("a", doc.a)`, "complete"},
		{`meta.x in doc`, "complete"},
		{`doc in doc`, "complete"},
		{`const {a, ...b} = doc`, "complete"},
		{`const [a] = doc`, "complete"},
		{`const {__proto__: a} = doc`, "complete"},
		{`var a; ({a} = doc)`, "complete"},
		{`delete doc.a; doc.a = 1; dst.x = doc`, "complete"},
		{`log(doc)`, "complete"},
		{`doc[meta.id]`, "complete"},
		{`doc["1"] = 1`, "complete"},
		{`doc.__proto__.x`, "complete"},
		{`doc.toJSON = 1`, "complete"},
		{`doc.a()`, "complete"},
		{`doc?.a()`, "complete"},
		{`doc.a?.()`, "complete"},
		{`(doc?.a)()`, "complete"},
		{"doc.a`x`", "complete"},
		{`var x = dst.a = doc`, "complete"},
		{`(() => dst.a = doc)()`, "complete"},
		{`dst.a += doc`, "complete"},
		{`let dst = {}; dst.x = doc`, "complete"},
		{`{ class dst {}; dst.x = doc }`, "complete"},
		{`(function dst() { dst.x = doc })()`, "complete"},
		{`for (let dst of [{}]) dst.x = doc`, "complete"},
		{`try { } catch (dst) { dst.x = doc }`, "complete"},
		{`(({dst}) => { dst.x = doc })({})`, "complete"},
		{`(([dst]) => { dst.x = doc })([])`, "complete"},
		{`(({a: dst = 1}) => { dst.x = doc })({})`, "complete"},
		{`config.x = doc`, "complete"},
		{`api.x = doc`, "complete"},
		{`var couchbase = {upsert(...a) { log(a) }}; couchbase.upsert(dst, meta, doc)`, "complete"},
		{`couchbase.upsert(...[dst], meta, doc)`, "complete"},
		{`couchbase.upsert(doc, meta, meta)`, "complete"},
		{`couchbase.n1qlQuery("x", doc)`, "complete"},
		{`const {upsert} = couchbase; upsert(dst, meta, doc)`, "complete"},
		{`doc = doc.a`, "complete"},
		{`var x = doc`, "complete"},
		{`log({doc})`, "complete"},
		{`for (const k in doc) log(k)`, "complete"},
		{`log(arguments[0])`, "complete"},
		{`eval("doc")`, "complete"},
		{`leaks(doc)`, "complete"},
		{`helper(...[doc], doc)`, "complete"},
		{`var helper = log; helper(doc)`, "complete"},
		{`return doc || meta`, "complete"},
		{`doc == meta.x`, "complete"},
		{`doc.helper(doc)`, "complete"},
	} {
		body, want := c[0], c[1]
		code := "function OnUpdate(doc, meta) {\n" + body + "\n}\n" +
			"function helper(d) { d.h; other(2, d); recursive(d) }\nfunction other(n, d) { dst.x = d; d.o }\n" +
			"function recursive(d) { helper(d) }\nfunction leaks(d) { return d }"
		assert.Equal(t, want, usesText(t, code), body)
	}
	require.Equal(t, "complete", usesText(t, "function OnUpdate(doc) { with ({}) { doc.x } }"))
	require.Equal(t, "complete", usesText(t, "function OnDelete(doc) { doc.x }"))
}

// usesText is what HandlerUses tells of the first parameter of OnUpdate.
func usesText(t *testing.T, code string) string {
	tree, err := parser.ParseFile(nil, "", code, 0)
	require.NoError(t, err, code)
	scope := Scope{Databases: []string{"dst", "src", "api"}, Others: []string{"debug", "config", "api"}}
	u := HandlerUses(tree, scope, "OnUpdate")[0]
	if u.Complete {
		return "complete"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(u.names)) {
		if u.names[name]&changes != 0 {
			name += "!"
		}
		if u.names[strings.TrimSuffix(name, "!")]&deletes != 0 {
			name += "-"
		}
		parts = append(parts, name)
	}
	if u.Written {
		parts = append(parts, "written")
	}
	return strings.Join(parts, " ")
}
