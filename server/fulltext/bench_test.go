package fulltext_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// BenchmarkFullText builds an index of 20,000 documents of about a kilobyte with JavaScript, and
// asks it.
func BenchmarkFullText(b *testing.B) {
	engine, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { engine.Close() })
	s := servertest.NewJSOn(b, engine)
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 5, 30_000)
	const docs = 20_000
	for from := 0; from < docs; from += 1000 {
		var body strings.Builder
		for i := range 1000 {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"_id":"d%06d","price":%d,"name":"`, from+i, i)
			for range 140 {
				fmt.Fprintf(&body, "w%dx ", zipf.Uint64())
			}
			body.WriteString(`"}`)
		}
		require.Equal(b, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+body.String()+`]}`).Code)
	}
	s.PutDesign("d", ddoc)
	for _, path := range []string{"_search/fruit?q=w999x", "_nouveau/fruit?q=name:w999x"} {
		began := time.Now()
		w := s.Do("GET", "/db/_design/d/"+path, "")
		require.Equal(b, 200, w.Code, w.Body.String())
		took := time.Since(began)
		info := s.Do("GET", "/db/_design/d/"+strings.Replace(path, "/", "_info/", 1), "")
		b.Logf("%s: %.0f documents/s, %s", path, docs/took.Seconds(), info.Body)
	}
	for _, q := range []string{"w900x", "w0x+AND+w900x", "w0x", "w0x+w1x+w2x", "%22w0x+w1x%22", "w90*"} {
		b.Run(strings.ReplaceAll(q, "+", "_"), func(b *testing.B) {
			for range b.N {
				w := s.Do("GET", "/db/_design/d/_search/fruit?limit=10&include_fields=[]&q="+q, "")
				require.Equal(b, 200, w.Code)
			}
		})
	}
	for _, c := range []struct{ name, path string }{
		{"suggest-prefix", "_search_suggest/fruit?prefix=w9"}, {"suggest-all", "_search_suggest/fruit?prefix="},
		{"fuzzy", "_search/fruit?limit=1&q=w900y~"}, {"suggest-word", "_search_suggest/fruit?word=w900y"},
		{"intervals-common", "_nouveau/fruit?limit=10&q=name:fn:ordered(w0x+w1x)"},
		{"intervals-rare", "_nouveau/fruit?limit=10&q=name:fn:maxgaps(2+fn:unordered(w0x+w900x))"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				require.Equal(b, 200, s.Do("GET", "/db/_design/d/"+c.path, "").Code)
			}
		})
	}
}
