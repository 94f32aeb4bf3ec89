package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// revokedRow is a row of a feed.
type revokedRow struct {
	Seq, ID string
	Changes []struct{ Rev string }
	Deleted bool
	Revoked bool
	Doc     json.RawMessage
}

// TestRevoked: who saw a document is told by its feed that it is gone, with a tombstone that every
// way of reading gives to who was told, that changes nothing when it comes back, and that a grant
// takes back. Who never saw the document hears nothing.
func TestRevoked(t *testing.T) {
	s := secretServer(t)
	expect201(t, s.Do("PUT", "/_users/org.couchdb.user:eve", `{"name":"eve","type":"user","roles":[],"password":"p"}`))
	do := func(user, method, target, body string) string {
		w := s.Do(method, "/db"+target, body, append(servertest.As(user), "Accept", "application/json")...)
		return fmt.Sprint(w.Code, " ", w.Body.String())
	}
	admin := func(method, target, body string) string {
		w := s.Do(method, "/db"+target, body)
		var answer struct{ Rev string }
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		return answer.Rev
	}
	feed := func(user, query string) (rows []revokedRow) {
		answer := do(user, "GET", "/_changes?"+query, "")
		var results struct{ Results []revokedRow }
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(answer, "200 ")), &results), answer)
		for _, row := range results.Results {
			if row.ID == "r" {
				rows = append(rows, row)
			}
		}
		return rows
	}
	seen := admin("PUT", "/r", `{"n":1,"_access":["bob"]}`)
	require.Len(t, feed("bob", ""), 1)
	since := feed("bob", "")[0].Seq
	taken := admin("PUT", "/r?rev="+seen, `{"n":2,"_access":["eve"]}`)

	for query, docs := range map[string]bool{
		"": false, "since=" + since: false, "style=all_docs": false, "include_docs=true&conflicts=true": true,
		"style=all_docs&include_docs=true&attachments=true": true, "descending=true": false,
		"filter=_doc_ids&doc_ids=" + url.QueryEscape(`["r"]`): false, "feed=longpoll&since=" + since: false,
		"since=" + since + "&limit=1": false,
	} {
		rows := feed("bob", query)
		require.Len(t, rows, 1, query)
		require.True(t, rows[0].Deleted && rows[0].Revoked && len(rows[0].Changes) == 1, query)
		require.Equal(t, docs, len(rows[0].Doc) > 0, query)
		if docs {
			stub := fmt.Sprintf(`{"_id":"r","_rev":%q,"_deleted":true}`, rows[0].Changes[0].Rev)
			require.JSONEq(t, stub, string(rows[0].Doc))
		}
	}
	gone := feed("bob", "")[0].Changes[0].Rev
	require.Regexp(t, "^2-[0-9a-f]{32}$", gone)
	require.NotEqual(t, taken, gone)
	require.Empty(t, feed("bob", "since="+feed("bob", "")[0].Seq))
	require.Empty(t, feed("ann", ""), "ann never saw it")

	_, hash, _ := strings.Cut(gone, "-")
	_, above, _ := strings.Cut(seen, "-")
	stub := fmt.Sprintf(`{"_id":"r","_rev":%q,"_deleted":true,"_revisions":{"start":2,"ids":[%q,%q]}}`, gone, hash, above)
	reads := []struct{ method, target, body string }{
		{"GET", "/r?revs=true&rev=" + gone, ""},
		{"GET", "/r?revs=true&open_revs=" + url.QueryEscape(`["`+gone+`"]`), ""},
		{"GET", "/r?revs=true&latest=true&open_revs=" + url.QueryEscape(`["`+seen+`"]`), ""},
		{"POST", "/_bulk_get?revs=true", `{"docs":[{"id":"r","rev":"` + gone + `"}]}`},
		{"POST", "/_bulk_get?revs=true&latest=true", `{"docs":[{"id":"r","rev":"` + seen + `"}]}`},
	}
	for _, r := range reads {
		require.Contains(t, do("bob", r.method, r.target, r.body), stub, r.target+r.body)
		if !strings.Contains(r.target+r.body, gone) {
			require.NotContains(t, do("ann", r.method, r.target, r.body), `"_deleted"`, r.target)
		}
	}
	others := []string{"/r", "/r?open_revs=all", "/r?rev=" + taken, "/r?rev=" + seen, "/r?latest=true&rev=" + taken}
	for _, target := range others {
		require.NotContains(t, do("bob", "GET", target, ""), `"_deleted"`, target)
	}

	// it comes back from the client, and changes nothing
	for _, user := range []string{"bob", "ann", "eve"} {
		require.Equal(t, "200 {}\n", do(user, "POST", "/_revs_diff", `{"r":["`+gone+`"]}`))
		sent := do(user, "POST", "/_bulk_docs", `{"new_edits":false,"docs":[`+stub+`]}`)
		require.Equal(t, "201 []\n", sent)
	}
	forged := strings.ReplaceAll(stub, hash, strings.Repeat("0", 32))
	require.Contains(t, do("bob", "POST", "/_bulk_docs", `{"new_edits":false,"docs":[`+forged+`]}`), `"reason":"access"`)
	require.Contains(t, do("bob", "POST", "/_revs_diff", `{"r":["2-`+strings.Repeat("0", 32)+`"]}`), "missing")
	require.Contains(t, do("eve", "GET", "/r", ""), taken)

	// what bob wrote meanwhile is refused
	edit := fmt.Sprintf(`{"_id":"r","_access":["bob"],"_revisions":{"start":2,"ids":["%032x",%q]}}`, 1, above)
	require.Contains(t, do("bob", "POST", "/_bulk_docs", `{"new_edits":false,"docs":[`+edit+`]}`), `"error":"forbidden"`)

	// granted again it is there, and what was told stays readable
	back := admin("PUT", "/r?rev="+taken, `{"n":3,"_access":["bob"]}`)
	rows := feed("bob", "")
	require.Len(t, rows, 1)
	require.False(t, rows[0].Revoked || rows[0].Deleted)
	require.Contains(t, do("bob", "GET", "/r", ""), back)
	require.Contains(t, do("bob", "GET", "/r?revs=true&rev="+gone, ""), stub)
}

var revisionsOf = regexp.MustCompile(`"_id":"([^"]*)","_rev":"([^"]*)",("_deleted":true,)?` +
	`"_revisions":\{"start":\d+,"ids":\["[^"]*"(?:,"([^"]*)")?`)

// revocations reports whether an answer has revisions that stand for others which the user sees no
// more: they are deleted, nobody wrote them, and the user is named by what they stand for.
func (w *sliceWorld) revocations(user string, all map[string][]sliceLeaf, body string) (some bool) {
	for _, match := range revisionsOf.FindAllStringSubmatch(body, -1) {
		id, rev := match[1], match[2]
		if slices.Contains(knownRevs(all[id]), rev) {
			continue
		}
		some = true
		require.Equal(w.t, `"_deleted":true,`, match[3], "%s of %s\n%s", rev, id, w.story())
		depth := 0
		fmt.Sscanf(rev, "%d-", &depth)
		above := fmt.Sprint(depth-1, "-", match[4])
		require.True(w.t, w.sees(user, w.lists[id+" "+above]), "%s is told of %s of %s\n%s", user, above, id, w.story())
		for _, as := range []string{user, "admin"} {
			lacks := w.do(as, "POST", "/db/_revs_diff", fmt.Sprintf(`{%q:[%q]}`, id, rev))
			require.JSONEq(w.t, "{}", lacks.Body.String())
		}
	}
	return some
}

// suffixes: from the sequence of each row on, the feed has the rows behind it.
func (w *sliceWorld) suffixes(user string) {
	type row struct{ Seq, ID string }
	read := func(query string) (rows []row) {
		var feed struct{ Results []row }
		require.NoError(w.t, json.Unmarshal(w.do(user, "GET", "/db/_changes"+query, "").Body.Bytes(), &feed))
		return feed.Results
	}
	rows := read("")
	for i := range rows {
		require.Equal(w.t, len(rows)-i-1, len(read("?since="+rows[i].Seq)), "since %d\n%s", i, w.story())
	}
	require.Empty(w.t, read("?since=now"))
}
