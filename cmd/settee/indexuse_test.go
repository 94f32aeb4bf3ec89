package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEachQueryUsesItsIndex: whatever asks an index over HTTP is noted as its use, and what only
// builds or describes it is not.
func TestEachQueryUsesItsIndex(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	base, stop := startServe(t, t.TempDir())
	defer stop()
	do := func(request, body string) { t.Helper(); mustAsk(t, base, request, body) }
	used := func(want []string) func() bool {
		return func() bool {
			var answer struct{ Designs []designUse }
			require.NoError(t, json.Unmarshal([]byte(mustAsk(t, base, "GET /db/_index_use", "")), &answer))
			var names []string
			for _, d := range answer.Designs {
				for _, ix := range d.Indexes {
					names = append(names, ix.Type+" "+ix.Name)
				}
			}
			return slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(want)))
		}
	}
	do("PUT /db?partitioned=true", "")
	do("PUT /db/p:one", `{"a":1,"t":"word"}`)
	const code = `function (d) { emit(d.a); }`
	views, err := json.Marshal(map[string]any{
		"v1": map[string]string{"map": code}, "v2": map[string]string{"map": code},
		"v3": map[string]string{"map": code},
		"v4": map[string]string{"map": code, "reduce": "_count"}, "v5": map[string]string{"map": code},
	})
	require.NoError(t, err)
	do("PUT /db/_design/d", `{"options":{"partitioned":false},"views":`+string(views)+`,
		"lists":{"l":"function () { return 'x'; }"},
		"indexes":{"s":{"index":"function (d) { if (d.t) index('t', d.t); }"}},
		"nouveau":{"n":{"index":"function (d) { if (d.t) index('text', 't', d.t); }"}}}`)
	do("POST /db/_index", `{"ddoc":"auto","type":"auto","name":"all","partitioned":false,"index":{}}`)
	do("GET /db/_design/d/_view/v5?limit=0", "")
	do("GET /db/_design/d/_info", "")
	require.True(t, used(nil)())
	want := []string{}
	for _, q := range []struct{ request, body, index string }{
		{"GET /db/_design/d/_view/v1", "", "view v1"},
		{"POST /db/_design/d/_view/v2", `{"keys":[1]}`, "view v2"},
		{"GET /db/_design/d/_list/l/v3", "", "view v3"},
		{"POST /db/_design/d/_view/v4/queries", `{"queries":[{"group":true}]}`, "view v4"},
		{"GET /db/_design/d/_search/s?q=t:word", "", "search s"},
		{"GET /db/_design/d/_nouveau/n?q=t:word", "", "nouveau n"},
		{"POST /db/_find", `{"selector":{"a":1},"use_index":"auto"}`, "auto all"},
	} {
		do(q.request, q.body)
		want = append(want, q.index)
		require.Eventually(t, used(want), time.Minute, 10*time.Millisecond, q.request)
	}
}
