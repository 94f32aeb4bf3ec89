package mango_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// benchWorld is a database of documents of 1 KB with an index.
func benchWorld(b *testing.B, count int) *world {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	check(b, err)
	w := openWorld(b, store)
	w.begin(b, "db")
	w.createIndex(b, "i", `{"fields":["n"]}`)
	for first := 0; first < count; first += 1000 {
		w.write(b, first, 1000)
	}
	return w
}

// write writes new documents, numbered from first on, in one transaction.
func (w *world) write(t fatal, first, count int) {
	note := strings.Repeat("lorem ipsum ", 60)
	docs := make([]*compat.Document, count)
	for i := range docs {
		n := first + i
		text := fmt.Sprintf(
			`{"type":"order","n":%d,"customer":{"name":"name %d","tags":["a","b"]},"items":[{"sku":"x","price":1.5},{"sku":"y","price":2}],"note":"%s","total":%d}`,
			n,
			n,
			note,
			n,
		)
		v, err := ejson.Parse([]byte(text))
		check(t, err)
		body, err := compat.NewBody(v.AppendJSON(nil))
		check(t, err)
		docs[i] = &compat.Document{ID: fmt.Sprintf("doc%07d", n), HasID: true, Body: body}
	}
	_, err := w.src.DB.Update(context.Background(), docs, storage.UpdateOptions{})
	check(t, err)
}

func benchmarkFind(b *testing.B, w *world, query string, found int) {
	b.ReportAllocs()
	for b.Loop() {
		plan, err := w.plan(b, query)
		check(b, err)
		rows := 0
		_, err = plan.Find(context.Background(), w.src, func([]byte) error { rows++; return nil })
		if check(b, err); rows != found {
			b.Fatalf("%d documents", rows)
		}
	}
}

// BenchmarkFind is a query that reads 20,000 documents, and one that reads 26 rows of an index.
func BenchmarkFind(b *testing.B) {
	w := benchWorld(b, 20_000)
	_, _, err := w.find(b, `{"selector":{"n":1}}`, 10) // so that the index is there
	check(b, err)
	b.Run("scan-20000", func(b *testing.B) {
		benchmarkFind(b, w, `{"selector":{"customer.name":"nobody","total":{"$gt":1}}}`, 0)
	})
	b.Run("index-25", func(b *testing.B) { benchmarkFind(b, w, `{"selector":{"n":{"$gte":1000}}}`, 25) })
	b.Run(
		"covering-25",
		func(b *testing.B) { benchmarkFind(b, w, `{"selector":{"n":{"$gte":1000}},"fields":["n"]}`, 25) },
	)
}

// BenchmarkWrite writes batches of 500 new documents beside some indexes.
func BenchmarkWrite(b *testing.B) {
	for _, count := range []int{0, 1, 3, 5} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			w := benchWorld(b, 0)
			for _, field := range []string{"total", "customer.name", "note", "type"}[:max(count-1, 0)] {
				w.createIndex(b, field, fmt.Sprintf(`{"fields":[%q]}`, field))
			}
			if count == 0 {
				w.begin(b, "none")
			}
			written := 0
			b.ReportAllocs()
			for b.Loop() {
				w.write(b, written, 500)
				written += 500
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(written), "µs/doc")
		})
	}
}
