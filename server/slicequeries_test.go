package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// selector is a random selector, which finds some of the documents of sliceWorld.body.
func (w *sliceWorld) selector() string {
	n := w.rng.IntN(6)
	id := pick(w, sliceIDs)
	return pick(w, []string{
		"{}", `{"_id":{"$gt":null}}`, fmt.Sprintf(`{"n":%d}`, n), fmt.Sprintf(`{"n":{"$gte":%d}}`, n),
		fmt.Sprintf(`{"_id":{"$gte":%q},"n":{"$lt":%d}}`, id, n), fmt.Sprintf(`{"_id":%q}`, id),
		fmt.Sprintf(`{"_id":{"$gt":"a","$lte":%q}}`, id), fmt.Sprintf(`{"_id":{"$lt":%q}}`, id),
		fmt.Sprintf(`{"$or":[{"n":%d},{"p":{"$exists":true}}]}`, n), `{"_access":{"$elemMatch":{"$eq":"ann"}}}`,
		fmt.Sprintf(`{"$not":{"n":%d}}`, n), `{"$and":[]}`, `{"_id":{"$in":["a","c","_design/x"]}}`,
		`{"_id":{"$gt":5}}`, `{"$text":"x"}`, `{"n":{"$bad":1}}`,
	})
}

// query is a random request to _find, without its last brace.
func (w *sliceWorld) query() string {
	q := `{"selector":` + w.selector()
	for _, option := range []string{
		`"sort":["_id"]`, `"sort":[{"_id":"desc"}]`, `"sort":["n"]`, `"skip":1`, `"fields":["_id","n"]`,
		`"fields":["_rev","_access","_attachments"]`, `"conflicts":true`, `"execution_stats":true`, `"count":true`,
		`"use_index":"x"`, `"use_index":["_design/secret","v"]`, `"allow_fallback":false`, `"r":2`, `"partition":"a"`,
	} {
		name, _, _ := strings.Cut(option, ":")
		if w.rng.IntN(6) == 0 && !strings.Contains(q, name) {
			q += "," + option
		}
	}
	return q
}

// asks makes a request of both databases and holds the answers to each other; it gives that of the
// slice.
func (w *sliceWorld) asks(user, plain, method, path, body string) string {
	want, got := w.do(user, method, plain+path, body), w.do(user, method, "/db"+path, body)
	require.Equal(w.t, shown(want, false), shown(got, false), "%s: %s %s %s\n%s", user, method, path, body, w.story())
	return got.Body.String()
}

// finds asks random queries of both databases, each to its last page, how they are answered, and
// what is computed.
func (w *sliceWorld) finds(user, plain string) {
	w.asks(user, plain, "GET", "/_index", "")
	for range 6 {
		q := w.query()
		w.asks(user, plain, "POST", "/_explain", q+"}")
		w.asks(user, plain, "POST", "/_find", q+"}")
		limit := fmt.Sprintf(`,"limit":%d`, 1+w.rng.IntN(3))
		bookmark := ""
		for pages := 0; ; pages++ {
			require.Less(w.t, pages, 20, q)
			body := q + limit + bookmark + "}"
			var page struct {
				Docs     []json.RawMessage
				Bookmark string
			}
			require.NoError(w.t, json.Unmarshal([]byte(w.asks(user, plain, "POST", "/_find", body)), &page))
			if len(page.Docs) == 0 {
				break
			}
			bookmark = fmt.Sprintf(`,"bookmark":%q`, page.Bookmark)
		}
		aggregate := `{"selector":` + w.selector() + `,"values":{"docs":{"$count":true},"sum":{"$sum":"n"}}` +
			pick(w, []string{"", `,"group_by":["n"]`, `,"group_by":["p"],"limit":1`, `,"group_by":["n"],"execution_stats":true`})
		w.asks(user, plain, "POST", "/_aggregate", aggregate+"}")
		w.asks(user, plain, "POST", "/_explain", aggregate+"}")
	}
	w.asks(user, plain, "POST", "/_distinct", `{"field":"n"}`)
}

// TestQueriesTellNothingOfOthers: what a user is answered, to the byte, does not change with the
// documents of others and the indexes of administrators; a bookmark of somebody else's page is a place.
func TestQueriesTellNothingOfOthers(t *testing.T) {
	w := newSliceWorld(t, 1)
	for i := range 5 {
		expect201(t, w.do("bob", "PUT", fmt.Sprint("/db/m", i), fmt.Sprintf(`{"_access":["bob"],"n":%d}`, i)))
	}
	stats := `"execution_stats":true,"count":true`
	requests := [][2]string{
		{"GET /db/_index", ""}, {"POST /db/_distinct", `{"field":"n"}`},
		{"POST /db/_aggregate", `{"values":{"n":{"$count":true}},"execution_stats":true}`},
		{"POST /db/_explain", `{"values":{"n":{"$count":true}},"selector":{"n":{"$gt":1}}}`},
		{"POST /db/_find", `{"selector":{"_id":{"$in":["x","secret"]}},` + stats + `}`},
	}
	for _, q := range []string{
		`{"selector":{},` + stats + `}`, `{"selector":{"n":{"$gte":2}},` + stats + `}`, `{"selector":{"n":1},"sort":["n"]}`,
		`{"selector":{"n":1},"use_index":"i"}`, `{"selector":{"n":1},"use_index":"i","allow_fallback":false}`,
		`{"selector":{"_id":{"$gt":"a"}},"limit":2,` + stats + `}`, `{"selector":{"$text":"secret"}}`,
	} {
		requests = append(requests, [2]string{"POST /db/_find", q}, [2]string{"POST /db/_explain", q})
	}
	ask := func() (answers []string) {
		for _, r := range requests {
			method, target, _ := strings.Cut(r[0], " ")
			answers = append(answers, r[1]+" "+shown(w.do("bob", method, target, r[1]), false))
		}
		return answers
	}
	before := ask()
	for _, kind := range []string{"json", "auto"} {
		body := `{"type":"` + kind + `","ddoc":"i","name":"` + kind + `","index":{"fields":["n"]}}`
		if kind == "auto" {
			body = `{"type":"auto","index":{}}`
		}
		require.Equal(t, 200, w.do("admin", "POST", "/db/_index", body).Code)
	}
	for i := range 300 {
		body := fmt.Sprintf(`{"_access":["ann"],"n":%d}`, i%5)
		expect201(t, w.do("ann", "PUT", fmt.Sprint("/db/", pick(w, []string{"a", "m1", "z"}), "secret", i), body))
	}
	require.Equal(t, before, ask())
	page := w.do("ann", "POST", "/db/_find", `{"selector":{},"limit":150}`)
	var bookmark struct{ Bookmark string }
	require.NoError(t, json.Unmarshal(page.Body.Bytes(), &bookmark))
	answer := w.do("bob", "POST", "/db/_find", fmt.Sprintf(`{"selector":{},"bookmark":%q}`, bookmark.Bookmark))
	require.Equal(t, 200, answer.Code, answer.Body)
	var shown struct{ Docs []json.RawMessage }
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &shown))
	require.NotEmpty(t, shown.Docs)
	require.NotContains(t, answer.Body.String(), "secret")
}

// indexWorld has a database with access for each document whose index on n is by principal.
func indexWorld(t *testing.T, seed uint64) *sliceWorld {
	w := newSliceWorld(t, seed)
	answer := w.do("admin", "POST", "/db/_index", `{"ddoc":"i","name":"n","index":{"fields":["n","k"],"access":true}}`)
	require.Equal(t, 200, answer.Code, answer.Body)
	return w
}

// change writes, changes or deletes some documents, and tells the bodies that there are, by id.
func (w *sliceWorld) change(docs map[string]string, revs map[string]string) {
	for range 30 {
		id := fmt.Sprint(w.rng.IntN(40))
		body := fmt.Sprintf(`"_id":%q,"n":%s,"k":%d,"_access":%s`, id,
			pick(w, []string{"1", "2", "2.0", `"x"`, "null", "[1]"}), w.rng.IntN(3),
			strings.ReplaceAll(pick(w, sliceLists[:6]), "%s", pick(w, []string{"ann", "bob"})))
		if w.rng.IntN(5) == 0 {
			body = fmt.Sprintf(`"_id":%q,"_deleted":true`, id)
		}
		if revs[id] != "" {
			body += fmt.Sprintf(`,"_rev":%q`, revs[id])
		} else if strings.Contains(body, "_deleted") {
			continue
		}
		var row struct{ Rev string }
		answer := w.do("admin", "POST", "/db", "{"+body+"}")
		expect201(w.t, answer)
		require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &row))
		revs[id] = row.Rev
		docs[id], _, _ = strings.Cut(body, `,"_rev"`)
		if strings.Contains(body, "_deleted") {
			delete(docs, id)
			delete(revs, id)
		}
	}
}

// pages are the documents of all pages of a query, without revisions.
func (w *sliceWorld) pages(user, db, query string) (pages []string) {
	bookmark := ""
	for {
		answer := w.do(user, "POST", db+"/_find", query+bookmark+"}")
		require.Equal(w.t, 200, answer.Code, "%s: %s", query, answer.Body)
		var page struct {
			Docs     []map[string]any
			Bookmark string
			Warning  string
			Count    int
			Stats    struct {
				Keys int `json:"total_keys_examined"`
				Docs int `json:"total_docs_examined"`
			} `json:"execution_stats"`
		}
		require.NoError(w.t, json.Unmarshal(answer.Body.Bytes(), &page))
		for _, doc := range page.Docs {
			delete(doc, "_rev")
		}
		shown, _ := json.Marshal([]any{page.Docs, page.Warning, page.Count, page.Stats})
		pages = append(pages, string(shown))
		if len(page.Docs) == 0 {
			return pages
		}
		bookmark = fmt.Sprintf(`,"bookmark":%q`, page.Bookmark)
	}
}

// TestIndexesByPrincipal: a user's queries over an index by principal have the pages of a database with
// the user's documents and an ordinary index, whatever lists were changed meanwhile.
func TestIndexesByPrincipal(t *testing.T) {
	w := indexWorld(t, 7)
	docs, revs := map[string]string{}, map[string]string{}
	asked, found := 0, 0
	for round := range 6 {
		w.change(docs, revs)
		for _, user := range []string{"ann", "bob", "eve"} {
			plain := fmt.Sprint("/plain-", round, user)
			expect201(t, w.do("admin", "PUT", plain, ""))
			require.Equal(t, 200, w.do("admin", "PUT", plain+"/_security", "{}").Code)
			require.Equal(t, 200,
				w.do("admin", "POST", plain+"/_index", `{"ddoc":"i","name":"n","index":{"fields":["n","k"]}}`).Code)
			for _, body := range docs {
				var doc struct {
					Access []string `json:"_access"`
				}
				require.NoError(t, json.Unmarshal([]byte("{"+body+"}"), &doc))
				if w.sees(user, doc.Access) {
					expect201(t, w.do("admin", "POST", plain, "{"+body+"}"))
				}
			}
			for _, q := range []string{
				`"selector":{"n":{"$gt":null},"k":{"$exists":true}}`, `"selector":{"n":{"$gt":null},"k":1}`,
				`"selector":{"n":2,"k":{"$gte":1}},"fields":["_id","k"]`, `"selector":{"n":{"$lte":2},"k":{"$exists":true}},"skip":1`,
				`"selector":{"n":{"$gt":1},"k":{"$exists":true}},"sort":["n"]`, `"selector":{"n":2,"k":{"$lt":2}},"count":true`,
				`"selector":{"n":{"$gt":1},"k":{"$exists":true}},"sort":[{"n":"desc"},{"k":"desc"}]`,
				`"selector":{"n":{"$in":[1,"x"]},"k":{"$exists":true}},"conflicts":true`, `"selector":{"n":2},"sort":["n"]`,
			} {
				q = fmt.Sprintf(`{%s,"execution_stats":true,"limit":%d`, q, 1+w.rng.IntN(4))
				if strings.Contains(q, `{"n":2},"sort"`) { // k is not asked for
					require.Equal(t, 400, w.do(user, "POST", "/db/_find", q+"}").Code)
					continue
				}
				pages := w.pages(user, "/db", q)
				require.Equal(t, w.pages(user, plain, q), pages, "%s: %s", user, q)
				if asked++; len(pages) > 1 {
					found++
				}
				require.Contains(t, w.do(user, "POST", "/db/_explain", q+"}").Body.String(), `"ddoc":"_design/i"`)
			}
		}
	}
	require.Greater(t, found, asked/2)
}

// TestWhoHasIndexesByPrincipal: users have them where the design document is theirs to read; queries
// of all documents, nobody, and what is computed have not; they are not made where they mean nothing.
func TestWhoHasIndexesByPrincipal(t *testing.T) {
	w := indexWorld(t, 8)
	q := `{"selector":{"n":1,"k":1}}`
	for user, has := range map[string]bool{"ann": true, "admin": false, "": false} {
		explained := w.do(user, "POST", "/db/_explain", q)
		require.Equal(t, has, strings.Contains(explained.Body.String(), "_design/i"), "%q: %s", user, explained.Body)
		require.Equal(t, has || user == "admin",
			strings.Contains(w.do(user, "GET", "/db/_index", "").Body.String(), `"access":true`), user)
	}
	computed := w.do("ann", "POST", "/db/_explain", `{"selector":{"n":1,"k":1},"group_by":["n"],"values":{"n":{"$count":true}}}`)
	require.NotContains(t, computed.Body.String(), "_design/i")
	require.Equal(t, 403, w.do("ann", "POST", "/db/_index", `{"index":{"fields":["z"],"access":true}}`).Code)
	for _, index := range []string{`{"fields":["n"],"access":1}`, `{"fields":["n"],"access":true,"values":["n"]}`} {
		require.Equal(t, 400, w.do("admin", "POST", "/db/_index", `{"index":`+index+`}`).Code, index)
	}
	expect201(t, w.do("admin", "PUT", "/other", ""))
	body := `{"ddoc":"j","index":{"fields":["n"],"access":true}}`
	require.Equal(t, 400, w.do("admin", "POST", "/other/_index", body).Code)
	expect201(t, w.do("admin", "PUT", "/db/_design/j", `{"language":"query"}`))
	require.Equal(t, 400, w.do("admin", "POST", "/db/_index", body).Code)
	require.Equal(t, 200, w.do("admin", "DELETE", "/db/_index/i/json/n", "").Code)
	require.Equal(t, 404, w.do("admin", "GET", "/db/_design/i", "").Code)
}
