package eventing

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage/docread"
)

// revOf is the revision of a document that is there.
func (n *node) revOf(database, id string) string {
	n.t.Helper()
	doc, err := n.db(database).Open(n.t.Context(), id, docread.OpenOptions{})
	require.NoError(n.t, err, id)
	return doc.Rev.String()
}

// attach writes a document with two attachments.
func (n *node) attach(database, id string) {
	n.t.Helper()
	d := n.db(database)
	p, err := d.Parser(n.t.Context(), false)
	require.NoError(n.t, err)
	doc, err := p.ParseText(fmt.Appendf(nil, `{"_id":%q,"count":3,"_attachments":{
		"b":{"content_type":"text/plain","data":"YWJj"},"a":{"content_type":"image/png","data":""}}}`, id))
	require.NoError(n.t, err)
	_, err = d.Write(n.t.Context(), doc, documents.WriteOptions{})
	require.NoError(n.t, err)
}

// branch gives a document another leaf than the one that wins.
func (n *node) branch(database, id string, deleted bool) {
	n.t.Helper()
	d := n.db(database)
	p, err := d.Parser(n.t.Context(), true)
	require.NoError(n.t, err)
	doc, err := p.ParseText(fmt.Appendf(nil,
		`{"_id":%q,"_rev":"1-00000000000000000000000000000000","_deleted":%t}`, id, deleted))
	require.NoError(n.t, err)
	_, err = d.Write(n.t.Context(), doc, documents.WriteOptions{Replicated: true})
	require.NoError(n.t, err)
}

// casWays are what handlers do with a document x; the value of each is the cas that it was told
// last.
var casWays = map[string]string{
	"insert":           `couchbase.insert(dst, x, {v: 1}).meta.cas`,
	"upsert":           `couchbase.upsert(dst, x, {v: [1.5, -0.0, 1e300, "ü\u0000"], o: {b: {}, a: null}}).meta.cas`,
	"upsert a number":  `couchbase.upsert(dst, x, 12.25).meta.cas`,
	"upsert bytes":     `couchbase.upsert(dst, x, new ArrayBuffer(5)).meta.cas`,
	"upsert and touch": `(couchbase.upsert(dst, x, {}), couchbase.touch(dst, later).meta.cas)`,
	"replace":          `couchbase.replace(dst, x, {v: 2}).meta.cas`,
	"mutateIn":         `couchbase.mutateIn(dst, x, [couchbase.MutateInSpec.upsert("m", {n: 1})]).meta.cas`,
	"increment":        `couchbase.increment(dst, x).meta.cas`,
	"decrement":        `couchbase.decrement(dst, x).meta.cas`,
	"touch":            `couchbase.touch(dst, later).meta.cas`,
	"assignment":       `(dst[x.id] = {v: 3}, couchbase.get(dst, x).meta.cas)`,
	"twice":            `(couchbase.upsert(dst, x, {v: 1}).meta.cas, couchbase.upsert(dst, x, {v: 2}).meta.cas)`,
	"asked in between": `(dst[x.id] = {v: 1}, couchbase.replace(dst, couchbase.get(dst, x).meta, {v: 2}).meta.cas)`,
	"made again":       `(dst[x.id] = {}, delete dst[x.id], couchbase.insert(dst, x, {v: 4}).meta.cas)`,
	"after a query": `(dst[x.id] = {v: 5}, N1QL("UPDATE dst SET w = 1 WHERE v = 9").close(),
		couchbase.get(dst, x).meta.cas)`,
	"printed": `JSON.parse(JSON.stringify(couchbase.upsert(dst, x, {v: 6}))).meta.cas`,
}

// TestCasIsTheRevision: the cas that a write answers is the revision that the document has when all
// is stored: what couchbase.get shows later, and clients as _rev. It is so over whatever was there
// before.
func TestCasIsTheRevision(t *testing.T) {
	n := newAlone(t, "src", "dst")
	before := map[string]func(id string){
		"nothing":            func(string) {},
		"a document":         func(id string) { n.put("dst", id, `{"v":0,"count":1}`) },
		"attachments":        func(id string) { n.attach("dst", id) },
		"a tombstone":        func(id string) { n.put("dst", id, `{}`); n.put("dst", id, "") },
		"attachments before": func(id string) { n.attach("dst", id); n.put("dst", id, "") },
		"a conflict":         func(id string) { n.put("dst", id, `{"v":1}`); n.branch("dst", id, false) },
		"two tombstones": func(id string) {
			n.put("dst", id, `{}`)
			n.put("dst", id, "")
			n.branch("dst", id, true)
		},
	}
	code := "function OnUpdate(doc, meta) {\n" +
		"var x = {id: doc.x}, later = {id: doc.x, expiry_date: new Date(Date.now() + 3600000)}, cas;\n" +
		"try { switch (doc.way) {\n" +
		"case 'get': cas = couchbase.get(dst, x).meta.cas; break;\n"
	for way, expression := range casWays {
		code += fmt.Sprintf("case %q: cas = %s; break;\n", way, expression)
	}
	code += `} } catch (e) { if (!(e instanceof TypeError)) throw e; }
dst["told:" + meta.id] = {cas: cas}; }` // a failure has no meta
	n.define("f", code, "", "+dst=dst")
	n.deploy("f")
	told := func(event, x, way string) (cas string) {
		n.put("src", event, fmt.Sprintf(`{"x":%q,"way":%q}`, x, way))
		n.eventually(func() bool { return n.get("dst", "told:"+event) != "" }, event+" is not handled")
		var answer struct{ Cas string }
		require.NoError(t, json.Unmarshal([]byte(n.get("dst", "told:"+event)), &answer))
		return answer.Cas
	}
	refused := 0
	for was, prepare := range before {
		for way := range casWays {
			id := was + ", " + way
			prepare(id)
			cas := told(id, id, way)
			if cas == "" {
				refused++
				continue
			}
			require.Equal(t, n.revOf("dst", id), cas, id)
			require.Equal(t, cas, told("get "+id, id, "get"), id)
		}
	}
	// Of what is there insert is refused; of what is not, replace, mutateIn and touch.
	require.Equal(t, 3+4*3, refused)
	require.Zero(t, n.stat("f", conflicts))
}

// TestCasInATimer: a timer replaces a document with the cas that the handler was told when it
// wrote, unless the document was written or deleted since.
func TestCasInATimer(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	var made = couchbase.upsert(dst, {id: "doc:" + meta.id}, {v: doc.v});
	createTimer(late, new Date(), meta.id, {meta: made.meta, id: meta.id});
	if (doc.again) dst["doc:" + meta.id] = {v: "again"};
	if (doc.gone) delete dst["doc:" + meta.id];
}
function late(context) {
	var r = couchbase.replace(dst, context.meta, {v: "late"});
	dst["told:" + context.id] = {success: r.success, error: r.success ? null : r.error.name};
}`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "a", `{"v":1}`)
	n.becomes("dst", "told:a", `{"success":true,"error":null}`)
	require.Equal(t, `{"v":"late"}`, n.get("dst", "doc:a"))
	n.put("src", "b", `{"v":1,"again":true}`)
	n.becomes("dst", "told:b", `{"success":false,"error":"LCB_KEY_EEXISTS"}`)
	require.Equal(t, `{"v":"again"}`, n.get("dst", "doc:b"))
	n.attach("dst", "doc:c")
	n.put("src", "c", `{"v":1,"gone":true}`)
	n.becomes("dst", "told:c", `{"success":false,"error":"LCB_KEY_ENOENT"}`)
}

// TestCasOverChanges: where a document changes after the handler was told the revision of its
// write, the handler runs again: also where it is gone again, which no other check of the commit
// sees.
func TestCasOverChanges(t *testing.T) {
	for change, make := range map[string]func(n *node){
		"written":          func(n *node) { n.put("dst", "x", `{"other":1}`) },
		"made and deleted": func(n *node) { n.put("dst", "x", `{"other":1}`); n.put("dst", "x", "") },
	} {
		t.Run(change, func(t *testing.T) {
			n := newAlone(t, "src", "dst")
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if requests.Add(1) == 1 {
					make(n)
				}
			}))
			t.Cleanup(server.Close)
			n.defineCurl(`
function OnUpdate(doc, meta) {
	var cas = couchbase.upsert(dst, {id: "x"}, {v: 1}).meta.cas;
	curl("GET", api);
	dst["told"] = {cas: cas};
}`, server.URL, `{}`)
			n.put("src", "a", `{}`)
			n.eventually(func() bool { return n.get("dst", "told") != "" }, "nothing is told")
			require.Equal(t, fmt.Sprintf(`{"cas":%q}`, n.revOf("dst", "x")), n.get("dst", "told"))
			require.EqualValues(t, 1, n.stat("f", conflicts))
			rev, err := compat.ParseRev(n.revOf("dst", "x"))
			require.NoError(t, err)
			require.Greater(t, rev.Pos, int64(1))
		})
	}
}

// TestPartsKeepTheStoredText: what a handler does to a part of a document leaves the stored text of
// the rest as it is.
func TestPartsKeepTheStoredText(t *testing.T) {
	n := newAlone(t, "src", "dst")
	const rest = `"9":1.0,"1":12345678901234567890,"e":1.0e+23,"a":{"z":-0.0,"b":[1.50,2]}`
	n.put("dst", "a", `{`+rest+`}`)
	n.define("f", `function OnUpdate(doc, meta) {
	couchbase.mutateIn(dst, {id: "a"}, [couchbase.MutateInSpec.upsert("new", doc.n)]);
	couchbase.increment(dst, {id: "a"});
	dst.done = {};
}`, "", "+dst=dst")
	n.deploy("f")
	before := n.get("dst", "a")
	require.Contains(t, before, "12345678901234567890")
	n.put("src", "x", `{"n":1}`)
	n.becomes("dst", "done", `{}`)
	require.Equal(t, strings.TrimSuffix(before, "}")+`,"new":1,"count":1}`, n.get("dst", "a"))
}
