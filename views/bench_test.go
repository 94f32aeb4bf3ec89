package views

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// fill writes n documents of about 1 KB.
func (b *bench) fill(t testing.TB, n int) {
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 34)
	var docs []*compat.Document
	for i := range n {
		body := fmt.Sprintf(`{"type":"t%d","n":%d,"group":["g%d",%d],"text":%q}`, i%10, i, i%100, i%7, filler)
		docs = append(docs, newDoc(t, fmt.Sprintf("doc%08d", i), "", body))
		if len(docs) == 1000 || i == n-1 {
			_, err := b.db.Update(context.Background(), docs, storage.UpdateOptions{})
			must(t, err)
			docs = docs[:0]
		}
	}
}

type twoEmits struct{}

func (twoEmits) Compile(Definition) (Mapper, error) { return twoEmits{}, nil }

func (twoEmits) Map(doc *docread.Document, emit func(key, value []byte)) error {
	i := strings.Index(string(doc.Body), `"n":`) + 4
	n := doc.Body[i : i+strings.IndexByte(string(doc.Body[i:]), ',')]
	emit(n, []byte("1"))
	emit([]byte(`["g`+string(n[:min(len(n), 2)])+`",1]`), n)
	return nil
}

func newPebbleBench(b *testing.B, pool *js.Pool) *bench {
	engine, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	must(b, err)
	be := newBench(b, engine, storage.CreateOptions{})
	be.views.opts.Languages["two"] = twoEmits{}
	if pool != nil {
		be.views.opts.JS = pool
	}
	return be
}

// BenchmarkBuild builds an index of 20,000 documents of 1 KB with two rows each.
func BenchmarkBuild(b *testing.B) {
	const docs = 20_000
	const script = `function(doc) { emit(doc.n, 1); emit(doc.group, doc.n); }`
	for _, c := range []struct{ name, language, source string }{
		{"native", "two", "x"},
		{"javascript", "javascript", script},
	} {
		b.Run(c.name, func(b *testing.B) {
			var pool *js.Pool
			if c.language == "javascript" {
				pool = js.NewPool(js.Options{})
				defer pool.Close()
			}
			be := newPebbleBench(b, pool)
			be.fill(b, docs)
			b.ResetTimer()
			for i := range b.N {
				body := fmt.Sprintf(
					`{"language":%q,"views":{"v":{"map":%q,"reduce":"_sum"}}}`,
					c.language,
					c.source+strings.Repeat(" ", i),
				)
				be.put(b, fmt.Sprintf("_design/d%d", i), body)
				must(b, be.views.Update(b.Context(), be.db, fmt.Sprintf("_design/d%d", i)))
			}
			b.ReportMetric(float64(docs*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkQuery reads 100 rows, one row, and a sum over a range.
func BenchmarkQuery(b *testing.B) {
	be := newPebbleBench(b, nil)
	be.fill(b, 20_000)
	be.put(b, "_design/d", `{"language":"two","views":{"v":{"map":"x","reduce":"_sum"}}}`)
	must(b, be.views.Update(b.Context(), be.db, "_design/d"))
	for _, c := range []struct{ name, options string }{
		{"rows=100", "reduce=false&startkey=5000&limit=100"},
		{"key", "reduce=false&key=5000"},
		{"skip=20000", "reduce=false&skip=20000&limit=10"},
		{"sum of a range", "startkey=1000&endkey=12345"},
		{"200 groups", "startkey=[]&group_level=1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, be.tryQuery("d", "v", c.options, discard{}))
			}
		})
	}
}

type discard struct{}

func (discard) Head(*Head) error                                  { return nil }
func (discard) Rows(_ *storage.Snapshot, rows []Row) (int, error) { return len(rows), nil }

// BenchmarkInteractive writes 1,000 documents a request, without an index and with an interactive
// one.
func BenchmarkInteractive(b *testing.B) {
	for _, indexes := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("indexes=%d", indexes), func(b *testing.B) {
			be := newPebbleBench(b, nil)
			be.views.opts.Languages[languageQuery] = twoEmits{}
			for i := range indexes {
				be.put(
					b,
					fmt.Sprintf("_design/q%d", i),
					fmt.Sprintf(`{"language":"query","views":{"v":{"map":{"x":%d},"reduce":"_count"}}}`, i),
				)
			}
			n := 0
			for b.Loop() {
				docs := make([]*compat.Document, 1000)
				for i := range docs {
					n++
					docs[i] = newDoc(b, fmt.Sprintf("doc%08d", n*7919%1000003), "", fmt.Sprintf(`{"n":%d,"t":1}`, n))
				}
				_, err := be.db.Update(context.Background(), docs, storage.UpdateOptions{})
				must(b, err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
