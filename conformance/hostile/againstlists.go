package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// listAttacks ask for lists without end, or name a million things.
var listAttacks = []attack{
	{
		name:  "a million keys",
		shows: "keys, ids and revisions by the million in _all_docs, views, _bulk_get, _revs_diff, _changes, 8 at once",
		short: 0.01,
		run:   millionKeys,
	},
	{
		name:  "selector feeds",
		shows: "24 feeds of 20,000 documents by _selector, with the documents, beside 8 large bodies at a time",
		short: 0.05,
		run:   selectorFeeds,
	},
	{
		name:  "lists without end",
		shows: "largest limits and skips, a thousand queries in one, of 100,000 documents",
		short: 0.01,
		run:   endlessLists,
	},
	{
		name:  "groups without end",
		shows: "group_level over 100,000 groups, reduce functions that grow",
		short: 0.01,
		run:   endlessGroups,
	},
}

const listDesign = `{"_id":"_design/d","views":{` +
	`"all":{"map":"function(doc) { if (doc.n) emit([doc.n % 10, doc.n], doc.n) }","reduce":"_sum"},` +
	`"odd":{"map":"function(doc) { if (doc.n) emit(doc.n, doc.n) }","reduce":"_stats"},` +
	`"grow":{"map":"function(doc) { if (doc.n) emit([doc.n % 10, doc.n], 1) }","reduce":"function(keys, values) { return values.join() + keys }"}}}`

// prepareLists makes a database of numbered documents.
func prepareLists(ctx context.Context, a *assault, n int) (remove func(), err error) {
	if remove, err = a.database(ctx, listDesign); err != nil {
		return nil, err
	}
	if err = a.fill(ctx, n, func(i int) string { return fmt.Sprintf(`{"_id":"d%07d","n":%d}`, i, i) }); err != nil {
		remove()
	}
	return remove, err
}

// millionKeys asks for a million keys, ids or revisions wherever a body may hold a list. The answer
// would be far larger than the request, so it has to be made as it is sent.
func millionKeys(ctx context.Context, a *assault) error {
	remove, err := prepareLists(ctx, a, 1000)
	if err != nil {
		return err
	}
	defer remove()
	n, db := a.n(1_000_000), "/"+a.db
	requests := []request{
		{path: "/_all_docs", body: repeat(`{"keys":[`, `"d0000001",`, n, `"a"]}`)},
		{path: "/_all_docs?include_docs=true", body: repeat(`{"keys":[`, `"d0000001",`, n, `"a"]}`)},
		{path: "/_all_docs/queries", body: repeat(`{"queries":[{"keys":[`, `"d0000001",`, n, `"a"]}]}`)},
		{path: "/_design/d/_view/all?reduce=false", body: repeat(`{"keys":[`, `[1,1],`, n, `1]}`)},
		{path: "/_design/d/_view/all?group=true", body: repeat(`{"keys":[`, `[1,1],`, n, `1]}`)},
		{path: "/_bulk_get", body: repeat(`{"docs":[`, `{"id":"d0000001"},`, n, `{"id":"a"}]}`)},
		{
			path: "/_bulk_get?revs=true&attachments=true",
			body: repeat(`{"docs":[`, `{"id":"d0000001","rev":"1-a"},`, n, `{"id":"a"}]}`),
		},
		{path: "/_revs_diff", body: list("{", "}", n, func(i int) string { return fmt.Sprintf(`"x%d":["1-a"]`, i) })},
		{path: "/_revs_diff", body: repeat(`{"d0000001":[`, `"1-abcdef",`, n, `"1-a"]}`)},
		{
			path: "/_missing_revs",
			body: list("{", "}", n, func(i int) string { return fmt.Sprintf(`"x%d":["1-a"]`, i) }),
		},
		{path: "/_changes?filter=_doc_ids", body: repeat(`{"doc_ids":[`, `"d0000001",`, n, `"a"]}`)},
		{path: "/_bulk_docs", body: repeat(`{"docs":[`, `{"_id":"d0000001"},`, n, `{}]}`)},
		{
			path: "/_bulk_docs",
			body: repeat(
				`{"new_edits":false,"docs":[{"_id":"long","_rev":"9999999-a","_revisions":{"start":9999999,"ids":[`,
				`"a",`,
				n,
				`"b"]}}]}`,
			),
		},
	}
	for i := range requests {
		requests[i].method, requests[i].path = "POST", db+requests[i].path
	}
	a.each(ctx, 8, requests, 200, 201, 400, 413, 503)
	return nil
}

// endlessLists asks for the longest lists, with the largest limits and skips there are. Answers are
// read but not kept. The number 2^59-1 is the largest that Erlang keeps in one word; sums with it
// must not overflow here.
func endlessLists(ctx context.Context, a *assault) error {
	remove, err := prepareLists(ctx, a, a.n(100_000))
	if err != nil {
		return err
	}
	defer remove()
	const most = "576460752303423487"
	db := "/" + a.db
	var requests []request
	for _, path := range []string{"/_all_docs?include_docs=true&limit=" + most, "/_all_docs?skip=" + most, "/_all_docs?descending=true&skip=99999", "/_changes?include_docs=true",
		"/_changes?style=all_docs&descending=true", "/_design/d/_view/odd?reduce=false&include_docs=true", "/_design/d/_view/odd?reduce=false&skip=99999&descending=true",
		"/_design/d/_view/all?reduce=false&skip=" + most, "/_local_docs?limit=" + most, "/_changes?feed=longpoll&timeout=1&since=now", "/_all_docs?inclusive_end=false&conflicts=true&include_docs=true"} {
		requests = append(requests, request{method: "GET", path: db + path})
	}
	same := func(unit string, n int) body { return repeat(`{"queries":[`, unit+",", n, unit+"]}") }
	for _, r := range []request{
		{path: "/_all_docs/queries", body: same(`{"limit":1000}`, a.n(1000))},
		{path: "/_design/d/_view/odd/queries", body: same(`{"reduce":false,"limit":1000}`, a.n(1000))},
		{path: "/_design/d/_view/odd/queries", body: same(`{"group":true,"limit":1000}`, a.n(1000))},
	} {
		r.method, r.path = "POST", db+r.path
		requests = append(requests, r)
	}
	for i := range requests {
		requests[i].whole = false
	}
	a.each(ctx, 8, requests, 200, 400, 503)
	return nil
}

func endlessGroups(ctx context.Context, a *assault) error {
	remove, err := prepareLists(ctx, a, a.n(100_000))
	if err != nil {
		return err
	}
	defer remove()
	var requests []request
	for _, query := range []string{"all?group=true", "all?group_level=1", "all?group_level=2", "all?group_level=999999999", "all?group=true&descending=true&skip=99999", "odd?group=true", "odd",
		"grow", "grow?group_level=1", "grow?group=true"} {
		requests = append(requests, request{method: "GET", path: "/" + a.db + "/_design/d/_view/" + query})
	}
	a.each(ctx, 8, requests, 200, 400, 500, 503) // a reduce function that grows is an error
	return nil
}

// each sends the requests once each, so many at a time.
func (a *assault) each(ctx context.Context, at int, requests []request, expected ...int) {
	next := make(chan request)
	go func() {
		defer close(next)
		for _, r := range requests {
			select {
			case next <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	together(at, func(int) {
		for r := range next {
			if got := a.send(ctx, r, expected...); got.status == http.StatusOK &&
				strings.HasPrefix(got.start, `{"error"`) {
				a.fault("%s: %.150s", r.path, got.start)
			}
		}
	})
}

// selectorFeeds reads feeds by a selector while large bodies take the memory. Small feeds wait and
// are not refused for good: 503 comes with the time after which to try it again.
func selectorFeeds(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	n := a.n(20_000)
	if err := a.fill(ctx, n, func(i int) string {
		return fmt.Sprintf(`{"_id":"s%d","n":%d,"text":"%0*d"}`, i, i, 1000, i)
	}); err != nil {
		return err
	}
	selector := text(`{"selector":{"$and":[{"n":{"$gte":0}},{"text":{"$regex":"^0*[0-9]+$"}}]}}`)
	bodies := repeat(`{"docs":[`, `{"a":"`+strings.Repeat("x", 10_000)+`"},`, a.n(2000), `{}]}`)
	together(32, func(i int) {
		if i%4 == 3 {
			a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: bodies}, 201, 413, 503)
			return
		}
		got := a.send(ctx, request{method: "POST", path: "/" + a.db + "/_changes?filter=_selector&include_docs=true",
			body: selector}, 200, 503)
		if got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") == "" {
			a.fault("503 without Retry-After")
		}
	})
	return nil
}
