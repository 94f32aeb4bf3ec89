package views

import (
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// counting counts the documents that its map functions are given.
type counting struct{ mapped *atomic.Int64 }

func (c counting) Compile(Definition) (Mapper, error) { return c, nil }

func (c counting) Map(doc *docread.Document, emit func(key, value []byte)) error {
	c.mapped.Add(1)
	return emitter{}.Map(doc, emit)
}

// TestSharing: an index is built once, whatever design documents have its map function.
func TestSharing(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	var mapped atomic.Int64
	b.views.opts.Languages["counting"] = counting{&mapped}
	b.many(t, 1000)
	step := func(what, ddoc, body, view string, want int64) {
		t.Helper()
		mapped.Store(0)
		b.put(t, "_design/"+ddoc, body)
		must(t, b.tryQuery(ddoc, view, "", discard{}))
		if got := mapped.Load(); got != want {
			t.Errorf("%s: %d documents mapped, want %d", what, got, want)
		}
	}
	step("first", "a", designBody("counting", `{"v":{"map":"1"},"w":{"map":"2"}}`), "v", 2000)
	step("one view changed", "a", designBody("counting", `{"v":{"map":"1"},"w":{"map":"3"}}`), "w", 1000)
	step("a view more", "a", designBody("counting", `{"v":{"map":"1"},"w":{"map":"3"},"x":{"map":"4"}}`), "v", 1000)
	step("a copy", "b", designBody("counting", `{"v":{"map":"1"},"w":{"map":"3"},"x":{"map":"4"}}`), "v", 0)
	step("another name and a reduce", "c", designBody("counting", `{"other":{"map":"1","reduce":"_sum"}}`), "other", 0)
	step("taken back", "a", designBody("counting", `{"v":{"map":"1"},"w":{"map":"2"}}`), "v", 0)
	want(t, "sum", b.query(t, "c", "other", "").rows, "[null=1000]")
	b.checkStored(t)
}
