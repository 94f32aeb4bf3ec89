package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// hungryScript is script in workers of so much memory: a document that has a member `fatal` fills
// those that have no more than it says, in megabytes. It counts these documents.
type hungryScript struct {
	script
	memory int
	hungry int
}

func (s *hungryScript) Map(ctx context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	results, err := s.script.Map(ctx, p, docs)
	if e, ok := compat.AsError(err); ok {
		if len(docs) == 1 {
			s.hungry++
		}
		needs := 0
		fmt.Sscan(e.Reason, &needs)
		if needs < s.memory {
			return []js.DocResult{{{Rows: []js.Emitted{{Key: []byte(`["default","word"]`), Value: []byte("{}")}}}}}, nil
		}
		err = compat.Named(compat.KindUnknown, "os_process_error",
			fmt.Sprintf("%s, its limit is %d MB.", js.OutOfMemory, s.memory))
	}
	return results, err
}

// TestDocumentsLackMemory: a document that was left out for want of memory, its terms' or a
// worker's, is tried again by a process that has more, once for each size, also if a process has
// died of it; and it is listed as long as it fails. One that does not fit the index for another
// reason is not tried again.
func TestDocumentsLackMemory(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", design)
	b.put(t, "_design/n", `{"language":"listed","indexes":{"l":{"index":"default"}}}`)
	for n := range 3 {
		b.put(t, fmt.Sprint("small", n), `{"index":[["default","word",{}]]}`)
	}
	var words strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&words, "%06x ", n)
	}
	b.put(t, "terms", `{"index":[["default","word `+words.String()+`",{}]]}`)
	b.put(t, "worker", `{"fatal":"100"}`)
	b.put(t, "thrown", `{"fail":"never"}`)
	// process begins anew with so much memory, and tells what is found and what is listed.
	process := func(memory int64, worker int) (*hungryScript, string) {
		o := b.indexes.opts
		scripts := &hungryScript{memory: worker}
		o.JS, o.Memory, o.WorkerMemory, o.flushEntries = scripts, memory, int64(worker)<<20, 1000
		b.indexes.Close()
		b.indexes = New(o)
		b.store.SetHooks(storage.Hooks{Indexer: b.indexes})
		told := ""
		for _, of := range []struct{ design, index string }{{"_design/d", "c"}, {"_design/n", "l"}} {
			def, err := b.indexes.Lookup(t.Context(), b.db, segment.Clouseau, of.design, of.index)
			must(t, err)
			for range 2 {
				must(t, b.indexes.Update(t.Context(), b.db, def))
			}
			info, err := b.indexes.Info(t.Context(), b.db, def)
			must(t, err)
			told += fmt.Sprint(of.index, ": ", info.Docs)
			must(t, b.indexes.Errors(t.Context(), b.db, def, "", func(e Error) error {
				told += " -" + e.ID
				return nil
			}))
			told += "; "
		}
		b.checkStored(t)
		return scripts, told
	}
	const little, much = 56 << 20, 400 << 20
	_, told := process(little, 50)
	want(t, "with little memory", told, "c: 3 -terms -thrown -worker; l: 3 -terms -thrown; ")
	scripts, told := process(little, 50)
	want(t, "with as much", told, "c: 3 -terms -thrown -worker; l: 3 -terms -thrown; ")
	want(t, "trials with as much", scripts.hungry, 0)
	scripts, told = process(much, 80)
	want(t, "with more", told, "c: 4 -thrown -worker; l: 4 -thrown; ")
	want(t, "trials with more", scripts.hungry > 0, true)
	scripts, _ = process(much, 80)
	want(t, "trials with as much again", scripts.hungry, 0)
	// A process that begins and dies leaves the note that it has begun.
	dead := &build{x: b.indexes, db: b.db, def: b.lookup(t, segment.Clouseau, "c")}
	must(t, dead.prepare(t.Context()))
	must(t, b.db.Transact(t.Context(), func(tx *storage.Tx) error {
		tx.KV().Set(dead.keys.lack("worker"), again.Lack{Of: again.Worker, Bytes: 150 << 20}.Encode())
		return nil
	}))
	scripts, _ = process(much, 150)
	want(t, "trials where a process has died", scripts.hungry, 0)
	scripts, told = process(much, 200)
	want(t, "with enough", told, "c: 5 -thrown; l: 4 -thrown; ")
	want(t, "trials with enough", scripts.hungry, 1)
}
