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
