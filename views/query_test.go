package views

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

func TestRowsFollowDocuments(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"}}`))
		want(t, "empty", b.query(t, "d", "v", "").rows, "[]")
		b.put(t, "a", `{"emit":[[1,10],["x",null]]}`)
		b.put(t, "b", `{"emit":[[2,20]]}`)
		c := b.query(t, "d", "v", "")
		want(t, "rows", c.rows, `[a 1=10 b 2=20 a "x"=null]`)
		want(t, "total", c.head.TotalRows, 3)
		b.put(t, "a", `{"emit":[[3,30]]}`)
		b.put(t, "b", "")
		b.put(t, "c", `{"fail":"boom"}`)
		want(t, "after changes", b.query(t, "d", "v", "").rows, `[a 3=30]`)
		var errors []MapError
		must(t, b.views.Errors(t.Context(), b.db, "_design/d", "v", func(e MapError) error {
			errors = append(errors, e)
			return nil
		}))
		want(t, "errors", errors, "[{c boom}]")
		b.put(t, "c", `{"emit":[[0,0]]}`)
		c = b.query(t, "d", "v", "descending=true")
		want(t, "healed", c.rows, `[a 3=30 c 0=0]`)
		want(t, "total", c.head.TotalRows, 2)
	})
}

func TestStaleAnswers(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"}}`))
	b.put(t, "a", `{"emit":[[1,1]]}`)
	want(t, "not built", b.query(t, "d", "v", "update=false").rows, "[]")
	want(t, "built", b.query(t, "d", "v", "").rows, "[a 1=1]")
	b.put(t, "b", `{"emit":[[2,2]]}`)
	want(t, "stale", b.query(t, "d", "v", "stale=ok").rows, "[a 1=1]")
	b.put(t, "_design/copy", designBody("emitter", `{"other":{"map":"a"}}`))
	want(t, "a copy shares", b.query(t, "copy", "other", "update=false").rows, "[a 1=1]")
}

// TestDuplicates: values of one key come in order of terms in both directions; spellings of equal
// keys are reversed.
func TestDuplicates(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a"}}`))
	b.put(t, "a", `{"emit":[["k","s"],["k",{"a":1}],["k",3],["k\u0000",1],["k",false],["k",null]]}`)
	b.put(t, "b", `{"emit":[["k",1]]}`)
	want(t, "ascending", b.query(t, "d", "v", "").rows,
		`[a "k"=3 a "k"=false a "k"=null a "k"={"a":1} a "k"="s" a "k\u0000"=1 b "k"=1]`)
	want(t, "descending", b.query(t, "d", "v", "descending=true").rows,
		`[b "k"=1 a "k\u0000"=1 a "k"=3 a "k"=false a "k"=null a "k"={"a":1} a "k"="s"]`)
	want(t, "skip", b.query(t, "d", "v", "descending=true&skip=3&limit=2").rows, `[a "k"=false a "k"=null]`)
}

// TestInfoSizes: the size on disk is never below that of the rows, be they in the engine's memory
// or on disk, and a compaction makes it smaller after updates where the engine does not tell how
// much it is.
func TestInfoSizes(t *testing.T) {
	onEngines(t, func(t *testing.T, b *bench) {
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"},"w":{"map":"b"}}`))
		rows := func(body string) int64 {
			t.Helper()
			for i := range 20 {
				b.put(t, fmt.Sprint("doc", i), body)
			}
			must(t, b.views.Update(t.Context(), b.db, "_design/d"))
			before, err := b.views.Info(t.Context(), b.db, "_design/d")
			must(t, err)
			must(t, b.views.Compact(t.Context(), b.db, "_design/d"))
			info, err := b.views.Info(t.Context(), b.db, "_design/d")
			must(t, err)
			less := before.SizeFile - info.SizeFile
			if info.SizeFile < info.SizeActive || less < 0 || less == 0 && strings.HasSuffix(t.Name(), "/pebble") {
				t.Errorf("file %d, active %d, before compaction %d", info.SizeFile, info.SizeActive, before.SizeFile)
			}
			return info.SizeActive
		}
		two := rows(`{"emit":[[1,1],[2,2]]}`)
		if one := rows(`{"emit":[[1,1]]}`); one <= 0 || one >= two {
			t.Errorf("active with a row a document: %d, with two: %d", one, two)
		}
	})
}
