package rank_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/rank"
)

// number is the weight of a row of these tests: its value as 8 bytes; any other value has no
// number.
func number(_, value []byte) (rank.Weight, error) {
	if len(value) != 8 {
		return rank.Weight{Rows: 1, Rest: 1}, nil
	}
	return rank.Weight{Rows: 1, Sum: rank.Int(int64(binary.LittleEndian.Uint64(value)))}, nil
}

func index(fan uint64, weigh func(key, value []byte) (rank.Weight, error)) *rank.Index {
	o := rank.Options{Rows: []byte("r"), Fan: fan, Weigh: weigh}
	for n := range 3 {
		o.Levels = append(o.Levels, []byte(fmt.Sprintf("l%d", n)))
	}
	return rank.New(o)
}

// set changes rows in one transaction; a nil value removes one.
func set(ctx context.Context, store kv.Store, x *rank.Index, rows map[string][]byte) error {
	_, err := store.Update(ctx, func(tx kv.Tx) error {
		var b rank.Batch
		for key, value := range rows {
			old, err := tx.Get([]byte("r" + key))
			if err != nil {
				return err
			}
			var delta rank.Weight
			for _, v := range []struct {
				value []byte
				sign  int
			}{{old, -1}, {value, 1}} {
				if v.value == nil {
					continue
				}
				w := rank.Weight{Rows: 1}
				if x.Weigh != nil {
					if w, err = x.Weigh([]byte(key), v.value); err != nil {
						return err
					}
				}
				if v.sign < 0 {
					delta = delta.Sub(w)
				} else {
					delta = delta.Add(w)
				}
			}
			if old != nil || value != nil {
				b.Add([]byte(key), delta)
			}
		}
		for key, value := range rows {
			if value == nil {
				tx.Clear([]byte("r" + key))
			} else {
				tx.Set([]byte("r"+key), value)
			}
		}
		_, err := x.Fold(tx, b.Deltas(), nil, nil)
		return err
	})
	return err
}

// check compares Before and Select at every row with what the rows say.
func check(t interface{ Fatalf(string, ...any) }, store kv.Store, x *rank.Index) {
	err := store.View(context.Background(), func(r kv.ReadTx) error {
		if err := x.Check(context.Background(), store, nil, t.Fatalf); err != nil {
			return err
		}
		it := r.Range([]byte("r"), []byte("s"), kv.RangeOptions{})
		defer it.Close()
		far := rank.New(x.Options)
		far.Together = kv.FDBLimits.Together
		var sum rank.Weight
		for it.Next() {
			key := it.Key()[1:]
			for _, x := range []*rank.Index{x, far} {
				got, err := x.Before(r, nil, key, nil)
				if err != nil {
					return err
				}
				if got != sum {
					t.Fatalf("before %q: %v, want %v", key, got, sum)
				}
			}
			row, err := x.Select(r, sum.Rows, nil)
			if err != nil {
				return err
			}
			if !bytes.Equal(row, key) {
				t.Fatalf("row %d: %q, want %q", sum.Rows, row, key)
			}
			w := rank.Weight{Rows: 1}
			if x.Weigh != nil {
				if w, err = x.Weigh(key, it.Value()); err != nil {
					return err
				}
			}
			sum = sum.Add(w)
		}
		all, err := x.Before(r, nil, nil, nil)
		if err != nil {
			return err
		}
		if farAll, err := far.Before(r, nil, nil, nil); err != nil || farAll != all {
			t.Fatalf("all: %v across a network, want %v (%v)", farAll, all, err)
		}
		if all != sum {
			t.Fatalf("all: %v, want %v", all, sum)
		}
		if row, err := x.Select(r, sum.Rows, nil); err != nil || row != nil {
			t.Fatalf("row after all: %q %v", row, err)
		}
		return it.Err()
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Random batches of additions, changes and removals keep all weights exact.
func TestAgainstRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var weigh func(key, value []byte) (rank.Weight, error)
		if rapid.Bool().Draw(t, "wide") {
			weigh = number
		}
		x := index(rapid.SampledFrom([]uint64{2, 3, 5}).Draw(t, "fan"), weigh)
		x.Together = rapid.SampledFrom([]int{0, 2, kv.FDBLimits.Together}).Draw(t, "together")
		store := wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now)
		defer store.Close()
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			rows := map[string][]byte{}
			for range rapid.IntRange(1, 30).Draw(t, "rows") {
				key := fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "key"))
				switch rapid.IntRange(0, 3).Draw(t, "what") {
				case 0:
					rows[key] = nil
				case 1:
					rows[key] = []byte("none")
				default:
					rows[key] = binary.LittleEndian.AppendUint64(nil, uint64(rapid.Int64().Draw(t, "number")))
				}
			}
			if err := set(context.Background(), store, x, rows); err != nil {
				t.Fatal(err)
			}
		}
		check(t, store, x)
		if err := x.Rebuild(context.Background(), store, nil); err != nil {
			t.Fatal(err)
		}
		check(t, store, x)
	})
}

// A transaction may open any number of boundaries in a row, and remove the rows of any number: what
// it reads is bounded by its rows and those around them.
func TestManyBoundariesInARow(t *testing.T) {
	const size = 2400
	for _, remote := range []bool{false, true} {
		t.Run(fmt.Sprint("remote ", remote), func(t *testing.T) {
			x := index(4, nil)
			if remote {
				x.Together = kv.FDBLimits.Together
			}
			store := kvtest.NewCounting(memkv.New())
			defer store.Close()
			for i, value := range [][]byte{[]byte("none"), []byte("none"), []byte("none"), nil, nil} {
				rows := map[string][]byte{}
				for n := range size {
					rows[fmt.Sprintf("%04d-%d", n, i%3)] = value
				}
				store.Reset()
				if err := set(t.Context(), store, x, rows); err != nil {
					t.Fatal(err)
				}
				if read := store.Counts().Rows; read > 12*size {
					t.Errorf("%d rows are read for %d changes", read, size)
				}
				check(t, store, x)
			}
		})
	}
}

// Stored weights hold negative numbers.
func TestStoredWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rank.New(rank.Options{Rows: []byte("r"), Levels: [][]byte{[]byte("l")}, Fan: 1 << 62, Weigh: number})
		store := memkv.New()
		defer store.Close()
		var want rank.Weight
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			w := rank.Weight{
				Rows: rapid.Int64Range(0, 1<<40).Draw(t, "rows"),
				Sum:  rank.Int(rapid.Int64().Draw(t, "sum")).Add(rank.Int(rapid.Int64().Draw(t, "sum"))),
				Rest: rapid.Int64Range(0, 1<<40).Draw(t, "rest"),
			}
			want = want.Add(w)
			if _, err := store.Update(context.Background(), func(tx kv.Tx) error {
				var b rank.Batch
				b.Add([]byte("k"), w)
				_, err := x.Fold(tx, b.Deltas(), nil, nil)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.View(context.Background(), func(r kv.ReadTx) error {
			value, err := r.Get([]byte("l"))
			if got := rank.Parse(value); got != want {
				t.Fatalf("%v, want %v", got, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Fuzz(func(_ *testing.T, value []byte) { rank.Parse(value) })
}
