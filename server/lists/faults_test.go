package lists_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// An answer is the same whichever of a list's reads finds its snapshot too old, in each of the
// snapshots that the request takes.
func TestListsOutliveEveryRead(t *testing.T) {
	armed, base, view, read, failed := false, 0, 0, 0, false
	engine := faultkv.New(memkv.New(), faultkv.Plan{TooOld: func(r faultkv.Read) bool {
		if !armed || r.Update {
			return false
		}
		if base == 0 {
			base = r.Call
		}
		fails := r.Call-base == view && r.N == read
		failed = failed || fails
		return fails
	}})
	s := servertest.NewQuiet(t, engine)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	for i := range 20 {
		require.Equal(
			t,
			http.StatusCreated,
			s.Do("PUT", fmt.Sprintf("/db/doc-%02d", i), fmt.Sprintf(`{"k":%d}`, i)).Code,
		)
		require.Equal(t, http.StatusCreated, s.Do("PUT", fmt.Sprintf("/db/_local/%02d", i), `{}`).Code)
	}
	s.Do(
		"POST",
		"/db/_bulk_docs",
		`{"new_edits":false,"docs":[{"_id":"doc-03","_rev":"1-fff"},{"_id":"doc-07","_rev":"1-fff","_deleted":true}]}`,
	)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db/doc-21", `{"_attachments":{"a":{"data":"b25l"}}}`).Code)
	require.Equal(
		t,
		http.StatusCreated,
		s.Do("PUT", "/db/_design/d", `{"language":"member","views":{"v":{"map":"k"}}}`).Code,
	)
	for _, list := range []struct{ method, target, body string }{
		{"GET", "/db/_all_docs?include_docs=true&conflicts=true&update_seq=true", ""},
		{"GET", "/db/_all_docs?include_docs=true&attachments=true&descending=true", ""},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":["doc-01","doc-99","doc-03","_local/01"]}`},
		{"GET", "/db/_design_docs", ""},
		{"GET", "/db/_local_docs?include_docs=true", ""},
		{"GET", "/db/_changes?include_docs=true&style=all_docs&conflicts=true", ""},
		{"GET", "/db/_changes?include_docs=true&attachments=true&descending=true", ""},
		{"POST", "/db/_changes?filter=_doc_ids", `{"doc_ids":["doc-01","doc-03"]}`},
		{"POST", "/db/_changes?filter=_selector&include_docs=true", `{"selector":{"k":{"$gt":3}}}`},
		{"GET", "/db/_changes?filter=_design", ""},
		{"POST", "/db/_bulk_get?revs=true", `{"docs":[{"id":"doc-01"},{"id":"doc-03"},{"id":"doc-07"},{"id":"no"}]}`},
		{"POST", "/db/_revs_diff", `{"doc-01":["1-abc"],"doc-03":["1-fff","2-abc"]}`},
		{"POST", "/db/_missing_revs", `{"doc-01":["1-abc"],"doc-03":["1-fff","2-abc"]}`},
		{"GET", "/db/_purged_infos", ""},
		{"GET", "/_all_dbs", ""},
		{"GET", "/db/_design/d/_view/v?include_docs=true", ""},
	} {
		t.Run(list.target, func(t *testing.T) {
			whole := s.Do(list.method, list.target, list.body)
			require.Equal(t, http.StatusOK, whole.Code, whole.Body.String())
			for view = 0; ; view++ {
				for read = 1; ; read++ {
					armed, base, failed = true, 0, false
					w := s.Do(list.method, list.target, list.body)
					armed = false
					if !failed {
						break
					}
					if w.Code != whole.Code || w.Body.String() != whole.Body.String() {
						t.Fatalf(
							"view %d, read %d: %d\n%s\nwant\n%s",
							view,
							read,
							w.Code,
							w.Body.String(),
							whole.Body.String(),
						)
					}
				}
				if read == 1 {
					break
				}
			}
		})
	}
}
