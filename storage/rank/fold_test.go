package rank_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/rank"
)

// Whatever part of the changes is folded, and when, the weights with the rest of them count every
// row.
func TestFoldAgainstCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		store := memkv.New()
		defer store.Close()
		o := rank.Options{Rows: []byte("r"), Fan: rapid.Uint64Range(2, 4).Draw(t, "fan")}
		for n := range 3 {
			o.Levels = append(o.Levels, fmt.Append(nil, "l", n))
		}
		o.Together = rapid.SampledFrom([]int{0, 2, kv.FDBLimits.Together}).Draw(t, "together")
		x := rank.New(o)
		type change struct {
			key   string
			delta int64
		}
		var log []change // what is not folded
		rows := map[string]bool{}
		folded := map[string]bool{} // the rows that the weights have
		var all [][]byte
		for i := range 62 {
			all = append(all, fmt.Appendf(nil, "%02d", i))
		}
		deltas := func(list []change) *rank.Deltas {
			var b rank.Batch
			for _, c := range list {
				b.Add([]byte(c.key), rank.Weight{Rows: c.delta})
			}
			return b.Deltas()
		}
		update := func(fn func(tx kv.Tx) error) {
			if _, err := store.Update(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			update(func(tx kv.Tx) error {
				for range rapid.IntRange(1, 40).Draw(t, "changes") {
					key := fmt.Sprintf("%02d", rapid.IntRange(0, 60).Draw(t, "key"))
					if rows[key] {
						tx.Clear([]byte("r" + key))
						log = append(log, change{key, -1})
						delete(rows, key)
					} else {
						tx.Set([]byte("r"+key), nil)
						log = append(log, change{key, 1})
						rows[key] = true
					}
				}
				return nil
			})
			if n := rapid.IntRange(0, len(log)).Draw(t, "folded"); n > 0 {
				var bounds [][][]byte
				update(func(tx kv.Tx) (err error) {
					bounds, err = x.Fold(tx, deltas(log[:n]), deltas(log[n:]), all)
					return err
				})
				before := maps.Clone(folded)
				for _, c := range log[:n] {
					folded[c.key] = c.delta > 0
				}
				log = log[n:]
				for level := range o.Levels {
					floor := ""
					for i, key := range all {
						k := string(key)
						if before[k] && folded[k] && x.Height(key) > level {
							floor = k
						}
						if got := string(bounds[level][i]); got != floor {
							t.Fatalf("level %d: %q is before %s, want %q", level+1, got, key, floor)
						}
					}
				}
			}
			var keys []string
			for key := range rows {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			rest := deltas(log)
			if err := store.View(ctx, func(r kv.ReadTx) error {
				for i := range 62 {
					key := fmt.Sprintf("%02d", i)
					want, _ := slices.BinarySearch(keys, key)
					if w, err := x.Before(r, nil, []byte(key), rest); err != nil || w.Rows != int64(want) {
						t.Fatalf("%d rows before %s, want %d (%v)", w.Rows, key, want, err)
					}
				}
				if w, err := x.Before(r, nil, nil, rest); err != nil || w.Rows != int64(len(keys)) {
					t.Fatalf("%d rows, want %d (%v)", w.Rows, len(keys), err)
				}
				for i, want := range keys {
					if key, err := x.Select(r, int64(i), rest); err != nil || string(key) != want {
						t.Fatalf("row %d is %s, want %s (%v)", i, key, want, err)
					}
				}
				if key, err := x.Select(r, int64(len(keys)), rest); err != nil || key != nil {
					t.Fatalf("a row after all: %s (%v)", key, err)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := x.Check(ctx, store, rest, func(format string, args ...any) {
				t.Errorf(format, args...)
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// reading is a store that tells of how many ranges a transaction reads at the same time: begun,
// neither at their end nor closed.
type reading struct {
	kv.Store
	now, most int
}

func (r *reading) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return r.Store.Update(ctx, func(tx kv.Tx) error { return fn(readingTx{tx, r}) })
}

type readingTx struct {
	kv.Tx
	of *reading
}

func (t readingTx) Snapshot() kv.ReadTx { return readingSnapshot{t.Tx.Snapshot(), t.of} }

type readingSnapshot struct {
	kv.ReadTx
	of *reading
}

func (s readingSnapshot) Range(begin, end []byte, o kv.RangeOptions) kv.Iterator {
	return &readingRange{Iterator: s.ReadTx.Range(begin, end, o), of: s.of}
}

type readingRange struct {
	kv.Iterator
	of    *reading
	begun bool
	ended bool
}

func (i *readingRange) Next() bool {
	if !i.begun {
		i.begun = true
		i.of.now++
		i.of.most = max(i.of.most, i.of.now)
	}
	more := i.Iterator.Next()
	if !more {
		i.end()
	}
	return more
}

func (i *readingRange) end() {
	if i.begun && !i.ended {
		i.ended = true
		i.of.now--
	}
}

func (i *readingRange) Close() error {
	i.end()
	return i.Iterator.Close()
}

// TestFoldOfScatteredRows: what a fold reads for rows that lie far apart. Where each read is
// answered at once it does not walk over the many boundaries between them, does not look for a
// boundary twice where rows come and go together, and reads one range after the other: the embedded
// engine opens an iterator of all tables for each one that is read beside others.
func TestFoldOfScatteredRows(t *testing.T) {
	for _, c := range []struct {
		together, rows, ranges int // rows and ranges for ten changed rows
	}{{0, 85, 24}, {kv.FDBLimits.Together, 205, 15}} {
		t.Run(fmt.Sprint("together ", c.together), func(t *testing.T) {
			const size, changes, rounds = 6000, 40, 20
			x := index(4, nil)
			x.Together = c.together
			store := &reading{Store: memkv.New()}
			count := kvtest.NewCounting(store)
			defer count.Close()
			key := func(i int) string { return fmt.Sprintf("%08d", i) }
			rows := map[string][]byte{}
			for i := range size {
				rows[key(2*i)] = []byte("x")
			}
			if err := set(t.Context(), count, x, rows); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			count.Reset()
			store.most = 0
			for range rounds {
				clear(rows)
				for range changes / 2 {
					rows[key(2*rng.IntN(size))] = nil
					rows[key(2*rng.IntN(size)+1)] = []byte("x")
				}
				if err := set(t.Context(), count, x, rows); err != nil {
					t.Fatal(err)
				}
			}
			n := count.Counts()
			t.Logf("%d rows, %d ranges", n.Rows, n.Ranges)
			if tens := int64(changes * rounds / 10); n.Rows > int64(c.rows)*tens || n.Ranges > int64(c.ranges)*tens {
				t.Errorf("%d rows and %d ranges are read for ten changed rows", n.Rows/tens, n.Ranges/tens)
			}
			if store.most > 1 {
				t.Errorf("%d ranges are read at a time", store.most)
			}
			check(t, count, x)
		})
	}
}
