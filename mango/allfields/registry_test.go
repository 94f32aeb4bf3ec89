package allfields

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

// TestRegistriesAreBounded: what is kept of registries takes no more memory than it may, by paths of
// one letter as by a long one.
func TestRegistriesAreBounded(t *testing.T) {
	for _, path := range [][]string{{"a", "b"}, {fmt.Sprintf("%05000d", 1)}} {
		x := &Indexes{known: newKnown()}
		before := heap()
		for n := range 250 {
			r := &registry{next: uint64(n), indexes: []registered{{version: Version}}}
			for range 10_000 / len(path[0]) {
				r.indexes[0].Exclude = append(r.indexes[0].Exclude, path)
			}
			if _, err := x.registry(r.append(nil)); err != nil {
				t.Fatal(err)
			}
		}
		if took := heap() - before; took > keptRegistries || x.known.Len() < 10 {
			t.Errorf("%d bytes are taken, %d registries kept", took, x.known.Len())
		}
		runtime.KeepAlive(x)
	}
}
