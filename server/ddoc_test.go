package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/js"
)

func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// newDesignServer is a server with JavaScript and the database db, which everybody may use.
func newDesignServer(t testing.TB) *Server {
	t.Helper()
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	s := newTestServerJS(t, c)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	require.Equal(
		t,
		200,
		do(s, "PUT", "/db/_security", `{"admins":{"names":["x"]},"members":{"names":[],"roles":[]}}`).Code,
	)
	return s
}

// newTestServerJS is newTestServer with JavaScript.
func newTestServerJS(t testing.TB, c *config.Config) *Server {
	t.Helper()
	return newTestServerJSOn(t, memkv.New(), c)
}

func newTestServerJSOn(t testing.TB, engine kv.Store, c *config.Config) *Server {
	t.Helper()
	pool := js.NewPool(js.Options{Timeout: time.Minute})
	t.Cleanup(pool.Close)
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	v, err := views.Open(views.Options{Store: store, KV: engine, JS: pool})
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	return startTestServer(t, Options{Store: store, Views: v, JS: pool, Config: c})
}

func putDesign(t testing.TB, s *Server, name, body string) {
	t.Helper()
	w := do(s, "PUT", "/db/_design/"+name, body)
	require.Equal(t, 201, w.Code, w.Body.String())
}

// anyone makes a request of nobody.
func anyone(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return do(s, method, target, body, append(headers, "Authorization", "")...)
}

func TestShowHeadersAreContained(t *testing.T) {
	s := newDesignServer(t)
	putDesign(t, s, "d", `{"shows":{
		"inject":"function(){ return {headers: {'X-A': 'a\\r\\nSet-Cookie: evil=1\\r\\n\\r\\n<html>', 'X-B\\r\\nX-C': '1', 'Bad Name': 'x', '': 'y'}, body: 'x'} }",
		"frame":"function(){ return {headers: {'Content-Length': '5000', 'Transfer-Encoding': 'chunked', Connection: 'upgrade', Date: 'never', Server: 'mine'}, body: 'x'} }",
		"code":"function(doc, req){ return {code: JSON.parse(req.query.c), body: 'x'} }"}}`)
	w := do(s, "GET", "/db/_design/d/_show/inject", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "a Set-Cookie: evil=1  <html>", w.Header().Get("X-A"))
	for name, values := range w.Header() {
		require.NotContains(t, name, "Bad")
		require.NotEqual(t, "X-C", name)
		require.NotContains(t, strings.Join(values, ""), "\n")
	}
	require.Empty(t, w.Header().Values("Set-Cookie"))
	w = do(s, "GET", "/db/_design/d/_show/frame", "")
	require.Equal(t, "1", w.Header().Get("Content-Length"))
	require.Empty(t, w.Header().Get("Transfer-Encoding"))
	require.Contains(t, w.Header().Get("Server"), "CouchDB")
	for _, code := range []string{"0", "100", "101", "199", "1000", "-1", `"abc"`, `"99"`, "null", "200.5", "1e99"} {
		require.Equal(
			t,
			500,
			do(s, "GET", "/db/_design/d/_show/code?c="+strings.ReplaceAll(code, `"`, "%22"), "").Code,
			code,
		)
	}
	for _, code := range []int{200, 204, 304, 418, 599, 999} {
		require.Equal(t, code, do(s, "GET", fmt.Sprint("/db/_design/d/_show/code?c=", code), "").Code)
	}
}

func TestRewriteAsksAnew(t *testing.T) {
	s := newDesignServer(t)
	require.Equal(t, 201, do(s, "PUT", "/secret", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/secret/doc", `{}`).Code)
	putDesign(
		t,
		s,
		"f",
		`{"rewrites":"function(req){ return {path: req.query.to, method: req.query.m || 'GET', headers: req.query.h ? {'X-Auth-CouchDB-UserName': 'admin', 'X-Auth-CouchDB-Roles': '_admin'} : {}} }",
		"shows":{"who":"function(doc, req){ return toJSON([req.userCtx.name, req.method, req.headers['X-Auth-CouchDB-UserName']]) }"}}`,
	)
	get := func(to string) *httptest.ResponseRecorder {
		return anyone(s, "GET", "/db/_design/f/_rewrite/x?to="+to, "")
	}
	require.Equal(t, `[null,"GET"]`, strings.ReplaceAll(get("_show/who").Body.String(), ",null", ""))
	require.Equal(t, 400, get("_rewrite/x").Code, "a loop") // its query leads to itself
	require.Equal(t, 400, get("%25zz").Code)

	putDesign(
		t,
		s,
		"r",
		`{"rewrites":[{"from":"/loop","to":"_rewrite/loop"},{"from":"/up","to":"../../doc"},{"from":"/all","to":"../../../secret/*"}]}`,
	)
	w := anyone(s, "GET", "/db/_design/r/_rewrite/loop", "")
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), "insecure_rewrite_rule")
	_, err := s.env.Config.Set("chttpd", "secure_rewrites", "false", false)
	require.NoError(t, err)
	require.Equal(t, 400, anyone(s, "GET", "/db/_design/r/_rewrite/loop", "").Code)
	require.Equal(t, 401, anyone(s, "GET", "/db/_design/r/_rewrite/all", "").Code)
	for _, to := range []string{"../../../_node/_local/_config", "../../../secret/doc", "../../../secret", "../../../_all_dbs", "../../../_users/_all_docs"} {
		require.Equal(t, 401, get(to).Code, to)
		require.Equal(t, 401, get(to+"&h=1").Code, to)
	}
	require.Equal(t, 404, get("../../../../../../etc/passwd").Code)
	require.Equal(t, 401, anyone(s, "GET", "/db/_design/f/_rewrite/x?m=DELETE&to=../..", "").Code)
	require.Equal(t, 401, anyone(s, "GET", "/db/_design/f/_rewrite/x?m=PUT&to=../../../new", "").Code)
	require.Equal(t, 200, do(s, "GET", "/db/_design/r/_rewrite/all", "").Code)
}

// Rewrites stay in their database: else whoever may write design documents there could let a server administrator who
// opens a URL of the database do anything.
func TestSecureRewrites(t *testing.T) {
	s := newDesignServer(t)
	const setting = "/_node/_local/_config/log/level"
	putDesign(
		t,
		s,
		"f",
		`{"rewrites":"function(req){ var name = req.path[4]; if (name == 'config') return {path: '../../..`+setting+`', method: 'PUT', body: '\"debug\"'};`+
			` return {path: name == 'who' ? '_show/who' : req.query.to, headers: {authorization: 'Basic eDp5', COOKIE: 'AuthSession=x', 'X-Auth-CouchDB-UserName': 'x', 'x-auth-couchdb-roles': '_admin', 'X-Auth-CouchDB-Token': 'x', 'X-T': 'kept'}} }",
		"shows":{"who":"function(doc, req){ var h = req.headers, n = []; for (var k in h) if (/auth|cookie|x-t/i.test(k)) n.push(k); return toJSON([req.userCtx.name, n]) }"}}`,
	)
	putDesign(t, s, "r", `{"rewrites":[{"from":"/up/:x/*","to":"../../:x/*"}]}`)
	level := do(s, "GET", setting, "").Body.String()
	insecure := func(target string) {
		t.Helper()
		expect(
			t,
			do(s, "GET", target, ""),
			500,
			`{"error":"insecure_rewrite_rule","reason":"too many ../.. segments"}`+"\n",
		)
	}
	insecure("/db/_design/f/_rewrite/config")
	require.Equal(t, level, do(s, "GET", setting, "").Body.String())
	for _, to := range []string{"../../..", "../../../_all_dbs", "../../../../_all_dbs", "/../../../_users", "../../../db2", "../../../_node/_local?x=../db"} {
		insecure("/db/_design/f/_rewrite/x?to=" + to)
	}
	insecure("/db/_design/r/_rewrite/up/%2e%2e/_all_dbs")
	insecure("/db/_design/r/_rewrite/up/%2e%2e/_node/_local/_config")
	require.Equal(t, 200, do(s, "GET", "/db/_design/f/_rewrite/x?to=../..", "").Code)
	require.Equal(t, 200, do(s, "GET", "/db/_design/f/_rewrite/x?to=../../../db/_design/f", "").Code)
	require.Equal(t, `["admin",["X-T"]]`, do(s, "GET", "/db/_design/f/_rewrite/who", "").Body.String())
	_, err := s.env.Config.Set("chttpd", "secure_rewrites", "false", false)
	require.NoError(t, err)
	require.Equal(t, 200, do(s, "GET", "/db/_design/f/_rewrite/config", "").Code, "as in CouchDB")
	require.Contains(t, do(s, "GET", setting, "").Body.String(), "debug")
	require.NotEqual(
		t,
		200,
		do(s, "GET", "/db/_design/f/_rewrite/who", "").Code,
		"with the credentials of the function",
	)
}

func TestRewriteHeadAndBody(t *testing.T) {
	s := newDesignServer(t)
	putDesign(
		t,
		s,
		"f",
		`{"rewrites":"function(req){ return {path: '_update/u', method: 'POST', body: req.query.b || undefined} }",
		"updates":{"u":"function(doc, req){ return [null, req.body] }"}}`,
	)
	require.Equal(t, "sent", do(s, "PUT", "/db/_design/f/_rewrite/x", "sent").Body.String())
	require.Equal(t, "other", do(s, "PUT", "/db/_design/f/_rewrite/x?b=other", "sent").Body.String())
	w := do(s, "HEAD", "/db/_design/f/_rewrite/x?b=other", "")
	require.Equal(t, 200, w.Code)
	require.Empty(t, w.Body.String())
}

func TestHostileFunctions(t *testing.T) {
	s := newDesignServer(t)
	putDesign(
		t,
		s,
		"d",
		`{"shows":{"loop":"function(){ while (true); }","deep":"function(){ return (function f(){ return f() })() }","mem":"function(){ var a = []; while (true) a.push(new Array(1000).join('x') + a.length) }",
		"getter":"function(){ throw {get error() { throw {get error() { throw 1 }} }} }","proxy":"function(){ throw new Proxy({}, {get: function(){ throw 'trap' }}) }","json":"function(){ return {toJSON: function(){ throw 1 }} }",
		"poison":"function(){ Object.prototype.error = 'e'; Object.prototype.reason = 'r'; Array.prototype.join = null; return {body: 'p'} }","after":"function(){ return {body: 'clean' + ({}).error} }","frozen":"function(){ throw Object.freeze(['fatal', 'not_found', 'f']) }"},
		"validate_doc_update":"function(n){ if (n.slow) while (true); }"}`,
	)
	s.admin.JS.SetTimeout(2 * time.Second) // for those that end, on machines that are busy
	for name, status := range map[string]int{"loop": 500, "deep": 500, "mem": 500, "getter": 500, "proxy": 500, "json": 500, "poison": 200, "after": 200, "frozen": 500} {
		w := do(s, "GET", "/db/_design/d/_show/"+name, "")
		require.Equal(t, status, w.Code, name+w.Body.String())
	}
	require.Equal(t, "cleanundefined", do(s, "GET", "/db/_design/d/_show/after", "").Body.String())
	begin := time.Now()
	w := do(s, "POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b","slow":1},{"_id":"c"}]}`)
	require.Equal(t, 201, w.Code)
	require.Contains(t, w.Body.String(), `{"id":"b","error":"os_process_error","reason":"OS process timed out."}`)
	require.Equal(t, 2, strings.Count(w.Body.String(), `"ok":true`))
	require.Less(t, time.Since(begin), time.Minute)
}

// TestValidationIsOrdered: a document that a function refuses is never stored after the function was.
func TestValidationIsOrdered(t *testing.T) {
	s := newDesignServer(t)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					do(s, "PUT", fmt.Sprintf("/db/w%d-%d", w, n), `{"bad":1}`)
				}
			}
		})
	}
	for round := range 5 {
		name := fmt.Sprint("v", round)
		putDesign(t, s, name, `{"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: 'no'}; }"}`)
		before := do(s, "GET", "/db", "").Body.String()
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, counts(before), counts(do(s, "GET", "/db", "").Body.String()))
		require.Equal(t, 403, do(s, "PUT", "/db/x", `{"bad":1}`).Code)
		rev := etagOf(do(s, "HEAD", "/db/_design/"+name, ""))
		require.Equal(t, 200, do(s, "DELETE", "/db/_design/"+name+"?rev="+strings.Trim(rev, `"`), "").Code)
		require.Equal(t, 201, do(s, "PUT", fmt.Sprint("/db/ok", round), `{"bad":1}`).Code)
	}
	close(stop)
	wait.Wait()
}

func counts(info string) string {
	_, rest, _ := strings.Cut(info, `"doc_count":`)
	count, _, _ := strings.Cut(rest, ",")
	return count
}

func TestValidationOfDatabaseRecreated(t *testing.T) {
	s := newDesignServer(t)
	putDesign(t, s, "v", `{"validate_doc_update":"function(n){ throw {forbidden: 'no'}; }"}`)
	require.Equal(t, 403, do(s, "PUT", "/db/a", `{}`).Code)
	require.Equal(t, 200, do(s, "DELETE", "/db", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/db/a", `{}`).Code)
}

func TestFilterBeatsWhileItWorks(t *testing.T) {
	s := newDesignServer(t)
	for i := range 3 {
		require.Equal(t, 201, do(s, "PUT", fmt.Sprint("/db/d", i), `{}`).Code)
	}
	putDesign(
		t,
		s,
		"f",
		`{"filters":{"slow":"function(doc){ var end = Date.now() + 300; while (Date.now() < end); return doc._id != 'd1' }"}}`,
	)
	server := httptest.NewServer(s)
	defer server.Close()
	r, err := http.Get(server.URL + "/db/_changes?filter=f/slow&feed=continuous&heartbeat=100&limit=2")
	require.NoError(t, err)
	defer r.Body.Close()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	before, _, _ := strings.Cut(text.String(), `{"seq"`)
	require.GreaterOrEqual(t, strings.Count(before, "\n"), 2)
	require.Contains(t, text.String(), `"id":"d0"`)
	require.Contains(t, text.String(), `"id":"d2"`)
	require.NotContains(t, text.String(), `"id":"d1"`)
}

func TestListOfManyRows(t *testing.T) {
	s := newDesignServer(t)
	var docs []string
	for i := range 1000 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%04d"}`, i))
	}
	require.Equal(t, 201, do(s, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	putDesign(
		t,
		s,
		"l",
		`{"lists":{"ids":"function(){ var r; while (r = getRow()) send(r.id + ' '); }","ten":"function(){ for (var i = 0; i < 10; i++) send(getRow().id); return 'end' }",
		"loop":"function(){ send('a'); getRow(); while (true); }"}}`,
	)
	w := do(s, "GET", "/db/_design/l/_list/ids/_all_docs", "")
	require.Equal(t, 1001*6-6+len("_design/l "), w.Body.Len())
	w = do(s, "GET", "/db/_design/l/_list/ten/_all_docs?startkey=%22d%22", "")
	require.Equal(t, "d0000d0001d0002d0003d0004d0005d0006d0007d0008d0009end", w.Body.String())
	s.admin.JS.SetTimeout(time.Second)
	w = do(s, "GET", "/db/_design/l/_list/loop/_all_docs", "")
	require.Equal(
		t,
		"a\n{\"code\":500,\"error\":\"os_process_error\",\"reason\":\"OS process timed out.\"}\n",
		w.Body.String(),
	)
}
