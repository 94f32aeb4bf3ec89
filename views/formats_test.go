package views

import (
	"fmt"
	"testing"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// TestLevelsOfTheFormatBefore: an index of the format before answers from its rows, its levels are
// made anew with the next change, and nothing is left of those that it had.
func TestLevelsOfTheFormatBefore(t *testing.T) {
	engine := memkv.New()
	b := newBench(t, engine, storage.CreateOptions{})
	b.many(t, 2000)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"a","reduce":"_sum"}}`))
	b.query(t, "d", "v", "")
	indexes, _ := b.state(t)
	ix := indexes[0]
	_, err := engine.Update(t.Context(), func(tx kv.Tx) error {
		record := append([]byte{formatMarked}, ix.stored[1:]...)
		tx.Set(ix.keys.space.info(ix.def.signature), record)
		level := func(subspace int64) []byte { return tuple.AppendInt(tuple.AppendInt(ix.keys.levels, subspace), 1) }
		for n := range 50 { // open and retired boundaries, with marks
			key := fmt.Sprint(n)
			tx.Set(append(level(0), key...), []byte{7, 0, 0, 0, 0, 0, 0, byte(0x10 << (n % 2))})
			tx.Set(append(level(1), key...), nil)
		}
		return nil
	})
	must(t, err)
	v, err := Open(b.views.opts)
	must(t, err)
	defer v.Close()
	b = &bench{b.store, v, b.db}
	want(t, "sum by rows", b.query(t, "d", "v", "update=false").rows, "[null=2000]")
	want(t, "rows before one", b.query(t, "d", "v", "reduce=false&startkey=1500&limit=0").head.Offset, 1500)
	b.put(t, "doc000007", `{"emit":[[7,2]]}`)
	want(t, "sum", b.query(t, "d", "v", "").rows, "[null=2001]")
	if indexes, _ = b.state(t); !indexes[0].rec.levels || indexes[0].stored[0] != formatVersion {
		t.Errorf("the record is %x, its levels are there: %v", indexes[0].stored[:2], indexes[0].rec.levels)
	}
	b.checkStored(t)
	must(t, engine.View(t.Context(), func(r kv.ReadTx) error {
		begin, end := children(tuple.AppendInt(indexes[0].keys.levels, 1))
		it := r.Range(begin, end, kv.RangeOptions{Limit: 1})
		defer it.Close()
		if it.Next() {
			t.Errorf("left over: %x", it.Key())
		}
		return it.Err()
	}))
}
