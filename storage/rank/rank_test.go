package rank_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/rank"
)

// number is the weight of a row of these tests: its value as 8 bytes; any other value has no number.
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
		o.Marks = append(o.Marks, []byte(fmt.Sprintf("m%d", n)))
	}
	return rank.New(o)
}

// set changes rows in one transaction; a nil value removes one.
func set(ctx context.Context, store kv.Store, x *rank.Index, settle bool, rows map[string][]byte) error {
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
		type bound struct {
			level int
			key   []byte
		}
		var opened []bound
		if err := b.Apply(tx, x, func(level int, key []byte, how rank.Touched) {
			if how != rank.Changed && len(key) > 0 {
				opened = append(opened, bound{level, bytes.Clone(key)})
			}
		}); err != nil {
			return err
		}
		for key, value := range rows {
			if value == nil {
				tx.Clear([]byte("r" + key))
			} else {
				tx.Set([]byte("r"+key), value)
			}
		}
		if !settle {
			return nil
		}
		slices.SortFunc(opened, func(a, b bound) int { return a.level - b.level })
		for _, o := range opened {
			if err := x.Settle(tx, tx.Snapshot(), o.level, [][]byte{o.key}); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// check compares Before and Select at every row with what the rows say.
func check(t interface{ Fatalf(string, ...any) }, store kv.Store, x *rank.Index) {
	err := store.View(context.Background(), func(r kv.ReadTx) error {
		if err := x.Check(context.Background(), store, t.Fatalf); err != nil {
			return err
		}
		it := r.Range([]byte("r"), []byte("s"), kv.RangeOptions{})
		defer it.Close()
		far := rank.New(x.Options)
		far.Remote = true
		var sum rank.Weight
		for it.Next() {
			key := it.Key()[1:]
			for _, x := range []*rank.Index{x, far} {
				got, err := x.Before(r, key)
				if err != nil {
					return err
				}
				if got != sum {
					t.Fatalf("before %q: %v, want %v", key, got, sum)
				}
			}
			row, err := x.Select(r, sum.Rows)
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
		all, err := x.Before(r, nil)
		if err != nil {
			return err
		}
		if farAll, err := far.Before(r, nil); err != nil || farAll != all {
			t.Fatalf("all: %v across a network, want %v (%v)", farAll, all, err)
		}
		if all != sum {
			t.Fatalf("all: %v, want %v", all, sum)
		}
		if row, err := x.Select(r, sum.Rows); err != nil || row != nil {
			t.Fatalf("row after all: %q %v", row, err)
		}
		return it.Err()
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Random batches of additions, changes and removals keep all weights exact, whether boundaries are settled at once or
// late.
func TestAgainstRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var weigh func(key, value []byte) (rank.Weight, error)
		if rapid.Bool().Draw(t, "wide") {
			weigh = number
		}
		x := index(rapid.SampledFrom([]uint64{2, 3, 5}).Draw(t, "fan"), weigh)
		x.Alone = rapid.Bool().Draw(t, "alone")
		x.Remote = rapid.Bool().Draw(t, "remote")
		rank.TidyForTest(x, rapid.SampledFrom([]int{1, 2, 5, 500}).Draw(t, "tidied"))
		store := wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now)
		defer store.Close()
		settle := rapid.Bool().Draw(t, "settle")
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
			if err := set(context.Background(), store, x, settle, rows); err != nil {
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

// A transaction may open any number of boundaries in a row, and remove the rows of any number: others do not pay for
// each of them with all, and in the end all are settled.
func TestManyBoundariesInARow(t *testing.T) {
	for _, remote := range []bool{false, true} {
		t.Run(fmt.Sprint("remote ", remote), func(t *testing.T) {
			x := index(4, nil)
			x.Remote = remote
			store := wrapkv.NewCounting(memkv.New())
			defer store.Close()
			batch := func(from int, value []byte) map[string][]byte {
				rows := map[string][]byte{}
				for i := range 2400 {
					rows[fmt.Sprintf("%04d-%d", i, from)] = value
				}
				return rows
			}
			for i := range 3 {
				if err := set(t.Context(), store, x, false, batch(i, []byte("none"))); err != nil {
					t.Fatal(err)
				}
				check(t, store, x)
				settleAll(t, store, x)
			}
			for i := range 2 {
				if err := set(t.Context(), store, x, false, batch(i, nil)); err != nil {
					t.Fatal(err)
				}
				check(t, store, x)
			}
			settleAll(t, store, x)
		})
	}
}

// settleAll settles all boundaries, level by level, and shows what that costs and that none is left.
func settleAll(t *testing.T, store *wrapkv.Counting, x *rank.Index) {
	t.Helper()
	for level, prefix := range x.Levels {
		for tries := 0; ; tries++ {
			var open [][]byte
			store.Reset()
			_, err := store.Update(t.Context(), func(tx kv.Tx) error {
				open = nil
				it := tx.Snapshot().Range(prefix, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{})
				defer it.Close()
				for it.Next() {
					if _, state := rank.Parse(it.Value()); state != rank.Settled {
						open = append(open, bytes.Clone(it.Key()[len(prefix):]))
					}
				}
				return x.Settle(tx, tx.Snapshot(), level+1, open)
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(open) == 0 {
				break
			}
			if rows := store.Counts().Rows; rows > 100_000 {
				t.Errorf("level %d, %d open boundaries: %d rows are read", level+1, len(open), rows)
			}
			if tries > 100 {
				t.Fatalf("level %d: %d boundaries stay open", level+1, len(open))
			}
		}
	}
	check(t, store, x)
}

// Concurrent writers next to each other, on an engine with faults, keep them exact too.
func TestConcurrentWriters(t *testing.T) {
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint("alone ", alone), func(t *testing.T) { testConcurrentWriters(t, alone) })
	}
}

func testConcurrentWriters(t *testing.T, alone bool) {
	x := index(4, number)
	x.Alone = alone
	faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05, TooOld: 0.02}
	store := faultkv.New(memkv.New(), faultkv.Random(1, faults))
	defer store.Close()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 60 {
				key := fmt.Sprintf("%03d-%d", i, w)
				rows := map[string][]byte{key: binary.LittleEndian.AppendUint64(nil, uint64(i-30))}
				if err := set(t.Context(), store, x, false, rows); err != nil {
					t.Error(err)
				}
				if (i+w)%3 == 0 {
					if err := set(t.Context(), store, x, false, map[string][]byte{key: nil}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	check(t, store, x)
}

// Stored weights hold negative numbers in each place.
func TestStoredWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index(2, number)
		store := memkv.New()
		defer store.Close()
		draw := func(name string) rank.Weight {
			return rank.Weight{
				Rows: rapid.Int64Range(-1<<40, 1<<40).Draw(t, name+" rows"),
				Sum:  rank.Int(rapid.Int64().Draw(t, name+" sum")).Add(rank.Int(rapid.Int64().Draw(t, name+" sum"))),
				Rest: rapid.Int64Range(-1<<40, 1<<40).Draw(t, name+" rest"),
			}
		}
		var want rank.Weight
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			w := draw(fmt.Sprint(i))
			want = want.Add(w)
			if _, err := store.Update(context.Background(), func(tx kv.Tx) error {
				rank.AddForTest(x, tx, []byte("k"), w)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.View(context.Background(), func(r kv.ReadTx) error {
			value, err := r.Get([]byte("k"))
			if got, state := rank.Parse(value); got != want || state != rank.Settled {
				t.Fatalf("%v %v, want %v", got, state, want)
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
