package main

import (
	"context"
	"fmt"
	"strings"
)

// patternAttacks are regular expressions of a few kilobytes whose programs are large.
var patternAttacks = []attack{
	{
		name: "patterns",
		shows: "$regex whose counts make a program of 3 million instructions, in queries, feeds and filters of " +
			"indexes, and such patterns in searches, 8 at once",
		short: 0.1,
		run:   largePatterns,
		own:   true,
	},
}

// largePatterns sends short texts that are large programs when they are compiled as regular
// expressions, alone and many in one selector, and to full-text search as well.
func largePatterns(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, searchDesign)
	if err != nil {
		return err
	}
	defer remove()
	document := func(i int) string { return fmt.Sprintf(`{"n":%d,"t":"aaaa%d"}`, i, i) }
	if err := a.fill(ctx, a.n(1000), document); err != nil {
		return err
	}
	var requests []request
	for _, pattern := range []string{
		strings.Repeat("a{1000}", 3000), strings.Repeat("(a|b)?", 100_000), strings.Repeat("(?:a|b){0,1000}", 1000),
		"((((a{1000}){1000}){1000}){1000})", strings.Repeat(`\\pL`, 30_000), "(?=a)" + strings.Repeat("a{1000}", 500),
		strings.Repeat("a{1000}", 20), strings.Repeat("[ab]{0,100}", 200) + "$",
	} {
		selector := `{"t":{"$regex":"` + pattern + `"}}`
		many := `{"$or":[` + strings.Repeat(selector+",", max(1, 200_000/len(pattern))) + selector + `]}`
		for _, s := range []string{selector, many} {
			for path, format := range map[string]string{
				"/_find": `{"selector":%s}`, "/_explain": `{"selector":%s}`,
				"/_changes?filter=_selector": `{"selector":%s}`,
				"/_index":                    `{"index":{"fields":["n"],"partial_filter_selector":%s}}`,
			} {
				requests = append(requests, request{method: "POST", path: "/" + a.db + path,
					body: text(fmt.Sprintf(format, s))})
			}
		}
	}
	for _, q := range []string{
		"/(" + strings.Repeat("a", 10_000) + "){1000}/", strings.Repeat("/((((ab){10}){10}){10})c/ ", 500),
		strings.Repeat("a", 500_000) + "~2", strings.Repeat("a?", 300_000) + "*",
	} {
		for _, api := range []string{"_search", "_nouveau"} {
			requests = append(requests, request{method: "POST", path: "/" + a.db + "/_design/d/" + api + "/i",
				body: text(fmt.Sprintf(`{"q":%q}`, q))})
		}
	}
	a.each(ctx, 8, requests, 200, 400, 404, 413, 500, 503)
	return nil
}
