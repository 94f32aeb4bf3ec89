package main

import (
	"context"
	"fmt"
	"net/http"
)

// pageAttacks are requests that a page of another site makes a browser send, with the credentials
// that the browser remembers.
var pageAttacks = []attack{
	{
		name:  "pages of other sites",
		shows: "changes by POST as a form sends them, and by GET, in the name of an administrator who looks at the page",
		short: 1,
		own:   true,
		run:   otherSites,
	},
}

// otherSites sends requests for which a browser makes no preflight, with each form of the headers
// Origin, Referer and Sec-Fetch-Site that tells where they come from.
func otherSites(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"_design/d","updates":{"u":"function(d,r){return [{_id:'forged'},'']}"}}`)
	if err != nil {
		return err
	}
	defer remove()
	function := fmt.Sprintf(`{"appname":"forged","appcode":"function OnUpdate(doc){}",`+
		`"depcfg":{"source_bucket":%q,"buckets":[]},"settings":{}}`, a.db)
	const base = "/_eventing/api/v1"
	db := "/" + a.db
	changes := []request{
		{path: base + "/functions/forged", body: text(function)},
		{path: base + "/functions", body: text("[" + function + "]")},
		{path: base + "/import", body: text("[" + function + "]")},
		{path: base + "/config", body: text(`{"ram_quota":1}`)},
		{path: base + "/functions/forged/deploy"}, {path: base + "/resetStatsCounters?appName=forged"},
		{path: db, body: text(`{"_id":"forged"}`)}, {path: db + "/_restore", body: text("x")},
		{path: db + "/_bulk_docs", body: text(`{"docs":[{"_id":"forged"}]}`)}, {path: db + "/_design/d/_update/u"},
		{path: db + "/_compact"}, {path: db + "/_nouveau_cleanup"}, {path: "/_replicate", body: text("{}")},
		{path: "/_node/_local/_config/_reload"}, {path: "/_reload_query_servers"},
	}
	kinds := []string{"", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data"}
	for _, from := range [][]string{
		{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"}, {"Referer", "http://evil.example/"},
	} {
		for _, kind := range kinds {
			for _, r := range changes {
				r.method, r.as = http.MethodPost, admin
				r.headers = append([]string{"Content-Type", kind}, from...)
				a.send(ctx, r, http.StatusForbidden)
			}
		}
		a.send(ctx, request{method: "GET", path: base + "/resetStatsCounters?appName=forged", as: admin, headers: from},
			http.StatusMethodNotAllowed)
	}
	a.send(ctx, request{method: "GET", path: "/" + a.db + "/forged"}, http.StatusNotFound)
	a.send(ctx, request{method: "GET", path: base + "/functions/forged", as: admin}, http.StatusNotFound)
	return nil
}
