package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// viewDesign is a design document with views by principal of what documents of sliceWorld.change
// have; of tests' language, whose map functions emit a member.
func viewDesign(interactive bool) string {
	return fmt.Sprintf(`{"_access":["_users"],"language":"member","options":{"access":true,"interactive":%t},"views":{
		"n":{"map":"n"},"count":{"map":"n","reduce":"_count"},"sum":{"map":"n k","reduce":"_sum"},
		"stats":{"map":"n k","reduce":"_stats"},"k":{"map":"k"}}}`, interactive)
}

// viewWorld has a database with access for each document that has views by principal.
func viewWorld(t *testing.T, seed uint64, interactive bool) *sliceWorld {
	w := newSliceWorld(t, seed)
	expect201(t, w.do("admin", "PUT", "/db/_design/v", viewDesign(interactive)))
	return w
}

// plainOf fills a plain database with the documents that some principals see, and the same views.
func (w *sliceWorld) plainOf(docs map[string]string, sees func(list []string) bool) string {
	w.plain++
	plain := fmt.Sprint("/plain", w.plain)
	expect201(w.t, w.do("admin", "PUT", plain, ""))
	require.Equal(w.t, 200, w.do("admin", "PUT", plain+"/_security", "{}").Code)
	expect201(w.t, w.do("admin", "PUT", plain+"/_design/v", viewDesign(false)))
	for _, body := range docs {
		var doc struct {
			Access []string `json:"_access"`
		}
		require.NoError(w.t, json.Unmarshal([]byte("{"+body+"}"), &doc))
		if sees(doc.Access) {
			expect201(w.t, w.do("admin", "POST", plain, "{"+body+"}"))
		}
	}
	return plain
}

// viewOptions are random options of a query of a map view.
func (w *sliceWorld) viewOptions() string {
	keys := []string{"1", "2", "2.0", `"x"`, "null", "[1]", "3", "{}"}
	var o []string
	for _, option := range []string{
		"startkey=" + url.QueryEscape(pick(w, keys)), "endkey=" + url.QueryEscape(pick(w, keys)),
		"limit=3", "skip=2", "skip=7",
		"descending=true", "inclusive_end=false", "include_docs=true", `startkey_docid=2`, "endkey_docid=3",
		"conflicts=true", "stable=true", "sorted=false",
	} {
		if w.rng.IntN(4) == 0 {
			o = append(o, option)
		}
	}
	switch w.rng.IntN(4) {
	case 0:
		o = append(o[:0], "keys="+url.QueryEscape(`[`+pick(w, keys)+`,`+pick(w, keys)+`,2]`), "limit=9")
	case 1:
		o = append(o[:0], "key="+url.QueryEscape(pick(w, keys)), "skip=1")
	}
	return strings.Join(o, "&")
}

// sameRows asks a view of both databases, and holds the answers to each other but for revisions and
// numbers that a slice does not tell.
func (w *sliceWorld) sameRows(user, plain, of, query string) (rows int) {
	target := "/_design/v/_view/" + query
	want, got := w.do("admin", "GET", plain+target, ""), w.do(user, "GET", "/db"+target+of, "")
	rev := func(text string) string {
		var v struct {
			Rows []map[string]any
			Err  string `json:"error"`
			Why  string `json:"reason"`
		}
		require.NoError(w.t, json.Unmarshal([]byte(text), &v), text)
		for _, row := range v.Rows {
			if doc, ok := row["doc"].(map[string]any); ok {
				delete(doc, "_rev")
			}
		}
		rows = len(v.Rows)
		shown, _ := json.Marshal(v)
		return string(shown)
	}
	require.Equal(w.t, rev(want.Body.String()), rev(got.Body.String()), "%s: %s%s", user, query, of)
	require.Equal(w.t, want.Code, got.Code, query)
	return rows
}

// TestViewsByPrincipal: a user's queries of views have the rows of a plain database with the user's
// documents, reduced values those of one with the documents of a principal, whatever lists were
// changed meanwhile; of indexes that writers keep, and of those that are built in the background.
func TestViewsByPrincipal(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		w := viewWorld(t, 11, interactive)
		docs, revs := map[string]string{}, map[string]string{}
		found := 0
		for range 3 {
			w.change(docs, revs)
			for _, user := range []string{"ann", "bob", "eve"} {
				plain := w.plainOf(docs, func(list []string) bool { return w.sees(user, list) })
				for range 40 {
					if w.sameRows(user, plain, "", "n?"+w.viewOptions()) > 0 {
						found++
					}
					w.sameRows(user, plain, "&reduce=false", "count?reduce=false&"+w.viewOptions())
				}
			}
			for principal, user := range map[string]string{
				"ann": "ann", "role:sales": "bob", "_users": "eve", "bob": "admin",
			} {
				plain := w.plainOf(docs, func(list []string) bool { return slices.Contains(list, principal) })
				of := "&principal=" + url.QueryEscape(principal)
				for _, q := range []string{
					"count?", "count?group=true", "count?group_level=1&descending=true", `count?startkey=2&endkey="x"`,
					"count?group=true&limit=2&skip=1", "count?group=true&keys=[1,2,5]", "n?limit=3&skip=1", "n?descending=true&skip=2",
					"k?key=1", "k?keys=[2,1]&skip=1", "sum?endkey=2", "sum?group=true&endkey=5", "stats?startkey=1&endkey=2",
				} {
					w.sameRows(user, plain, of, q)
				}
			}
		}
		require.Greater(t, found, 150)
	}
}

// TestWhoIsAnsweredFromViews: refusals, and that administrators' answers are the bytes of the same
// views without the option.
func TestWhoIsAnsweredFromViews(t *testing.T) {
	w := viewWorld(t, 12, false)
	docs, revs := map[string]string{}, map[string]string{}
	w.change(docs, revs)
	plain := strings.Replace(viewDesign(false), `"access":true`, `"access":false`, 1)
	expect201(t, w.do("admin", "PUT", "/db/_design/plain", plain))
	hidden := strings.Replace(viewDesign(false), `"_access":["_users"],`, "", 1)
	expect201(t, w.do("admin", "PUT", "/db/_design/hidden", hidden))
	for _, q := range []string{
		"n", "n?limit=3&descending=true&skip=1", "count?group=true", "count", "n?key=2&include_docs=true",
	} {
		target := "/db/_design/%s/_view/" + q
		want := w.do("admin", "GET", fmt.Sprintf(target, "plain"), "").Body.String()
		require.Equal(t, want, w.do("admin", "GET", fmt.Sprintf(target, "v"), "").Body.String(), q)
		require.Equal(t, want, w.s.Do("GET", fmt.Sprintf(target, "v"), "").Body.String(), q)
	}
	for _, c := range []struct {
		user, target string
		status       int
	}{
		{"ann", "plain/_view/n", 403}, {"ann", "hidden/_view/n", 403}, {"ann", "none/_view/n", 403},
		{"ann", "hidden/_view/none", 403}, {"ann", "none/_view/none", 403}, {"ann", "v/_view/none", 404},
		{"ann", "hidden/_view/n?limit=x", 403}, {"ann", "none/_view/n?limit=x", 403}, {"ann", "v/_view/n?limit=x", 400},
		{"", "v/_view/n", 401}, {"", "none/_view/n", 401},
		{"ann", "v/_view/count", 400}, {"ann", "v/_view/count?principal=bob", 403},
		{"ann", "v/_view/count?principal=role:it", 403},
		{"ann", "v/_view/n?principal=bob", 403}, {"ann", "v/_view/n?principal=role:", 400},
		{"ann", "v/_view/count?principal=role:sales", 200}, {"bob", "v/_view/count?principal=role:it", 200},
		{"admin", "v/_view/count?principal=role:it", 200}, {"admin", "plain/_view/count?principal=ann", 400},
		{"ann", "v/_info", 403}, {"ann", "v/_view_errors/n", 403}, {"ann", "v/_list/l/n", 403},
	} {
		answer := w.do(c.user, "GET", "/db/_design/"+c.target, "")
		require.Equal(t, c.status, answer.Code, "%s %s: %s", c.user, c.target, answer.Body)
		if strings.HasPrefix(c.target, "hidden") { // as if it were not there
			none := w.do(c.user, "GET", "/db/_design/"+strings.Replace(c.target, "hidden", "none", 1), "")
			require.Equal(t, none.Body.String(), answer.Body.String())
		}
	}
	require.Equal(t, 200, w.do("admin", "PUT", "/db/_security", "{}").Code)
	for _, target := range []string{"v/_view/n", "none/_view/n", "v/_view/count?principal=_users"} {
		require.Equal(t, 403, w.do("", "GET", "/db/_design/"+target, "").Code, target)
	}
	expect201(t, w.do("admin", "PUT", "/other", ""))
	expect201(t, w.do("admin", "PUT", "/other/_design/v", viewDesign(false)))
	require.Equal(t, 200, w.do("admin", "GET", "/other/_design/v/_view/count?principal=ann", "").Code)
	bad := strings.Replace(plain, `"access":false`, `"access":1`, 1)
	require.Contains(t, w.do("admin", "PUT", "/db/_design/bad", bad).Body.String(), "invalid_design_doc")
	expect201(t, w.do("admin", "PUT", "/other/_design/bad", bad))
	many := w.do("ann", "POST", "/db/_design/v/_view/n/queries", `{"queries":[{"limit":1},{"principal":"ann"}]}`)
	require.Equal(t, 200, many.Code, many.Body)
	require.Equal(t, 403, w.do("ann", "POST", "/db/_design/v/_view/n/queries", `{"queries":[{},{"principal":"bob"}]}`).Code)
}

// TestViewsTellNothingOfOthers: what a user is answered of views, to the byte, changes neither with
// the documents of others nor with values of theirs that a reduce function refuses, and a document
// that was taken away is gone from the next answer, whatever `update` says.
func TestViewsTellNothingOfOthers(t *testing.T) {
	w := newSliceWorld(t, 13)
	expect201(t, w.do("admin", "PUT", "/db/_design/v", strings.Replace(viewDesign(false), `"views":{`,
		`"views":{"own":{"map":"n n","reduce":"_sum"},"ownstats":{"map":"n n","reduce":"_stats"},`, 1)))
	for i := range 5 {
		expect201(t, w.do("bob", "PUT", fmt.Sprint("/db/m", i), fmt.Sprintf(`{"_access":["bob"],"n":%d}`, i)))
	}
	ask := func() (answers []string) {
		for _, q := range []string{
			"n", "n?skip=1", `n?startkey="a"`, "n?keys=[1,2,99]", "n?descending=true&limit=2",
			"own?principal=bob", "ownstats?principal=bob&group=true", "count?principal=_users", "n?startkey=3&endkey=1",
			"n?include_docs=true&key=99", "n?startkey_docid=secret&startkey=3", "n?bookmark=&limit=2",
		} {
			answer := w.do("bob", "GET", "/db/_design/v/_view/"+q, "")
			answers = append(answers, q+" "+shown(answer, false))
		}
		return answers
	}
	before := ask()
	for i := range 60 {
		value := pick(w, []string{`"secret"`, "99", "3", "[1]", `{"a":1}`})
		body := fmt.Sprintf(`{"_access":["ann"],"n":%s}`, value)
		expect201(t, w.do("ann", "PUT", fmt.Sprint("/db/", pick(w, []string{"a", "m1", "z"}), "secret", i), body))
	}
	require.Equal(t, before, ask())

	var doc struct{ Rev string }
	taken := w.do("admin", "PUT", "/db/both", `{"_access":["ann","bob"],"n":77}`)
	require.NoError(t, json.Unmarshal(taken.Body.Bytes(), &doc))
	target := "/db/_design/v/_view/n?key=77&update=false"
	require.Contains(t, w.do("bob", "GET", target, "").Body.String(), `"both"`)
	expect201(t, w.do("admin", "PUT", "/db/both?rev="+doc.Rev, `{"_access":["ann"],"n":77}`))
	require.NotContains(t, w.do("bob", "GET", target, "").Body.String(), "both")
	require.Contains(t, w.do("ann", "GET", target, "").Body.String(), `"both"`)
}

// TestConflictsInViewsByPrincipal: a map function that emits the conflicts of a document emits, for
// its readers, those that all of them see, while administrators get all; in JavaScript, of both
// kinds of views.
func TestConflictsInViewsByPrincipal(t *testing.T) {
	s := servertest.NewJS(t)
	expect201(t, s.Do("PUT", "/_users", ""))
	s.Set("chttpd_auth", "iterations", "1")
	s.Set("chttpd_auth", "secret", "a secret")
	for _, name := range []string{"ann", "bob"} {
		expect201(t, s.Do("PUT", "/_users/org.couchdb.user:"+name,
			`{"name":"`+name+`","type":"user","roles":[],"password":"p"}`))
	}
	expect201(t, s.Do("PUT", "/own?access=true", ""))
	require.Equal(t, 200, s.Do("PUT", "/own/_security", `{"members":{"roles":["_users"]}}`).Code)
	for _, kind := range []string{"true", "false"} {
		expect201(t, s.Do("PUT", "/own/_design/"+kind, `{"_access":["_users"],"options":{"access":true,"interactive":`+kind+
			`},"views":{"v":{"map":"function (doc) { emit(doc._id, [doc._conflicts, doc._deleted_conflicts]) }"}}}`))
	}
	for _, doc := range []string{
		`"_rev":"1-d","_access":["ann","bob"]`, `"_rev":"1-c","_access":["ann","bob"]`,
		`"_rev":"1-b","_access":["ann"]`, `"_rev":"1-a","_access":["ann"],"_deleted":true`,
	} {
		expect201(t, s.Do("POST", "/own/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"x",`+doc+`}]}`))
	}
	for _, kind := range []string{"true", "false"} {
		target := "/own/_design/" + kind + "/_view/v"
		require.Contains(t, s.Do("GET", target, "").Body.String(), `"value":[["1-c","1-b"],["1-a"]]`)
		for _, name := range []string{"ann", "bob"} {
			answer := s.Do("GET", target, "", servertest.As(name)...)
			require.Contains(t, answer.Body.String(), `"value":[["1-c"],null]`, name)
			require.Equal(t, 1, strings.Count(answer.Body.String(), `"id"`), answer.Body)
		}
	}
}
