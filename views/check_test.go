package views

import (
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestCheckOutlivesSnapshots: the check of an index that is too large for one snapshot goes on in
// others, and finds what is wrong.
func TestCheckOutlivesSnapshots(t *testing.T) {
	engine := &ageing{Store: memkv.New()}
	b := newBench(t, engine, storage.CreateOptions{})
	b.many(t, 1000)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m","reduce":"_sum"}}`))
	want(t, "rows", len(b.query(t, "d", "v", "reduce=false").rows), 1000)
	engine.reads = 300
	b.checkStored(t)
	if engine.tooOld < 5 {
		t.Errorf("%d snapshots became too old", engine.tooOld)
	}
	engine.reads = 0
	var row []byte
	must(t, b.db.Transact(t.Context(), func(tx *storage.Tx) error {
		indexes, err := readRecords(tx.KV(), spaceOf(tx.Snapshot()))
		if err != nil {
			return err
		}
		begin, end := children(indexes[0].keys.rows)
		it := tx.KV().Range(begin, end, kv.RangeOptions{Limit: 1, Reverse: true})
		defer it.Close()
		it.Next()
		row = append(row, it.Key()...)
		tx.KV().Clear(row)
		return it.Err()
	}))
	engine.reads = 300
	violations, err := Check(t.Context(), engine, b.store)
	must(t, err)
	found := make(map[int]bool)
	for _, v := range violations {
		found[v.Invariant] = true
	}
	if !found[2] || !found[3] || !found[7] {
		t.Errorf("a row is gone: %v", violations)
	}
}
