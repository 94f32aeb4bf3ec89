package segment

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// memoryBlocks are blocks in memory.
type memoryBlocks map[BlockKey][]byte

func (m memoryBlocks) ReadBlock(key BlockKey) ([]byte, error) { return m[key], nil }

func (m memoryBlocks) put(key BlockKey, b []byte) error {
	m[key] = slices.Clone(b)
	return nil
}

// large is a string of so many bytes, for a document.
func large(doc, bytes int) string { return fmt.Sprintf("%06d", doc) + strings.Repeat("x", bytes) }

// largeStrings writes a segment of a field whose documents have a large string each, as a term, to
// be counted and to be sorted by; those of documents whose numbers divide by three are in the next
// segment as well.
func largeStrings(t *testing.T, first, docs, bytes int) *BlockSegment {
	t.Helper()
	batch := NewBatch(Clouseau, nil)
	for doc := first; doc < first+docs; doc++ {
		of := doc
		if of%3 == 0 {
			of -= docs
		}
		at, _ := batch.Add(fmt.Sprint(doc), []Value{{Name: "f", Text: large(of, bytes), Facet: true}})
		batch.SetIdentity(at, Identity(fmt.Sprintf("%06d", doc)))
	}
	blocks := memoryBlocks{}
	if err := Encode(t.Context(), []Segment{batch}, blocks.put); err != nil {
		t.Fatal(err)
	}
	s, err := OpenBlocks(t.Context(), blocks, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMemoryOfAMerge: to merge segments with many different large terms and strings takes no more
// memory than was said before, and less than a tenth of what the strings take.
func TestMemoryOfAMerge(t *testing.T) {
	const parts, docs, bytes = 8, 300, 12_000
	var segments []Segment
	var blocks []*BlockSegment
	for part := range parts {
		blocks = append(blocks, largeStrings(t, part*docs, docs, bytes))
		segments = append(segments, blocks[part])
	}
	said := int(EncodeBytes(blocks))
	if all := parts * docs * bytes; said > all/10 {
		t.Fatalf("%d bytes are said for %d bytes of strings", said, all)
	}
	before, most, puts := heap(), 0, 0
	put := func(BlockKey, []byte) error {
		if puts++; puts%32 == 0 {
			most = max(most, heap()-before)
		}
		return nil
	}
	if err := Encode(t.Context(), segments, put); err != nil {
		t.Fatal(err)
	}
	if most > said || puts < 100 {
		t.Errorf("%d bytes are held, %d were said; %d blocks are written", most, said, puts)
	}
	runtime.KeepAlive(segments)
}

// TestMergedStrings: of strings that several segments have, in every order, the merged segment has
// each once, in order, and documents have those that they had; strings of dead documents go.
func TestMergedStrings(t *testing.T) {
	const parts, docs = 5, 40
	var segments []Segment
	want := map[string]string{} // of the documents that are alive
	for part := range parts {
		s := largeStrings(t, part*docs, docs, 3)
		s.live = All(docs)
		for doc := range int32(docs) {
			if id := s.ID(NewRun(t.Context()), doc); doc%7 == int32(part) {
				s.live.Clear(doc)
			} else {
				column := s.Strings(NewRun(t.Context()), "f")
				want[id] = column.Value(column.Ordinals(doc)[0])
			}
		}
		segments = append(segments, s)
	}
	blocks := memoryBlocks{}
	if err := Encode(t.Context(), segments, blocks.put); err != nil {
		t.Fatal(err)
	}
	merged, err := OpenBlocks(t.Context(), blocks, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := NewRun(t.Context())
	different := map[string]bool{}
	for _, v := range want {
		different[v] = true
	}
	for _, column := range []StringColumn{merged.Strings(run, "f"), merged.Sorts(run, "f")} {
		if column.Len() != len(different) {
			t.Errorf("%d values, want %d", column.Len(), len(different))
		}
		for i := int32(1); i < int32(column.Len()); i++ {
			if column.Value(i-1) >= column.Value(i) {
				t.Errorf("values %d and %d are not in order", i-1, i)
			}
		}
		for doc := range merged.Docs() {
			if got := column.Value(column.Ordinals(doc)[0]); got != want[merged.ID(run, doc)] {
				t.Errorf("document %d has %.20q", doc, got)
			}
		}
	}
	if int(merged.Docs()) != len(want) || run.Err() != nil {
		t.Errorf("%d documents, want %d; %v", merged.Docs(), len(want), run.Err())
	}
}
