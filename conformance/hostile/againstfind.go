package main

import (
	"context"
	"fmt"
	"strings"
)

// findAttacks are queries of Mango that cost much.
var findAttacks = []attack{
	{
		name:  "selectors",
		shows: "$regex that backtracks, $or of 10,000, $in of a million, deep $and and $not, sorts in memory, 8 at once",
		short: 0.01,
		run:   dearSelectors,
	},
	{
		name:  "sorts in masses",
		shows: "40 MB of keys and documents sorted by each of 32 queries at once",
		short: 0.02,
		run:   manySorts,
		own:   true,
	},
	{
		name:  "groups in masses",
		shows: "_aggregate over 100,000 groups with a thousand bytes each, with values that keep texts, 32 at once",
		short: 0.01,
		run:   manyGroups,
		own:   true,
	},
}

// manyGroups asks for more groups than an answer may hold, in number and in bytes, with aggregates
// that keep something for each document.
func manyGroups(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	long := strings.Repeat("g", 1000)
	if err := a.fill(ctx, a.n(110_000), func(i int) string {
		return fmt.Sprintf(`{"a":%d,"b":"%s%d","c":%d}`, i, long, i, i%3)
	}); err != nil {
		return err
	}
	values := make([]string, 60)
	for i := range values {
		values[i] = fmt.Sprintf(`"v%d":{"%s":"b"}`, i, []string{"$first", "$last", "$distinct", "$max"}[i%4])
	}
	all := "{" + strings.Join(values, ",") + "}"
	var requests []request
	for range 16 {
		for _, b := range []string{
			`{"group_by":["a"],"values":{"n":{"$count":true}}}`,
			`{"group_by":["b"],"values":{"n":{"$count":true}},"sort":["n"],"limit":1000000}`,
			`{"group_by":["c"],"values":` + all + `}`,
			`{"group_by":["b","a"],"values":` + all + `}`,
			`{"group_by":[{"field":"b","prefix":1048576}],"values":` + all + `,"sort":["v0","v1","v2"]}`,
			`{"group_by":[{"field":"a","floor":1e-300}],"values":{"n":{"$sum":"a"}}}`,
		} {
			requests = append(requests, request{method: "POST", path: "/" + a.db + "/_aggregate", body: text(b)})
		}
	}
	a.each(ctx, 32, requests, 200, 400, 500, 503) // 500 timeout
	return nil
}

// manySorts sorts by two fields of an index over all fields, and by one beside a filter: both keep
// what they sort.
func manySorts(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	long := strings.Repeat("k", 8000)
	if err := a.fill(ctx, a.n(5000), func(i int) string {
		return fmt.Sprintf(`{"a":"%04d%s","b":1,"c":%d}`, (i*7919)%10_000, long, i%2)
	}); err != nil {
		return err
	}
	auto := text(`{"index":{},"type":"auto","name":"all"}`)
	a.send(ctx, request{method: "POST", path: "/" + a.db + "/_index", body: auto}, 200, 503)
	var requests []request
	for range 16 {
		for _, query := range []string{
			`{"selector":{"b":1},"sort":["c","a"],"limit":100000}`,
			`{"selector":{"b":1},"sort":[{"a":"desc"}],"limit":100000,"fields":["_id"]}`,
			`{"selector":{"c":1},"sort":["b","a"],"skip":4000,"limit":1000}`,
			`{"selector":{"a":{"$gt":""},"c":0},"sort":["a"],"limit":100000}`,
		} {
			requests = append(requests, request{method: "POST", path: "/" + a.db + "/_find", body: text(query)})
		}
	}
	a.each(ctx, 32, requests, 200, 503)
	return nil
}

// dearSelectors asks queries that cost much more than their size suggests: patterns that backtrack,
// patterns that expand, selectors nested 10,000 deep, lists of a million values, pages far behind
// the end. _explain gets each as well, since it plans without the limits of a running query.
func dearSelectors(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	long := strings.Repeat("a", 30)
	if err := a.fill(ctx, a.n(20_000), func(i int) string {
		return fmt.Sprintf(`{"n":%d,"s":"%s!","l":[%s1],"o":{"a":{"b":%d}}}`, i, long, strings.Repeat("1,", 50), i)
	}); err != nil {
		return err
	}
	for _, index := range []string{`{"index":{"fields":["n"]},"name":"n"}`, `{"index":{"fields":["s","n"]},"name":"s"}`} {
		a.send(ctx, request{method: "POST", path: "/" + a.db + "/_index", body: text(index)}, 200, 503)
	}
	nested := func(open, end string, n int) string {
		return strings.Repeat(open, n) + `{"n":1}` + strings.Repeat(end, n)
	}
	or := func(op string, n int) body {
		return list(`{"selector":{"`+op+`":[`, `]}}`, n,
			func(i int) string { return fmt.Sprintf(`{"n":{"$gt":%d}}`, i+1_000_000) })
	}
	find := func(s string) body { return text(`{"selector":` + s + `}`) }
	ten, million := a.n(10_000), a.n(1_000_000)
	var requests []request
	for _, b := range []body{
		find(`{"s":{"$regex":"^(a+)+$"}}`),
		find(`{"s":{"$regex":"^(a|aa)+$"}}`),
		find(`{"s":{"$regex":"(?=.*b)^(a|a?)+c$"}}`),
		find(`{"s":{"$regex":"((a{1,100}){1,100}){1,100}"}}`),
		find(`{"s":{"$regex":"` + strings.Repeat("(a?)", a.n(5000)) + `"}}`),
		or("$or", ten), or("$and", ten), or("$nor", ten),
		repeat(`{"selector":{"n":{"$in":[`, "1,", million, `1]}}}`),
		repeat(`{"selector":{"n":{"$nin":[`, `"x",`, million, `1]}}}`),
		repeat(`{"selector":{"l":{"$all":[`, "1,", million, `1]}}}`),
		find(nested(`{"$and":[`, `]}`, ten)),
		find(nested(`{"$not":`, `}`, ten)),
		find(`{"l":` + strings.Repeat(`{"$elemMatch":`, ten) + `{"$eq":1}` + strings.Repeat(`}`, ten) + `}`),
		find(strings.Repeat(`{"a":`, ten) + `1` + strings.Repeat(`}`, ten)),
		find(`{"` + strings.Repeat("a.", ten) + `b":1}`),
		text(`{"selector":{},"limit":9223372036854775807,"skip":9223372036854775807}`),
		text(`{"selector":{"o.a.b":{"$gte":0}},"sort":[{"n":"desc"}],"limit":1000000}`),
		text(`{"selector":{"s":{"$gte":""},"n":{"$gte":0}},"sort":["s","n"],"skip":19999,"limit":100000}`),
		text(`{"selector":{"_id":{"$gt":null}},"limit":100000,"fields":["_id","` + strings.Repeat(`a.`, 1000) + `b"]}`),
		list(`{"selector":{"n":1},"fields":[`, `]}`, ten, func(i int) string { return fmt.Sprintf(`"f%d"`, i) }),
		list(`{"selector":{"n":1},"sort":[`, `]}`, ten, func(i int) string { return fmt.Sprintf(`"f%d"`, i) }),
		text(`{"selector":{"n":1},"bookmark":"` + strings.Repeat("A", a.n(1_000_000)) + `"}`),
	} {
		for _, path := range []string{"/_find", "/_explain"} {
			requests = append(requests, request{method: "POST", path: "/" + a.db + path, body: b})
		}
	}
	a.each(ctx, 8, requests, 200, 400, 413, 500, 503) // 500 as CouchDB: an answer without an index that sorts
	return nil
}
