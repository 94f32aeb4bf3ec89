package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage/kv/kvtest"
)

// TestBatchesAreSegments: batches are written as the same bytes as documents that were made one by
// one and added to a segment in memory. Documents that were taken out of a batch leave nothing.
func TestBatchesAreSegments(t *testing.T) {
	forWorlds(t, 40, func(t *testing.T, w *world) {
		ram, maker := segment.NewRAM(), segment.NewMaker(w.oracle.kind, words)
		batches := []*segment.Batch{segment.NewBatch(w.oracle.kind, words)}
		for i := range w.IntN(60) {
			if w.IntN(15) == 0 {
				batches = append(batches, segment.NewBatch(w.oracle.kind, words))
			}
			id, identity, values := fmt.Sprint(i), segment.Identity(fmt.Sprintf("%013d", i)), w.values()
			if w.IntN(8) == 0 { // a field that nearly no document has
				values = append(values, segment.Value{Name: fmt.Sprint("rare", i), Text: w.text(3), Analyzed: true})
			}
			b := batches[len(batches)-1]
			doc, fields := b.Add(id, values)
			if d := maker.Document(id, values); len(d.Fields) != fields {
				t.Errorf("%d fields, want %d", fields, len(d.Fields))
			} else if w.IntN(4) == 0 {
				b.Remove(doc)
			} else {
				b.SetIdentity(doc, identity)
				ram.Add(identity, d)
			}
		}
		var segments []segment.Segment
		for _, b := range batches {
			segments = append(segments, b)
		}
		want, got := encode(t, ram.View("9")), encode(t, segments...)
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("blocks %v, want %v", got, want)
		}
	})
}

// TestSparseFields: what a field takes that few documents have does not grow with the others.
func TestSparseFields(t *testing.T) {
	size := func(docs, fields int) (n int) {
		b := segment.NewBatch(segment.Clouseau, words)
		for i := range docs {
			values := []segment.Value{{Name: "t", Text: "a b c", Analyzed: true, Norms: true}}
			if i < fields {
				values = append(values, segment.Value{Name: fmt.Sprint("f", i), Text: "a", Analyzed: true,
					Norms: true},
					segment.Value{Name: fmt.Sprint("n", i), Number: 1, IsNumber: true})
			}
			b.SetIdentity(first(b.Add(fmt.Sprint(i), values)), segment.Identity(fmt.Sprintf("%013d", i)))
		}
		for _, block := range encode(t, b) {
			n += len(block)
		}
		return n
	}
	one, many := size(4000, 1), size(4000, 400)
	if each := (many - one) / 400; each > 2000 {
		t.Errorf("a field that one document has takes %d bytes", each)
	}
}

func first(doc int32, _ int) int32 { return doc }

// TestLargeThings: a term of the greatest length, one that is longer, a document of very many
// terms, thousands of fields and of strings go through a segment.
func TestLargeThings(t *testing.T) {
	kvtest.Long(t)
	greatest, longer := strings.Repeat("g", 32766), strings.Repeat("l", 1<<20)
	var many strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&many, "m%d ", i%50_000)
	}
	text := func(name, s string) segment.Value {
		return segment.Value{Name: name, Text: s, Analyzed: true, Norms: true}
	}
	all := [][]segment.Value{{text("t", greatest+" "+longer+" end")}, {text("t", many.String())}, {}, {}}
	for i := range 3000 {
		all[2] = append(all[2], text(fmt.Sprint("f", i), "x"))
		all[3] = append(all[3], segment.Value{Name: "s", Text: fmt.Sprint(i), Facet: true, Store: true},
			segment.Value{Name: "n", Number: float64(i), IsNumber: true})
	}
	ram, batch := segment.NewRAM(), segment.NewBatch(segment.Nouveau, words)
	maker := segment.NewMaker(segment.Nouveau, words)
	for i, values := range all {
		identity := segment.Identity(fmt.Sprintf("%013d", i))
		d := maker.Document(fmt.Sprint(i), values)
		record, err := segment.ReadRecord(segment.AppendRecord(nil, d))
		if err != nil {
			t.Fatal(err)
		}
		ram.Add(identity, record)
		batch.SetIdentity(first(batch.Add(fmt.Sprint(i), values)), identity)
	}
	blocks := encode(t, ram.View("9"))
	if !maps.EqualFunc(encode(t, batch), blocks, slices.Equal) {
		t.Error("a batch is another segment than documents in memory")
	}
	s := open(t, blocks, nil)
	run := newRun()
	for _, c := range []struct {
		field, term string
		docs        int32
	}{{"t", greatest, 1}, {"t", longer, 0}, {"t", "end", 1}, {"t", "m49999", 1}, {"f2999", "x", 1},
		{"s", "2999", 1}} {
		p, docs := s.Term(run, c.field, c.term, true)
		if docs != c.docs {
			t.Errorf("%s:%.10s is in %d documents, want %d", c.field, c.term, docs, c.docs)
		}
		if c.term == "m49999" {
			p.Next()
			if got := p.Positions(); !slices.Equal(got, []int32{49_999, 99_999, 149_999, 199_999}) {
				t.Errorf("positions %v", got)
			}
		}
	}
	if n := len(s.Strings(run, "s").Ordinals(3)); n != 3000 {
		t.Errorf("%d strings", n)
	}
	if n := len(s.Numbers(run, "n").Numbers(3)); n != 3000 {
		t.Errorf("%d numbers", n)
	}
	if run.Err() != nil {
		t.Error(run.Err())
	}
}
