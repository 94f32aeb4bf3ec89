package views

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views/levels"
)

// The settings of indexes: how large builds' transactions are, what may be emitted, and the shape
// of new levels; an index that is there keeps its own.
func TestSettings(t *testing.T) {
	engine := latencykv.New(memkv.New(), latencykv.Options{})
	b := newBench(t, engine, storage.CreateOptions{})
	b.put(t, "_design/old", designBody("emitter", `{"v":{"map":"old","reduce":"_sum"}}`))
	for i := range 100 {
		b.put(t, fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"emit":[[%d,1]]}`, i))
	}
	b.put(t, "key", fmt.Sprintf(`{"emit":[[%q,1]]}`, strings.Repeat("k", 30)))
	b.put(t, "value", fmt.Sprintf(`{"emit":[[1,%q]]}`, strings.Repeat("v", 30)))
	b.put(t, "keys", `{"emit":[[1111111,1],[2222222,1],[3333333,1],[4444444,1]]}`)
	want(t, "old", b.query(t, "old", "v", "key=5").rows, "[null=1]")
	v, err := Open(Options{
		Store: b.store, KV: engine, Languages: b.views.opts.Languages, MaxKey: 25, MaxKeys: 25, MaxValue: 25,
		BatchSize: func() int { return 10 }, Levels: levels.Config{Levels: 2, Fan: 4},
	})
	must(t, err)
	defer func() { must(t, v.Close()) }()
	b.views = v
	b.store.SetHooks(storage.Hooks{Indexer: v})
	b.put(t, "_design/new", designBody("emitter", `{"v":{"map":"new","reduce":"_sum"}}`))
	before := engine.Counts().Commits
	want(t, "new", b.query(t, "new", "v", "").rows, "[null=100]")
	if commits := engine.Counts().Commits - before; commits < 11 {
		t.Errorf("103 documents are indexed in %d transactions", commits)
	}
	want(t, "old", b.query(t, "old", "v", "startkey=5&endkey=7").rows, "[null=3]")
	var failures []string
	must(t, v.Errors(context.Background(), b.db, "_design/new", "v", func(e MapError) error {
		failures = append(failures, e.ID)
		return nil
	}))
	want(t, "failures", strings.Join(failures, " "), "key keys value")
	must(t, b.db.View(t.Context(), func(s *storage.Snapshot) error {
		indexes, err := readRecords(s.KV(), spaceOf(s))
		for _, ix := range indexes {
			if shape := fmt.Sprint(ix.rec.levelHeight, ix.rec.levelFan); shape != "4 32" && shape != "2 4" {
				t.Errorf("levels %s", shape)
			}
		}
		want(t, "indexes", len(indexes), 2)
		want(t, "shapes differ", indexes[0].rec.levelFan != indexes[1].rec.levelFan, true)
		return err
	}))
	b.checkStored(t)
}
