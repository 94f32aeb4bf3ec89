package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// definitionAttacks define very many things in a database, or very large ones.
var definitionAttacks = []attack{
	{
		name:  "large security objects",
		shows: "_security objects of 8 and of 0.9 MB, read by 64 requests at once, also for a validation function",
		short: 0.02,
		run:   largeSecurity,
	},
	{
		name:  "roles in masses",
		shows: "a user with 100,000 roles, in a database with 60,000 others",
		short: 0.02,
		run:   manyRoles,
	},
	{
		name:  "databases in masses",
		shows: "10,000 databases, _all_dbs and _dbs_info of them",
		short: 0.003,
		run:   manyDatabases,
		limit: 5 * time.Minute,
	},
	{
		name:  "design documents in masses",
		shows: "10,000 in one database, beside writes, lists and queries",
		short: 0.01,
		run:   manyDesigns,
		limit: 5 * time.Minute,
	},
	{
		name:  "validation in masses",
		shows: "1,000 validation functions in one database, 20 of them slow in another",
		short: 0.01,
		run:   manyValidations,
	},
	{
		name:  "views in masses",
		shows: "1,000 views in one design document, another one of 7 MB",
		short: 0.01,
		run:   manyViews,
		limit: 5 * time.Minute,
	},
	{
		name:  "indexes in masses",
		shows: "10,000 definitions, beside writes, queries and _explain",
		short: 0.005,
		run:   manyIndexes,
		limit: 5 * time.Minute,
	},
}

// largeSecurity stores security objects with names by the hundred thousand. Every later request to
// the database reads the object, and validation functions are given it, so its size is multiplied
// by the number of requests.
func largeSecurity(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	for _, n := range []int{430_000, 45_000} {
		names := numbers(`{"admins":{"names":["`+attackerName+`"],"roles":[]},"members":{"names":[`, `"somebody-%08d"`,
			`],"roles":[]}}`, a.n(n))
		a.send(ctx, request{method: "PUT", path: "/" + a.db + "/_security", body: names}, 200, 413, 503)
	}
	paths := times(a.n(40), "/a", "", "/_all_docs", "/_security", "/_changes?limit=1", "/_local_docs", "/_design/none",
		"/_index")
	a.gets(ctx, 64, paths, 200, 404, 503)
	a.send(ctx, request{
		method: "PUT",
		path:   "/" + a.db + "/_design/v",
		body: text(
			`{"validate_doc_update":"function(doc, old, user, security) { if (doc.bad) throw {forbidden: 'bad'} }"}`,
		),
	}, 201)
	together(16, func(i int) {
		for n := range a.n(10) {
			a.put(ctx, fmt.Sprintf("checked-%d-%d", i, n), text(`{}`), nil, 201, 413, 500, 503)
		}
	})
	return nil
}

// manyRoles compares lists of which each has all that the other has not.
func manyRoles(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	user := account{a.db, "secret"}
	path := "/_users/org.couchdb.user:" + user.name
	start := fmt.Sprintf(`{"name":%q,"password":%q,"type":"user","roles":[`, user.name, user.password)
	got := a.send(ctx,
		request{method: "PUT", path: path, as: admin, body: numbers(start, `"many-%d"`, `]}`, a.n(100_000))}, 201, 413,
		503)
	loggedIn := []int{200, 503}
	if rev, ok := acknowledgedRev(got); ok {
		defer func() {
			a.send(context.WithoutCancel(ctx), request{method: "DELETE", path: path + "?rev=" + rev, as: admin}, 200)
		}()
	} else {
		loggedIn = append(loggedIn, 401)
	}
	security := numbers(fmt.Sprintf(`{"admins":{"names":[%q]},"members":{"names":[],"roles":[`, attackerName),
		`"other-%d"`, `]}}`, a.n(60_000))
	a.send(ctx, request{method: "PUT", path: "/" + a.db + "/_security", body: security}, 200, 413, 503)
	login := a.send(ctx, request{
		method: "POST",
		path:   "/_session",
		as:     nobody,
		body:   text(fmt.Sprintf(`{"name":%q,"password":%q}`, user.name, user.password)),
	}, loggedIn...)
	cookie, _, _ := strings.Cut(login.header.Get("Set-Cookie"), ";")
	var requests []request
	for range a.n(50) {
		for _, path := range []string{"/" + a.db + "/a", "/_session", "/" + a.db + "/_all_docs"} {
			requests = append(requests, request{method: "GET", path: path, as: user},
				request{method: "GET", path: path, as: nobody, headers: []string{"Cookie", cookie}})
		}
	}
	a.each(ctx, 16, requests, 200, 401, 403, 503)
	return nil
}

// manyDatabases makes 10,000 databases and asks for all lists of them. They are deleted even if the
// attack is stopped, with a time of its own, since the next attacks list databases as well.
func manyDatabases(ctx context.Context, a *assault) error {
	n := a.n(10_000)
	name := func(i int) string { return fmt.Sprintf("%s-%05d", a.db, i) }
	all := func(method string) (requests []request) {
		for i := range n {
			requests = append(requests, request{method: method, path: "/" + name(i), as: admin})
		}
		return requests
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultLimit)
		defer cancel()
		a.each(ctx, 32, all("DELETE"), 200, 404, 503)
	}()
	a.each(ctx, 32, all("PUT"), 201, 202, 503) // 503: too many connections
	quoted := func(i int) string { return `"` + name(i) + `"` }
	lists := times(8,
		request{method: "GET", path: "/_all_dbs"},
		request{method: "GET", path: "/_dbs_info"},
		request{method: "GET", path: "/_dbs_info?skip=9000&descending=true"},
		request{method: "POST", path: "/_dbs_info", body: list(`{"keys":[`, `]}`, min(n, 100), quoted)},
		request{method: "POST", path: "/_dbs_info", body: list(`{"keys":[`, `]}`, n, quoted)},
		request{method: "GET", path: "/_db_updates?since=0&limit=1000000"},
		request{method: "GET", path: "/_active_tasks"},
		request{method: "GET", path: "/_node/_local/_prometheus"})
	for i := range lists {
		lists[i].as = admin
	}
	a.each(ctx, 16, lists, 200, 400, 503) // 400: more keys than [chttpd] max_db_number_for_dbs_info_req
	return nil
}

// manyDesigns stores 10,000 design documents, each with a view, and writes meanwhile: each write
// has to know which design documents validate it and which indexes it belongs to.
func manyDesigns(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	a.batches(ctx, 4, a.n(10_000), func(i int) string {
		return fmt.Sprintf(`{"_id":"_design/d%05d","views":{"v":{"map":"function(doc) { emit(%d, doc._id) }"}}}`, i, i)
	}, 201, 503)
	var group sync.WaitGroup
	group.Go(func() {
		together(8, func(i int) {
			for n := range a.n(25) {
				a.put(ctx, fmt.Sprintf("w-%d-%d", i, n), text(`{"n":1}`), nil, 201, 503)
			}
		})
	})
	paths := times(4, "/_design_docs", "/_design_docs?include_docs=true", "/_all_docs?include_docs=true",
		"/_changes?include_docs=true", "/_index", "", "/_changes?filter=_design")
	for i := range a.n(40) {
		paths = append(paths, fmt.Sprintf("/_design/d%05d/_view/v", i), fmt.Sprintf("/_design/d%05d/_info", i))
	}
	a.gets(ctx, 8, paths, 200, 503)
	group.Wait()
	a.send(ctx, request{method: "POST", path: "/" + a.db + "/_view_cleanup", body: text(`{}`)}, 202, 503)
	a.send(ctx, request{method: "POST", path: "/" + a.db + "/_find", body: text(`{"selector":{"n":1}}`)}, 200, 503)
	return nil
}

// manyValidations writes where each write has to pass a thousand functions, and where each waits
// seconds for the slow ones.
func manyValidations(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	design := func(i int, body string) string {
		return fmt.Sprintf(
			`{"_id":"_design/v%04d","validate_doc_update":"function(doc) { %s; if (doc.bad == %d) throw {forbidden: 'bad'} }"}`,
			i,
			body,
			i,
		)
	}
	a.batches(ctx, 1, a.n(1000), func(i int) string { return design(i, "") }, 201, 503)
	slow := newAssault(a.target, a.db+"-slow", 0, a.scale)
	removeSlow, err := slow.database(ctx)
	if err != nil {
		return err
	}
	defer removeSlow()
	slow.batches(ctx, 1, a.n(20),
		func(i int) string { return design(i, "var end = Date.now() + 200; while (Date.now() < end);") }, 201, 503)
	together(16, func(i int) {
		for n := range a.n(10) {
			if i%2 == 0 {
				a.put(ctx, fmt.Sprintf("w-%d-%d", i, n), text(`{"n":1}`), nil, 201, 500, 503)
			} else {
				put := request{method: "PUT", path: fmt.Sprintf("/%s/w-%d-%d", slow.db, i, n), body: text(`{}`)}
				got := slow.send(ctx, put, 201, 500, 503)
				a.saw(fmt.Sprint("slow ", got.status))
			}
		}
	})
	a.batches(ctx, 4, a.n(5000), func(int) string { return `{"bad":7}` }, 201, 500, 503)
	return slow.err()
}

// manyViews stores a design document of 1000 views, one with a comment of megabytes in its code,
// and one with a library of megabytes: the code is compiled in a worker whose memory is bounded.
func manyViews(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if err := a.fill(ctx, a.n(2000), func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }); err != nil {
		return err
	}
	view := `"v%d":{"map":"function(doc) { emit([%d, doc.n], doc.n) }","reduce":"_stats"}`
	a.design(ctx, "many", list(`{"views":{`, `}}`, a.n(1000), func(i int) string { return fmt.Sprintf(view, i, i) }),
		201, 413, 503)
	a.design(ctx, "large",
		repeat(`{"views":{"v":{"map":"function(doc) { emit(1, 1); } //`, "comment ", a.n(900_000), `"}}}`), 201, 413,
		500, 503) // 500: it was not compiled in time
	a.design(
		ctx,
		"libs",
		repeat(`{"views":{"lib":{"l":"exports.a = '`, "x", a.n(7_000_000),
			`'"},"v":{"map":"function(doc) { emit(require('views/lib/l').a.length, 1); }"}}}`),
		201,
		413,
		503,
	)
	a.gets(
		ctx,
		8,
		times(4, "/_design/many/_view/v0", "/_design/many/_view/v7?group=true", "/_design/many/_info",
			"/_design/large/_view/v", "/_design/libs/_view/v", "/_design/large/_info", "/_design/large",
			"/_design_docs?include_docs=true"),
		200,
		400,
		500,
		503,
	)
	return nil
}

// manyIndexes makes thousands of Mango indexes, both in one design document and in one each. A
// query must look at all of them to choose one, and a write must update all.
func manyIndexes(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	ownField := func(i int) string { return fmt.Sprintf(`{"f%d":%d,"n":%d}`, i, i, i) }
	if err := a.fill(ctx, a.n(1000), ownField); err != nil {
		return err
	}
	db := "/" + a.db
	var requests []request
	for i := range a.n(2000) {
		requests = append(requests, request{
			method: "POST",
			path:   db + "/_index",
			body:   text(fmt.Sprintf(`{"index":{"fields":["f%d"]},"ddoc":"one","name":"i%d"}`, i, i)),
		})
		requests = append(requests, request{
			method: "POST",
			path:   db + "/_index",
			body:   text(fmt.Sprintf(`{"index":{"fields":["g%d","n"]}}`, i)),
		})
	}
	a.each(ctx, 8, requests, 200, 409, 500, 503) // 409 and 500: two of one design document at once, as CouchDB
	a.batches(ctx, 4, a.n(6000), func(i int) string {
		return fmt.Sprintf(
			`{"_id":"_design/j%d","language":"query","views":{"v":{"map":{"fields":{"h%d":"asc"},"partial_filter_selector":{}},"reduce":"_count","options":{"def":{"fields":["h%d"]}}}}}`,
			i,
			i,
			i,
		)
	}, 201, 503)
	queries := times(4,
		request{method: "POST", path: db + "/_find", body: text(`{"selector":{"n":{"$gt":1}}}`)},
		request{method: "POST", path: db + "/_explain", body: text(`{"selector":{"n":{"$gt":1},"f1":1}}`)},
		request{method: "POST", path: db + "/_bulk_docs", body: repeat(`{"docs":[`, `{"n":1},`, a.n(500), `{}]}`)})
	a.each(ctx, 8, queries, 200, 201, 503)
	a.gets(ctx, 4, []string{"/_index", "/_index?limit=1&skip=5000", "/_design_docs", ""}, 200, 503)
	a.send(ctx, request{
		method: "POST",
		path:   db + "/_index/_bulk_delete",
		body:   numbers(`{"docids":[`, `"_design/j%d"`, `]}`, a.n(6000)),
	}, 200, 201, 202, 503)
	return nil
}
