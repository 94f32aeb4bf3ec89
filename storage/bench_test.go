package storage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

func benchDB(b testing.TB) *DB {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{})
	must(b, err)
	s, err := Open(context.Background(), Options{KV: store, Manual: true})
	must(b, err)
	b.Cleanup(func() {
		must(b, s.Close())
		must(b, store.Close())
	})
	must(b, s.Create(context.Background(), "db", CreateOptions{}))
	return s.DB("db")
}

// benchBody is a body of about 1 KB with the usual mixture of values.
func benchBody() string {
	var b strings.Builder
	b.WriteString(`{"type":"order","number":`)
	fmt.Fprint(&b, rand.IntN(1e6))
	for i := range 12 {
		fmt.Fprintf(&b, `,"field%d":"%x"`, i, rand.Uint64())
	}
	b.WriteString(`,"lines":[`)
	for i := range 12 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"%d","count":%d,"price":%d.5}`, rand.IntN(1e6), rand.IntN(9), rand.IntN(1000))
	}
	b.WriteString(`]}`)
	return b.String()
}

func benchDocs(b *testing.B, n int) []*compat.Document {
	docs := make([]*compat.Document, n)
	for i := range docs {
		docs[i] = doc(b, "", "", benchBody())
	}
	return docs
}

func nameDocs(docs []*compat.Document, n int) {
	for i, d := range docs {
		d.ID = fmt.Sprintf("%016x%08x", rand.Uint64(), n*len(docs)+i)
	}
}

func BenchmarkPut(b *testing.B) {
	db := benchDB(b)
	docs := benchDocs(b, 1)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		nameDocs(docs, n)
		update(b, db, UpdateOptions{}, docs...)
	}
}

func BenchmarkPutParallel(b *testing.B) {
	db := benchDB(b)
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		docs := benchDocs(b, 1)
		for n := 0; pb.Next(); n++ {
			nameDocs(docs, n)
			update(b, db, UpdateOptions{}, docs...)
		}
	})
}

// BenchmarkBulk stores batches of 1000 new documents of 1 KB; raw puts the same bodies into the
// store below, in the same batches.
func BenchmarkBulk(b *testing.B) {
	b.Run("docs", func(b *testing.B) {
		db := benchDB(b)
		docs := benchDocs(b, 1000)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			nameDocs(docs, n)
			update(b, db, UpdateOptions{}, docs...)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/doc")
	})
	b.Run("raw", func(b *testing.B) {
		db := benchDB(b)
		docs := benchDocs(b, 1000)
		for n := 0; b.Loop(); n++ {
			nameDocs(docs, n)
			_, err := db.store.kv.Update(context.Background(), func(tx kv.Tx) error {
				for _, d := range docs {
					tx.Set([]byte(d.ID), d.Body.JSON)
				}
				return nil
			})
			must(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/doc")
	})
}

func BenchmarkBulkUpdate(b *testing.B) {
	db := benchDB(b)
	docs := benchDocs(b, 1000)
	nameDocs(docs, 0)
	for b.Loop() {
		results, err := db.Update(context.Background(), docs, UpdateOptions{})
		must(b, err)
		for i := range docs {
			docs[i].Revs = compat.RevPath{Start: results[i].Rev.Pos, IDs: []string{results[i].Rev.Hash}}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/doc")
}

func BenchmarkRead(b *testing.B) {
	db := benchDB(b)
	ids := fill(b, db, 20_000)
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := db.Open(context.Background(), ids[rand.IntN(len(ids))], docread.OpenOptions{})
			must(b, err)
		}
	})
	b.Run("all_docs", func(b *testing.B) {
		scan(b, db, len(ids), RangeOptions{Limit: -1})
	})
	b.Run("include_docs", func(b *testing.B) {
		scan(b, db, len(ids), RangeOptions{Limit: -1, IncludeDocs: true})
	})
}

func fill(b *testing.B, db *DB, n int) (ids []string) {
	docs := benchDocs(b, 1000)
	for i := range n / len(docs) {
		nameDocs(docs, i)
		update(b, db, UpdateOptions{}, docs...)
		for _, d := range docs {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func scan(b *testing.B, db *DB, rows int, o RangeOptions) {
	b.ReportAllocs()
	var out bytes.Buffer
	for b.Loop() {
		n := 0
		must(b, db.AllDocs(context.Background(), o, func(ListHeader) error { return nil }, func(r *ListRow) error {
			n++
			out.Reset()
			if r.Doc != nil {
				out.Write(r.Doc.Body)
			}
			return nil
		}))
		want(b, "rows", n, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// BenchmarkLargeBodies lists and reads documents of 80 KB.
func BenchmarkLargeBodies(b *testing.B) {
	const rows, size = 200, 80_000
	db := benchDB(b)
	for i := range rows {
		store(b, db, UpdateOptions{}, sized(fmt.Sprintf("%03d", i), compat.Rev{}, size, "a"))
	}
	b.Run("list", func(b *testing.B) {
		b.SetBytes(rows * size)
		b.ReportAllocs()
		for b.Loop() {
			must(
				b,
				db.AllDocs(
					context.Background(),
					RangeOptions{Limit: -1, IncludeDocs: true},
					func(ListHeader) error { return nil },
					func(*ListRow) error { return nil },
				),
			)
		}
	})
	b.Run("get", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			open(b, db, "100", docread.OpenOptions{})
		}
	})
}
