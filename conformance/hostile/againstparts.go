package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// partAttacks are atomic requests over several documents, requests with an idempotency key, and
// reads of replaced revisions.
var partAttacks = []attack{
	{
		name: "atomic writes in masses",
		shows: "atomic requests of 10,000 documents, of 10,000 checks, of 60 MB and over 101 databases, 32 at once; 20,000 " +
			"patches with an Idempotency-Key each",
		short: 0.02,
		own:   true,
		limit: 5 * time.Minute,
		run:   atomicMasses,
	},
	{
		name:  "history in masses",
		shows: "one document of 100 KB rewritten 20,000 times where all is kept, and each revision brought back, 32 at once",
		short: 0.005,
		own:   true,
		limit: 10 * time.Minute,
		run:   historyMasses,
	},
	{
		name:  "kept values in masses",
		shows: "an index that keeps 16 values of 20 KB of each document, and a million groups by it, 16 at once",
		short: 0.002,
		own:   true,
		limit: 10 * time.Minute,
		run:   keptValues,
	},
}

// atomicMasses sends atomic requests at their bounds and beyond them: what is too much is refused
// and writes nothing.
func atomicMasses(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"n","n":0}`)
	if err != nil {
		return err
	}
	defer remove()
	names := make([]string, 101)
	for i := range names {
		if names[i] = fmt.Sprintf("%s-%d", a.db, i); i < a.n(101) {
			if err := a.makeDatabase(ctx, names[i], attackerName); err != nil {
				return err
			}
			defer func() {
				r := request{method: "DELETE", path: "/" + names[i], as: admin}
				if err := a.prepare(context.WithoutCancel(ctx), r); err != nil {
					a.fault("deleting %s afterwards: %v", names[i], err)
				}
			}()
		}
	}
	atomic := func(docs body, check string) body {
		return text(`{"atomic":true,"docs":`).then(docs).then(text(`,"check":[` + check + `]}`))
	}
	checks := func(n int) string {
		return strings.Repeat(`{"id":"n","rev":"1-x"},`, n-1) + `{"id":"absent","absent":true}`
	}
	over := func(n int) body {
		return list(`{"dbs":{`, `}}`, n, func(i int) string { return fmt.Sprintf(`%q:{"docs":[{"n":1}]}`, names[i]) })
	}
	bulk := "/" + a.db + "/_bulk_docs"
	each := `{"a":"` + strings.Repeat("x", 60_000) + `"},`
	requests := []request{
		{method: "POST", path: bulk, body: atomic(repeat(`[`, `{},`, 10_000, `{}]`), "")},
		{method: "POST", path: bulk, body: atomic(repeat(`[`, `{},`, 10, `{}]`), checks(10_000))},
		{method: "POST", path: bulk, body: atomic(repeat(`[`, `{},`, 990, `{}]`), checks(1000))},
		{method: "POST", path: bulk, body: atomic(repeat(`[`, each, a.n(990), `{}]`), "")},
		{method: "POST", path: bulk, body: atomic(repeat(`[`, `{"_id":"n"},`, 990, `{}]`), "")},
		{method: "POST", path: "/_atomic", body: over(101)},
		{method: "POST", path: "/_atomic", body: over(100)},
		{method: "POST", path: "/_atomic", body: repeat(`{"dbs":{`, `"a":{"docs":[{}]},`, 10_000, `"b":{}}}`)},
	}
	var all []request
	for range a.n(20) {
		all = append(all, requests...)
	}
	a.each(ctx, 32, all, 201, 400, 404, 409, 412, 413, 503)
	once := make([]request, a.n(20_000))
	one := text(`[{"op":"increment","path":"/n","value":1}]`)
	for i := range once {
		once[i] = request{method: "PATCH", path: "/" + a.db + "/n", body: one,
			headers: []string{"Idempotency-Key", fmt.Sprintf("%d-%s", i, strings.Repeat("k", 50))}}
	}
	a.each(ctx, 64, once, 201, 503, 507)
	return nil
}

var availableRevision = regexp.MustCompile(`"rev":"([^"]+)","status":"available"`)

// historyMasses fills what is kept of one document, and has each revision of it brought back.
func historyMasses(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"n"}`)
	if err != nil {
		return err
	}
	defer remove()
	doc := "/" + a.db + "/n"
	a.send(ctx, request{method: "PUT", path: "/" + a.db + "/_history", body: text(`{"history":"30d"}`)}, 201, 503)
	writes := make([]request, a.n(20_000))
	for i := range writes {
		writes[i] = request{method: "PATCH", path: doc,
			body: text(fmt.Sprintf(`{"n":%d,"a":"%s"}`, i, strings.Repeat(string(rune('a'+i%26)), 100_000)))}
	}
	a.each(ctx, 32, writes, 201, 413, 503)
	got, err := a.ask(ctx, request{method: "GET", path: doc + "?revs_info=true", whole: true})
	if err := unless(got, err, 200, 503); err != nil {
		return err
	}
	var restores []request
	for _, rev := range availableRevision.FindAllStringSubmatch(got.start, -1) {
		restores = append(restores,
			request{method: "POST", path: doc + "/_restore?rev=" + rev[1]},
			request{method: "GET", path: doc + "?rev=" + rev[1]})
	}
	a.each(ctx, 32, restores, 200, 201, 404, 503)
	a.gets(ctx, 8, []string{"/n?open_revs=all&revs=true", "/n?revs_info=true", "/_history", ""}, 200, 503)
	return nil
}

// keptValues defines an index that stores many fields of each document, and asks it for more groups
// than memory may hold.
func keptValues(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	var names, members []string
	for i := range 16 {
		names = append(names, fmt.Sprintf(`"v%d"`, i))
		members = append(members, fmt.Sprintf(`"v%d":"%s"`, i, strings.Repeat("v", 20_000)))
	}
	values, large := strings.Join(names, ","), strings.Join(members, ",")
	a.send(ctx, request{method: "POST", path: "/" + a.db + "/_index",
		body: text(`{"index":{"fields":["a"],"values":[` + values + `]},"name":"kept"}`)}, 200, 503)
	if err := a.fill(ctx, a.n(1_000_000), func(i int) string {
		return fmt.Sprintf(`{"a":%d,"v0":%d}`, i, i)
	}); err != nil {
		return err
	}
	for from := 0; from < a.n(500); from += 50 { // 16 MB at a time
		b := list(`{"docs":[`, `]}`, 50, func(i int) string { return fmt.Sprintf(`{"a":"%d",%s}`, from+i, large) })
		a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: b}, 201, 413, 503)
	}
	var requests []request
	for range 8 {
		for path, b := range map[string]string{
			"/_aggregate": `{"group_by":["a"],"values":{"n":{"$sum":"v0"},"m":{"$max":"v1"}},"limit":1000000}`,
			"/_explain":   `{"group_by":["a"],"values":{"n":{"$sum":"v0"}},"limit":1000000}`,
			"/_find":      `{"selector":{"a":{"$gte":""}},"fields":[` + values + `],"limit":100000}`,
		} {
			requests = append(requests, request{method: "POST", path: "/" + a.db + path, body: text(b)})
		}
		requests = append(requests, request{method: "POST", path: "/" + a.db + "/_aggregate",
			body: text(`{"group_by":["v3","a"],"values":{"m":{"$max":"v1"},"l":{"$last":"v2"}},"sort":["m"]}`)})
	}
	a.each(ctx, 16, requests, 200, 400, 500, 503) // 500 timeout
	return nil
}
