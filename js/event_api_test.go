package js

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// handlerCase is a body of OnUpdate, and what comes of it.
type handlerCase struct{ name, body, want string }

func runCases(t *testing.T, prepare func(h *eventHost), cases []handlerCase, change ...func(o *EventOptions)) {
	p := newTestPool(t, Options{})
	for _, c := range cases {
		host := newEventHost()
		if prepare != nil {
			prepare(host)
		}
		assert.Equal(t, c.want, told(runBody(t, p, host, c.body, change...)), c.name)
	}
}

// Section 3.3: aliases of databases.
func TestEventAliases(t *testing.T) {
	kvtest.Long(t)
	runCases(t, func(h *eventHost) {
		h.put(0, "there", `{"a":1}`)
		h.put(0, "scalar", `{"$value":[1,2]}`)
		h.put(1, "there", `{"b":2}`)
	}, []handlerCase{
		{"get", `log(dst.there, src["there"], dst["gone"])`, `{"a":1} {"b":2} undefined`},
		{"what is read is a copy", `dst.there.a = 5; log(dst.there.a)`, `1`},
		{"set", `dst[meta.id] = doc`, `set d/m1 {"n":1,"list":[1,2]}`},
		{"set and get", `dst.x = {a: 1}; dst.x = {a: 2}; log(dst.x)`, `{"a":2} | set d/x {"a":1} | set d/x {"a":2}`},
		{"a value is taken as it is", `var o = {a: 1}; dst.x = o; o.a = 2; log(dst.x)`, `{"a":1} | set d/x {"a":1}`},
		{"delete", `delete dst.there; log(dst.there)`, `undefined | delete d/there`},
		{"delete of nothing", `log(delete dst.gone)`, `true | delete d/gone`},
		{"numbers are keys", `dst[5] = {a: 1}; log(dst["5"], dst[5]); delete dst[5]`,
			`{"a":1} {"a":1} | set d/5 {"a":1} | delete d/5`},
		{"a value that is no object", `log(dst.scalar); dst.x = "text"; log(dst.x)`,
			`[1,2] | "text" | set d/x {"$value":"text"}`},
		{"null", `dst.x = null; log(dst.x)`, `null | set d/x {"$value":null}`},
		{"identity is dropped", `dst.x = {_id: "a", _rev: "1-a", b: {_id: 1}}`, `set d/x {"b":{"_id":1}}`},
		{"text", `log("" + dst, JSON.stringify(dst), typeof dst)`, `"[object Object]" "{}" "object"`},
		{"in", `log("there" in dst, "gone" in dst, Object.keys(dst))`, `true false []`},
		{"set undefined", `dst.x = undefined`, `!EventingError: Invalid data type for value`},
		{"set a function", `dst.x = OnUpdate`, `!EventingError: Invalid data type for value`},
		{"set a symbol", `dst.x = Symbol("a")`, `!EventingError: Invalid data type for value`},
		{"set bytes", `dst.x = new ArrayBuffer(2)`, `set d/x {"$binary":"AAA="}`},
		{"set what cannot be JSON", `var a = {}; a.a = a; try { dst.x = a } catch (e) { log(e.name) }`, `"TypeError"`},
		{"key undefined", `dst[doc.gone] = {}`, `!EventingError: Invalid data type for key`},
		{"get key undefined", `dst[doc.gone]`, `!EventingError: Invalid data type for key`},
		{"key function", `dst[OnUpdate] = {}`, `!EventingError: Invalid data type for key`},
		{"key symbol", `dst[Symbol("a")] = {}`, `!EventingError: Invalid data type for key`},
		{"get key symbol", `dst[Symbol("a")]`, `!EventingError: Invalid data type for key`},
		{"delete key symbol", `delete dst[Symbol("a")]`, `!EventingError: Invalid data type for key`},
		{"key empty", `dst[""] = {}`, `!EventingError: Invalid data type for key`},
		{"set read only", `src.x = {}`, `!EventingError: Writing to source bucket is forbidden`},
		{"delete read only", `delete src.x`, `!EventingError: Delete from source bucket is forbidden`},
		{"exceptions are caught", `try { src.x = {} } catch (e) { log(e instanceof EventingError) } dst.y = {}`,
			`true | set d/y {}`},
		{"constants", `log(debug, config)`, `true {"limits":[1,2]}`},
	})
	runCases(t, nil, []handlerCase{
		{"old get", `try { dst.gone } catch (e) { log(e instanceof KVError, e.message.name) }`,
			`true "LCB_KEY_ENOENT"`},
		{"old delete", `try { delete dst.gone } catch (e) { log(e.message.code) }`, `1`},
	}, func(o *EventOptions) { o.Compatibility = "6.0.0" })
}

// Bytes are documents, too; functions of before version 6.6.2 are not called for them.
func TestEventBinary(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	host := newEventHost()
	host.put(0, "stored", `{"$binary":"AQI="}`)
	host.put(0, "no", `{"$binary":"?"}`)
	code := `function OnUpdate(doc, meta) {
  log(doc instanceof ArrayBuffer, meta.datatype, String(new Uint8Array(doc)));
  dst.copy = doc;
  var r = couchbase.get(dst, {id: "copy"});
  log(r.doc instanceof ArrayBuffer, r.meta.datatype, r.doc.byteLength, dst.copy === r.doc);
  log(String(new Uint8Array(dst.stored)), couchbase.get(dst, {id: "stored"}).meta.datatype, dst.no);
}`
	o := eventOptions(code)
	event := Event{
		Kind: EventUpdate, Doc: []byte(`{"$binary":"AQACAw=="}`), Meta: []byte(`{"id":"m","datatype":"json"}`),
	}
	results, err := runTestEvents(t, p, o, host, []Event{event})
	require.NoError(t, err)
	require.Equal(t, `true "binary" "1,0,2,3" | true "binary" 4 false | "1,2" "binary" {"$binary":"?"} | `+
		`set d/copy {"$binary":"AQACAw=="}`, told(results[0]))
	o.Compatibility = "6.5.0"
	results, err = runTestEvents(t, p, o, host, []Event{event})
	require.NoError(t, err)
	require.Equal(t, "skipped", told(results[0]))
}

// Section 3.4: operations of couchbase.
func TestEventOperations(t *testing.T) {
	kvtest.Long(t)
	const notFound = `{"success":false,"error":{"code":1,"name":"LCB_KEY_ENOENT",` +
		`"desc":"The document key does not exist on the server","key_not_found":true}}`
	const exists = `{"success":false,"error":{"code":2,"name":"LCB_KEY_EEXISTS",` +
		`"desc":"The document key already exists in the server.","key_already_exists":true}}`
	const mismatch = `{"success":false,"error":{"code":2,"name":"LCB_KEY_EEXISTS",` +
		`"desc":"The document key exists with a CAS value different than specified","cas_mismatch":true}}`
	const notNumber = `{"success":false,"error":{"code":6,"name":"LCB_DELTA_BADVAL",` +
		`"desc":"The value in the server is not a valid number","not_number":true}}`
	const written = `{"success":true,"meta":{"id":"x","cas":"told-1"}}`
	runCases(t, func(h *eventHost) {
		h.put(0, "a", `{"a":1}`)
		h.put(0, "five", `{"$value":5}`)
		h.put(0, "count", `{"count":7}`)
		h.put(0, "text", `{"count":"7"}`)
		h.put(0, "list", `{"$value":[]}`)
		h.put(0, "bytes", `{"$binary":"AQACAw=="}`)
		h.docs[0]["dated"] = EventDoc{
			Exists: true, Body: []byte(`{"d":12345678901234567890}`), Cas: "2-b", Expiry: 86400000,
		}
	}, []handlerCase{
		{"get", `log(couchbase.get(dst, {id: "a"}), couchbase.get(dst, {id: "x"}, {cache: true}))`,
			`{"success":true,"meta":{"id":"a","cas":"1-a","datatype":"json"},"doc":{"a":1}} ` + notFound},
		{"get expiry", `var r = couchbase.get(dst, {id: "dated"}); log(r.meta.expiry_date instanceof Date, r.meta.expiry_date)`,
			`true "1970-01-02T00:00:00.000Z"`},
		{"insert", `log(couchbase.insert(dst, {id: "x"}, {b: 1}), couchbase.insert(dst, {id: "x"}, {b: 2}))`,
			written + " " + exists + ` | set d/x {"b":1}`},
		{"insert until", `couchbase.insert(dst, {id: "x", expiry_date: new Date(5000)}, {}, {self_recursion: true})`,
			`set d/x {} until 5000 recursive`},
		{"upsert", `log(couchbase.upsert(dst, {id: "x", cas: "wrong"}, 5)); log(couchbase.upsert(dst, {id: "dated"}, {}).success)`,
			written + ` | true | set d/x {"$value":5} | set d/dated {}`},
		{"replace", `log(couchbase.replace(dst, {id: "x"}, {})); log(couchbase.replace(dst, {id: "a", cas: "2-a"}, {}));
log(couchbase.replace(dst, {id: "a", cas: "1-a"}, {b: 1}).success)`, notFound + " | " + mismatch + ` | true | set d/a {"b":1}`},
		{"cas of what is not committed", `var r = couchbase.insert(dst, {id: "x"}, {});
log(couchbase.replace(dst, r.meta, {n: 1}).success, couchbase.replace(dst, r.meta, {}).error.cas_mismatch)`,
			`true true | set d/x {} | set d/x {"n":1}`},
		{"delete", `log(couchbase.delete(dst, {id: "x"}), couchbase.delete(dst, {id: "a", cas: "x"}).error.cas_mismatch);
log(couchbase.delete(dst, {id: "a"}), couchbase.get(dst, {id: "a"}).success, couchbase.insert(dst, {id: "a"}, {}).success)`,
			notFound + ` true | {"success":true,"meta":{"id":"a","cas":"1-a"}} false true | delete d/a | set d/a {}`},
		{"increment", `log(couchbase.increment(dst, {id: "x"}).doc, couchbase.increment(dst, {id: "x"}).doc, dst.x)`,
			`{"count":1} {"count":2} {"count":2} | set d/x {"count":1} | set d/x {"count":2}`},
		{"increment beside others", `log(couchbase.increment(dst, {id: "a"}).doc, couchbase.increment(dst, {id: "a"}).doc)`,
			`{"count":1} {"count":2} | set d/a {"a":1,"count":1} | set d/a {"a":1,"count":2}`},
		{"increment what is there", `log(couchbase.increment(dst, {id: "five"}).doc, couchbase.increment(dst, {id: "count"}).doc)`,
			`{"count":6} {"count":8} | set d/five {"$value":6} | set d/count {"count":8}`},
		{"decrement", `log(couchbase.decrement(dst, {id: "five"}).doc, couchbase.decrement(dst, {id: "x"}).doc)`,
			`{"count":4} {"count":-1} | set d/five {"$value":4} | set d/x {"count":-1}`},
		{"not a number", `log(couchbase.increment(dst, {id: "text"}))`, notNumber},
		{"no member count",
			`log(couchbase.increment(dst, {id: "bytes"}).error.not_number, couchbase.increment(dst, {id: "list"}))`,
			"true " + notNumber},
		{"part of bytes", `couchbase.mutateIn(dst, {id: "bytes"}, [couchbase.MutateInSpec.upsert("a", 1)])`,
			`!KVError: {"code":193,"name":"LCB_ERR_SUBDOC_PATH_MISMATCH",` +
				`"desc":"The document has a value of another kind where the path leads"}`},
		{"touch", `log(couchbase.touch(dst, {id: "x", expiry_date: new Date(1)}).error.key_not_found);
log(couchbase.touch(dst, {id: "a", expiry_date: new Date(9000)}))`,
			`true | {"success":true,"meta":{"id":"a","cas":"told-1","expiry_date":"1970-01-01T00:00:09.000Z"}}` +
				` | set d/a {"a":1} until 9000`},
		{"touch keeps all digits", `couchbase.touch(dst, {id: "dated"})`, `set d/dated {"d":12345678901234567890}`},
		{"services that are not there", `try { couchbase.analyticsQuery("x") } catch (e) { log(e.name) }
try { couchbase.searchQuery("x") } catch (e) { log(e.name) }
try { ANALYTICS("x") } catch (e) { log(e) }`,
			`"EventingError" | "EventingError" | "EventingError: ANALYTICS is not supported: there is no such service"`},
		{"read only", `couchbase.upsert(src, {id: "x"}, {})`, `!EventingError: Writing to source bucket is forbidden`},
		{"delete read only", `couchbase.delete(src, {id: "x"})`, `!EventingError: Delete from source bucket is forbidden`},
	})
}

// Arguments that no document could mend are TypeErrors, and counted.
func TestEventOperationArguments(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	cases := []string{
		"get()", "get(dst)", `get({}, {id: "a"})`, `get("dst", {id: "a"})`, "get(dst, 5)", "get(dst, null)",
		"get(dst, {})", `get(dst, {id: ""})`, "get(dst, {id: 5})", `get(dst, {id: "a", cas: 5})`,
		`insert(dst, {id: "a"})`, `insert(dst, {id: "a"}, undefined)`, `upsert(dst, {id: "a"}, function () {})`,
		`replace(dst, {id: "a"}, Symbol())`, `insert(dst, {id: "a", expiry_date: 5}, {})`,
		`insert(dst, {id: "a", expiry_date: new Date(NaN)}, {})`, `touch(dst, {id: "a", expiry_date: "x"})`,
		`mutateIn(dst, {id: "a"})`, `mutateIn(dst, {id: "a"}, {})`, `mutateIn(dst, {id: "a"}, [{op: "insert"}])`,
		`lookupIn(dst, {id: "a"}, [couchbase.MutateInSpec.remove("a")])`, `MutateInSpec.insert("a")`,
		`MutateInSpec.insert(5, 5)`, `MutateInSpec.insert("a", 5, {xattrs: true})`, `LookupInSpec.get()`,
	}
	for _, c := range cases {
		r := runBody(t, p, newEventHost(), "couchbase."+c)
		require.Equal(t, EventFailed, r.Outcome, c)
		require.Equal(t, "TypeError", r.Failure.Name, c)
		require.Equal(t, 2, r.Failure.Line, c)
		if !strings.Contains(c, "Spec.") || strings.Contains(c, "lookupIn") {
			require.Equal(t, map[string]int64{"bucket_op_exception_count": 1}, r.Counters, c)
		}
	}
}

// Parts of documents.
func TestEventSubdocuments(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	const doc = `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4}`
	for _, c := range []struct{ specs, want string }{
		{`insert("n", 1)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4,"n":1}`},
		{`insert("a.b[1].e", [3])`, `{"a":{"b":[1,{"c":2,"e":[3]}],"d":null},"list":[1,2],"x.y":3,"":4}`},
		{`insert("list", 1)`, "field_already_exists"},
		{`insert("p.q", 1)`, "field_not_found"},
		{`insert("p.q", 1, {create_path: true})`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4,"p":{"q":1}}`},
		{`insert("list[0]", 1)`, "LCB_ERR_SUBDOC_PATH_MISMATCH"},
		{`insert("list.q", 1)`, "LCB_ERR_SUBDOC_PATH_MISMATCH"},
		{`insert("__proto__", 1)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4,"__proto__":1}`},
		{`upsert("list[-1]", 9)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,9],"x.y":3,"":4}`},
		{`upsert("list[5]", 9)`, "field_not_found"},
		{"upsert(\"`x.y`\", 9)", `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":9,"":4}`},
		{"upsert(\"``\", 9)", `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":9}`},
		{`upsert("r.s.t", 9, {create_path: true})`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4,"r":{"s":{"t":9}}}`},
		{`replace("a.d", 9)`, `{"a":{"b":[1,{"c":2}],"d":9},"list":[1,2],"x.y":3,"":4}`},
		{`replace("a.e", 9)`, "field_not_found"},
		{`remove("a.b")`, `{"a":{"d":null},"list":[1,2],"x.y":3,"":4}`},
		{`remove("list[0]")`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[2],"x.y":3,"":4}`},
		{`remove("list[2]")`, "field_not_found"},
		{`remove("")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`arrayAppend("list", 3)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2,3],"x.y":3,"":4}`},
		{`arrayPrepend("list", [3])`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[[3],1,2],"x.y":3,"":4}`},
		{`arrayAppend("a", 3)`, "LCB_ERR_SUBDOC_PATH_MISMATCH"},
		{`arrayAppend("new", 3)`, "field_not_found"},
		{`arrayAppend("new", 3, {create_path: true})`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2],"x.y":3,"":4,"new":[3]}`},
		{`arrayInsert("list[1]", 3)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,3,2],"x.y":3,"":4}`},
		{`arrayInsert("list[2]", 3)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2,3],"x.y":3,"":4}`},
		{`arrayInsert("list[3]", 3)`, "field_not_found"},
		{`arrayInsert("list", 3)`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`arrayAddUnique("list", 3)`, `{"a":{"b":[1,{"c":2}],"d":null},"list":[1,2,3],"x.y":3,"":4}`},
		{`arrayAddUnique("list", 2)`, "field_already_exists"},
		{`arrayAddUnique("a.b", 2)`, "LCB_ERR_SUBDOC_PATH_MISMATCH"},
		{`remove("a..b")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove(".a")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove("a.")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove("list[x]")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove("list]")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove("list.[0]")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{"remove(\"`a\")", "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`remove("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a")`, "LCB_ERR_SUBDOC_PATH_INVALID"},
		{`insert("n", 1), S.remove("gone")`, "field_not_found"}, // all or nothing
		{`insert("n", 1), S.replace("n", 2), S.remove("n")`, doc},
	} {
		host := newEventHost()
		host.put(0, "x", doc)
		r := runBody(t, p, host, "var S = couchbase.MutateInSpec; try { var r = couchbase.mutateIn(dst, {id: 'x'}, [S."+c.specs+
			"]); if (!r.success) log(Object.keys(r.error)[3]) } catch (e) { log(e.message.name) }")
		if strings.HasPrefix(c.want, "{") {
			require.Equal(t, "set d/x "+c.want, told(r), c.specs)
		} else {
			require.Equal(t, `"`+c.want+`"`, told(r), c.specs)
		}
	}
	runCases(t, func(h *eventHost) {
		h.docs[0]["x"] = EventDoc{Exists: true, Body: []byte(doc), Cas: "3-c", Expiry: 7000}
		h.put(0, "list", `{"$value":[1]}`)
		h.put(0, "within", `{"a":{"$value":1}}`)
		h.put(0, "bytes", `{"$binary":"AQI="}`)
		h.put(0, "exact", `{"9":1.0,"1":12345678901234567890,"a":{"2":0.1,"1":0.0},"count":9007199254740993,"e":1.5}`)
	}, []handlerCase{
		{"lookups", "var G = couchbase.LookupInSpec.get; log(couchbase.lookupIn(dst, {id: 'x'}, [G('a.b[1].c'), G('a.e'), G('list[-1]'), G('`x.y`'), G('a.d.e'), G('..')]).doc)",
			`[{"value":2,"success":true},{"success":false},{"value":2,"success":true},{"value":3,"success":true},` +
				`{"success":false},{"success":false}]`},
		{"lookup of nothing", `log(couchbase.lookupIn(dst, {id: "gone"}, []).error.key_not_found)`, "true"},
		{"whole", `log(couchbase.lookupIn(dst, {id: "list"}, [couchbase.LookupInSpec.get("")]).doc)`,
			`[{"value":[1],"success":true}]`},
		{"of nothing", `log(couchbase.mutateIn(dst, {id: "gone"}, [couchbase.MutateInSpec.upsert("a", 1)]).error.key_not_found)`, "true"},
		{"cas", `log(couchbase.mutateIn(dst, {id: "x", cas: "1-a"}, [couchbase.MutateInSpec.upsert("a", 1)]).error.cas_mismatch)`, "true"},
		{"no specs", `log(couchbase.mutateIn(dst, {id: "x"}, []).success)`, "true"},
		{"options", `couchbase.mutateIn(dst, {id: "list", cas: "1-list"}, [couchbase.MutateInSpec.arrayAppend("", 2)], {self_recursion: true})`,
			`set d/list {"$value":[1,2]} recursive`},
		{"the rest keeps its text", `couchbase.mutateIn(dst, {id: "exact"}, [couchbase.MutateInSpec.upsert("a.n", 1)]);
log(couchbase.increment(dst, {id: "exact"}).doc); couchbase.mutateIn(dst, {id: "exact"}, [couchbase.MutateInSpec.remove("e")])`,
			`{"count":9007199254740994}` + strings.ReplaceAll(` | set d/exact {9"count":9007199254740993,"e":1.5}`+
				` | set d/exact {9"count":9007199254740994,"e":1.5} | set d/exact {9"count":9007199254740994}`,
				"9\"", `"9":1.0,"1":12345678901234567890,"a":{"2":0.1,"1":0.0,"n":1},"`)},
		{"what stands for a value within", `var r = couchbase.lookupIn(dst, {id: "within"}, [couchbase.LookupInSpec.get("a")]);
log(r.doc, couchbase.lookupIn(dst, {id: "bytes"}, [couchbase.LookupInSpec.get(""), couchbase.LookupInSpec.get("$binary")]).doc.map(
  (v) => v.success + " " + (v.value instanceof ArrayBuffer)))`,
			`[{"value":{"$value":1},"success":true}] ["true true","false false"]`},
		{"many", `var S = couchbase.MutateInSpec, one = S.arrayAppend("", 1);
log(couchbase.mutateIn(dst, {id: "list"}, Array(1000).fill(S.upsert("[0]", 2))).success);
try { couchbase.mutateIn(dst, {id: "list"}, Array(1001).fill(one)) } catch (e) { log(e.name) }
try { couchbase.mutateIn(dst, {id: "list"}, Array(1000).fill(S.arrayAppend("", "x".repeat(10000)))) } catch (e) { log(e.name) }`,
			`true | "TypeError" | "EventingError" | set d/list {"$value":[2]}`},
		{"an array that changes", `var S = couchbase.MutateInSpec, n = 0, specs = new Proxy([S.remove("a")], {
  get(o, k) { return k === "0" && n++ > 0 ? {op: "upsert", path: "a", value: 1} : o[k]; }});
couchbase.mutateIn(dst, {id: "within"}, specs)`, `set d/within {}`},
		{"keeps its expiry", `couchbase.mutateIn(dst, {id: "x"}, [couchbase.MutateInSpec.remove("a"), couchbase.MutateInSpec.remove("list")])`,
			`set d/x {"x.y":3,"":4} until 7000`},
	})
}

// Section 3.5: classes of errors, and what leaves a handler.
func TestEventErrors(t *testing.T) {
	kvtest.Long(t)
	runCases(t, nil, []handlerCase{
		{"classes", `for (const E of [KVError, N1QLError, EventingError, CurlError]) {
  const e = new E("m"); log(e instanceof E, e instanceof Error, e.name, e.message, "" + e, E.name, typeof e.stack) }`,
			`true true "KVError" "m" "KVError: m" "KVError" "string" | true true "N1QLError" "m" "N1QLError: m" "N1QLError" "string"` +
				` | true true "EventingError" "m" "EventingError: m" "EventingError" "string"` +
				` | true true "CurlError" "m" "CurlError: m" "CurlError" "string"`},
		{"throw text", `throw "a"`, `!: "a"`},
		{"throw object", `throw {a: 1}`, `!: {"a":1}`},
		{"throw nothing", `throw undefined`, `!: undefined`},
		{"throw what cannot be shown", `throw {get name() { throw 1 }, toJSON() { throw 2 }, toString() { throw 3 }}`,
			`!: [value]`},
		{"error that cannot be shown", `var e = new Error(); Object.defineProperty(e, "message", {get() { throw 1 }}); throw e`,
			`!Error: the exception cannot be shown`},
		{"runtime error", `null.x`, `!TypeError: Cannot read property 'x' of undefined`},
	})
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), "function inner() {\n  dst.x = {};\n  throw new KVError({code: 5});\n}\n[1].forEach(() => inner());")
	require.Equal(t, `!KVError: {"code":5}`, told(r))
	require.Equal(t, 4, r.Failure.Line)
	require.Equal(t, "OnUpdate", r.Failure.Handler)
	require.Contains(t, r.Failure.Stack, "KVError: {\"code\":5}\n    at inner (handler.js:4:")
	require.Contains(t, r.Failure.Stack, "\n    at OnUpdate (handler.js:6:")
	require.NotContains(t, r.Failure.Stack, "event.js")
}

// Section 3.7: log, crc64, base64.
func TestEventTools(t *testing.T) {
	kvtest.Long(t)
	runCases(t, nil, []handlerCase{
		{"log", `log("a", 1, null, undefined, [1], {a: "b"}, new Error("e"), 5n, OnUpdate.name, Symbol("s")); log()`,
			`"a" 1 null undefined [1] {"a":"b"} "Error: e" 5 "OnUpdate" Symbol(s) | `},
		{"log never throws", `var a = {}; a.a = a; log(a); log({toJSON() { throw 1 }, toString() { throw 2 }})`,
			`[object Object] | [value]`},
		{"console", `console.log("a"); console.error("b")`, `"a" | "b"`},
		{"crc64 hashes JSON", `log(crc64("hello"), couchbase.crc_64_go_iso("hello"), crc64({a: 1}) === couchbase.crc_64_go_iso({a: 1}))`,
			`"` + checksum([]byte(`"hello"`)) + `" "3c3eeee2d8100000" true`},
		{"crc64 of bytes", `log(crc64(new Uint8Array([104, 101, 108, 108, 111]).buffer))`, `"3c3eeee2d8100000"`},
		{"crc64 of nothing", `log(crc64(""), couchbase.crc_64_go_iso(""))`,
			`"` + checksum([]byte(`""`)) + `" "0000000000000000"`},
		{"crc64 without argument", `crc64()`, `!EventingError: crc64: needs one argument`},
		{"crc64 with two", `crc64(1, 2)`, `!EventingError: crc64: needs one argument`},
		{"base64", `log(couchbase.base64Encode("é"), couchbase.base64Decode("w6k="))`, `"w6k=" "é"`},
		{"names in couchbase", `couchbase.log(couchbase.crc64("hello") === crc64("hello"), couchbase.createTimer === createTimer)`,
			`true true`},
		{"base64 without couchbase", `log(base64Encode("a"), base64Decode("YQ=="),
base64Float32ArrayDecode(base64Float32ArrayEncode([1.5])), base64Float64ArrayDecode(base64Float64ArrayEncode([0.1])))`,
			`"YQ==" "a" [1.5] [0.1]`},
		{"base64 of bytes", `log(couchbase.base64Encode(new Uint8Array([1, 2]).buffer))`, `"AQI="`},
		{"base64 of an object", `log(couchbase.base64Decode(couchbase.base64Encode({a: 1})))`, `"{\"a\":1}"`},
		{"base64 floats", `log(couchbase.base64Float32ArrayEncode([1.5, -2]), couchbase.base64Float32ArrayDecode("AADAPwAAAMA="))`,
			`"AADAPwAAAMA=" [1.5,-2]`},
		{"base64 doubles", `log(couchbase.base64Float64ArrayDecode(couchbase.base64Float64ArrayEncode([0.1, 1e300])))`,
			`[0.1,1e+300]`},
		{"dates for people", `var d = new Date(Date.UTC(2020, 8, 16, 18, 4, 32)), utc = {timeZone: "UTC"};
log(d.toLocaleString("en-US", utc), d.toLocaleDateString("en-US", utc), d.toLocaleTimeString(undefined, utc));
log(new Date(Date.UTC(2020, 0, 2, 0, 0, 7)).toLocaleTimeString("de", utc), new Date(NaN).toLocaleString());
var local = new Date(2021, 11, 31, 12, 30, 5); log(local.toLocaleString(), local.toLocaleString("en-US"))`,
			`"9/16/2020, 6:04:32 PM" "9/16/2020" "6:04:32 PM" | "12:00:07 AM" "Invalid Date" | ` +
				`"12/31/2021, 12:30:05 PM" "12/31/2021, 12:30:05 PM"`},
		{"a time zone", `new Date(0).toLocaleString("en-US", {timeZone: "Asia/Tokyo"})`,
			`!RangeError: Invalid time zone specified: Asia/Tokyo: there is only UTC`},
		{"numbers for people", `log((1234567.891).toLocaleString(), (-1000).toLocaleString("en-US"), (0.5).toLocaleString(),
(1e3).toLocaleString("en-US", {minimumFractionDigits: 2}), (2.345).toLocaleString("en", {maximumFractionDigits: 0}))`,
			`"1,234,567.891" "-1,000" "0.5" "1,000.00" "2"`},
		{"base64 broken", `couchbase.base64Decode("*")`, `!EventingError: the text is not base64`},
		{"base64 too short", `couchbase.base64Float32ArrayDecode("AA==")`,
			`!EventingError: couchbase.base64Float32ArrayDecode: the length is no multiple of 4`},
		{"base64 two", `couchbase.base64Encode(1, 2)`, `!EventingError: couchbase.base64Encode: needs one argument`},
	})
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `var s = "x".repeat(10000); for (var i = 0; i < 1e6; i++) log(s)`)
	require.Equal(t, EventDone, r.Outcome)
	require.Len(t, r.Logs, logsPerCall)
	require.Len(t, r.Logs[0], maxEventLog)
}

// Section 4: timers.
func TestEventTimers(t *testing.T) {
	kvtest.Long(t)
	const noCallback = ": the callback must be a named function of the global scope"
	runCases(t, func(h *eventHost) { h.timers["Callback:known"] = true }, []handlerCase{
		{"create", `log(createTimer(Callback, new Date(5000), "ref", {a: 1}))`,
			`"ref" | timer Callback ref at 5000 with {"a":1}`},
		{"context undefined", `createTimer(Callback, new Date(5000), "ref")`, `timer Callback ref at 5000 with undefined`},
		{"context null", `createTimer(Callback, new Date(5000), "ref", null)`, `timer Callback ref at 5000 with null`},
		{"past", `createTimer(Callback, new Date(-5000), "ref", 1)`, `timer Callback ref at 0 with 1`},
		{"cancel what was created", `createTimer(Callback, new Date(1), "r", 1);
log(cancelTimer(Callback, "r"), cancelTimer(Callback, "r"))`,
			`true false | timer Callback r at 1 with 1 | cancel Callback r`},
		{"cancel what is known", `log(cancelTimer(Callback, "known"), cancelTimer(Callback, "known"), cancelTimer(Callback, "x"))`,
			`true false false | cancel Callback known`},
		{"cancel another callback's", `createTimer(Callback, new Date(1), "r", 1); log(cancelTimer(OnUpdate, "r"))`,
			`false | timer Callback r at 1 with 1`},
		{"few arguments", `createTimer(Callback, new Date(1))`,
			`!EventingError: createTimer: needs a callback, a date, a reference and a context`},
		{"anonymous", `createTimer(function () {}, new Date(1), "r", 1)`, `!EventingError: createTimer` + noCallback},
		{"not global", `function Inner() {} createTimer(Inner, new Date(1), "r", 1)`, `!EventingError: createTimer` + noCallback},
		{"shadow", `function f() { function Callback() {} createTimer(Callback, new Date(1), "r", 1) } f()`,
			`!EventingError: createTimer` + noCallback},
		{"name", `createTimer("Callback", new Date(1), "r", 1)`, `!EventingError: createTimer` + noCallback},
		{"built-in", `createTimer(log, new Date(1), "r", 1)`, `!EventingError: createTimer` + noCallback},
		{"no date", `createTimer(Callback, 5, "r", 1)`, `!EventingError: createTimer: the second argument must be a Date`},
		{"not a date", `createTimer(Callback, new Date("x"), "r", 1)`, `!EventingError: createTimer: the date is not valid`},
		{"reference", `createTimer(Callback, new Date(1), 5, 1)`,
			`!EventingError: createTimer: the reference must be a string, null or undefined`},
		{"large", `createTimer(Callback, new Date(1), "r", "é".repeat(512))`,
			`!EventingError: The context payload size is more than the configured size: 1024 bytes`},
		{"large enough", `createTimer(Callback, new Date(1), "r", "é".repeat(511)); cancelTimer(Callback, "r"); log(1); throw 2`,
			`1 | !: 2`},
		{"circle", `var a = {}; a.a = a; try { createTimer(Callback, new Date(1), "r", a) } catch (e) { log(e.name) }`,
			`"EventingError"`},
		{"cancel few", `cancelTimer(Callback)`, `!EventingError: cancelTimer: needs a callback and a reference`},
		{"cancel number", `cancelTimer(Callback, 5)`, `!EventingError: cancelTimer: the reference must be a string`},
		{"cancel name", `cancelTimer("Callback", "r")`, `!EventingError: cancelTimer` + noCallback},
		{"docTimer", `docTimer(Callback, "id", 5); docTimer(Callback, 6, "id2")`,
			`timer Callback id at 5000 with "id" | timer Callback id2 at 6000 with "id2"`},
		{"docTimer without id", `docTimer(Callback, 5)`, `!EventingError: docTimer: the id of the document must be a string`},
		{"docTimer without time", `docTimer(Callback, "id")`, `!EventingError: docTimer: the time must be a number of seconds`},
	})
	p := newTestPool(t, Options{})
	r := runBody(t, p, newEventHost(), `var a = createTimer(Callback, new Date(1), null, 1), b = createTimer(Callback, new Date(1), undefined, 1);
log(typeof a, a !== b, a.length > 10); nonDocTimer(Callback, 5); cronTimer(Callback, 5, {x: 1});
try { createTimer(Callback, new Date(1), "r", "x".repeat(2000)) } catch (e) {}`)
	require.Equal(t, []string{`"string" true true`}, r.Logs)
	require.Len(t, r.Effects, 4)
	require.Nil(t, r.Effects[2].Context)
	require.Equal(t, `{"x":1}`, string(r.Effects[3].Context))
	require.NotEqual(t, r.Effects[2].Reference, r.Effects[3].Reference)
	require.Equal(t, map[string]int64{
		"timer_create_counter": 4, "timer_create_failure": 1, "timer_context_size_exceeded_counter": 1,
	}, r.Counters)
	// timers of a batch are known to its later invocations, but for those of one that failed
	results, err := runTestEvents(t, p, eventOptions(`function OnUpdate(doc) {
  if (doc.create) createTimer(OnUpdate, new Date(1), "r", 1);
  else log(cancelTimer(OnUpdate, "r"));
  if (doc.fail) throw 1;
}`), newEventHost(), updates(`{"create":true,"fail":true}`, `{}`, `{"create":true}`, `{"fail":true}`, `{}`, `{}`))
	require.NoError(t, err)
	var logs []string
	for _, r := range results {
		logs = append(logs, strings.Join(r.Logs, ","))
	}
	require.Equal(t, []string{"", "false", "", "true", "true", "false"}, logs)
}

// Section 3.6: curl.
func TestEventCurl(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	host := newEventHost()
	var asked []EventRequest
	answer := EventResponse{Status: 200}
	var fails error
	host.curl = func(r EventRequest) (EventResponse, error) {
		asked = append(asked, r)
		return answer, fails
	}
	type pair = [2]string
	for _, c := range []struct {
		call string
		want EventRequest
	}{
		{`"GET", api`, EventRequest{Method: "GET", Redirect: true}},
		{`"POST", api, {path: "../a", params: {a: 1, b: true, c: "x", d: [1, "é"]}, headers: {A: "b", B: 5}, redirect: false, timeout: 1.5}`,
			EventRequest{
				Method: "POST", Path: "../a", Params: []pair{{"a", "1"}, {"b", "true"}, {"c", "x"}, {"d", `[1,"é"]`}},
				Headers: []pair{{"A", "b"}, {"B", "5"}}, Timeout: 1500e6}},
		{`"GET", api, {params: "a=b%20c&d=e@f=&&g&h=%zz"}`, EventRequest{Method: "GET", Redirect: true,
			Params: []pair{{"a", "b c"}, {"d", "e@f="}, {"g", ""}, {"h", "%zz"}}}},
		{`"PUT", api, {body: "é"}`, EventRequest{Method: "PUT", Redirect: true, HasBody: true, Body: []byte("é"),
			Headers: []pair{{"Content-Type", "text/plain"}}}},
		{`"POST", api, {body: {a: 1}}`, EventRequest{Method: "POST", Redirect: true, HasBody: true,
			Body:    []byte(`{"a":1}`),
			Headers: []pair{{"Content-Type", "application/json"}}}},
		{`"POST", api, {body: {a: "x y", b: 2}, encoding: "FORM"}`, EventRequest{Method: "POST", Redirect: true, HasBody: true,
			Body: []byte(`a=x%20y&b=2`), Headers: []pair{{"Content-Type", "application/x-www-form-urlencoded"}}}},
		{`"POST", api, {body: "a=b", encoding: "FORM", headers: {"content-type": "x"}}`, EventRequest{Method: "POST",
			Redirect: true, HasBody: true, Body: []byte(`a=b`), Headers: []pair{{"content-type", "x"}}}},
		{`"POST", api, {body: "a", encoding: "JSON"}`, EventRequest{Method: "POST", Redirect: true, HasBody: true,
			Body: []byte(`"a"`), Headers: []pair{{"Content-Type", "application/json"}}}},
		{`"DELETE", api, {body: new Uint8Array([1, 0]).buffer}`, EventRequest{Method: "DELETE", Redirect: true, HasBody: true,
			Body: []byte{1, 0}, Headers: []pair{{"Content-Type", "application/octet-stream"}}}},
	} {
		asked = nil
		r := runBody(t, p, host, "curl("+c.call+")")
		require.Equal(t, EventDone, r.Outcome, "%s: %s", c.call, told(r))
		require.Equal(t, fmt.Sprint(c.want), fmt.Sprint(asked[0]), c.call)
	}
	for _, call := range []string{
		"", `"GET"`, `"PATCH", api`, `"GET", {}`, `"GET", "api"`, `"GET", api, 5`, `"GET", api, {timeout: -1}`,
		`"GET", api, {timeout: "1"}`, `"GET", api, {path: 1}`, `"GET", api, {redirect: 1}`, `"GET", api, {params: {a: null}}`,
		`"GET", api, {headers: {a: {}}}`, `"GET", api, {params: {a: OnUpdate}}`, `"GET", api, {encoding: "XML", body: ""}`, `"GET", api, {body: {}, encoding: "TEXT"}`,
		`"GET", api, {body: {}, encoding: "BINARY"}`, `"GET", api, {body: new ArrayBuffer(1), encoding: "TEXT"}`,
		`"GET", api, {body: new ArrayBuffer(1), encoding: "FORM"}`, `"GET", api, {body: new ArrayBuffer(1), encoding: "JSON"}`,
		`"GET", api, {body: function () {}}`,
	} {
		r := runBody(t, p, host, "curl("+call+")")
		require.Equal(t, EventFailed, r.Outcome, call)
		require.Equal(t, "CurlError", r.Failure.Name, call)
	}
	for _, c := range []struct{ kind, body, want string }{
		{"text/html; charset=utf-8", "<a>", `"<a>"`},
		{"application/json", `{"a":[1]}`, `{"a":[1]}`},
		{"Application/JSON;charset=utf-8", `5`, `5`},
		{"application/x-www-form-urlencoded", "a=1+2&b=%C3%A9", `{"a":"1 2","b":"é"}`},
		{"application/octet-stream", "ab", `true`},
		{"", "ab", `true`},
	} {
		answer = EventResponse{Status: 404, Headers: [][2]string{{"Content-Type", c.kind}}, Body: []byte(c.body)}
		r := runBody(t, p, host, `var r = curl("GET", api); log(r.status, r.headers["Content-Type"] !== undefined,
  r.body instanceof ArrayBuffer ? r.body.byteLength === 2 : r.body)`)
		require.Equal(t, "404 true "+c.want, told(r), c.kind)
		require.Equal(t, map[string]int64{"curl_get": 1, "curl_non_200_response": 1}, r.Counters)
	}
	answer.Headers[0][1], answer.Body = "application/json", []byte("{")
	require.Equal(t, "!CurlError: the body of the response is not JSON", told(runBody(t, p, host, `curl("GET", api)`)))
	for code, counter := range map[int]string{
		0: "curl_failure_count", EventCurlTimedOut: "curl_timeout_count", EventCurlTooLarge: "curl_max_resp_size_exceeded",
	} {
		fails = &EventError{Code: code, Desc: "no"}
		r := runBody(t, p, host, `try { curl("HEAD", api) } catch (e) { log(e instanceof CurlError, e.message) }`)
		require.Equal(t, `true "no"`, told(r))
		require.Equal(t, map[string]int64{"curl_head": 1, counter: 1}, r.Counters)
	}
	fails = errors.New("lost")
	_, err := runTestEvents(t, p, eventOptions(`function OnUpdate() { curl("GET", api) }`), host, updates(`{}`))
	require.EqualError(t, err, "lost")
}
