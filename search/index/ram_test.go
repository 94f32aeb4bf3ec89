package index

import (
	"fmt"
	"runtime"
	"testing"
)

// TestBytesOfManyFields: documents with fields of their own, each with a norm for all documents before, take no more
// than twice what a segment in memory says.
func TestBytesOfManyFields(t *testing.T) {
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
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
