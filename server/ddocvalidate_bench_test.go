package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// BenchmarkBulkDocs writes 1,000 documents of 0.5 KB in a request, without and with a validation function.
func BenchmarkBulkDocs(b *testing.B) {
	for _, design := range []string{"", `{"validate_doc_update":"function(doc, old, user){ if (!doc.x) throw({forbidden: 'x'}) }"}`} {
		b.Run(fmt.Sprintf("validated=%t", design != ""), func(b *testing.B) {
			s := servertest.NewJS(b)
			if design != "" {
				s.PutDesign("v", design)
			}
			n := 0
			for b.Loop() {
				var docs []string
				for range 1000 {
					n++
					docs = append(docs, fmt.Sprintf(`{"_id":"%09d","x":%q}`, n, strings.Repeat("y", 450)))
				}
				w := s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
				require.Equal(b, 201, w.Code)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(1000*b.N), "µs/doc")
		})
	}
}
