package main

import (
	"context"
	"fmt"
	"strings"
)

// searchAttacks are documents and queries of full-text search that cost much.
var searchAttacks = []attack{
	{
		name: "searches",
		shows: "leading wildcards, regular expressions, 1,000 words with OR, deep nesting, fuzzy words, counts of as " +
			"many values as documents, limits of 100,000 with documents, 8 at once",
		short: 0.02,
		run:   dearSearches,
		own:   true,
	},
	{
		name: "texts in masses",
		shows: "documents of a word of a megabyte, of 100,000 words, of 5,000 fields and of 50,000 values in search " +
			"indexes that throw, loop and take all of it",
		run: hugeTexts,
		own: true,
	},
}

const searchDesign = `{"_id":"_design/d","indexes":{"i":{"index":"function (d) { index('default', d.t, {store: true}); ` +
	`index('n', d.n); index('s', d.s, {facet: true, store: true}); }"}},` +
	`"nouveau":{"i":{"index":"function (d) { index('text', 'default', d.t, {store: true}); ` +
	`index('double', 'n', d.n); index('string', 's', d.s, {store: true}); }"}}}`

// dearSearches asks full-text queries that match everything, expand to many terms, or nest deeply,
// and options of enormous counts, each in both APIs. Words of the documents are spread so that
// lists of documents of every length occur.
func dearSearches(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, searchDesign)
	if err != nil {
		return err
	}
	defer remove()
	if err := a.fill(ctx, a.n(20_000), func(i int) string {
		var t strings.Builder
		for j := range 60 {
			fmt.Fprintf(&t, "w%dx ", (i*j*7919)%(10+j*100))
		}
		return fmt.Sprintf(`{"n":%d,"s":"value %d","t":"%s"}`, i, i, &t)
	}); err != nil {
		return err
	}
	words := func(n int, separator string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("w%dx", i)
		}
		return strings.Join(all, separator)
	}
	deep := a.n(10_000)
	var queries []string
	for _, q := range []string{
		"*x", "?????", "*1*2*3*", "/.*(a|b|c|w)*.*x/", "/" + strings.Repeat("(a?)", 500) + "/",
		"/((w{1,100}){1,100}){1,100}/", "/" + strings.Repeat("[a-z0-9]*", 100) + "/", "w*", words(1000, " OR "),
		words(1000, " AND "), words(2000, " "), `"` + words(500, " ") + `"`, `"w0x w1x w2x w3x w4x"~1000`,
		strings.Repeat("w1x~2 ", 500), strings.Repeat("*x ", 1000), strings.Repeat("/w.*[0-9]x/ ", 1000),
		strings.Repeat("[a TO z] ", 1000), strings.Repeat("(", deep) + "a" + strings.Repeat(")", deep),
		strings.Repeat("NOT ", deep) + "a", strings.Repeat("+(a -", deep/10) + strings.Repeat(")", deep/10),
		strings.Repeat("a^", deep), "n:[0 TO 1e400]", "n:[* TO *]", "*:*", "s:*", strings.Repeat("f:", deep) + "a",
		strings.Repeat("~", deep), strings.Repeat("x", a.n(500_000)), strings.Repeat("é", a.n(200_000)) + "*",
	} {
		queries = append(queries, fmt.Sprintf(`{"q":%q}`, q),
			fmt.Sprintf(`{"allow_leading_wildcard":true,"include_docs":true,"q":%q}`, q))
	}
	for _, o := range []string{
		`"limit":100000,"include_docs":true`, `"limit":99999999999`, `"sort":["n","-s<string>"]`, `"sort":["-n","s"]`,
		`"counts":["s"],"top_n":1000000`, `"limit":200,"group_field":"s","group_limit":200`,
		`"limit":200,"highlight_fields":["default","s","default"],"highlight_size":1,"highlight_number":1000000`,
		`"drilldown":["s"` + strings.Repeat(`,"value 1"`, a.n(100_000)) + `]`,
		`"bookmark":"` + strings.Repeat("A", a.n(1_000_000)) + `"`,
		`"ranges":{"n":{` + strings.TrimSuffix(strings.Repeat(`"x":"[0 TO 1]",`, a.n(20_000)), ",") + `}}`,
		`"ranges":{"n":[` + strings.TrimSuffix(strings.Repeat(`{"label":"x","min":0},`, a.n(20_000)), ",") + `]}`,
	} {
		queries = append(queries, `{"q":"*:*",`+o+"}")
	}
	var requests []request
	for _, q := range queries {
		for _, kind := range []string{"_search", "_nouveau"} {
			path := "/" + a.db + "/_design/d/" + kind + "/i"
			requests = append(requests, request{method: "POST", path: path, body: text(q)})
		}
	}
	a.each(ctx, 8, requests, 200, 400, 413, 500, 503) // 500: the time of a query is over
	return nil
}

// hugeTexts indexes texts that are large in each way there is: one word of a megabyte, many words,
// many fields, many values of a field. Functions of the design document make more of them,
// thousands of facets and field names for each document, or throw the document itself as an error.
func hugeTexts(ctx context.Context, a *assault) error {
	const fields = `function (d) { var o = {facet: true, store: true};
		for (var k in d) if (typeof d[k] === 'string' && k[0] !== '_') index('x' + k, d[k], o);
		if (d.l) for (var i = 0; i < d.l.length; i++) index('l', d.l[i], o); }`
	design := fmt.Sprintf(`{"_id":"_design/d","indexes":{"all":{"index":%q},"many":{"index":%q},"throws":{"index":%q},`+
		`"names":{"index":%q}}}`, fields,
		`function (d) { for (var i = 0; i < 5000; i++) index('f', 'v' + i + d._id, {facet: true}); }`,
		`function (d) { throw {toString: function () { throw d; }}; }`,
		`function (d) { for (var i = 0; i < 900; i++) index('f' + d._id + i, 'x'); }`)
	remove, err := a.database(ctx, design)
	if err != nil {
		return err
	}
	defer remove()
	megabyte := a.n(1_000_000)
	for _, b := range []body{
		repeat(`{"a":"`, "w", megabyte, `"}`),
		repeat(`{"a":"`, "w ", megabyte, `"}`),
		repeat(`{"a":"`, "é", megabyte, `"}`),
		list(`{"a":"`, `"}`, a.n(100_000), func(i int) string { return fmt.Sprintf("w%d ", i) }),
		list(`{`, `}`, a.n(5000), func(i int) string { return fmt.Sprintf(`"f%d":"x"`, i) }),
		list(`{"l":[`, `]}`, a.n(50_000), func(i int) string { return fmt.Sprintf(`"v%d"`, i) }),
	} {
		a.send(ctx, request{method: "POST", path: "/" + a.db, body: b}, 201, 413, 503)
	}
	if err := a.fill(ctx, a.n(500), func(i int) string { return fmt.Sprintf(`{"a":"word %d"}`, i) }); err != nil {
		return err
	}
	var requests []request
	for _, name := range []string{"all", "many", "throws", "names"} {
		for _, of := range []string{"_search/", "_search_errors/", "_search_info/"} {
			path := "/" + a.db + "/_design/d/" + of + name
			if of == "_search/" {
				path += "?limit=200&q=*:*"
			}
			requests = append(requests, request{path: path})
		}
	}
	a.each(ctx, 8, requests, 200, 400, 500, 503)
	return nil
}
