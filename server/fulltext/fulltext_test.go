package fulltext_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
)

func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

const ddoc = `{
	"indexes":{
		"fruit":{"index":"function (doc) { if (doc.name) { index('default', doc.name, {store: true}); index('price', doc.price, {store: true}); if (doc.place) index('place', doc.place, {facet: true, index: 'not_analyzed', store: true}); } }"},
		"plain":{"index":"function (doc) { index('x', 1); }"},
		"none":{},
		"odd":{"index":"function (doc) { index('x', 1); }","analyzer":"klingon"},
		"wrong":{"index":"function (doc) { "}},
	"nouveau":{
		"fruit":{"default_analyzer":"standard","index":"function (doc) { if (doc.name) { index('text', 'name', doc.name, {store: true}); index('double', 'price', doc.price, {store: true}); if (doc.place) index('string', 'place', doc.place, {store: true}); } }"},
		"clash":{"index":"function (doc) { if (doc.name) { index('string', 'x', doc.name); index('double', 'x', doc.price); } }"},
		"throws":{"index":"function (doc) { throw 1; }"},
		"odd":{"index":"function (doc) {}","default_analyzer":"klingon"}}}`

// fruit is a server with a few documents.
func fruit(t *testing.T) *servertest.Server {
	s := servertest.NewJS(t)
	s.PutDesign("d", ddoc)
	for i, doc := range []string{
		`{"_id":"apple","name":"Red apple","price":3,"place":"kitchen"}`,
		`{"_id":"pear","name":"Green pear","price":2.5,"place":"kitchen"}`,
		`{"_id":"plum","name":"red red plum","price":4,"place":"lobby"}`,
		`{"_id":"kiwi","name":"kiwi","price":1}`,
		`{"_id":"other"}`,
	} {
		require.Equal(t, 201, s.Do("POST", "/db", doc).Code, i)
	}
	return s
}

func get(t *testing.T, s *servertest.Server, method, path, body string) (int, string) {
	t.Helper()
	w := s.Do(method, path, body)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// TestSearch holds answers and errors of _search to the specification's tables.
func TestSearch(t *testing.T) {
	s := fruit(t)
	const path = "/db/_design/d/_search/"
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string // contained in the answer; … stands for anything
	}{
		{"GET", "fruit?q=kiwi", "", 200, `{"total_rows":1,"bookmark":"…","rows":[{"id":"kiwi","order":[1.` +
			`…,3],"fields":{"default":"kiwi","price":1.0}}]}`},
		{"GET", `fruit?q=*:*&sort="price"&limit=2`, "", 200, `"rows":[{"id":"kiwi","order":[1.0,3],…},{"id":"pear",` +
			`"order":[2.5,1],"fields":{"default":"Green pear","price":2.5,"place":"kitchen"}}]}`},
		{"GET", `fruit?q=*:*&sort=["-place<string>","-price"]&include_fields=[]`, "", 200,
			`"rows":[{"id":"plum","order":["lobby",4.0,2],"fields":{}},{"id":"apple",…{"id":"pear",…{"id":"kiwi",` +
				`"order":[null,1.0,3],…`},
		{"GET", `fruit?q=price:[2 TO 3]&sort="price"&include_fields=["price"]`, "", 200,
			`{"total_rows":2,…"fields":{"price":2.5}},…"fields":{"price":3.0}}]}`},
		{"POST", "fruit", `{"q":"red AND price:[\"\" TO *]"}`, 200, `{"total_rows":2,…`},
		{"POST", "fruit", `{"q":"*:* -price:[\"\" TO *]"}`, 200, `{"total_rows":0,…`},
		{"GET", `fruit?q=price:8*`, "", 200, `{"total_rows":4,…`},
		{"GET", `fruit?q=price:[a TO z]`, "", 200, `{"total_rows":0,…`},
		{"POST", "fruit", `{"q":"red AND NOT plum","include_docs":true}`, 200,
			`{"total_rows":1,…"rows":[{"id":"apple",…,"doc":{"_id":"apple","_rev":"1-…","name":"Red apple",…}}]}`},
		{"GET", `fruit?q=*:*&limit=0&counts=["place"]`, "", 200, `{"total_rows":4,"bookmark":"g2o","rows":[],` +
			`"counts":{"place":{"kitchen":2.0,"lobby":1.0}}}`},
		{"GET", `fruit?q=kiwi&limit=0&counts=["place"]`, "", 200, `"counts":{"place":{}}}`},
		{"GET", `fruit?q=*:*&limit=0&ranges={"price":{"cheap":"[0 TO 2]","dear":"{2 TO 100]","no":"[7 TO 8]"}}`, "", 200,
			`"rows":[],"ranges":{"price":{"cheap":1.0,"dear":3.0,"no":{}}}}`},
		{"GET", `fruit?q=*:*&limit=0&ranges={"price":{}}`, "", 200, `"ranges":{"price":{}}}`},
		{"GET", `fruit?q=*:*&drilldown=["place","lobby"]`, "", 200, `{"total_rows":1,…"id":"plum"…`},
		{"GET", `fruit?q=*:*&drilldown=["place","lobby","kitchen"]`, "", 200, `{"total_rows":3,…`},
		{"GET", `fruit?q=*:*&group_field=place&sort="price"`, "", 200, `{"total_rows":4,"groups":[{"by":"kitchen",` +
			`"total_rows":2,"rows":[{"id":"pear",…{"id":"apple",…]},{"by":"lobby",…},{"by":null,"total_rows":1,…]}]}`},
		{"GET", `fruit?q=*:*&group_by=place&group_limit=1`, "", 200,
			`{"total_hits":4,"total_grouped_hits":2,"groups":[{"by":"kitchen","total_hits":2,"hits":[…`},
		{"GET", `fruit?q=nothing&group_field=place`, "", 200, `{"total_rows":0,"groups":[]}`},
		{"GET", `fruit?q=red&highlight_fields=["default","x"]&highlight_pre_tag="["&highlight_post_tag="]"`, "", 200,
			`"highlights":{"default":["[red] [red] plum"],"x":[]}}…`},
		{"GET", "plain?q=x:1", "", 200, `{"total_rows":6,…`}, // design documents are indexed
		{"GET", `plain?q=x:1&limit=0&counts=["x"]`, "", 200, `{"total_rows":6,"bookmark":"g2o","rows":[]}`},
		{"GET", "fruit", "", 400, `{"error":"query_parse_error","reason":"Query must include a 'q' or 'query' argument"}`},
		{"POST", "fruit", "{}", 400, `Query must include a 'q' or 'query' argument`},
		{"POST", "fruit", "[]", 400, `{"error":"bad_request","reason":"Request body must be a JSON object"}`},
		{"GET", "fruit?q=a&limit=201", "", 400, `"reason":"Value for limit is too large, must not exceed 200"`},
		{"GET", "fruit?q=a&limit=-1", "", 400, `limit must be greater than or equal to zero`},
		{"GET", `fruit?q=a&limit="x"`, "", 400, `"reason":"Invalid value for limit: <<\"x\">>"`},
		{"GET", "fruit?q=a&limit=x", "", 400, `{"error":"bad_request","reason":"invalid UTF-8 JSON"}`},
		{"GET", "fruit?q=a&stale=no", "", 400, `stale only available as stale=ok`},
		{"GET", "fruit?q=a&include_docs=x", "", 400, `"reason":"Invalid value for include_docs: \"x\""`},
		{"GET", "fruit?q=a&group_limit=0", "", 400, `group_limit must be greater than zero`},
		{"GET", "fruit?q=a&group_limit=201", "", 400, `"reason":"Value for group_limit is too large, must not exceed 200"`},
		{"GET", "fruit?q=a&highlight_number=x", "", 400, `"Invalid value for highlight_number: \"x\""`},
		{"POST", "fruit", `{"q":"a","highlight_size":"x"}`, 400, `"Invalid value for highlight_size: <<\"x\">>"`},
		{"GET", "fruit?q=a&partition=x", "", 400, "`partition` not supported on this index"},
		{"POST", "fruit?partition=x", `{"q":"a","partition":"y"}`, 400,
			"Multiple conflicting values for `partition` provided"},
		{"GET", "fruit?q=a&bookmark=*", "", 400, `Invalid bookmark parameter supplied`},
		{"GET", "fruit?q=(", "", 400, `{"error":"bad_request","reason":"Cannot parse '(': …`},
		{"GET", "fruit?q=*red", "", 400, `'*' or '?' not allowed as first character in WildcardQuery`},
		{"GET", "fruit?q=*ed&allow_leading_wildcard=true", "", 200, `{"total_rows":2,…`},
		{"GET", `fruit?q=a&sort="x<y>"`, "", 400, `Unrecognized type: y`},
		{"GET", `fruit?q=a&sort=1`, "", 400, `Unrecognized sort parameter: 1`},
		{"GET", `fruit?q=a&sort="default"`, "", 400, `cannot sort string field as numeric field`},
		{"GET", `fruit?q=a&counts=["nowhere"]`, "", 400, `"dim \"nowhere\" does not exist"`},
		{"GET", `fruit?q=a&counts="x"`, "", 400, `is not a valid counts query`},
		{"GET", `fruit?q=a&ranges={"price":{"x":"red"}}`, "", 400, `red was not a well-formed range specification`},
		{"GET", `fruit?q=a&ranges=[]`, "", 400, `invalid ranges query`},
		{"GET", `fruit?q=a&drilldown=[["place"],["place"]]`, "", 400, `invalid drilldown query`},
		{"GET", `fruit?q=a&group_field=price`, "", 400, `Group by number not supported. Group by string terms only.`},
		{"GET", "gone?q=a", "", 404, `{"error":"not_found","reason":"gone not found."}`},
		{"GET", "none?q=a", "", 500, "index `none` must have parameter `index`"},
		{"GET", "odd?q=a", "", 500, `no_such_analyzer`},
		{"GET", "wrong?q=a", "", 400, `{"error":"compilation_error",…`},
		{"GET", "../_search", "", 400, `{"error":"bad_request","reason":"path not recognized"}`},
		{"PUT", "fruit", "", 405, `Only GET,POST allowed`},
		{"GET", "../../nodesign/_search/x?q=a", "", 404, `{"error":"not_found","reason":"missing"}`},
	} {
		check(t, s, c.method, path, c.path, c.body, c.status, c.answer)
	}
}

func check(t *testing.T, s *servertest.Server, method, base, path, body string, status int, answer string) {
	t.Helper()
	target := base + path
	for strings.Contains(target, "/../") {
		before, after, _ := strings.Cut(target, "/../")
		target = before[:strings.LastIndex(before, "/")+1] + after
	}
	target = strings.NewReplacer(" ", "%20", `"`, "%22", "{", "%7B", "}", "%7D", "<", "%3C", ">", "%3E", "[", "%5B",
		"]", "%5D").Replace(target)
	code, got := get(t, s, method, target, body)
	rest := got
	for i, part := range strings.Split(answer, "…") {
		at := strings.Index(rest, part)
		if at < 0 {
			t.Errorf("%s %s %s:\n%s\nlacks part %d of\n%s", method, path, body, got, i, answer)
			return
		}
		rest = rest[at+len(part):]
	}
	if code != status {
		t.Errorf("%s %s %s: %d, want %d: %s", method, path, body, code, status, got)
	}
	if code == 200 && !json.Valid([]byte(got)) {
		t.Errorf("%s %s: no JSON: %s", method, path, got)
	}
}

// TestNouveau does so for _nouveau.
func TestNouveau(t *testing.T) {
	s := fruit(t)
	const path = "/db/_design/d/_nouveau/"
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"GET", "fruit?q=name:kiwi", "", 200, `{"bookmark":"…","counts":null,"hits":[{"fields":{"name":"kiwi",` +
			`"price":1.0},"id":"kiwi","order":[{"@type":"float","value":…},{"@type":"string","value":"kiwi"}]}],` +
			`"ranges":null,"total_hits":1,"total_hits_relation":"EQUAL_TO","update_latency":…}`},
		{"GET", `fruit?q=name:red&sort=["price"]&highlight_fields=["name"]&include_fields=["price"]`, "", 200,
			`"hits":[{"fields":{"price":3.0},"highlights":{"name":["<em>Red</em> apple"]},"id":"apple",…` +
				`"highlights":{"name":["<em>red</em> <em>red</em> plum"]},"id":"plum",…`},
		{"POST", "fruit", `{"q":"*:*","drilldown":[["place","lobby"]]}`, 200, `"hits":[{…"id":"plum",…"total_hits":1,…`},
		{"GET", `fruit?q=*:*&group_field=place&group_sort="-place"&sort=["-price"]&limit=1`, "", 200,
			`{"groups":[{"by":"lobby","hits":[{…"id":"plum",…}],"total_hits":1},{"by":"kitchen","hits":[{…"id":"apple",…}],` +
				`"total_hits":2},{"by":null,…"id":"kiwi",…}],"total_hits":4,"total_hits_relation":"EQUAL_TO",…`},
		{"GET", "fruit?q=*:*&group_field=place&limit=50000", "", 400,
			`limit times group_limit must not be greater than 100000`},
		{"GET", "fruit?q=*:*&group_limit=0", "", 400, `group_limit must be greater than zero`},
		{"POST", "fruit", `{"q":"*:*","sort":["-price"],"limit":1,"include_docs":true}`, 200,
			`"hits":[{"doc":{"_id":"plum",…},"fields":{"name":"red red plum","place":"lobby","price":4.0},"id":"plum",` +
				`"order":[{"@type":"double","value":4.0},{"@type":"string","value":"plum"}]}]`},
		{"GET", `fruit?q=*:*&sort="place"`, "", 200, `"id":"kiwi","order":[{"@type":"null"},…"id":"apple",…"id":"pear",…"id":"plum"…`},
		{"GET", "fruit?q=price:[2 TO 3]", "", 200, `"total_hits":2…`},
		{"GET", "fruit?q=name:fn:maxgaps(0 fn:unordered(apple red))", "", 200, `"id":"apple",…"total_hits":1,…`},
		{"GET", "fruit?q=fn:ordered(", "", 400, `{"error":"bad_request","reason":"Syntax Error, cannot parse fn:ordered(: `},
		{"GET", "fruit?q=place:fn:ordered(kitchen x)", "", 400, `because it has no indexed positions"}`},
		{"GET", "fruit?q=price:2,5&locale=de", "", 200, `"total_hits":1…`},
		{"POST", "fruit", `{"q":"*:*","counts":["place"],"ranges":{"price":[{"label":"cheap","min":0,"max":2.5},` +
			`{"label":"dear","min":2.5,"min_inclusive":false}]}}`, 200,
			`"counts":{"place":{"kitchen":2,"lobby":1}},…"ranges":{"price":{"cheap":2,"dear":2}}…`},
		{"POST", "fruit", `{"q":"*:*","counts":["place"],"top_n":1}`, 200, `"counts":{"place":{"kitchen":2}}…`},
		{"POST", "fruit", `{"q":"*:*","ranges":{"price":[{"label":"any","min":0},{"label":"dear","min":3}]},"top_n":1}`, 200,
			`"ranges":{"price":{"any":`},
		{"GET", "throws?q=a", "", 200, `"total_hits":0…`},
		{"GET", "clash?q=a", "", 400, `{"error":"bad_request","reason":"field x is of type STRING not DOUBLE"}`},
		{"GET", "fruit", "", 400, `{"error":"query_parse_error","reason":"q parameter is mandatory"}`},
		{"GET", "fruit?q=a&limit=0", "", 400, `limit parameter must be greater than zero`},
		{"GET", "fruit?q=a&limit=x", "", 400, `limit parameter must be an integer`},
		{"GET", "fruit?q=name:kiwi&limit=1000000000000", "", 200, `"total_hits":1,…`},
		{"GET", "fruit?q=a&top_n=0", "", 400, `top_n parameter must be greater than zero`},
		{"GET", "fruit?q=a&update=x", "", 400, `"Invalid value for update: <<\"x\">>"`},
		{"POST", "fruit", `{"q":"a","counts":"x"}`, 400, `counts parameter must be a list of strings`},
		{"POST", "fruit", `{"q":"a","counts":[1]}`, 400, `all items in counts parameter must be strings`},
		{"POST", "fruit", `{"q":"a","ranges":{"x":1}}`, 400, `range values must be lists of objects`},
		{"POST", "fruit", `{"q":"a","ranges":{"x":[1]}}`, 400, `all values in ranges parameter must be objects`},
		{"GET", "fruit?q=(", "", 400, `Syntax Error, cannot parse (: `},
		{"GET", "fruit?q=*x", "", 400, `Leading wildcard is not allowed: *x`},
		{"GET", "fruit?q=price:x", "", 400, `Could not parse text \"x\" using java.text.DecimalFormat`},
		{"GET", `fruit?q=a&sort="<x>"`, "", 400, `<x> is not a valid sort parameter`},
		{"GET", `fruit?q=a&sort="name"`, "", 400, `can't sort on field name`},
		{"GET", "fruit?q=a&bookmark=*", "", 400, `Invalid bookmark parameter supplied`},
		{"GET", "gone?q=a", "", 404, `{"error":"not_found","reason":"gone not found."}`},
		{"GET", "odd?q=a", "", 400, `klingon is not a valid analyzer name`},
		{"PUT", "fruit", "", 405, `Only GET, POST allowed`},
		{"GET", "../_nouveau_info/fruit", "", 200, `{"name":"_design/d/fruit","search_index":{"signature":"…",` +
			`"disk_size":…,"num_docs":4,"purge_seq":0,"update_seq":6,"error_count":0}}`},
		{"GET", "../_nouveau_info/odd", "", 400, `klingon is not a valid analyzer name`},
		{"GET", "../_nouveau_errors/clash", "", 200, `{"errors":[…{"id":"apple","error":"field x is of type STRING ` +
			`not DOUBLE"},…{"id":"plum",…`},
		{"GET", "../_search_info/fruit", "", 200, `{"name":"_design/d/fruit","search_index":{"signature":"…",` +
			`"pending_seq":6,"doc_del_count":0,"doc_count":0,"disk_size":0,"committed_seq":0…`},
		{"GET", "../_search_disk_size/fruit", "", 200,
			`{"name":"_design/d/fruit","search_index":{"disk_size":0}}`},
	} {
		check(t, s, c.method, path, c.path, c.body, c.status, c.answer)
	}
	for _, path := range []string{"_search_cleanup", "_nouveau_cleanup"} {
		code, answer := get(t, s, "POST", "/db/"+path, "{}")
		require.Equal(t, 202, code, answer)
		require.Equal(t, `{"ok":true}`, answer)
	}
	require.Contains(t, s.Do("GET", "/", "").Body.String(), `"features":["search","nouveau","access-ready",`)
}

// TestRequestsOfSearch: what CouchDB's search handlers look at before they read the options of a
// request, and what not.
func TestRequestsOfSearch(t *testing.T) {
	s := fruit(t)
	const design, nothing = "/db/_design/d/", `{"error":"bad_request","reason":"path not recognized"}`
	const wrongType = `{"error":"bad_content_type","reason":"Content-Type must be application/json"}`
	for _, c := range []struct {
		method, path, contentType string
		status                    int
		answer                    string
	}{
		{"POST", design + "_search/fruit", "text/plain;charset=UTF-8", 200, `{"total_rows":1,`},
		{"POST", design + "_search/fruit", "application/x-www-form-urlencoded", 200, `{"total_rows":1,`},
		{"POST", design + "_search/fruit", "", 200, `{"total_rows":1,`},
		{"POST", design + "_nouveau/fruit", "text/plain", 415, wrongType},
		{"POST", "/_search_analyze", "text/plain", 415, wrongType},
		{"POST", "/_nouveau_analyze", "text/plain", 415, wrongType},
		{"POST", "/db/_search_cleanup", "text/plain", 202, `{"ok":true}`},
		{"POST", "/db/_nouveau_cleanup", "text/plain", 415, wrongType},
		{"HEAD", design + "_search/fruit?q=kiwi", "", 200, ""},
		{"HEAD", design + "_nouveau/fruit?q=name:kiwi", "", 200, ""},
		{"HEAD", design + "_nouveau_info/fruit", "", 200, ""},
		{"POST", design + "_search", "", 400, nothing},
		{"GET", design + "_search/fruit/x", "", 400, nothing},
		{"GET", design + "_search_info", "", 400, nothing},
		{"PUT", design + "_search_info/fruit/x", "", 400, nothing},
		{"DELETE", design + "_search_disk_size", "", 400, nothing},
		{"GET", design + "_nouveau_info", "", 400, nothing},
		{"GET", design + "_nouveau_info/fruit/x", "", 400, nothing},
		{"GET", design + "_nouveau", "", 405, `{"error":"method_not_allowed","reason":"Only GET, POST allowed"}`},
		{"POST", design + "_nouveau/fruit/x", "", 405, `Only GET, POST allowed`},
		{"GET", "/db/_design/gone/_search_info", "", 404, `{"error":"not_found","reason":"missing"}`},
		{"GET", "/db/_design/gone/_nouveau", "", 404, `{"error":"not_found","reason":"missing"}`},
	} {
		w := s.Do(c.method, c.path, `{"q":"kiwi"}`, "Content-Type", c.contentType)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) {
			t.Errorf("%s %s as %q: %d %s, want %d %s", c.method, c.path, c.contentType, w.Code, w.Body, c.status,
				c.answer)
		}
	}
}

// TestPages: bookmarks go on where a page ended, though documents come, go and change between.
func TestPages(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", ddoc)
	for i := range 30 {
		body := fmt.Sprintf(`{"name":"fruit","price":%d}`, i%5)
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/f%02d", i), body).Code)
	}
	for _, api := range []struct{ path, sort, hits string }{
		{"_search", `"price"`, "rows"}, {"_search", `"<score>"`, "rows"}, {"_nouveau", `"price"`, "hits"}, {"_nouveau", `"_id"`, "hits"},
	} {
		query := "default:fruit"
		if api.path == "_nouveau" {
			query = "name:fruit"
		}
		var ids []string
		bookmark := ""
		for page := 0; ; page++ {
			body := fmt.Sprintf(`{"q":%q,"sort":%s,"limit":7`, query, api.sort)
			if bookmark != "" {
				body += fmt.Sprintf(`,"bookmark":%q`, bookmark)
			}
			code, answer := get(t, s, "POST", "/db/_design/d/"+api.path+"/fruit", body+"}")
			require.Equal(t, 200, code, answer)
			var read struct {
				Bookmark   string
				Rows, Hits []struct{ ID string }
			}
			require.NoError(t, json.Unmarshal([]byte(answer), &read))
			if len(read.Rows)+len(read.Hits) == 0 {
				require.Equal(t, bookmark, read.Bookmark)
				break
			}
			bookmark = read.Bookmark
			for _, hit := range append(read.Rows, read.Hits...) {
				ids = append(ids, hit.ID)
			}
			if page == 1 && api.sort != `"<score>"` { // a score depends on all documents
				s.Do("PUT", "/db/early-"+api.path+fmt.Sprint(len(api.sort)), `{"name":"fruit","price":-1}`)
			}
		}
		seen := map[string]bool{}
		for _, id := range ids {
			if strings.HasPrefix(id, "f") {
				require.False(t, seen[id], "%s twice in %v", id, ids)
				seen[id] = true
			}
		}
		require.Len(t, seen, 30, "%v %v", api, ids)
	}
	code, answer := get(t, s, "GET", "/db/_design/d/_search/fruit?q=fruit&limit=1", "")
	require.Equal(t, 200, code)
	var read struct{ Bookmark string }
	require.NoError(t, json.Unmarshal([]byte(answer), &read))
	code, answer = get(t, s, "GET", "/db/_design/d/_search/fruit?q=fruit&sort=%22price%22&bookmark="+read.Bookmark, "")
	require.Equal(t, 400, code)
	require.Contains(t, answer, "sort order not compatible with given bookmark")
}

// TestPartitions: what CouchDB's partitioned databases let a query ask for.
func TestPartitions(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/parts?partitioned=true", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/parts/_design/d", ddoc).Code)
	require.Equal(t, 201, s.Do("PUT", "/parts/_design/g", `{"options":{"partitioned":false},`+ddoc[1:]).Code)
	for _, id := range []string{"a:1", "a:2", "b:1"} {
		require.Equal(t, 201, s.Do("PUT", "/parts/"+id, `{"name":"fruit","price":1}`).Code)
	}
	for _, c := range []struct {
		path   string
		status int
		answer string
	}{
		{"d/_search/fruit?q=fruit&partition=a", 200, `{"total_rows":2,…"id":"a:1"…"id":"a:2"…`},
		{"d/_search/fruit?q=fruit", 400, "`partition` parameter is mandatory for queries to this index."},
		{"g/_search/fruit?q=fruit", 200, `{"total_rows":3,…`},
		{"g/_search/fruit?q=fruit&partition=a", 400, "`partition` not supported on this index"},
		{"d/_search/fruit?q=fruit&partition=a&limit=2001", 400, "must not exceed 2000"},
		{`d/_search/fruit?q=fruit&partition=a&counts=["place"]`, 400, "`partition` and any of `drilldown`, `ranges`, " +
			"`group_field`, `group_sort`, `group_limit` or `group_by` are incompatible"},
		{"d/_nouveau/fruit?q=name:fruit&partition=b", 200, `"id":"b:1"…"total_hits":1…`},
		{"d/_nouveau/fruit?q=name:fruit", 200, `"total_hits":3…`},
		{"d/_search/plain?q=x:1&partition=a", 200, `{"total_rows":2,…`}, // no design documents
	} {
		check(t, s, "GET", "/parts/_design/", c.path, "", c.status, c.answer)
	}
}
