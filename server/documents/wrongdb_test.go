package documents_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Requests that name many documents learn in the snapshot that they read what kind of database it
// is: nothing of an answer is sent before, and it is refused as ever where there is no database, or
// an id names no partition.
func TestManyDocumentsOfTheWrongDatabase(t *testing.T) {
	s := servertest.NewQuiet(t, memkv.New())
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/plain", "").Code)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/parts?partitioned=true", "").Code)
	for _, c := range []struct {
		target, body      string
		none, plain, part int
	}{
		{"/_bulk_get", `{"docs":[{"id":"a"}]}`, 404, 200, 200}, // rows tell what is wrong
		{"/_bulk_get", `{"docs":[{"id":1}]}`, 404, 400, 400},
		{"/_bulk_get", `{"docs":[]}`, 404, 200, 200},
		{"/_revs_diff", `{"p:a":["1-a"],"a":["1-a"]}`, 404, 200, 400},
		{"/_revs_diff", `{"p:a":["1-a"]}`, 404, 200, 200},
		{"/_missing_revs", `{"a":["1-a"]}`, 404, 200, 400},
		{"/_all_docs", `{"keys":["p:a","a"]}`, 404, 200, 400},
		{"/_all_docs", `{"keys":["p:a","_design/d"]}`, 404, 200, 200},
		{"/_all_docs?include_docs=true", `{"keys":[1]}`, 404, 200, 400},
	} {
		for db, status := range map[string]int{"/none": c.none, "/plain": c.plain, "/parts": c.part} {
			w := s.Do("POST", db+c.target, c.body)
			require.Equal(t, status, w.Code, "%s%s %s: %s", db, c.target, c.body, w.Body)
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		}
	}
	bad := s.Do("POST", "/parts/_bulk_get", `{"docs":[{"id":"a"},{"id":"p:a"}]}`).Body.String()
	require.Contains(t, bad, "illegal_docid")
	require.NotContains(t, s.Do("POST", "/plain/_bulk_get", `{"docs":[{"id":"a"}]}`).Body.String(), "illegal")
}

// TestNamesOfNoDocument: what reads say of names that no document has.
func TestNamesOfNoDocument(t *testing.T) {
	s := servertest.NewQuiet(t, memkv.New())
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/parts?partitioned=true", "").Code)
	const (
		noDatabase  = `{"error":"not_found","reason":"Database does not exist."}` + "\n"
		noDocument  = `{"error":"not_found","reason":"missing"}` + "\n"
		noPartition = `{"error":"illegal_docid","reason":"Doc id must be of form partition:id"}` + "\n"
	)
	servertest.Expect(t, s.Do("GET", "/none/_design%2Fd", ""), 404, noDatabase)
	servertest.Expect(t, s.Do("GET", "/none/_design%2fd/a", ""), 404, noDatabase)
	require.Equal(t, http.StatusMovedPermanently, s.Do("GET", "/parts/_design%2Fd", "").Code)
	servertest.Expect(t, s.Do("GET", "/parts/%5Fx", ""), 404, noDocument)
	servertest.Expect(t, s.Do("GET", "/parts/x", ""), 400, noPartition)
}

// TestEmptyCoding: a header Content-Encoding without a value names no coding that is known.
func TestEmptyCoding(t *testing.T) {
	s := servertest.NewQuiet(t, memkv.New())
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	require.Equal(t, http.StatusUnsupportedMediaType, s.Do("PUT", "/db/a/x", "x", "Content-Encoding", " ").Code)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/a/x", "x", "Content-Encoding", " Identity ").Code)
}
