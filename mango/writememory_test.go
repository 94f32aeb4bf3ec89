package mango_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/settee-db/settee/storage/kv/memkv"
)

// What a write beside JSON indexes allocates grows with the documents and their rows, not with a
// buffer for each of them.
func TestMemoryOfWritesBesideIndexes(t *testing.T) {
	const documents, indexes = 200, 4
	w := openWorld(t, memkv.New())
	w.begin(t, "db")
	for _, field := range []string{"n", "total", "customer.name", "type"}[:indexes] {
		w.createIndex(t, field, fmt.Sprintf(`{"fields":[%q]}`, field))
	}
	w.write(t, 0, documents)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.write(t, documents, documents)
	runtime.ReadMemStats(&after)
	// A document is 1 KB here, and a row of an index less than 100 bytes.
	if each := (after.TotalAlloc - before.TotalAlloc) / documents; each > 100<<10 {
		t.Errorf("%d bytes are allocated for each document", each)
	} else {
		t.Logf("%d bytes are allocated for each document", each)
	}
}
