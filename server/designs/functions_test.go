package designs_test

import (
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

func TestShowHeadersAreContained(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"shows":{
		"inject":"function(){ return {headers: {'X-A': 'a\\r\\nSet-Cookie: evil=1\\r\\n\\r\\n<html>', 'X-B\\r\\nX-C': '1', 'Bad Name': 'x', '': 'y'}, body: 'x'} }",
		"frame":"function(){ return {headers: {'Content-Length': '5000', 'Transfer-Encoding': 'chunked', Connection: 'upgrade', Date: 'never', Server: 'mine'}, body: 'x'} }",
		"code":"function(doc, req){ return {code: JSON.parse(req.query.c), body: 'x'} }"}}`)
	w := s.Do("GET", "/db/_design/d/_show/inject", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "a Set-Cookie: evil=1  <html>", w.Header().Get("X-A"))
	for name, values := range w.Header() {
		require.NotContains(t, name, "Bad")
		require.NotEqual(t, "X-C", name)
		require.NotContains(t, strings.Join(values, ""), "\n")
	}
	require.Empty(t, w.Header().Values("Set-Cookie"))
	w = s.Do("GET", "/db/_design/d/_show/frame", "")
	require.Equal(t, "1", w.Header().Get("Content-Length"))
	require.Empty(t, w.Header().Get("Transfer-Encoding"))
	require.Contains(t, w.Header().Get("Server"), "CouchDB")
	for _, code := range []string{"0", "100", "101", "199", "1000", "-1", `"abc"`, `"99"`, "null", "200.5", "1e99"} {
		require.Equal(
			t,
			500,
			s.Do("GET", "/db/_design/d/_show/code?c="+strings.ReplaceAll(code, `"`, "%22"), "").Code,
			code,
		)
	}
	for _, code := range []int{200, 204, 304, 418, 599, 999} {
		require.Equal(t, code, s.Do("GET", fmt.Sprint("/db/_design/d/_show/code?c=", code), "").Code)
	}
}

func TestRewriteAsksAnew(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/secret", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/secret/doc", `{}`).Code)
	s.PutDesign("f",
		`{"rewrites":"function(req){ return {path: req.query.to, method: req.query.m || 'GET', headers: req.query.h ? {'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin'} : {}} }",
		"shows":{"who":"function(doc, req){ return toJSON([req.userCtx.name, req.method, req.headers['X-Auth-CouchDB-UserName']]) }"}}`,
	)
	get := func(to string) *httptest.ResponseRecorder {
		return s.Anyone("GET", "/db/_design/f/_rewrite/x?to="+to, "")
	}
	require.Equal(t, `[null,"GET"]`, strings.ReplaceAll(get("_show/who").Body.String(), ",null", ""))
	require.Equal(t, 400, get("_rewrite/x").Code, "a loop") // its query leads to itself
	require.Equal(t, 400, get("%25zz").Code)

	s.PutDesign("r",
		`{"rewrites":[{"from":"/loop","to":"_rewrite/loop"},{"from":"/up","to":"../../doc"},{"from":"/all","to":"../../../secret/*"}]}`,
	)
	w := s.Anyone("GET", "/db/_design/r/_rewrite/loop", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), "insecure_rewrite_rule")
	s.Set("chttpd", "secure_rewrites", "false")
	require.Equal(t, 400, s.Anyone("GET", "/db/_design/r/_rewrite/loop", "").Code)
	require.Equal(t, 401, s.Anyone("GET", "/db/_design/r/_rewrite/all", "").Code)
	for _, to := range []string{"../../../_node/_local/_config", "../../../secret/doc", "../../../secret", "../../../_all_dbs", "../../../_users/_all_docs"} {
		require.Equal(t, 401, get(to).Code, to)
		require.Equal(t, 401, get(to+"&h=1").Code, to)
	}
	require.Equal(t, 404, get("../../../../../../etc/passwd").Code)
	require.Equal(t, 401, s.Anyone("GET", "/db/_design/f/_rewrite/x?m=DELETE&to=../..", "").Code)
	require.Equal(t, 401, s.Anyone("GET", "/db/_design/f/_rewrite/x?m=PUT&to=../../../new", "").Code)
	require.Equal(t, 200, s.Do("GET", "/db/_design/r/_rewrite/all", "").Code)
}

// Rewrites stay in their database: else whoever may write design documents there could let a server
// administrator who opens a URL of the database do anything.
func TestSecureRewrites(t *testing.T) {
	s := servertest.NewJS(t)
	const setting = "/_node/_local/_config/log/level"
	s.PutDesign("f",
		`{"rewrites":"function(req){ var name = req.path[4]; if (name == 'config') return {path: '../../..`+setting+`', method: 'PUT', body: '\"debug\"'};`+
			` return {path: name == 'who' ? '_show/who' : req.query.to, headers: {authorization: 'Basic eDp5', COOKIE: 'AuthSession=x', 'X-Auth-CouchDB-UserName': 'x', 'x-auth-couchdb-roles': '_admin', 'X-Auth-CouchDB-Token': 'x', 'X-T': 'kept'}} }",
		"shows":{"who":"function(doc, req){ var h = req.headers, n = []; for (var k in h) if (/auth|cookie|x-t/i.test(k)) n.push(k); return toJSON([req.userCtx.name, n]) }"}}`,
	)
	s.PutDesign("r", `{"rewrites":[{"from":"/up/:x/*","to":"../../:x/*"}]}`)
	level := s.Do("GET", setting, "").Body.String()
	insecure := func(target string) {
		t.Helper()
		servertest.Expect(t,
			s.Do("GET", target, ""),
			500,
			`{"error":"insecure_rewrite_rule","reason":"too many ../.. segments"}`+"\n",
		)
	}
	insecure("/db/_design/f/_rewrite/config")
	require.Equal(t, level, s.Do("GET", setting, "").Body.String())
	require.Contains(t, s.Do("GET", "/db/_design/f/_rewrite/x?to=../../../_uuids", "").Body.String(), `{"uuids":["`)
	require.Equal(t, 200, s.Do("GET", "/db/_design/f/_rewrite/x?to=../../../_up", "").Code)
	for _, to := range []string{"../../..", "../../../_uuids/x", "../../../_upx", "../../../_uuids/../_all_dbs",
		"../../../%5Fup/../_all_dbs", "../../../_all_dbs", "../../../../_all_dbs", "/../../../_users", "../../../db2", "../../../_node/_local?x=../db"} {
		insecure("/db/_design/f/_rewrite/x?to=" + to)
	}
	insecure("/db/_design/r/_rewrite/up/%2e%2e/_all_dbs")
	insecure("/db/_design/r/_rewrite/up/%2e%2e/_node/_local/_config")
	require.Equal(t, 200, s.Do("GET", "/db/_design/f/_rewrite/x?to=../..", "").Code)
	require.Equal(t, 200, s.Do("GET", "/db/_design/f/_rewrite/x?to=../../../db/_design/f", "").Code)
	require.Equal(t, `["admin",["X-T"]]`, s.Do("GET", "/db/_design/f/_rewrite/who", "").Body.String())
	s.Set("chttpd", "secure_rewrites", "false")
	require.Equal(t, 200, s.Do("GET", "/db/_design/f/_rewrite/config", "").Code, "as in CouchDB")
	require.Contains(t, s.Do("GET", setting, "").Body.String(), "debug")
	require.NotEqual(
		t,
		200,
		s.Do("GET", "/db/_design/f/_rewrite/who", "").Code,
		"with the credentials of the function",
	)
}

func TestRewriteHeadAndBody(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("f",
		`{"rewrites":"function(req){ return {path: '_update/u', method: 'POST', body: req.query.b || undefined} }",
		"updates":{"u":"function(doc, req){ return [null, req.body] }"}}`,
	)
	require.Equal(t, "sent", s.Do("PUT", "/db/_design/f/_rewrite/x", "sent").Body.String())
	require.Equal(t, "other", s.Do("PUT", "/db/_design/f/_rewrite/x?b=other", "sent").Body.String())
	w := s.Do("HEAD", "/db/_design/f/_rewrite/x?b=other", "")
	require.Equal(t, 200, w.Code)
	require.Empty(t, w.Body.String())
}

func TestHostileFunctions(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d",
		`{"shows":{"loop":"function(){ while (true); }","deep":"function(){ return (function f(){ return f() })() }","mem":"function(){ var a = []; while (true) a.push(new Array(1000).join('x') + a.length) }",
		"getter":"function(){ throw {get error() { throw {get error() { throw 1 }} }} }","proxy":"function(){ throw new Proxy({}, {get: function(){ throw 'trap' }}) }","json":"function(){ return {toJSON: function(){ throw 1 }} }",
		"poison":"function(){ Object.prototype.error = 'e'; Object.prototype.reason = 'r'; Array.prototype.join = null; return {body: 'p'} }","after":"function(){ return {body: 'clean' + ({}).error} }","frozen":"function(){ throw Object.freeze(['fatal', 'not_found', 'f']) }"},
		"validate_doc_update":"function(n){ if (n.slow) while (true); }"}`,
	)
	for name, status := range map[string]int{"loop": 500, "deep": 500, "mem": 500, "getter": 500, "proxy": 500, "json": 500, "poison": 200, "after": 200, "frozen": 500} {
		s.JS.SetTimeout(time.Minute) // on machines that are busy
		if name == "loop" || name == "deep" || name == "mem" {
			s.JS.SetTimeout(time.Second)
		}
		w := s.Do("GET", "/db/_design/d/_show/"+name, "")
		require.Equal(t, status, w.Code, name+w.Body.String())
	}
	require.Equal(t, "cleanundefined", s.Do("GET", "/db/_design/d/_show/after", "").Body.String())
	s.JS.SetTimeout(2 * time.Second) // the others of the request end in it, too
	begin := time.Now()
	w := s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b","slow":1},{"_id":"c"}]}`)
	require.Equal(t, 201, w.Code)
	require.Contains(t, w.Body.String(), `{"id":"b","error":"os_process_error","reason":"OS process timed out."}`)
	require.Equal(t, 2, strings.Count(w.Body.String(), `"ok":true`))
	require.Less(t, time.Since(begin), time.Minute)
}

func TestListOfManyRows(t *testing.T) {
	s := servertest.NewJS(t)
	var docs []string
	for i := range 1000 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%04d"}`, i))
	}
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	s.PutDesign("l",
		`{"lists":{"ids":"function(){ var r; while (r = getRow()) send(r.id + ' '); }","ten":"function(){ for (var i = 0; i < 10; i++) send(getRow().id); return 'end' }",
		"loop":"function(){ send('a'); getRow(); while (true); }"}}`,
	)
	w := s.Do("GET", "/db/_design/l/_list/ids/_all_docs", "")
	require.Equal(t, 1001*6-6+len("_design/l "), w.Body.Len())
	w = s.Do("GET", "/db/_design/l/_list/ten/_all_docs?startkey=%22d%22", "")
	require.Equal(t, "d0000d0001d0002d0003d0004d0005d0006d0007d0008d0009end", w.Body.String())
	s.JS.SetTimeout(time.Second)
	w = s.Do("GET", "/db/_design/l/_list/loop/_all_docs", "")
	require.Equal(
		t,
		"a\n{\"code\":500,\"error\":\"os_process_error\",\"reason\":\"OS process timed out.\"}\n",
		w.Body.String(),
	)
}

// TestListReadsWhatIsAsked: rows are read when the function has a worker and asks for them, so that
// lists that wait for one hold none.
func TestListReadsWhatIsAsked(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	s := servertest.NewJSOn(t, engine)
	s.StopFollowers()
	var docs []string
	for i := range 200 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%04d","pad":%q}`, i, strings.Repeat("x", 9000)))
	}
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	s.PutDesign("l", `{"views":{"v":{"map":"function(d){ emit(null, 1) }"}},
		"lists":{"no":"function(){ throw {forbidden: 'no'} }","one":"function(){ getRow(); throw {forbidden: 'no'} }"}}`)
	trips := map[string]int64{"no": math.MaxInt64, "one": math.MaxInt64} // the fewest: others work beside it
	for range 5 {                                                        // with the first, the view is built
		for list := range trips {
			engine.Reset()
			w := s.Do("GET", "/db/_design/l/_list/"+list+"/v?include_docs=true", "")
			require.Contains(t, w.Body.String(), "forbidden")
			trips[list] = min(trips[list], engine.Reset().RoundTrips)
		}
	}
	require.Less(t, trips["no"], trips["one"])
}

// TestListKeys has `keys` with one element stay one: beside the reduce function of a list's view
// they need group=true, as several do, while _view takes them for a key. What is no array is seen
// after the view.
func TestListKeys(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"lists":{"all":"function(){ var row, s = ''; while (row = getRow()) s += toJSON(row); return s }"},
		"views":{"sum":{"map":"function(doc){ emit(doc.k, 1) }","reduce":"_sum"},"map":{"map":"function(doc){ emit(doc.k, 1) }"}}}`)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"k":1}`).Code)
	for _, test := range []struct{ path, body, want string }{
		{"sum", `{"keys":[1]}`, "Multi-key fetches"},
		{"sum?keys=[1]", `{}`, `{"key":null,"value":1}`},
		{"sum?group=true", `{"keys":[1]}`, `{"key":1,"value":1}`},
		{"sum?reduce=false", `{"keys":[1]}`, `{"id":"a","key":1,"value":1}`},
		{"map", `{"keys":[1]}`, `{"id":"a","key":1,"value":1}`},
		{"map?keys=[0]", `{"keys":[1]}`, "incompatible"},
		{"map", `{"keys":"x"}`, "must be an array of strings"},
		{"none", `{"keys":"x"}`, "missing_named_view"},
	} {
		w := s.Do("POST", "/db/_design/d/_list/all/"+test.path, test.body)
		require.Contains(t, w.Body.String(), test.want, "%s %s", test.path, test.body)
	}
	require.Equal(t, 400, s.Do("GET", "/db/_design/d/_list/all/sum?keys=[1]", "").Code)
	require.Equal(t, 200, s.Do("POST", "/db/_design/d/_view/sum", `{"keys":[1]}`).Code)
}

// TestListFailsAfterHead has HEAD answer with the head that the function sent, whatever becomes of
// it.
func TestListFailsAfterHead(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"views":{"v":{"map":"function(){}"}},
		"lists":{"f":"function(){ start({headers: {'X-A': 'b'}}); send('x'); getRow(); throw 'late' }"}}`)
	w := s.Do("HEAD", "/db/_design/d/_list/f/v", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "b", w.Header().Get("X-A"))
}
