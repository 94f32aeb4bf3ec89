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

// Who is alone writes weights, which it has read, and has the store add to none.
func TestAloneWritesWeights(t *testing.T) {
	store := wrapkv.NewCounting(memkv.New())
	defer store.Close()
	x := index(4, number)
	x.Alone = true
	rows := map[string][]byte{}
	for i := range 500 {
		rows[fmt.Sprintf("%03d", i)] = binary.LittleEndian.AppendUint64(nil, uint64(i))
	}
	if err := set(t.Context(), store, x, true, rows); err != nil {
		t.Fatal(err)
	}
	check(t, store, x)
	for _, step := range []int{1, 7, 500} { // one row alone is found in another way
		store.Reset()
		if _, err := store.Update(t.Context(), func(tx kv.Tx) error {
			var b rank.Batch
			for i := 0; i < 500; i += step {
				key := fmt.Sprintf("%03d", i)
				b.Add([]byte(key), rank.Weight{Sum: rank.Int(1)})
				value := binary.LittleEndian.Uint64(rows[key]) + 1
				rows[key] = binary.LittleEndian.AppendUint64(nil, value)
				tx.Set([]byte("r"+key), rows[key])
			}
			return b.Apply(tx, x, nil)
		}); err != nil {
			t.Fatal(err)
		}
		if n := store.Counts().Atomics; n > 0 {
			t.Errorf("%d additions", n)
		}
		check(t, store, x)
	}
}

// What is read behind the last of rows that go is the retired boundaries next to it, not the rest of the level.
func TestRowsThatGo(t *testing.T) {
	store := wrapkv.NewCounting(memkv.New())
	defer store.Close()
	x := index(2, nil)
	if _, err := store.Update(t.Context(), func(tx kv.Tx) error {
		for i := range 3000 {
			tx.Set(fmt.Appendf(nil, "r%04d", i), []byte("x"))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := x.Rebuild(t.Context(), store, nil); err != nil {
		t.Fatal(err)
	}
	store.Reset()
	if _, err := store.Update(t.Context(), func(tx kv.Tx) error {
		var b rank.Batch
		for i := range 100 {
			b.Add(fmt.Appendf(nil, "%04d", i), rank.Weight{Rows: -1})
		}
		return b.Apply(tx, x, nil)
	}); err != nil {
		t.Fatal(err)
	}
	if read := store.Counts().Rows; read > 200 {
		t.Errorf("%d keys read for 100 rows", read)
	}
}
