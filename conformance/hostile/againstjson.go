package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// jsonAttacks send JSON that is cheap to write and dear to read.
var jsonAttacks = []attack{
	{
		name:  "JSON everywhere",
		shows: "deep, wide, odd JSON at every endpoint that takes a body, 8 at once",
		short: 0.05,
		run:   jsonEverywhere,
	},
}

// odd is JSON that parsers stumble over.
type odd struct {
	name string
	body body
}

// odds are values; a member's name goes before them and an end after.
func odds(a *assault) []odd {
	var all []odd
	add := func(name string, b body) { all = append(all, odd{name, b}) }
	for _, depth := range []int{10_000, 1_000_000} {
		depth = a.n(depth)
		add("deep arrays", repeat("", "[", depth, "").then(repeat("", "]", depth, "")))
		add("deep objects", repeat("", `{"a":`, depth, "1").then(repeat("", "}", depth, "")))
	}
	add("unclosed arrays", repeat("", "[", a.n(5_000_000), ""))
	add("many members", list("{", "}", a.n(1_000_000), func(i int) string { return fmt.Sprintf(`"k%d":%d`, i, i) }))
	add("equal members", repeat("{", `"k":1,`, a.n(1_000_000), `"k":1}`))
	add("many elements", repeat("[", "1,", a.n(1_000_000), "1]"))
	add("many objects", repeat("[", "{},", a.n(1_000_000), "{}]"))
	add("long string", repeat(`"`, "x", a.n(20_000_000), `"`))
	add("long number", repeat("1", "0", a.n(1_000_000), ""))
	add("long fraction", repeat("0.", "3", a.n(1_000_000), ""))
	add("large exponent", text("1e999999999"))
	add("small exponent", text("1e-999999999"))
	add("lone surrogates", repeat(`"`, `\ud800`, a.n(100_000), `"`))
	add("escapes", repeat(`"`, `\u0000`, a.n(1_000_000), `"`))
	add("bad UTF-8", repeat(`"`, "\xff\xfe", a.n(100_000), `"`))
	add("spaces", repeat("", " ", a.n(10_000_000), "1"))
	return all
}

// endpoint takes a body; the odd value goes where %s stands. Some answer with 500, as CouchDB does.
type endpoint struct{ method, path, frame string }

// endpoints of a database, and of the server.
func endpoints(db string) []endpoint {
	at := func(path string) string { return "/" + db + path }
	return []endpoint{
		{"PUT", at("/odd"), `{"a":%s}`},
		{"PUT", at("/odd"), `%s`},
		{"POST", at(""), `{"a":%s}`},
		{"PUT", at("/_local/odd"), `{"a":%s}`},
		{"PUT", at("/_design/odd"), `{"views":{"v":{"map":%s}}}`},
		{"PUT", at("/_design/odd"), `{"validate_doc_update":%s}`},
		{"POST", at("/_bulk_docs"), `{"docs":[%s]}`},
		{"POST", at("/_bulk_docs"), `{"docs":%s}`},
		{"POST", at("/_bulk_docs"), `{"new_edits":false,"docs":[{"_id":"o","_revisions":%s}]}`},
		{"POST", at("/_bulk_get"), `{"docs":%s}`},
		{"POST", at("/_all_docs"), `{"keys":%s}`},
		{"POST", at("/_all_docs"), `{"start_key":%s}`},
		{"POST", at("/_all_docs/queries"), `{"queries":%s}`},
		{"POST", at("/_design/d/_view/v"), `{"keys":%s}`},
		{"POST", at("/_design/d/_view/v"), `{"start_key":%s,"end_key":1}`},
		{"POST", at("/_design/d/_view/v/queries"), `{"queries":[{"keys":%s}]}`},
		{"POST", at("/_changes?filter=_doc_ids"), `{"doc_ids":%s}`},
		{"POST", at("/_changes?filter=_selector"), `{"selector":{"a":%s}}`},
		{"POST", at("/_find"), `{"selector":{"a":%s}}`},
		{"POST", at("/_find"), `{"selector":%s}`},
		{"POST", at("/_find"), `{"selector":{},"fields":%s}`},
		{"POST", at("/_find"), `{"selector":{},"sort":%s}`},
		{"POST", at("/_explain"), `{"selector":{"$or":%s}}`},
		{"POST", at("/_index"), `{"index":{"fields":%s}}`},
		{"POST", at("/_index"), `{"index":{"fields":["a"],"partial_filter_selector":{"a":%s}}}`},
		{"POST", at("/_revs_diff"), `{"a":%s}`},
		{"POST", at("/_missing_revs"), `%s`},
		{"POST", at("/_purge"), `{"a":%s}`},
		{"PUT", at("/_security"), `{"admins":%s}`},
		{"PUT", at("/_revs_limit"), `%s`},
		{"PUT", at("/_purged_infos_limit"), `%s`},
		{"POST", at("/_compact"), `%s`},
		{"POST", at("/_view_cleanup"), `%s`},
		{"POST", "/_session", `{"name":%s,"password":"a"}`},
		{"POST", "/_session", `{"name":"a","password":%s}`},
		{"POST", "/_dbs_info", `{"keys":%s}`},
		{"POST", "/_replicate", `{"source":%s,"target":"a"}`},
		{"PUT", "/_users/org.couchdb.user:odd", `{"name":%s,"password":"a"}`},
		{"PUT", "/_replicator/odd", `{"source":%s,"target":"a"}`},
		{"PUT", "/_node/_local/_config/a/b", `%s`},
		{"POST", "/_search_analyze", `{"analyzer":"standard","text":%s}`},
		{"POST", "/_cluster_setup", `{"action":%s}`},
	}
}

// jsonEverywhere sends each odd value to a part of the endpoints, all of them over the whole; the
// small scale, fewer.
func jsonEverywhere(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id, 1) }"}}}`)
	if err != nil {
		return err
	}
	defer remove()
	type pair struct {
		odd
		endpoint
	}
	var pairs []pair
	places := endpoints(a.db)
	for i, o := range odds(a) {
		for j, e := range places {
			if every := max(1, int(1/a.scale)); (i*len(places)+j)%every == 0 {
				pairs = append(pairs, pair{o, e})
			}
		}
	}
	var next atomic.Int64
	together(8, func(int) {
		for ctx.Err() == nil {
			n := int(next.Add(1)) - 1
			if n >= len(pairs) {
				return
			}
			p := pairs[n]
			before, after, _ := strings.Cut(p.frame, "%s")
			got := a.send(
				ctx,
				request{method: p.method, path: p.path, body: text(before).then(p.body).then(text(after))},
				append(refusals, 200, 201, 202, 500)...)
			if got.status == 500 &&
				!slices.ContainsFunc(asCouchDB,
					func(reason string) bool { return strings.Contains(got.start, reason) }) {
				a.fault("%s in %s %s: %.200s", p.odd.name, p.path, p.frame, got.start)
			}
		}
	})
	return nil
}

// asCouchDB are errors with which CouchDB answers 500 to bodies of another shape than it expects,
// and the one of a worker that was ended.
var asCouchDB = []string{
	`"badarg"`,
	`"no_majority"`,
	`"function_clause"`,
	`"badmatch"`,
	`"case_clause"`,
	`"badarith"`,
	`"db_not_found"`,
	`"os_process_error"`,
	`"error_saving_ddoc"`,
}

// refusals are the statuses a client may get for what it should not have sent.
var refusals = []int{400, 401, 403, 404, 405, 409, 412, 413, 414, 415, 417, 429, 503}
