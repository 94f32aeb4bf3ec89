package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// blowupAttacks send little of which the server makes much: functions that give back megabytes, and
// indexes that are kept in the transactions of large documents.
var blowupAttacks = []attack{
	{
		name:  "functions that emit much",
		shows: "12 views of 4 design documents that emit a megabyte for each of 100 small documents, asked at once",
		short: 0.02,
		limit: 5 * time.Minute,
		run:   muchEmitted,
	},
	{
		name:  "functions that answer much",
		shows: "updates, shows, lists, filters and validation functions with results of 30 MB, 24 at once",
		short: 0.05,
		run:   muchAnswered,
	},
	{
		name: "interactive indexes of large documents",
		shows: "documents of 6 MB with 200,000 members or words, 16 at once, in 4 databases with indexes over all fields, " +
			"of texts, and views, all kept with each write",
		short: 0.02,
		own:   true,
		limit: 5 * time.Minute,
		run:   largeInteractive,
	},
}

// muchEmitted has views built whose rows are many times the documents, several of one design
// document among them.
func muchEmitted(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if err := a.fill(ctx, a.n(100), func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }); err != nil {
		return err
	}
	var paths []string
	for i := range 4 {
		var views []string
		for n := range 3 {
			views = append(views, fmt.Sprintf(`"v%d":{"map":"function (d) { emit(%d, 'x'.repeat(1e6)); }"}`, n, 10*i+n))
			paths = append(paths, fmt.Sprintf("/_design/d%d/_view/v%d?limit=1", i, n))
		}
		a.design(ctx, fmt.Sprintf("d%d", i), text(`{"views":{`+strings.Join(views, ",")+`}}`), 201, 503)
	}
	a.gets(ctx, len(paths), paths, 200, 404, 500, 503)
	return nil
}

// muchAnswered calls functions of each kind, whose results are long.
func muchAnswered(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"a"}`)
	if err != nil {
		return err
	}
	defer remove()
	long := fmt.Sprintf("'x'.repeat(%d)", a.n(30_000_000))
	a.design(ctx, "d", text(`{"views":{"v":{"map":"function (d) { emit(1, 1); }"}},
		"updates":{"u":"function () { return [null, `+long+`]; }",
			"s":"function () { return [{_id: 'b', a: `+long+`}, 'x']; }"},
		"shows":{"s":"function () { return `+long+`; }"},
		"filters":{"f":"function () { throw {forbidden: `+long+`}; }"},
		"lists":{"l":"function () { for (var i = 0; i < 9; i++) send(`+long+`); }"},
		"rewrites":"function () { return {path: `+long+`}; }"}`), 201, 503)
	a.design(ctx, "v", text(`{"validate_doc_update":"function (d) { if (d.bad) throw {forbidden: `+long+`}; }"}`), 201, 503)
	var requests []request
	for range 6 {
		for _, path := range []string{"GET /_design/d/_show/s", "GET /_design/d/_list/l/v", "POST /_design/d/_update/u",
			"POST /_design/d/_update/s", "GET /_changes?filter=d/f", "GET /_design/d/_rewrite/a", "PUT /bad"} {
			method, path, _ := strings.Cut(path, " ")
			r := request{method: method, path: "/" + a.db + path}
			if method != "GET" {
				r.body = text(`{"bad":1}`)
			}
			requests = append(requests, r)
		}
	}
	a.each(ctx, 24, requests, append(refusals, 200, 201, 403, 404, 500)...)
	return nil
}

// largeInteractive writes documents with many members and words into databases whose indexes are
// kept in the same transaction.
func largeInteractive(ctx context.Context, a *assault) error {
	var all []request
	n := a.n(200_000)
	for i := range 4 {
		b := newAssault(a.target, fmt.Sprintf("%s-kept%d", a.db, i), 0, a.scale)
		remove, err := b.database(ctx)
		if err != nil {
			return err
		}
		defer remove()
		for _, index := range []string{
			`{"type":"auto","index":{}}`, `{"type":"text","index":{}}`, `{"index":{"fields":["m1"]}}`,
		} {
			b.send(ctx, request{method: "POST", path: "/" + b.db + "/_index", body: text(index)}, 200, 503)
		}
		b.design(ctx, "d", text(`{"options":{"interactive":true},"views":{"v":{
			"map":"function (d) { for (var k in d) emit(k, d[k]); }"}}}`), 201, 503)
		words := list(`{"m1":"`, `"}`, n, func(i int) string { return fmt.Sprintf("word%06x and then ", i) })
		for range 4 {
			for _, body := range []body{numbers("{", `"m%d":"a longer value"`, "}", n), words,
				numbers(`{"m1":[`, `{"a":%d}`, "]}", n)} {
				all = append(all, request{method: "POST", path: "/" + b.db, body: body})
			}
		}
	}
	a.each(ctx, 16, all, append(refusals, 201)...)
	return nil
}
