package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// What lists of a thousand rows may cost in round trips, one after the other, on a store across a network. Reads that are made one by one
// show here at once.
func TestRoundTripsOfLists(t *testing.T) {
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	store, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	s := newTestServerOn(t, engine, store, c, "")
	require.Equal(t, http.StatusCreated, do(s, "PUT", "/db", "").Code)
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
		require.Equal(t, http.StatusCreated, do(s, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(list, ",")+`]}`).Code)
	}
	require.Equal(t, http.StatusCreated, do(s, "PUT", "/db/_design/d", `{"language":"member","views":{"v":{"map":"k"}}}`).Code)
	require.Equal(t, http.StatusOK, do(s, "GET", "/db/_design/d/_view/v?limit=1", "").Code)
	all := func(list []string) string { return strings.Join(list, ",") }
	for _, list := range []struct {
		method, target, body string
		budget               int64
	}{
		{"GET", "/db/_all_docs", "", 8},
		{"GET", "/db/_all_docs?include_docs=true&conflicts=true", "", 15},
		{"GET", "/db/_all_docs?include_docs=true&conflicts=true&descending=true", "", 15},
		{"POST", "/db/_all_docs", `{"keys":[` + all(keys) + `]}`, 17},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":[` + all(keys) + `]}`, 28},
		{"GET", "/db/_local_docs?include_docs=true", "", 16},
		{"GET", "/db/_changes", "", 10},
		{"GET", "/db/_changes?include_docs=true", "", 20},
		{"GET", "/db/_changes?include_docs=true&style=all_docs&conflicts=true", "", 20},
		{"GET", "/db/_changes?include_docs=true&descending=true", "", 25},
		{"POST", "/db/_changes?filter=_doc_ids", `{"doc_ids":[` + all(keys[:100]) + `]}`, 15},
		{"POST", "/db/_bulk_get", `{"docs":[` + all(gets) + `]}`, 34},
		{"POST", "/db/_revs_diff", `{` + all(diffs[:500]) + `}`, 14},
		{"GET", "/db/_design/d/_view/v", "", 15},
		{"GET", "/db/_design/d/_view/v?include_docs=true", "", 32},
	} {
		engine.Reset()
		w := do(s, list.method, list.target, list.body)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.True(t, json.Valid(w.Body.Bytes()))
		got := engine.Reset()
		t.Logf("%s: %d", list.target, got.RoundTrips)
		if got.RoundTrips > list.budget || got.TooOld > 0 {
			t.Errorf("%s %s: %d round trips, budget %d; %d snapshots too old", list.method, list.target, got.RoundTrips, list.budget, got.TooOld)
		}
	}
}
