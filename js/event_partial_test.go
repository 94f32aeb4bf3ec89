package js

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// A name that means a database is none where a constant or a URL has it, too.
func TestEventUsesOfBindings(t *testing.T) {
	for name, change := range map[string]func(o *EventOptions){
		"":          func(*EventOptions) {},
		"no alias":  func(o *EventOptions) { o.Bindings = o.Bindings[1:] },
		"constant":  func(o *EventOptions) { o.Constants = append(o.Constants, EventConstant{"dst", "{}"}) },
		"URL":       func(o *EventOptions) { o.Curls = append(o.Curls, "dst") },
		"URL alone": func(o *EventOptions) { o.Bindings, o.Curls = nil, []string{"dst"} },
	} {
		o := eventOptions("function OnUpdate(doc, meta) { dst.x = doc }")
		change(&o)
		program, err := compileEvents(NewEventProgram(o).encoded)
		require.NoError(t, err)
		require.Nil(t, program.refused)
		require.Equal(t, name != "", program.uses[0].Complete, name)
	}
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
		require.False(t, program.uses[0].Complete, body)
		if i == 1 {
			program.uses = [2]script.Use{{Complete: true, Mentioned: true}, {Complete: true, Mentioned: true}}
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
	kvtest.Long(t)
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
