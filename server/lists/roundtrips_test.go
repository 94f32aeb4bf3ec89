package lists_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// What lists of a thousand rows may cost in round trips, one after the other, on a store across a
// network. Reads that are made one by one show here at once.
func TestRoundTripsOfLists(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	s := servertest.NewQuiet(t, engine)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	var docs, locals, keys, gets, diffs []string
	for i := range 1000 {
		id := fmt.Sprintf("doc-%06d", i*7919%1000)
		docs = append(docs, fmt.Sprintf(`{"_id":%q,"k":%d,"pad":%q}`, id, i, strings.Repeat("x", 300)))
		locals = append(locals, fmt.Sprintf(`{"_id":"_local/%s","pad":%q}`, id, strings.Repeat("x", 300)))
		keys = append(keys, fmt.Sprintf("%q", id))
		gets = append(gets, fmt.Sprintf(`{"id":%q}`, id))
		diffs = append(diffs, fmt.Sprintf(`%q:["1-967a00dff5e02add41819138abb3284d"]`, id))
	}
	for _, list := range [][]string{docs, locals} {
		require.Equal(
			t,
			http.StatusCreated,
			s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(list, ",")+`]}`).Code,
		)
	}
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("PUT", "/db/_design/d", `{"language":"member","views":{"v":{"map":"k"}}}`).Code,
	)
	require.Equal(t, http.StatusOK, s.Do("GET", "/db/_design/d/_view/v?limit=1", "").Code)
	all := func(list []string) string { return strings.Join(list, ",") }
	for _, list := range []struct {
		method, target, body string
		budget               int64
	}{
		{"GET", "/db/_all_docs", "", 8},
		{"GET", "/db/_all_docs?include_docs=true&conflicts=true", "", 15},
		{"GET", "/db/_all_docs?include_docs=true&conflicts=true&descending=true", "", 15},
		{"POST", "/db/_all_docs", `{"keys":[` + all(keys) + `]}`, 5},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":[` + all(keys) + `]}`, 5},
		{"GET", "/db/_local_docs?include_docs=true", "", 16},
		{"GET", "/db/_changes", "", 10},
		{"GET", "/db/_changes?include_docs=true", "", 10},
		{"GET", "/db/_changes?include_docs=true&style=all_docs&conflicts=true", "", 10},
		{"GET", "/db/_changes?include_docs=true&descending=true", "", 14},
		{"POST", "/db/_changes?filter=_doc_ids", `{"doc_ids":[` + all(keys[:100]) + `]}`, 12},
		{"POST", "/db/_bulk_get", `{"docs":[` + all(gets) + `]}`, 5},
		{"POST", "/db/_revs_diff", `{` + all(diffs[:500]) + `}`, 5},
		{"GET", "/db/_design/d/_view/v", "", 15},
		{"GET", "/db/_design/d/_view/v?limit=100", "", 4},
		{"GET", "/db/_design/d/_view/v?limit=100&startkey=500", "", 5},
		{"GET", "/db/_design/d/_view/v?limit=100&startkey=400", "", 4},
		{"GET", "/db/_design/d/_view/v?limit=100&startkey=300", "", 4},
		{"GET", "/db/_design/d/_view/v?include_docs=true", "", 10},
	} {
		engine.Reset()
		w := s.Do(list.method, list.target, list.body)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.True(t, json.Valid(w.Body.Bytes()))
		got := engine.Reset()
		t.Logf("%s: %d", list.target, got.RoundTrips)
		if got.RoundTrips > list.budget || got.TooOld > 0 {
			t.Errorf(
				"%s %s: %d round trips, budget %d; %d snapshots too old",
				list.method,
				list.target,
				got.RoundTrips,
				list.budget,
				got.TooOld,
			)
		}
	}
}

// A filter in JavaScript sees every leaf of conflicts: those of many documents are read together,
// and no more at once than it is asked about, however large they are.
func TestRoundTripsOfFilteredConflicts(t *testing.T) {
	kvtest.Long(t)
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	s := servertest.NewJSOn(t, engine)
	s.StopFollowers()
	var docs []string
	for i := range 300 {
		pad := strings.Repeat("x", 10)
		if i%30 == 29 {
			pad = strings.Repeat("x", 600_000)
		}
		leaves := []string{"a", "b", "c"}
		if i%7 == 0 {
			leaves = leaves[:1]
		}
		for _, leaf := range leaves {
			docs = append(docs, fmt.Sprintf(`{"_id":"d%03d","_rev":"1-%s","leaf":%q,"pad":%q}`, i, leaf, leaf, pad))
		}
	}
	for len(docs) > 0 {
		n := min(len(docs), 300)
		body := `{"new_edits":false,"docs":[` + strings.Join(docs[:n], ",") + `]}`
		require.Equal(t, http.StatusCreated, s.Do("POST", "/db/_bulk_docs", body).Code)
		docs = docs[n:]
	}
	s.PutDesign("f", `{"filters":{"b":"function(doc){ return doc.leaf == 'b' }"}}`)
	for _, list := range []struct {
		query      string
		want, last int
	}{
		{"", 257, 299},
		{"&limit=100", 100, 116},
		{"&limit=100&include_docs=true", 100, 116},
	} {
		engine.Reset()
		w := s.Do("GET", "/db/_changes?filter=f/b&style=all_docs"+list.query, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var answer struct {
			Results []struct {
				ID      string
				Changes []struct{ Rev string }
			}
			Pending int
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Len(t, answer.Results, list.want)
		for _, r := range answer.Results {
			require.Len(t, r.Changes, 1)
			require.Equal(t, "1-b", r.Changes[0].Rev)
		}
		require.Equal(t, fmt.Sprintf("d%03d", list.last), answer.Results[list.want-1].ID)
		require.Equal(t, max(0, 300-list.last-1)+min(1, 299-list.last), answer.Pending)
		if got := engine.Reset(); got.RoundTrips > 150 {
			t.Errorf("%q: %d round trips in %d snapshots", list.query, got.RoundTrips, got.Views)
		} else {
			t.Logf("%q: %d round trips in %d snapshots", list.query, got.RoundTrips, got.Views)
		}
	}
}
