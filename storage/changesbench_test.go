package storage

import (
	"context"
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
)

// benchFeed is a database with many rows in its feed.
func benchFeed(b *testing.B, rows int) (*DB, []Seq) {
	b.Helper()
	db := benchDB(b)
	for begin := 0; begin < rows; begin += 500 {
		var docs []*compat.Document
		for i := begin; i < begin+500; i++ {
			docs = append(
				docs,
				docOf(fmt.Sprintf("doc%08d", i), compat.Rev{}, `{"name":"Some Body","age":42,"tags":["a","b"]}`),
			)
		}
		_, err := db.Update(context.Background(), docs, UpdateOptions{})
		must(b, err)
	}
	var seqs []Seq
	_, err := db.Feed().Changes(context.Background(), ChangesOptions{Limit: -1}, func(c *Change) error {
		seqs = append(seqs, c.Seq.Seq)
		return nil
	})
	must(b, err)
	return db, seqs
}

func BenchmarkChanges(b *testing.B) {
	const rows = 50_000
	db, seqs := benchFeed(b, rows)
	for name, o := range map[string]ChangesOptions{
		"all":               {Limit: -1},
		"all with docs":     {Limit: -1, IncludeDocs: true},
		"middle, limit 100": {Limit: 100, Since: seqs[rows/2]},
		"near the end":      {Limit: -1, Since: seqs[rows-10]},
		"descending 100":    {Limit: 100, Descending: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				_, err := db.Feed().Changes(context.Background(), o, func(*Change) error {
					n++
					return nil
				})
				must(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(n, 1)), "ns/row")
		})
	}
}

// BenchmarkUploads measures bytes on their way into the store and out of it.
func BenchmarkUploads(b *testing.B) {
	db := benchDB(b)
	data := noise(8 << 20)
	b.Run("in", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			u := db.Attachments().Uploads()
			upload(b, u, "a", data, nil)
			must(b, u.Discard(context.Background()))
		}
	})
	b.Run("out", func(b *testing.B) {
		putAtts(b, db, "doc", "", upload(b, db.Attachments().Uploads(), "a", data, nil))
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := readAtt(b, db, "doc", "", "a", AttachmentRange{To: -1})
			must(b, err)
		}
	})
}
