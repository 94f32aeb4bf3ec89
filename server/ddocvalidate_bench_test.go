package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// validations are design documents with the same rule, and one without.
var validations = []struct{ name, design string }{
	{"none", `{"language":"query"}`},
	{"selector", `{"language":"query","validate_doc_update":{"newDoc":{"x":{"$type":"string"},"n":{"$gte":0}}}}`},
	{"function", `{"validate_doc_update":"function(doc, old, user){
		if (typeof doc.x !== 'string' || typeof doc.n !== 'number' || doc.n < 0) throw({forbidden: 'document is not valid'})
	}"}`},
}

// BenchmarkValidation writes documents of 0.5 KB, in turns without validation and with each kind,
// and prints how much more time each kind takes: single updates of a document, and 1,000 new
// documents in a request.
func BenchmarkValidation(b *testing.B) {
	pad := strings.Repeat("y", 450)
	for name, write := range map[string]func(b *testing.B, s *servertest.Server, n int){
		"update": func(b *testing.B, s *servertest.Server, n int) {
			for i := range 100 {
				target := fmt.Sprintf("/db/%d-%d", n, i)
				w := s.Do("PUT", target, `{"n":1,"x":"`+pad+`"}`)
				for range 10 {
					require.Equal(b, 201, w.Code)
					rev := strings.Trim(servertest.ETag(w), `"`)
					w = s.Do("PUT", target+"?rev="+rev, `{"n":2,"x":"`+pad+`"}`)
				}
			}
		},
		"bulk": func(b *testing.B, s *servertest.Server, n int) {
			var docs []string
			for i := range 1000 {
				docs = append(docs, fmt.Sprintf(`{"_id":"%05d-%05d","n":%d,"x":%q}`, n, i, i, pad))
			}
			require.Equal(b, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
		},
	} {
		b.Run(name, func(b *testing.B) {
			servers := make([]*servertest.Server, len(validations))
			took := make([]time.Duration, len(validations))
			for i, v := range validations {
				servers[i] = servertest.NewJS(b)
				servers[i].PutDesign("v", strings.ReplaceAll(strings.ReplaceAll(v.design, "\n", " "), "\t", ""))
			}
			n := 0
			for b.Loop() {
				n++
				for i, s := range servers {
					began := time.Now()
					write(b, s, n)
					took[i] += time.Since(began)
				}
			}
			for i, v := range validations {
				b.ReportMetric(float64(took[i])/float64(took[0]), v.name+"/none")
			}
		})
	}
}
