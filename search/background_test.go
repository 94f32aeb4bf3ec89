package search

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// markCounter counts the transactions that write in the background, and the others.
type markCounter struct {
	kv.Store
	background, others atomic.Int64
}

// Update implements kv.Store.
func (c *markCounter) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if kv.IsInBackground(ctx) {
		c.background.Add(1)
	} else {
		c.others.Add(1)
	}
	return c.Store.Update(ctx, fn)
}

// TestLargeBuildsAreInBackground: what makes segments of many documents does not take what requests
// need; a query that has to catch up with a few waits for nobody.
func TestLargeBuildsAreInBackground(t *testing.T) {
	engine := &markCounter{Store: memkv.New()}
	b := newBench(t, engine, storage.CreateOptions{})
	b.put(t, "_design/d", design)
	for n := range 10 * fewEntries {
		b.put(t, fmt.Sprint("doc", n), `{"index":[["default","word",{}]]}`)
	}
	c := b.lookup(t, segment.Clouseau, "c")
	engine.background.Store(0)
	want(t, "documents", b.ask(t, c, "word")[:2], "80")
	if engine.background.Load() == 0 {
		t.Error("a large build does nothing in the background")
	}
	b.put(t, "one", `{"index":[["default","word",{}]]}`)
	engine.others.Store(0)
	want(t, "documents", b.ask(t, c, "word")[:2], "81")
	if engine.others.Load() == 0 {
		t.Error("an update by one document is in the background")
	}
}
