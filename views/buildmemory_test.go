package views

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// blowing is JavaScript whose functions emit much more than they are given: a value of bytes for each
// document, some documents in a call. It counts what it has given and was not committed.
type blowing struct {
	killing
	value     []byte
	committed func() int64 // rows
	mu        sync.Mutex
	emitted   int64
	most      int64 // rows at one time
}

func (j *blowing) Map(_ context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	results := make([]js.DocResult, min(len(docs), 4)) // as a crossing of 4 MB
	for i := range results {
		for range p.Maps {
			results[i] = append(results[i], js.MapResult{Rows: []js.Emitted{{Key: []byte(`1`), Value: j.value}}})
			j.emitted++
		}
	}
	j.most = max(j.most, j.emitted-j.committed())
	return results, nil
}

// TestBuildsHoldTheirMemory: whatever functions emit, and however many indexes are built at a time,
// rows that are not committed are no more than the parts of builds allow; the indexes have all rows
// in the end.
func TestBuildsHoldTheirMemory(t *testing.T) {
	const docs, designs = 12, 5
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	for n := range docs {
		b.put(t, fmt.Sprintf("d%03d", n), `{}`)
	}
	for n := range designs {
		b.put(t, fmt.Sprintf("_design/d%d", n), designBody("javascript", fmt.Sprintf(`{"v":{"map":"%d"}}`, n)))
	}
	value := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 1<<20)...), '"')
	scripts := &blowing{value: value, committed: func() (rows int64) {
		must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
			for n := range designs {
				d, err := b.views.designIn(s, fmt.Sprintf("_design/d%d", n))
				must(t, err)
				ix, err := readIndex(s, spaceOf(s), &d.definitions[0])
				must(t, err)
				if ix != nil {
					count, err := s.KV().Get(ix.keys.count(countRows))
					must(t, err)
					rows += keyspace.Counter(count)
				}
			}
			return nil
		}))
		return rows
	}}
	b.views.opts.JS = scripts
	b.views.builds = memory.NewBuilds(8*batchMemory(4<<20), batchMemory(4<<20)) // of two batches
	var all sync.WaitGroup
	for n := range designs {
		all.Go(func() {
			rows := b.query(t, fmt.Sprintf("d%d", n), "v", "limit=0").head.TotalRows
			want(t, "rows", rows, docs)
		})
	}
	all.Wait()
	// Two batches, each of rows of 2 MB and a crossing of four.
	if most := int64(2 * (2 + 4 + 1)); scripts.most > most {
		t.Errorf("%d rows of a megabyte were held, of %d", scripts.most, most)
	}
}
