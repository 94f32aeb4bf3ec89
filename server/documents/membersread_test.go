package documents_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// paddedDocs stores documents in a database, with members before and behind what pads them.
func paddedDocs(t *testing.T, s *servertest.Server, db string, sizes []int) {
	t.Helper()
	for i, size := range sizes {
		pads := ""
		for n := range 4 {
			pads += fmt.Sprintf(`"p%d":%q,`, n, strings.Repeat("x", size/4))
		}
		body := fmt.Sprintf(`{"a":%d,"k":{"n":%d},%s"z":%d}`, i, -i, pads, i%2)
		require.Equal(t, http.StatusCreated, s.Do("PUT", fmt.Sprintf("/%s/d%d", db, i), body).Code)
	}
}

// passing is what answers of the same request have that differs from database to database.
var passing = regexp.MustCompile(`"(_rev|rev|seq|last_seq|bookmark|execution_time_ms)":("[^"]*"|[0-9.]+)|[\r\n]`)

// TestMembersOfManyDocuments: whatever reads some members of documents reads the rest of large ones
// no more than it has to, and answers as of small ones.
func TestMembersOfManyDocuments(t *testing.T) {
	kvtest.Long(t)
	s, counting := countingServer(t)
	sizes := []int{600_000, 600_000, 600_000, 7_900_000, 600_000, 7_900_000}
	const auto = `{"index":{},"type":"auto","name":"all"}`
	for _, db := range []string{"large", "small", "largeauto", "smallauto"} {
		require.Equal(t, http.StatusCreated, s.Do("PUT", "/"+db, "").Code)
		if strings.HasSuffix(db, "auto") { // it has nothing to read
			require.Equal(t, http.StatusOK, s.Do("POST", "/"+db+"/_index", auto).Code)
		}
		sizes := sizes
		if strings.HasPrefix(db, "small") {
			sizes = make([]int, len(sizes))
		}
		paddedDocs(t, s, db, sizes)
		const view = `{"language":"member","views":{"v":{"map":"a"}}}`
		require.Equal(t, http.StatusCreated, s.Do("PUT", "/"+db+"/_design/d", view).Code)
		require.Equal(t, http.StatusOK, s.Do("GET", "/"+db+"/_design/d/_view/v?limit=0", "").Code)
	}
	fields := fieldsQuery(`["a","k.n"]`)
	const onA, onZ = `{"fields":["a"]}`, `{"fields":["z"],"partial_filter_selector":{"a":{"$gt":0}}}`
	for _, r := range []struct {
		method, path, body string
		chunks             int64 // that are read of each document
	}{
		{"GET", "_all_docs?include_docs=true&" + fields, "", 1},
		{"GET", "_all_docs?include_docs=true&descending=true&conflicts=true&" + fields, "", 1},
		{"POST", "_all_docs?include_docs=true&" + fields, `{"keys":["d3","d1","d5","no","d3"]}`, 1},
		{"GET", "_changes?include_docs=true&" + fields, "", 1},
		{"POST", "_changes?filter=_selector", `{"selector":{"a":{"$gt":2}}}`, 1},
		{"POST", "_changes?filter=_selector&include_docs=true&" + fields, `{"selector":{"z":1}}`, 2},
		{"GET", "_design/d/_view/v?include_docs=true&" + fields, "", 1},
		{"POST", "_bulk_get?" + fields, `{"docs":[{"id":"d0"},{"id":"d3"},{"id":"d5"}]}`, 1},
		{"GET", "d3?open_revs=all&" + fields, "", 1},
		{"GET", "d3?" + fields, "", 1},
		{"POST", "_find", `{"selector":{"z":1},"fields":["a","k.n"]}`, 2},
		{"POST", "_find", `{"selector":{"a":{"$gt":3}},"fields":["k.n"],"count":true}`, 2},
		{"POST", "_find", `{"selector":{"a":{"$gt":3}},"fields":["_id"]}`, 1},
		{"POST", "_find", `{"selector":{"_id":{"$gt":"d1"}},"fields":["_id","_rev"]}`, 0},
		{"POST", "_find", `{"selector":{"a":{"$gt":9}}}`, 1},
		{"POST", "_index", `{"index":` + onA + `,"ddoc":"onA","name":"a"}`, 1},
		{"POST", "_find", `{"selector":{"a":{"$gt":2}},"fields":["k.n","z"],"sort":["a"],"use_index":"onA"}`, 3},
		{"POST", "_index", `{"index":` + onZ + `,"ddoc":"onZ","name":"z"}`, 2},
		{"POST", "_find", `{"selector":{"z":{"$gte":0},"a":{"$gt":0}},"fields":["k.n"],"use_index":"onZ"}`, 4},
		{"POST", "_aggregate", `{"group_by":["z"],"values":{"s":{"$sum":"k.n"}}}`, 2},
		{"auto", "_find", `{"selector":{"k.n":{"$lt":-2}},"fields":["a"]}`, 1},
		{"auto", "_find", `{"selector":{"k.n":{"$lt":-1}},"fields":["a","z"],"sort":["k.n"]}`, 2},
	} {
		large, small := "large", "small"
		if r.method == "auto" {
			r.method, large, small = "POST", "largeauto", "smallauto"
		}
		want := s.Do(r.method, "/"+small+"/"+r.path, r.body)
		w := doHeld(s, counting, r.method, "/"+large+"/"+r.path, r.body, "application/json")
		read := counting.Counts().BytesRead
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", r.path, w.Body)
		assert.Equal(t, passing.ReplaceAllString(want.Body.String(), "$1"),
			passing.ReplaceAllString(w.Body.String(), "$1"), "%s %s", r.path, r.body)
		most := int64(len(sizes))*(r.chunks*keyspace.MaxValue+2000) + 100_000
		assert.LessOrEqual(t, read, most, "%s %s", r.path, r.body)
	}
}
