package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// BenchmarkViewRows reads 100 rows of a view, without and with their documents.
func BenchmarkViewRows(b *testing.B) {
	s := servertest.New(b)
	require.Equal(b, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	var docs []string
	for i := range 1000 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%04d","k":%d,"v":"value"}`, i, i))
	}
	docs = append(docs, `{"_id":"_design/d","language":"member","views":{"v":{"map":"k v"}}}`)
	require.Equal(b, http.StatusCreated, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	for _, query := range []string{"limit=100", "limit=100&include_docs=true"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := s.Do("GET", "/db/_design/d/_view/v?startkey=500&"+query, ""); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
