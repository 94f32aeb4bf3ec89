package rank_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/rank"
)

// Rows of a batch that lie together in a few places, as those of some documents do in a view of several keys each, are
// found place by place: far fewer ranges are read than there are rows.
func TestRowsInPlaces(t *testing.T) {
	const rows, perPlace = 6000, 60
	key := func(i int) string { return fmt.Sprintf("%05d", i) }
	value := func(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	store := wrapkv.NewCounting(memkv.New())
	defer store.Close()
	x := index(2, number)
	all := map[string][]byte{}
	for i := range rows {
		all[key(i)] = value(0)
	}
	write := func() {
		if _, err := store.Update(t.Context(), func(tx kv.Tx) error {
			for key, value := range all {
				tx.Set([]byte("r"+key), value)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := x.Rebuild(t.Context(), store, nil); err != nil {
		t.Fatal(err)
	}
	places := func(t *rapid.T) (list []int, n int) {
		n = rapid.IntRange(2, 8).Draw(t, "places")
		for p := range n {
			from := p*rows/n + rapid.IntRange(0, rows/n-2*perPlace).Draw(t, "place")
			for i := from; i < from+perPlace; i++ {
				list = append(list, i)
			}
		}
		return list, n
	}
	values := make([]int, rows)
	rapid.Check(t, func(t *rapid.T) {
		list, n := places(t)
		store.Reset()
		if _, err := store.Update(t.Context(), func(tx kv.Tx) error {
			var b rank.Batch
			for _, i := range list {
				b.Add([]byte(key(i)), rank.Weight{Sum: rank.Int(1)})
			}
			return b.Apply(tx, x, nil)
		}); err != nil {
			t.Fatal(err)
		}
		const levels = 3
		if ranges := store.Counts().Ranges; ranges > int64(levels*(2*n+2)) {
			t.Errorf("%d ranges read for %d rows in %d places", ranges, len(list), n)
		}
		for _, i := range list {
			values[i]++
		}
	})
	for i, n := range values {
		all[key(i)] = value(n)
	}
	write()
	check(t, store, x)
	rapid.Check(t, func(t *rapid.T) { // rows that go and come
		list, _ := places(t)
		for _, gone := range []bool{true, false} {
			batch := map[string][]byte{}
			for _, i := range list {
				if batch[key(i)] = value(i); gone && i%5 == 0 {
					batch[key(i)] = nil
				}
			}
			if err := set(t.Context(), store, x, true, batch); err != nil {
				t.Fatal(err)
			}
		}
	})
	check(t, store, x)
}
