package views

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// scripted stands for JavaScript: its map function emits the length of the document's text as the
// workers get it.
type scripted struct {
	JavaScript
	calls atomic.Int64 // batches are mapped beside each other
	// meanwhile is called before the rows are given.
	meanwhile func()
}

func (s *scripted) CheckMap(context.Context, string, string) error    { return nil }
func (s *scripted) CheckReduce(context.Context, string, string) error { return nil }

func (s *scripted) Map(_ context.Context, program *js.MapProgram, docs [][]byte) ([]js.DocResult, error) {
	s.calls.Add(1)
	if s.meanwhile != nil {
		s.meanwhile()
	}
	results := make([]js.DocResult, len(docs))
	for i := range docs {
		if string(program.Maps[0]) == "dies" && len(docs[i]) > 100 {
			return nil, compat.Named(compat.KindUnknown, "os_process_error", "died")
		}
		results[i] = make(js.DocResult, len(program.Maps))
		for n := range results[i] {
			results[i][n].Rows = []js.Emitted{{Key: fmt.Append(nil, len(docs[i])), Value: []byte("null")}}
		}
	}
	return results, nil
}

func newScriptedBench(t *testing.T) (*bench, *scripted) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	s := &scripted{}
	b.views.opts.JS = s
	return b, s
}

// interactiveDesign makes a design document with one interactive view.
func interactiveDesign(source string) string {
	return fmt.Sprintf(`{"options":{"interactive":true},"views":{"v":{"map":%q}}}`, source)
}

// A map function that takes for ever keeps nobody else from writing, and what others write
// meanwhile is mapped with it.
func TestSlowInteractiveMap(t *testing.T) {
	b, s := newScriptedBench(t)
	b.put(t, "_design/d", interactiveDesign("slow"))
	b.put(t, "a", `{}`)
	b.put(t, "b", `{}`)
	calls := s.calls.Load()
	s.meanwhile = func() { // within the call, so whoever waited for it would wait for ever
		s.meanwhile = nil
		b.put(t, "b", `{"long":true}`)
		b.put(t, "c", `{}`)
		results, err := b.db.Update(
			t.Context(),
			[]*compat.Document{newDoc(t, "a", "1-000", `{}`)},
			storage.UpdateOptions{Replicated: true},
		)
		must(t, err)
		if results[0].Err != nil {
			t.Error(results[0].Err)
		}
	}
	b.put(t, "a", `{"longer":true}`)
	if s.calls.Load() > calls+5 {
		t.Errorf("%d calls", s.calls.Load()-calls)
	}
	conflict := len(`,"_conflicts":["1-000"]`)
	size := func(doc string) int {
		return len(`{"_id":"a","_rev":"1-967a00dff5e02add41819138abb3284d"`) + len(doc) - 1
	}
	want(
		t,
		"rows",
		b.query(t, "d", "v", "").rows,
		fmt.Sprintf(
			"[c %d=null b %d=null a %d=null]",
			size(`{}`),
			size(`,{"long":true}`),
			size(`,{"longer":true}`)+conflict,
		),
	)
	violations, err := Check(t.Context(), b.views.opts.KV, b.store)
	must(t, err)
	want(t, "violations", violations, "[]")
}

// A design document that comes while others are mapped is in force for them when it is stored.
func TestInteractiveIndexThatComesBetween(t *testing.T) {
	b, s := newScriptedBench(t)
	b.put(t, "_design/d", interactiveDesign("one"))
	s.meanwhile = func() {
		s.meanwhile = nil
		b.put(t, "_design/e", interactiveDesign("two"))
		want(t, "built", len(b.query(t, "e", "v", "").rows), 0)
	}
	b.put(t, "a", `{}`)
	for _, design := range []string{"d", "e"} {
		want(t, design, len(b.query(t, design, "v", "").rows), 1)
	}
}

// A document that kills the worker has the error, not those that were asked with it.
func TestInteractiveMapThatDies(t *testing.T) {
	b, _ := newScriptedBench(t)
	b.put(t, "_design/d", interactiveDesign("dies"))
	want(t, "built", len(b.query(t, "d", "v", "").rows), 0)
	var docs []*compat.Document
	for i := range 8 {
		body := `{}`
		if i == 5 {
			body = `{"long":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`
		}
		docs = append(docs, newDoc(t, fmt.Sprint("d", i), "", body))
	}
	results, err := b.db.Update(t.Context(), docs, storage.UpdateOptions{})
	must(t, err)
	for _, r := range results {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	want(t, "rows", len(b.query(t, "d", "v", "").rows), 7)
	var failed []string
	must(t, b.views.Errors(t.Context(), b.db, "_design/d", "v", func(e MapError) error {
		failed = append(failed, e.ID)
		return nil
	}))
	want(t, "failed", failed, "[d5]")
}
