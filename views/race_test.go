package views

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// conflictCounter is a language whose documents emit how many conflicts they have. hook runs once,
// while "doc" is mapped.
type conflictCounter struct{ hook func() }

func (c *conflictCounter) Compile(Definition) (Mapper, error) { return c, nil }

func (c *conflictCounter) Map(doc *docread.Document, emit func(key, value []byte)) error {
	n := len(doc.Conflicts)
	if hook := c.hook; hook != nil && doc.ID == "doc" {
		c.hook = nil
		hook()
	}
	emit(fmt.Append(nil, n), []byte("null"))
	return nil
}

// TestBuildUpLeavesOutChangedDocuments: a document gets a conflict that loses while an interactive
// index is built up. Its winner is what it was, yet what the build-up read is old.
func TestBuildUpLeavesOutChangedDocuments(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	language := &conflictCounter{}
	b.views.opts.Languages[languageQuery] = language
	replicate := func(rev string) {
		d := newDoc(t, "doc", "", `{}`)
		parsed, err := compat.ParseRev(rev)
		must(t, err)
		d.Revs = compat.RevPath{Start: parsed.Pos, IDs: []string{parsed.Hash}}
		_, err = b.db.Update(t.Context(), []*compat.Document{d}, storage.UpdateOptions{Replicated: true})
		must(t, err)
	}
	replicate("1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")
	b.put(t, "_design/d", designBody(languageQuery, `{"v":{"map":{}}}`))
	language.hook = func() { replicate("1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") }
	want(t, "rows", b.query(t, "d", "v", "").rows, "[doc 1=null]")
	b.checkStored(t)
}

// TestPurgeBesideBuild: what is purged between the read and the commit of a batch does not come
// back, and does not make the build begin anew.
func TestPurgeBesideBuild(t *testing.T) {
	for _, language := range []string{"emitter", languageQuery} {
		t.Run(language, func(t *testing.T) {
			b := newBench(t, memkv.New(), storage.CreateOptions{})
			counter := &conflictCounter{}
			b.views.opts.Languages[language] = counter
			b.put(t, "doc", `{}`)
			b.put(t, "other", `{}`)
			b.put(t, "_design/d", designBody(language, `{"v":{"map":"m","reduce":"_count"}}`))
			counter.hook = func() { b.purge(t, "other") }
			want(t, "rows", b.query(t, "d", "v", "reduce=false").rows, "[doc 0=null]")
			b.checkStored(t)
		})
	}
}

// TestIndexIsMadeBesideWriters: writes of other documents do not make the transactions run again
// that make an index and build it.
func TestIndexIsMadeBesideWriters(t *testing.T) {
	for _, language := range []string{"emitter", languageQuery} {
		t.Run(language, func(t *testing.T) {
			engine := latencykv.New(memkv.New(), latencykv.Options{})
			b := newBench(t, engine, storage.CreateOptions{})
			b.many(t, 10)
			n := 0
			engine.Reset()
			engine.BeforeCommit(func() {
				if n++; n <= 20 {
					b.put(t, fmt.Sprint("other", n), `{"emit":[[1,1]]}`)
				}
			})
			b.put(t, "_design/d", designBody(language, `{"v":{"map":"m","reduce":"_count"}}`))
			b.query(t, "d", "v", "")
			engine.BeforeCommit(nil)
			if c := engine.Counts(); c.Runs != c.Updates {
				t.Errorf("%d transactions ran %d times", c.Updates, c.Runs)
			}
			want(t, "count", b.query(t, "d", "v", "").rows, fmt.Sprintf("[null=%d]", 10+min(n, 20)))
			b.checkStored(t)
		})
	}
}
