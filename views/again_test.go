package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// hungry stands for JavaScript in workers of so many megabytes. The function "needs" emits the id of
// a document, and needs as many megabytes as its member `needs` says.
type hungry struct {
	scripted
	memory int
	filled int // workers
	err    error
}

func (h *hungry) Map(_ context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	results := make([]js.DocResult, len(docs))
	for i := range docs {
		doc, err := ejson.Parse(docs[i])
		if err != nil {
			return nil, err
		}
		needs, _ := doc.Get("needs")
		megabytes, _ := needs.Int()
		for _, source := range p.Maps {
			if source == "needs" && int(megabytes) > h.memory {
				h.filled++
				return nil, compat.Named(compat.KindUnknown, "os_process_error", js.OutOfMemory+".")
			}
		}
		if megabytes > 0 && h.err != nil {
			return nil, h.err
		}
		if megabytes > 0 && h.meanwhile != nil {
			h.meanwhile()
		}
		id, _ := doc.Get("_id")
		for range p.Maps {
			results[i] = append(results[i], js.MapResult{Rows: []js.Emitted{{Key: id.Raw(), Value: []byte("1")}}})
		}
	}
	return results, nil
}

// process begins anew with workers of so many megabytes.
func (b *bench) process(t *testing.T, megabytes int) *hungry {
	t.Helper()
	h := &hungry{memory: megabytes}
	must(t, b.views.Close())
	o := b.views.opts
	o.JS, o.WorkerMemory = h, int64(megabytes)<<20
	v, err := Open(o)
	must(t, err)
	b.views = v
	b.store.SetHooks(storage.Hooks{Indexer: v})
	t.Cleanup(func() { must(t, v.Close()) })
	return h
}

// TestDocumentsLackMemory: a document with which a map function filled its worker is listed, and
// tried again where workers have more, once for each size, also if a process has died of it. What
// ends a trial otherwise leaves it to the next process.
func TestDocumentsLackMemory(t *testing.T) {
	for _, options := range []string{"", `"options":{"interactive":true},`} {
		t.Run(options, func(t *testing.T) {
			b := newBench(t, memkv.New(), storage.CreateOptions{})
			b.process(t, 50)
			b.put(t, "_design/d", `{`+options+`"views":{"needs":{"map":"needs","reduce":"_sum"},"good":{"map":"good"}}}`)
			for n := range 200 {
				b.put(t, fmt.Sprintf("d%03d", n), `{}`)
			}
			b.put(t, "much", `{"needs":100}`)
			b.put(t, "more", `{"needs":200}`)
			b.put(t, "e", `{}`)
			// told are how many rows a process has that has tried what it can, and what it lists.
			told := func(rows int, listed string) {
				t.Helper()
				for range 20 { // so that what is cached of a state is used
					want(t, "sum", b.query(t, "d", "needs", "").rows, fmt.Sprintf("[null=%d]", rows))
					want(t, "offset", b.query(t, "d", "needs", `startkey="z"&reduce=false`).head.Offset, rows)
				}
				want(t, "rows", len(b.query(t, "d", "needs", "reduce=false").rows), rows)
				want(t, "rows of the other view", len(b.query(t, "d", "good", "").rows), 203)
				want(t, "listed", len(b.failed(t, "good")), 0)
				ids := ""
				for _, one := range b.failed(t, "needs") {
					ids += one[:4] + " "
				}
				want(t, "listed", ids, listed)
				b.checkStored(t)
			}
			told(201, "more much ")
			h := b.process(t, 50)
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			told(201, "more much ")
			want(t, "trials with as much", h.filled, 0)

			h = b.process(t, 150)
			h.err = errors.New("no worker")
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			told(201, "more much ")
			h.err = nil
			b.process(t, 150)
			b.query(t, "d", "needs", "") // does not wait for it
			b.views.flights.running.Wait()
			told(202, "more ")
			b.process(t, 150)
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			told(202, "more ")

			// A process that begins and dies leaves the note that it has begun.
			must(t, b.db.Transact(t.Context(), func(tx *storage.Tx) error {
				d, _, err := b.views.openDesign(t.Context(), b.db, "_design/d")
				must(t, err)
				n := slices.IndexFunc(d.definitions, func(def definition) bool { return def.source == "needs" })
				ix, err := readIndex(tx.Snapshot(), spaceOf(tx.Snapshot()), &d.definitions[n])
				must(t, err)
				key := again.Key(ix.keys.lacks, "more")
				note, err := tx.KV().Get(key)
				want(t, "note", note, again.Lack{Of: again.Worker, Bytes: 150 << 20}.Encode())
				tx.KV().Set(key, again.Lack{Of: again.Worker, Bytes: 300 << 20}.Encode())
				return err
			}))
			b.process(t, 300)
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			told(202, "more ")
			h = b.process(t, 400)
			h.meanwhile = func() { // a document that has changed while it was tried is not written as it was
				h.meanwhile = nil
				b.put(t, "more", `{"needs":500}`)
			}
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			want(t, "tried", h.meanwhile == nil, true)
			told(202, "more ")
			b.process(t, 500)
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			told(203, "")
		})
	}
}
