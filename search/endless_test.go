package search

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// endlessScript is script with functions that do not end for documents that have a member
// `endless`.
type endlessScript struct {
	script
	timeouts atomic.Int32
}

func (s *endlessScript) Map(
	ctx context.Context, program *js.MapProgram, docs [][]byte,
) ([]js.DocResult, error) {
	results, err := s.script.Map(ctx, program, docs)
	if e, ok := compat.AsError(err); ok && e.Reason == "endless" {
		s.timeouts.Add(1)
		err = compat.Named(compat.KindUnknown, "os_process_error", "OS process timed out.")
	}
	return results, err
}

// inARow is after how many documents in a row js.MapEach gives up.
const inARow = 8

// A document with which the function does not come to an end is listed, and costs two waits for it;
// where there are many, no query waits for more than a few of them, and what was found out is not
// found out again.
func TestEndlessFunctions(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprint("direct ", direct), func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, memkv.New(), storage.CreateOptions{})
			scripts := &endlessScript{}
			o := b.indexes.opts
			o.JS = scripts
			if !direct {
				o.flushEntries = 10_000
			}
			b.indexes.Close()
			b.indexes = New(o)
			b.put(t, "_design/d", design)
			def := b.lookup(t, segment.Clouseau, "c")
			put := func(n int, endless bool) {
				member := ""
				if endless {
					member = `,"fatal":"endless"`
				}
				b.put(t, fmt.Sprintf("d%03d", n), `{"index":[["default","word",{}]]`+member+`}`)
			}
			for i := range 50 {
				put(i, i == 20)
			}
			want(t, "the others", b.ask(t, def, "word")[:3], "49 ")
			if n := scripts.timeouts.Swap(0); n > 2 {
				t.Errorf("%d waits for a function", n)
			}
			for i := range 50 { // five now and then, and 20 in a row
				put(50+i, i%5 == 0 && i < 25 || i >= 30)
			}
			tries := 0
			for ; ; tries++ {
				err := b.indexes.Update(ctx, b.db, def)
				n := int(scripts.timeouts.Swap(0))
				if most := 2*5 + 1 + inARow; n > most*(workers()+2) {
					t.Errorf("a query has waited for %d functions", n)
				}
				if err == nil {
					break
				}
				if !js.Killed(err) || tries > 10 {
					t.Fatal(tries, err)
				}
			}
			if tries == 0 {
				t.Error("a query has waited for all functions")
			}
			want(t, "all others", b.ask(t, def, "word")[:3], "74 ")
			info, err := b.indexes.Info(ctx, b.db, def)
			must(t, err)
			want(t, "errors", info.Errors, int64(26))
			b.checkStored(t)
		})
	}
}
