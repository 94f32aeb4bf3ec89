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
