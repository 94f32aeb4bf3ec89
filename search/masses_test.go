package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestLogsInMemory: what the log of an index takes in memory is bounded, however few bytes its
// documents have. Each document here has fields of its own, which take a hundred times their bytes;
// what a build writes into the log, and what it leaves there, is no more than what is flushed at a
// time, and one document.
func TestLogsInMemory(t *testing.T) {
	const docs, fields = 24, 100
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	record := &segment.Document{}
	for n := range docs {
		id := fmt.Sprintf("d%02d", n)
		var calls []string
		record = &segment.Document{ID: id}
		for f := range fields {
			name := fmt.Sprintf("f%d%s", f, id)
			calls = append(calls, fmt.Sprintf(`[%q,"x",{}]`, name))
			record.Fields = append(record.Fields, segment.Field{Name: name, Terms: []segment.Term{{Term: "x"}}})
		}
		b.put(t, id, `{"index":[`+strings.Join(calls, ",")+`]}`)
	}
	o := b.indexes.opts
	o.flushEntries, o.directDocs = 0, 0 // as they are in a server
	o.Memory = 48 * 5 * int64(record.Memory())
	b.indexes.Close()
	b.indexes = New(o)
	b.store.SetHooks(storage.Hooks{Indexer: b.indexes})
	def := b.lookup(t, segment.Clouseau, "c")
	must(t, b.indexes.Update(context.Background(), b.db, def))
	most := int32(b.indexes.logMemory()/record.Memory() + 1)
	must(t, b.db.View(context.Background(), func(s *storage.Snapshot) error {
		opened, err := b.indexes.open(context.Background(), s, def)
		if err != nil {
			return err
		}
		all := int32(0)
		for i, s := range opened.segments {
			if all += s.Docs(); s.Docs() > most {
				t.Errorf("part %d has %d documents, and no more than %d are in memory at a time", i, s.Docs(), most)
			}
		}
		if all != docs {
			t.Errorf("%d documents are in the index", all)
		}
		return nil
	}))
}
