package js

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What the syntax tree shows of the uses of doc: "complete", or the members with what is done with them.
func TestEventUses(t *testing.T) {
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
		program, err := compileEvents(NewEventProgram(eventOptions(code)).encoded)
		require.NoError(t, err)
		require.Nil(t, program.refused, body)
		assert.Equal(t, want, usesText(&program.uses[0]), body)
	}
	sloppy := EventOptions{Code: "function OnUpdate(doc) { with ({}) { doc.x } }"}
	program, err := compileEvents(NewEventProgram(sloppy).encoded)
	require.NoError(t, err)
	require.Equal(t, "complete", usesText(&program.uses[0]))
}

func usesText(u *paramUse) string {
	if u.complete {
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
	if u.written {
		parts = append(parts, "written")
	}
	return strings.Join(parts, " ")
}

// partialHandlers are bodies of OnUpdate whose documents are partial.
var partialHandlers = []string{
	`dst[meta.id] = doc`,
	`dst[meta.id] = doc; dst.again = doc; log(doc.a)`,
	`couchbase.upsert(dst, meta, doc)`,
	`log(couchbase.insert(dst, {id: "x"}, doc).success, meta.cas, meta.seq, meta.keyspace)`,
	`log(doc.a, doc.b, typeof doc.c, doc?.["d e"], doc.toString, doc.constructor === Object, doc._id)`,
	`log(crc64(doc.a), JSON.stringify(doc.b), Array.isArray(doc.c), Object.isFrozen(doc.c)); dst.x = doc`,
	`doc.a = meta.id; doc.new = {x: [1, undefined]}; doc.b = undefined; dst.x = doc`,
	`doc.new = 1; delete doc.a; delete doc.missing; doc.c = () => 1; dst.x = doc; doc.c = 2; dst.y = doc`,
	`if (doc.a) doc.a.added = 1; if (Array.isArray(doc.b)) doc.b.push(doc.a, "\ud83e"); dst.x = doc`,
	`doc.z = {toJSON(key) { doc.a = key; doc.later = 1; return [key] }}; dst.x = doc; dst.y = doc`,
	`doc.z = {get a() { throw new TypeError("x") }}; try { dst.x = doc } catch (e) { log(e) } dst.y = doc.a ?? 0`,
	`doc.z = doc.a; if (doc.z) doc.z.self = doc.z; dst.x = doc`,
	`doc.n++; doc.a += 1; [doc.b, doc.c] = [1, 2]; ({x: doc.y} = {x: 3}); dst.x = doc`,
	`doc.toString = 1; doc.constructor = 2; doc.valueOf = 3; dst.x = doc`,
	`doc["_id"] = 7; doc._rev = doc._id; dst.x = doc`,
	`doc.n = doc.n + 9007199254740993; dst.x = doc`,
	`doc["é\n\u007f"] = doc["\u0001"]; doc["\u0001"] = 1; doc[""] = 2; dst.x = doc`,
	`helper(doc, meta); dst.x = doc`,
	`const {a, b: [c] = [7], "d e": d = 1} = doc; if (c) c.x = 1; log(a, c, d, "x" in doc, doc.hasOwnProperty("n")); dst.x = doc`,
	`try { src.x = doc } catch (e) { log(e) } throw Error(doc.a)`,
	`dst.x = doc; log(JSON.stringify(dst.x), dst.x === dst.x)`,
}

// partialDocs are documents with what JSON.parse and JSON.stringify do not leave as it is.
var partialDocs = []string{
	`{}`, `{"a":1}`, `{"a":{"x":1,"y":[]},"b":[1,{"c":[2]}],"c":"t","d e":null}`, `{"a":{"2":1,"1":2},"b":3}`, `{"b":1,"1":2,"a":3}`,
	`{"a":1.0,"b":1e21,"c":1e-7,"n":0.1,"z":-0.0,"d":100.5,"e":0.0001,"f":123456789012345.67,"g":0.30000000000000004,"h":-0}`,
	`{"a":1.0,"b":[12.0,{"c":-0.0,"n":0.05}],"x":1.0e21,"y":1.0e-7}`, `{"x":1.0,"y":12345678901234567890}`, `{"x":[1.0,"\\u0001"]}`,
	`{"x":1.0,"y":{"1":2.0}}`, `{"x":1234567890123456.0,"n":12345678901234567.0}`,
	`{"a":9007199254740991,"b":9007199254740992}`, `{"b":9007199254740991,"n":-9007199254740991}`, `{"x":12345678901234567890}`, `{"x":123456789012345678}`,
	`{"a":1,"b":2,"a":3}`, `{"x":{"a":1,"b":2,"a":3}}`, `{"a":"\u0001\u001f\n\"\\\/é🪀\u2028"}`, `{"x":"\u0001"}`, "{\"x\":\"\\n\\\\u0001\u007f\ufffd\ufeff\"}",
	`{"__proto__":{"toJSON":1},"constructor":2,"toString":3,"toJSON":4,"hasOwnProperty":5}`, ` { "a" : 1 , "b" : [ 2 ] } `,
	`{"\u0001":1,"a":2}`, `{"é\n\u007f":1,"":2,"\"":3}`, `{"_id":"x","a":{"_id":1},"_rev":"1-a"}`, `{"x":{"_rev":1}}`, `{"$value":1}`, `{"$value":{"a":1,"b":2.5}}`,
	`{"$binary":"YWJj"}`, `{"$binary":"!"}`, `{"$binary":"YWJj","a":"b"}`, `{"$value":1,"a":2}`, `{"$value":{"$value":{"a":1}}}`, `{"new":0,"a":0,"z":0,"later":0,"y":0}`, `{"\ud83e\udd8a":"\ud83e\udd8a"}`, `[1]`, `1`, `null`, `{"a":`,
	`{"a":{"length":2},"b":"x","c":[[]],"id":"y","cas":3}`, `{"x":[` + strings.Repeat(`1,`, 11000) + `[]]}`,
}

// deepDocs are nested as deeply as documents may be, and one more.
var deepDocs = []string{
	`{"a":` + strings.Repeat(`[`, 9999) + strings.Repeat(`]`, 9999) + `}`,
	`{"x":` + strings.Repeat(`[`, 10000) + strings.Repeat(`]`, 10000) + `}`,
}

// twice runs an event with a program as it is, and with one whose documents are all complete.
type twice struct {
	t       require.TestingT
	batches [2]*eventBatch
}

func newTwice(t require.TestingT, body string) *twice {
	code := "function OnUpdate(doc, meta) {\n" + body + "\n}\n" +
		"function helper(d, m) { d.helped = m.id; inner(d); }\nfunction inner(d) { d.a; dst.inner = d }"
	p := &twice{t: t}
	for i := range p.batches {
		program, err := compileEvents(NewEventProgram(eventOptions(code)).encoded)
		require.NoError(t, err)
		require.Nil(t, program.refused, body)
		require.False(t, program.uses[0].complete, body)
		if i == 1 {
			program.uses = [2]paramUse{{complete: true, mentioned: true}, {complete: true, mentioned: true}}
		}
		p.batches[i] = newEventBatch(newWorker(&bytes.Buffer{}), program, time.Minute)
		p.batches[i].docs[docKey{"d", "x"}] = &eventDoc{} // so that nobody is asked
	}
	return p
}

func (p *twice) compare(what, doc string, meta ...string) {
	meta = append(meta, `{"id":"m","cas":"1-a","seq":5,"expiry_date":7,"keyspace":{"bucket_name":"b"}}`)
	var got [2]string
	for i, b := range p.batches {
		event := Event{Kind: EventUpdate, Doc: []byte(doc), Meta: []byte(meta[0])}
		r, refused, err := b.invoke(&event)
		require.NoError(p.t, err)
		require.Nil(p.t, refused)
		counters, err := json.Marshal(r.Counters)
		require.NoError(p.t, err)
		place := ""
		if r.Failure != nil {
			place = r.Failure.Stack
		}
		got[i] = fmt.Sprintf("%s\n%s\n%s", told(r), counters, place)
		b.docs[docKey{"d", "x"}] = &eventDoc{}
	}
	require.Equal(p.t, got[1], got[0], "%s\n%s", what, cutText(doc, 200))
}

// No handler sees whether a document is partial.
func TestEventPartial(t *testing.T) {
	for i, body := range partialHandlers {
		p := newTwice(t, body)
		for _, doc := range partialDocs {
			p.compare(body, doc)
		}
		if i == 0 || i == 4 { // JSON.stringify takes long
			p.compare(body, deepDocs[0])
			p.compare(body, deepDocs[1])
		}
		p.compare(body, `{"a":1}`, `{"id":"q"}`)
		p.compare(body, `{"a":1}`, `null`)
		p.compare(body, `{"a":1}`, ``)
	}
}

// jsonText makes arbitrary JSON, often in the form in which documents are stored.
func jsonText(depth int) *rapid.Generator[string] {
	name := rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "c", "n", "z", "new", "later", "toJSON", "__proto__", "x", "1", "0", "10", "01", "_id", "d e", "$value"}),
		rapid.String(),
	)
	text := rapid.Map(name, func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	})
	scalar := rapid.OneOf(
		text,
		rapid.SampledFrom([]string{
			"true", "false", "null", "0", "-0", "1.0", "1e3", "1E-7", "0.1", "-1.50", "5e-324", "1e308", "0.00001",
		}),
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.Float64(), func(f float64) string { b, _ := json.Marshal(f); return string(b) }),
	)
	if depth == 0 {
		return scalar
	}
	join := func(open, end string) func([]string) string {
		return func(items []string) string { return open + strings.Join(items, ",") + end }
	}
	inner := rapid.Deferred(func() *rapid.Generator[string] { return jsonText(depth - 1) })
	member := rapid.Custom(func(t *rapid.T) string { return text.Draw(t, "name") + ":" + inner.Draw(t, "value") })
	return rapid.OneOf(
		scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 5), join("[", "]")),
		rapid.Map(rapid.SliceOfN(member, 0, 8), join("{", "}")),
	)
}

func TestEventPartialOfAnyDocument(t *testing.T) {
	pairs := make([]*twice, len(partialHandlers))
	for i, body := range partialHandlers {
		pairs[i] = newTwice(t, body)
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(pairs)-1).Draw(t, "handler")
		pairs[i].t = t
		pairs[i].compare(partialHandlers[i], jsonText(3).Draw(t, "doc"))
	})
}

// FuzzEventPartial compares a few handlers with arbitrary documents.
func FuzzEventPartial(f *testing.F) {
	for i, doc := range partialDocs {
		f.Add(i%len(partialHandlers), []byte(doc))
	}
	pairs := map[int]*twice{}
	f.Fuzz(func(t *testing.T, handler int, doc []byte) {
		if handler < 0 || handler >= len(partialHandlers) || len(doc) > 2000 {
			return
		}
		if pairs[handler] == nil {
			pairs[handler] = newTwice(t, partialHandlers[handler])
		}
		pairs[handler].t = t
		pairs[handler].compare(partialHandlers[handler], string(doc))
	})
}

func TestLongNumbers(t *testing.T) {
	for _, text := range []string{"", "1", strings.Repeat("1", 15), strings.Repeat("123456789012345,", 5)} {
		require.False(t, hasLongNumber([]byte(text)), text)
	}
	for before := range 40 {
		for after := range 20 {
			around := func(digits int) []byte {
				text := strings.Repeat("x", before) + strings.Repeat("7", digits) + strings.Repeat("y", after)
				return []byte(text)
			}
			require.False(t, hasLongNumber(around(15)), "%d %d", before, after)
			require.True(t, hasLongNumber(around(16)), "%d %d", before, after)
		}
	}
}
