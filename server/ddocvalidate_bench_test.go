package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkBulkDocs writes 1,000 documents of 0.5 KB in a request, without and with a validation function.
func BenchmarkBulkDocs(b *testing.B) {
	for _, design := range []string{"", `{"validate_doc_update":"function(doc, old, user){ if (!doc.x) throw({forbidden: 'x'}) }"}`} {
		b.Run(fmt.Sprintf("validated=%t", design != ""), func(b *testing.B) {
			s := newDesignServer(b)
			if design != "" {
				putDesign(b, s, "v", design)
			}
			n := 0
			for b.Loop() {
				var docs []string
				for range 1000 {
					n++
					docs = append(docs, fmt.Sprintf(`{"_id":"%09d","x":%q}`, n, strings.Repeat("y", 450)))
				}
				w := do(s, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
				require.Equal(b, 201, w.Code)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(1000*b.N), "µs/doc")
		})
	}
}
