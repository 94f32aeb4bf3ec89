package views

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
)

// killing stands for JavaScript whose function "bad" does not come to an end for documents that are
// bad.
type killing struct {
	scripted
	killed atomic.Int64
}

func (k *killing) Map(ctx context.Context, p *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	for i := range docs {
		for _, source := range p.Maps {
			if source == "bad" && strings.Contains(string(docs[i]), `"bad"`) {
				k.killed.Add(1)
				return nil, compat.Named(compat.KindUnknown, "os_process_error", "OS process timed out.")
			}
		}
	}
	return k.scripted.Map(ctx, p, docs)
}

// failed are the documents that a view lists as those that its function failed for.
func (b *bench) failed(t *testing.T, view string) (ids []string) {
	must(t, b.views.Errors(t.Context(), b.db, "_design/d", view, func(e MapError) error {
		ids = append(ids, e.ID+" "+e.Message)
		return nil
	}))
	return ids
}

// A document for which a map function does not come to an end is listed, has no rows, and keeps no
// other document and no other view from having theirs; the function does not run with it again
// until it changes.
func TestKilledMaps(t *testing.T) {
	for _, options := range []string{"", `"options":{"interactive":true},`} {
		t.Run(options, func(t *testing.T) {
			b, _ := newScriptedBench(t)
			k := &killing{}
			b.views.opts.JS = k
			put := func(n int, body string) { b.put(t, fmt.Sprintf("d%03d", n), body) }
			for n := range 30 {
				put(n, map[bool]string{true: `{"bad":1}`, false: `{}`}[n == 7 || n == 20])
			}
			b.put(t, "_design/d", `{`+options+`"views":{"bad":{"map":"bad"},"good":{"map":"good"}}}`)
			want(t, "rows", len(b.query(t, "d", "bad", "").rows), 28)
			want(t, "rows of the other view", len(b.query(t, "d", "good", "").rows), 30)
			const message = " os_process_error: OS process timed out."
			want(t, "listed", b.failed(t, "bad"), "[d007"+message+" d020"+message+"]")
			want(t, "listed", b.failed(t, "good"), "[]")
			k.killed.Store(0)
			want(t, "rows", len(b.query(t, "d", "bad", "").rows), 28)
			put(0, `{"changed":true}`)
			want(t, "rows", len(b.query(t, "d", "bad", "").rows), 28)
			want(t, "workers that known documents have ended", k.killed.Load(), 0)
			put(1, `{"bad":1}`)
			put(7, `{}`)
			want(t, "rows", len(b.query(t, "d", "bad", "").rows), 28)
			want(t, "listed", b.failed(t, "bad"), "[d001"+message+" d020"+message+"]")
			b.checkStored(t)
		})
	}
}

// A function that never worked is an error of the query, as in CouchDB; so are many documents in a
// row. Each is tried once and for all, so that later queries come further, to the end.
func TestKilledMapsInARow(t *testing.T) {
	b, _ := newScriptedBench(t)
	k := &killing{}
	b.views.opts.JS = k
	b.put(t, "_design/d", `{"views":{"bad":{"map":"bad"}}}`)
	b.put(t, "a", `{"bad":1}`)
	// Batches behind the one that fails are mapped beside it, and may end workers, too: one for each
	// document at the most.
	timedOut := func(least, most int64) {
		t.Helper()
		before := k.killed.Load()
		if err := b.tryQuery("d", "bad", "", &collected{}); !js.Killed(err) {
			t.Fatal(err)
		}
		if ended := k.killed.Load() - before; ended < least || ended > most {
			t.Errorf("%d workers were ended, want %d to %d", ended, least, most)
		}
	}
	timedOut(1, 1)
	want(t, "rows", b.query(t, "d", "bad", "").rows, "[]")
	for n := range 20 {
		b.put(t, fmt.Sprintf("b%02d", n), `{"bad":1}`)
	}
	b.put(t, "c", `{}`)
	timedOut(1+8, 20)
	timedOut(1+8, 20)
	want(t, "rows", len(b.query(t, "d", "bad", "").rows), 1)
	want(t, "listed", len(b.failed(t, "bad")), 21)
	b.checkStored(t)
}
