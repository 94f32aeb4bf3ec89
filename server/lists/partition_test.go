package lists_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// A partition's rows are skipped where they are read: the offset counts no more of them than there
// are.
func TestOffsetInPartition(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db?partitioned=true", "").Code)
	docs := `{"docs":[{"_id":"a:1"},{"_id":"a:2"},{"_id":"b:1"},{"_id":"b:2"},{"_id":"b:3"},{"_id":"c:1"}]}`
	require.Equal(t, http.StatusCreated, s.Do("POST", "/db/_bulk_docs", docs).Code)
	for _, c := range []struct{ path, query, offset string }{
		{"_partition/b/_all_docs", "skip=1&limit=0", "3"},
		{"_partition/b/_all_docs", "skip=4", "5"},
		{"_partition/b/_all_docs", "skip=100", "5"},
		{"_partition/b/_all_docs", "skip=100&descending=true", "4"},
		{"_partition/b/_all_docs", `skip=2&key="b:2"`, "4"},
		{"_partition/b/_all_docs", `skip=3&endkey="b:2"&inclusive_end=false`, "3"},
		{"_partition/b/_all_docs", `skip=9&startkey="b:3"&endkey="b:1"`, "4"},
		{"_partition/b0/_all_docs", "skip=2", "2"},
		{"_partition/b0/_all_docs", "skip=2&descending=true", "4"},
		{"_all_docs", `skip=2&key="b:2"`, "5"},
		{"_all_docs", "skip=100", "6"},
	} {
		q, err := url.ParseQuery(c.query)
		require.NoError(t, err)
		answer := s.Do("GET", "/db/"+c.path+"?"+q.Encode(), "")
		want := `{"total_rows":6,"offset":` + c.offset + `,"rows":[`
		require.Equal(t, want, answer.Body.String()[:min(len(want), answer.Body.Len())], "%s?%s", c.path, c.query)
	}
}
