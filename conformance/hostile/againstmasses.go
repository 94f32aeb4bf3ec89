package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// massAttacks store, or ask for, very many of one thing.
var massAttacks = []attack{
	{
		name:  "purge floods",
		shows: "requests of 50,000 purges beside builds, feeds and writers, limits of every size",
		short: 0.01,
		run:   purgeFloods,
	},
	{
		name:  "conflict trees",
		shows: "replicated revisions that widen and deepen a tree, beside its readers",
		short: 0.02,
		run:   conflictTrees,
	},
	{
		name:  "local documents in masses",
		shows: "50,000 small ones, 30 of 7 MB, and lists of them",
		short: 0.01,
		run:   manyLocals,
	},
	{
		name:  "attachments in masses",
		shows: "100,000 of one document, names of a megabyte, revisions of them",
		short: 0.01,
		run:   manyAttachments,
	},
	{
		name:  "attachments in JSON",
		shows: "300 MB, plain and packed to nothing, in base64 by every way that shows documents, 8 at once",
		short: 0.01,
		run:   jsonAttachments,
	},
	{
		name:  "tiny documents in masses",
		shows: "1,000,000 in one request, ids of a megabyte, eight at once",
		short: 0.01,
		run:   tinyDocuments,
		limit: 5 * time.Minute,
	},
	{
		name:  "feeds in masses",
		shows: "8,000 continuous, longpoll and eventsource feeds with heartbeats beside a writer, which all vanish",
		short: 0.02,
		run:   manyFeeds,
	},
}

// numbers is a body of n texts made of a format with a number.
func numbers(start, format, end string, n int) body {
	return list(start, end, n, func(i int) string { return fmt.Sprintf(format, i) })
}

// batches stores documents that are prepared whole, in requests of a size that fits.
func (a *assault) batches(ctx context.Context, at, n int, doc func(i int) string, expected ...int) {
	const batch = 500
	var requests []request
	for from := 0; from < n; from += batch {
		requests = append(requests, request{method: "POST", path: "/" + a.db + "/_bulk_docs",
			body: list(`{"docs":[`, `]}`, min(batch, n-from), func(i int) string { return doc(from + i) })})
	}
	a.each(ctx, at, requests, expected...)
}

// gets sends GET requests to paths below the database, so many at a time.
func (a *assault) gets(ctx context.Context, at int, paths []string, expected ...int) {
	var requests []request
	for _, path := range paths {
		requests = append(requests, request{method: "GET", path: "/" + a.db + path})
	}
	a.each(ctx, at, requests, expected...)
}

// design stores a design document.
func (a *assault) design(ctx context.Context, name string, b body, expected ...int) {
	a.send(ctx, request{method: "PUT", path: "/" + a.db + "/_design/" + name, body: b}, expected...)
}

// times repeats a list.
func times[T any](n int, list ...T) (all []T) {
	for range n {
		all = append(all, list...)
	}
	return all
}

// purgeFloods purges 50,000 documents at once, among them unknown ones and unknown revisions, while
// views are read, feeds run and others write. Limits at the ends of integers come first, because
// the purges depend on them.
func purgeFloods(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, listDesign)
	if err != nil {
		return err
	}
	defer remove()
	n := a.n(50_000)
	if err := a.fill(ctx, n, func(i int) string { return fmt.Sprintf(`{"_id":"d%06d","n":%d}`, i, i) }); err != nil {
		return err
	}
	got := a.send(ctx, request{method: "GET", path: "/" + a.db + "/d000000"}, 200)
	var first struct {
		Rev string `json:"_rev"`
	}
	if err := json.Unmarshal([]byte(got.start), &first); err != nil {
		return fmt.Errorf("the first document: %w", err)
	}
	db := "/" + a.db
	known := list("{", "}", n, func(i int) string { return fmt.Sprintf(`"d%06d":["%s"]`, i, first.Rev) })
	unknown := list("{", "}", n, func(i int) string { return fmt.Sprintf(`"x%06d":["1-%032x"]`, i, i) })
	revs := list(`{"d000000":[`, `]}`, n, func(i int) string { return fmt.Sprintf(`"9-%032x"`, i) })
	requests := []request{
		{method: "PUT", path: db + "/_purged_infos_limit", body: text("1")},
		{method: "PUT", path: db + "/_purged_infos_limit", body: text("9223372036854775807")},
		{method: "PUT", path: db + "/_purged_infos_limit", body: text("99999999999999999999")},
		{method: "PUT", path: db + "/_revs_limit", body: text("9223372036854775808")},
		{method: "PUT", path: db + "/_revs_limit", body: text("1" + strings.Repeat("0", a.n(1_000_000)))},
		{method: "PUT", path: db + "/_revs_limit", body: text("1e300")},
		{method: "PUT", path: db + "/_revs_limit", body: text("1")},
	}
	for range 4 {
		requests = append(requests, request{method: "POST", path: db + "/_purge", body: unknown},
			request{method: "POST", path: db + "/_purge", body: revs},
			request{method: "POST", path: db + "/_purge", body: known},
			request{method: "GET", path: db + "/_design/d/_view/all?group_level=1"},
			request{method: "GET", path: db + "/_purged_infos"},
			request{method: "GET", path: db + "/_changes?include_docs=true"},
			request{method: "POST", path: db + "/_compact", body: text("{}")},
			request{method: "GET", path: db + "/_design/d/_view/odd?reduce=false"})
	}
	for i := range requests {
		if strings.Contains(requests[i].path, "/_purge") { // of server administrators alone
			requests[i].as = admin
		}
	}
	var group sync.WaitGroup
	group.Go(func() {
		for i := range a.n(300) {
			a.put(ctx, fmt.Sprintf("w-%d", i), text(`{"n":1}`), nil, 201, 503)
		}
	})
	a.each(ctx, 8, requests, 200, 201, 202, 400, 413, 500, 503) // 500: a limit that is no integer, as CouchDB
	group.Wait()
	return nil
}

// conflictTrees sends revisions as a replicator does: more leaves with each request, and stems as
// long as they may be.
func conflictTrees(ctx context.Context, a *assault) error {
	remove, err := a.database(
		ctx,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._conflicts, 1) }"}},`+
			`"validate_doc_update":"function(doc, old) { if (doc.bad) throw {forbidden: 'bad'} }"}`,
	)
	if err != nil {
		return err
	}
	defer remove()
	leaf := func(round, i int) string {
		return fmt.Sprintf(
			`{"_id":"wide","_rev":"3-%030x%02x","_revisions":{"start":3,"ids":["%030x%02x","%032x","%032x"]},"a":%d}`,
			i,
			round,
			i,
			round,
			i%100,
			i%10,
			i,
		)
	}
	deep := func(round, i int) string {
		path := make([]string, 1000)
		for j := range path {
			path[j] = fmt.Sprintf(`"%032x"`, (1000-j)+1_000_000*((i+round)%50))
		}
		return fmt.Sprintf(`{"_id":"deep%d","_rev":"1000-%s,"_revisions":{"start":1000,"ids":[%s]}}`, round%4,
			path[0][1:], strings.Join(path, ","))
	}
	together(8, func(round int) {
		for _, kind := range []func(round, i int) string{leaf, deep} {
			n := a.n(2000)
			if round%4 == 0 {
				n = a.n(100)
			}
			a.send(ctx, request{
				method: "POST",
				path:   "/" + a.db + "/_bulk_docs",
				body:   list(`{"new_edits":false,"docs":[`, `]}`, n, func(i int) string { return kind(round, i) }),
			}, 201, 413, 503)
		}
		a.gets(ctx, 1, []string{
			"/wide?conflicts=true",
			"/wide?open_revs=all",
			"/wide?revs_info=true&conflicts=true&deleted_conflicts=true",
			"/deep1?open_revs=all&revs=true",
			"/_changes?style=all_docs",
			"/_all_docs?conflicts=true&include_docs=true",
			"/_design/d/_view/v",
			"/wide?meta=true",
		}, 200, 404, 500, 503)
	})
	a.put(ctx, "wide", text(`{"new":1}`), nil, 201, 409, 503)
	return nil
}

// manyLocals stores 50,000 local documents and some very large ones. They are in no feed and no
// view, so a list of their own must cope with them.
func manyLocals(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	a.batches(ctx, 4, a.n(50_000), func(i int) string { return fmt.Sprintf(`{"_id":"_local/l%d","n":%d}`, i, i) }, 201,
		503)
	large := repeat(`{"a":"`, "x", a.n(7_000_000), `"}`)
	together(8, func(i int) {
		for n := range a.n(4) {
			a.send(ctx, request{method: "PUT", path: fmt.Sprintf("/%s/_local/large%d", a.db, i*10+n), body: large}, 201,
				413, 503)
		}
	})
	a.gets(
		ctx,
		8,
		times(4, "/_local_docs", "/_local_docs?include_docs=true", "/_local_docs?skip=40000&descending=true",
			"/_local/large0", "", "/_changes", "/_all_docs"),
		200,
		404,
		503,
	)
	return nil
}

// manyAttachments writes a document with 100,000 attachments, edits it with as many stubs, and
// tries names and types of a megabyte: each reading of the document brings the whole list along.
func manyAttachments(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	n := a.n(100_000)
	got := a.put(ctx, "many", numbers(`{"_attachments":{`, `"a%d":{"data":"YQ=="}`, `}}`, n), nil, 201, 413, 503)
	if rev, ok := acknowledgedRev(got); ok {
		a.put(ctx, "many", numbers(fmt.Sprintf(`{"_rev":%q,"_attachments":{`, rev), `"a%d":{"stub":true}`, `}}`, n),
			nil, 201, 412, 413, 503)
	}
	stubs := numbers(`{"_attachments":{`, `"a%d":{"stub":true,"revpos":1,"length":1}`, `}}`, n)
	name := strings.Repeat("n", a.n(1_000_000))
	together(8, func(i int) {
		a.send(ctx, request{method: "PUT", path: fmt.Sprintf("/%s/stubs%d", a.db, i), body: stubs}, 412, 413, 503)
		a.put(
			ctx,
			fmt.Sprintf("name%d", i),
			text(`{"_attachments":{"`+name+`":{"data":"YQ=="}}}`),
			nil,
			append(refusals, 201)...)
		a.put(
			ctx,
			fmt.Sprintf("type%d", i),
			text(`{"_attachments":{"a":{"content_type":"`+name+`","data":"YQ=="}}}`),
			nil,
			append(refusals, 201)...)
		a.put(ctx, fmt.Sprintf("path%d/%s", i, name[:min(len(name), 7000)]), text("a"), nil, append(refusals, 201)...)
		a.gets(ctx, 1, []string{
			"/many",
			"/many?attachments=true",
			fmt.Sprintf("/name%d", i),
			fmt.Sprintf("/type%d/a", i),
			"/many/a7",
			"/_all_docs?include_docs=true&attachments=true",
		}, 200, 400, 404, 413, 431, 500, 503)
	})
	return nil
}

// jsonAttachments asks for attachments in the JSON of their documents.
func jsonAttachments(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, listDesign)
	if err != nil {
		return err
	}
	defer remove()
	plain := repeat("", "0123456789abcdef", a.n(20_000_000), "")
	a.put(ctx, "plain/a", plain, []string{"Content-Type", "image/x"}, 201, 503)
	a.put(ctx, "packed/a", plain.packed(), append([]string{"Content-Type", "image/x"}, packedHeaders...), 201, 503)
	db := "/" + a.db
	var requests []request
	for range 3 {
		for _, doc := range []string{"plain", "packed"} {
			requests = append(
				requests,
				request{method: "GET", path: db + "/" + doc + "?attachments=true"},
				request{method: "HEAD", path: db + "/" + doc + "?attachments=true"},
				request{method: "GET", path: db + "/" + doc + "?attachments=true&open_revs=all"},
				request{
					method: "POST",
					path:   db + "/_bulk_get?attachments=true",
					body:   text(`{"docs":[{"id":"` + doc + `"}]}`),
				},
			)
		}
		requests = append(
			requests,
			request{method: "GET", path: db + "/_all_docs?include_docs=true&attachments=true"},
			request{method: "GET", path: db + "/_changes?include_docs=true&attachments=true"},
			request{
				method: "POST",
				path:   db + "/_changes?include_docs=true&attachments=true&filter=_selector",
				body:   text(`{"selector":{},"fields":["_attachments"]}`),
			},
		)
	}
	for i := range requests {
		requests[i].headers = []string{"Accept", "application/json"}
	}
	a.each(ctx, 8, requests, 200, 413, 503)
	return nil
}

// tinyDocuments sends a million documents of two bytes in a request: what is kept for each is many
// times its text. It also sends ids of a megabyte wherever an id may stand, each of which becomes a
// key of the store.
func tinyDocuments(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	db, n, id := "/"+a.db, a.n(1_000_000), strings.Repeat("i", a.n(1_000_000))
	requests := []request{
		{path: "/_bulk_docs", body: repeat(`{"docs":[`, `{},`, n, `{}]}`)},
		{path: "/_bulk_docs", body: repeat(`{"docs":[`, `{"_id":"a","_rev":"1-a"},`, n, `{}]}`)},
		{path: "/_bulk_docs", body: repeat(`{"docs":[`, `1,`, n, `{}]}`)},
		{path: "/_bulk_docs", body: repeat(`{"new_edits":false,"docs":[`, `{"_id":"a"},`, n, `{"_id":"a"}]}`)},
		{path: "/_bulk_docs", body: text(`{"docs":[{"_id":"` + id + `"}]}`)},
		{path: "/_all_docs", body: text(`{"keys":["` + id + `"]}`)},
		{path: "/_bulk_get", body: text(`{"docs":[{"id":"` + id + `"}]}`)},
		{path: "/_purge", body: text(`{"` + id + `":["1-a"]}`)},
		{path: "/_revs_diff", body: text(`{"` + id + `":["1-` + id + `"]}`)},
		{path: "", body: text(`{"_id":"` + id + `"}`)},
		{path: "/_find", body: text(`{"selector":{"_id":"` + id + `"}}`)},
	}
	for i := range requests {
		requests[i].method, requests[i].path = "POST", db+requests[i].path
	}
	a.each(ctx, 8, requests, append(refusals, 200, 201)...)
	return nil
}

// manyFeeds opens feeds, writes, and leaves without a word.
func manyFeeds(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	listening, leave := context.WithCancel(ctx)
	client := newClient(attackersAddress)
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	group.Go(func() {
		together(a.n(8000), func(i int) {
			path := "/" + a.db + []string{"/_changes?feed=continuous&heartbeat=1000", "/_changes?feed=longpoll&heartbeat=1&since=now", "/_changes?feed=eventsource&heartbeat=1",
				"/_changes?feed=continuous&include_docs=true&timeout=600000"}[i%4]
			r := request{method: "GET", path: path, client: client}
			if i%10 == 9 {
				r.path, r.as = "/_db_updates?feed=continuous&heartbeat=1", admin
			}
			if got, err := a.ask(listening, r); err == nil && got.status != http.StatusOK &&
				got.status != http.StatusServiceUnavailable {
				a.fault("a feed: %d %.100s", got.status, got.start)
			}
		})
	})
	for i := range a.n(200) {
		a.put(ctx, fmt.Sprintf("w-%d", i), text(`{"n":1}`), nil, 201, 503)
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	leave()
	group.Wait()
	return nil
}
