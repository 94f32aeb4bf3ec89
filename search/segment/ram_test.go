package segment

import (
	"fmt"
	"runtime"
	"testing"
)

// heap is how many bytes are in use.
func heap() int {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// TestBytesOfManyFields: documents with fields of their own, each with a norm for all documents
// before, take no more than twice what a segment in memory says.
func TestBytesOfManyFields(t *testing.T) {
	before, m := heap(), NewRAM()
	for doc := range 300 {
		d := &Document{ID: fmt.Sprint(doc)}
		for i := range 100 {
			d.Fields = append(d.Fields, Field{Name: fmt.Sprintf("f%d-%d", doc, i), HasNorm: true, Length: 1,
				Terms: []Term{{Term: "x"}}})
		}
		m.Add(Identity(fmt.Sprintf("%06d", doc)), d)
	}
	if took := heap() - before; m.Bytes() < took/2 {
		t.Errorf("%d bytes are said of %d", m.Bytes(), took)
	}
	runtime.KeepAlive(m)
}

// TestMemoryOfADocument: what is said of a document before is no less than what a segment in memory
// says of it as the only one, and the same if it has something of everything.
func TestMemoryOfADocument(t *testing.T) {
	field := Field{Name: "f", HasNorm: true, Positions: true, Length: 3, HasSort: true, Sort: "y",
		Numbers: []float64{1, 2}, Strings: []string{"u", "v"}, Terms: []Term{{"x", []int32{0, 2}}, {"y", []int32{1}}}}
	for most, d := range map[int]*Document{
		0: {ID: "a"},
		1: {ID: "b", Fields: []Field{field}, Stored: []Stored{{Name: "f", Text: "text"},
			{Name: "n", IsNumber: true}}},
		17: {ID: "c", Fields: []Field{{Name: "f", Terms: []Term{{Term: "x"}}}}},
	} {
		m := NewRAM()
		m.Add("1", d)
		if said, is := d.Memory(), m.Bytes(); said < is || said > is+most {
			t.Errorf("%s: %d bytes instead of %d", d.ID, said, is)
		}
	}
}

// TestBytesOfDictionaries: the index of a dictionary counts once a term was looked up, and takes no
// more than twice what is said.
func TestBytesOfDictionaries(t *testing.T) {
	s := largeStrings(t, 0, 3000, 3000)
	opened, before := s.Bytes(), heap()
	if entry := s.Lookup(NewRun(t.Context()), "f", large(1, 3000)); entry.Docs != 1 {
		t.Fatalf("%d documents have the term", entry.Docs)
	}
	if took, said := heap()-before, s.Bytes()-opened; took < 100_000 || said < took/2 {
		t.Errorf("%d bytes are said of %d", said, took)
	}
	runtime.KeepAlive(s)
}

// TestMakerLetsGo: a Maker keeps nothing of a large document.
func TestMakerLetsGo(t *testing.T) {
	m := NewMaker(Clouseau, nil)
	before := heap()
	for i := range 2 {
		var values []Value
		for n := range 20_000 >> (4 * i) {
			values = append(values, Value{Name: "f", Text: fmt.Sprint(n, "-and-some-more-letters-of-a-long-word")})
		}
		m.Document("d", values)
	}
	if kept := heap() - before; kept > 1<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	runtime.KeepAlive(m)
}
