package views

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestLostRaces: of two processes that answer queries of one view while documents are written, one
// is always faster. What the other one waits for is in the winner's commit.
func TestLostRaces(t *testing.T) {
	for _, reduce := range []string{"", `,"reduce":"_count"`} {
		engine := latencykv.New(memkv.New(), latencykv.Options{})
		b := newBench(t, engine, storage.CreateOptions{})
		views, err := Open(Options{Store: b.store, KV: engine, Languages: b.views.opts.Languages})
		must(t, err)
		defer views.Close()
		winner := &bench{b.store, views, b.db}
		b.many(t, 20)
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m"`+reduce+`}}`))
		lost := 0
		engine.BeforeCommit(func() {
			if lost++; lost > 200 {
				engine.BeforeCommit(nil)
				t.Error("the loser goes on and on")
			}
			winner.put(t, fmt.Sprint("other", lost), `{"emit":[[1,1]]}`)
			winner.query(t, "d", "v", "")
		})
		rows := len(b.query(t, "d", "v", "reduce=false").rows)
		engine.BeforeCommit(nil)
		if rows < 20 || lost == 0 {
			t.Errorf("%d rows, %d races", rows, lost)
		}
		b.checkStored(t)
	}
}

// TestTwoBuildersOfLevels: a process begins to make the levels of an index while another one does.
func TestTwoBuildersOfLevels(t *testing.T) {
	for begins := range 12 {
		engine := latencykv.New(memkv.New(), latencykv.Options{})
		b := newBench(t, engine, storage.CreateOptions{})
		b.views.opts.largeUpdate = 20
		views, err := Open(b.views.opts)
		must(t, err)
		defer views.Close()
		second := &bench{b.store, views, b.db}
		b.many(t, 300)
		b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m","reduce":"_stats"}}`))
		commits := 0
		engine.BeforeCommit(func() {
			if commits++; commits == begins+1 {
				second.query(t, "d", "v", "")
			}
		})
		b.query(t, "d", "v", "")
		engine.BeforeCommit(nil)
		b.checkStored(t)
	}
}
