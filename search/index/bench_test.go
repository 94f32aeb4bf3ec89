//go:build unix

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settee-db/settee/search/query"
	"github.com/settee-db/settee/search/segment"
)

// benchDocuments are documents of about 1 KB whose words are as frequent as those of a language.
func benchDocuments(n int) [][]segment.Value {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.1, 4, 50000)
	all := make([][]segment.Value, n)
	for i := range all {
		var text strings.Builder
		for range 139 {
			fmt.Fprintf(&text, "w%d ", zipf.Uint64())
		}
		all[i] = []segment.Value{{Name: "t", Text: text.String(), Analyzed: true, Norms: true},
			{Name: "s", Text: fmt.Sprintf("group%d", rng.IntN(50)), Facet: true},
			{Name: "n", Number: float64(rng.IntN(1000)), IsNumber: true}}
	}
	return all
}

func fill(values [][]segment.Value) *segment.RAM {
	ram, maker := segment.NewRAM(), segment.NewMaker(segment.Nouveau, words)
	for i, v := range values {
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), maker.Document(fmt.Sprintf("doc%07d", i), v))
	}
	return ram
}

func BenchmarkMake(b *testing.B) {
	values := benchDocuments(2000)
	maker := segment.NewMaker(segment.Nouveau, words)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		maker.Document("doc", values[i%len(values)])
	}
}

func BenchmarkAdd(b *testing.B) {
	values := benchDocuments(2000)
	maker := segment.NewMaker(segment.Nouveau, words)
	var docs []*segment.Document
	for _, v := range values {
		docs = append(docs, maker.Document("doc", v))
	}
	ram := segment.NewRAM()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ram.Add(segment.Identity(fmt.Sprintf("%013d", i)), docs[i%len(docs)])
	}
}

func BenchmarkSearch(b *testing.B) {
	ram := fill(benchDocuments(100_000))
	b.Logf("%d bytes for each document", ram.Bytes()/100_000)
	b.Run("memory", func(b *testing.B) { benchSearch(b, ram.View("9")) })
	blocks := encode(b, ram.View("9"))
	b.Run("blocks", func(b *testing.B) { benchSearch(b, open(b, blocks, nil)) })
	kept := keeping(blocks)
	kept.share = 32
	b.Run("sets", func(b *testing.B) { benchSearch(b, open(b, kept, nil)) })
}

// processorTime is what this process has used, which does not depend on what else runs on the
// machine.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchSearch(b *testing.B, s segment.Segment) {
	x := &Index{Kind: segment.Nouveau, Segments: []segment.Segment{s}}
	term := func(s string) query.Node { return &query.Term{Field: "t", Term: s} }
	both := func(occur query.Occur, all ...string) query.Node {
		n := &query.Bool{}
		for _, s := range all {
			n.Clauses = append(n.Clauses, query.BoolClause{Occur: occur, Node: term(s)})
		}
		return n
	}
	for _, c := range []struct {
		name string
		of   *Request
	}{
		{"rare term", &Request{Query: term("w9000")}},
		{"common term", &Request{Query: term("w1")}},
		{"and", &Request{Query: both(query.Must, "w5", "w100")}},
		{"and of common terms", &Request{Query: both(query.Must, "w1", "w2")}},
		{"or of common terms", &Request{Query: both(query.Should, "w1", "w2", "w3")}},
		{"phrase", &Request{Query: &query.Phrase{Field: "t", Terms: []query.PhraseTerm{{Term: "w1"}, {Term: "w2",
			Position: 1}}}}},
		{"prefix", &Request{Query: &query.Prefix{Field: "t", Text: "w123"}}},
		{"wildcard", &Request{Query: &query.Wildcard{Field: "t", Pattern: "w1*3"}}},
		{"leading wildcard", &Request{Query: &query.Wildcard{Field: "t", Pattern: "*123"}}},
		{"fuzzy", &Request{Query: &query.Fuzzy{Field: "t", Text: "w1234", Edits: 2}}},
		{"range", &Request{Query: &query.NumRange{Field: "n", Min: 100, Max: 200, MinInclude: true}}},
		{"all by number", &Request{Query: &query.All{}, Sort: []SortField{{By: ByNumber, Field: "n"}, {By: ByID}}}},
		{"all with counts", &Request{Query: &query.All{}, Counts: []string{"s"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.of.Limit = 10
			before := processorTime(b)
			for b.Loop() {
				if _, err := x.Search(context.Background(), c.of); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1000, "cpu-µs/op")
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	values := benchDocuments(2000)
	b.ReportAllocs()
	for b.Loop() {
		batch := segment.NewBatch(segment.Nouveau, words)
		for i, v := range values[:500] {
			batch.SetIdentity(first(batch.Add(fmt.Sprint(i), v)), segment.Identity(fmt.Sprintf("%013d", i)))
		}
		encode(b, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/500, "µs/doc")
}

func BenchmarkMerge(b *testing.B) {
	values := benchDocuments(4000)
	var segments []segment.Segment
	for i := range 8 {
		segments = append(segments, open(b, encode(b, fill(values[i*500:i*500+500]).View("9")), nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		encode(b, segments...)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/4000, "µs/doc")
}
