package timers

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var list = Below([]byte("time"), []byte("name"))

// rows are all entries of one kind.
func rows(t require.TestingT, store kv.Store, prefix string) (found []kv.Row) {
	require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
		begin, end := below([]byte(prefix))
		it := tx.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for found = nil; it.Next(); {
			found = append(found, kv.Row{Key: bytes.Clone(it.Key()), Value: bytes.Clone(it.Value())})
		}
		return it.Err()
	}))
	return found
}

// violations is what a Checker says.
func violations(t require.TestingT, store kv.Store) (found []string) {
	var c Checker
	require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
		for _, row := range rows(t, store, "time") {
			e := list.ByTime(row.Key[len("time"):], row.Value)
			var other []byte
			if e.Other != nil {
				other, _ = tx.Get(e.Other)
			}
			if err := c.Row(e, row, other); err != nil {
				found = append(found, err.Error())
			}
		}
		for _, row := range rows(t, store, "name") {
			e := list.ByName(row.Key[len("name"):], row.Value)
			other, err := tx.Get(e.Other)
			require.NoError(t, err)
			if err := c.Row(e, row, other); err != nil {
				found = append(found, err.Error())
			}
		}
		return nil
	}))
	return found
}

// due reads all that is due of some partitions, a page after the other.
func due(t require.TestingT, store kv.Store, in []int, now int64, limit int) (all []Timer) {
	known := make(map[Name]bool)
	for {
		var some []Timer
		require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) (err error) {
			some, _, err = list.Due(tx, in, now, limit, func(t *Timer) bool { return known[t.Name] })
			return err
		}))
		if len(some) == 0 {
			return all
		}
		for i := range some {
			known[some[i].Name] = true
		}
		all = append(all, some...)
	}
}

// TestListAgainstAModel: whatever is set, replaced, cleared and fired, also where commits are made
// again, a list has what a map has; pages of what is due, however short, come to all of it in the
// order of time, and in the end nothing is left.
func TestListAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := faultkv.Random(rapid.Uint64().Draw(t, "faults"),
			faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.1, UnknownCommitted: 0.1})
		plan.Unknown = func() {}
		store := faultkv.New(memkv.New(), plan)
		update := func(fn func(tx kv.Tx) error) {
			_, err := store.Update(context.Background(), fn)
			require.NoError(t, err)
		}
		model := make(map[Name]Timer)
		name := rapid.Custom(func(t *rapid.T) Name {
			return Name{rapid.SampledFrom([]string{"f", "fg"}).Draw(t, "callback"),
				rapid.SampledFrom([]string{"", "a", "a\x00", "b"}).Draw(t, "reference")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				m := Timer{Name: name.Draw(t, "name"), Partition: rapid.IntRange(0, 3).Draw(t, "partition"),
					Due: rapid.Int64Range(1, 9).Draw(t, "due")}
				size := rapid.SampledFrom([]int{-1, 2, maxPiece, maxPiece + 1, 3 * maxPiece}).Draw(t, "size")
				if size >= 0 {
					m.Context = []byte(strings.Repeat("1", size))
				}
				update(func(tx kv.Tx) error { return list.Set(tx, &m) })
				model[m.Name] = m
			},
			"clear": func(t *rapid.T) {
				n := name.Draw(t, "name")
				update(func(tx kv.Tx) error {
					found, err := list.Clear(tx, n)
					require.Equal(t, model[n].Due != 0, found)
					return err
				})
				delete(model, n)
			},
			"fire": func(t *rapid.T) {
				for _, timer := range due(t, store, []int{0, 1, 2, 3}, rapid.Int64Range(0, 9).Draw(t, "now"), 2) {
					update(func(tx kv.Tx) error {
						there, err := list.Fired(tx, &timer)
						require.True(t, there)
						return err
					})
					delete(model, timer.Name)
				}
			},
			"": func(t *rapid.T) {
				require.Empty(t, violations(t, store))
				n := name.Draw(t, "name")
				require.NoError(t, store.View(context.Background(), func(tx kv.ReadTx) error {
					found, err := list.Find(tx, n)
					require.NoError(t, err)
					want, there := model[n]
					if require.Equal(t, there, found != nil); there {
						want.Nonce = found.Nonce
						require.Equal(t, want, *found)
					}
					times, err := list.Times(tx, []Name{n})
					require.Equal(t, []int64{want.Due}, times)
					return err
				}))
				in := rapid.SampledFrom([][]int{{0}, {1, 3}, {0, 1, 2, 3}}).Draw(t, "partitions")
				now := rapid.Int64Range(0, 9).Draw(t, "now")
				var want []Name
				for n, m := range model {
					if m.Due <= now && slices.Contains(in, m.Partition) {
						want = append(want, n)
					}
				}
				all := due(t, store, in, now, rapid.IntRange(1, 9).Draw(t, "page"))
				got := make([]Name, len(all))
				for i := range all {
					got[i] = all[i].Name
				}
				require.ElementsMatch(t, want, got)
				for _, p := range in {
					of := slices.DeleteFunc(slices.Clone(all), func(t Timer) bool { return t.Partition != p })
					require.True(t, slices.IsSortedFunc(of, func(a, b Timer) int { return cmp.Compare(a.Due, b.Due) }))
				}
			},
		})
		for n := range model {
			update(func(tx kv.Tx) error { _, err := list.Clear(tx, n); return err })
		}
		require.Empty(t, rows(t, store, ""))
	})
}

// TestNextTimes: a partition's next time is that of the first timer that was not given.
func TestNextTimes(t *testing.T) {
	store := memkv.New()
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		for i, at := range []int64{3, 5, 8} {
			m := Timer{Name: Name{"f", string(rune('a' + i))}, Partition: 1, Due: at}
			if err := list.Set(tx, &m); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, c := range []struct {
		now   int64
		limit int
		next  int64
	}{{0, 9, 3}, {3, 9, 5}, {8, 2, 8}, {8, 9, alarm.Never}} {
		require.NoError(t, store.View(t.Context(), func(tx kv.ReadTx) error {
			_, nexts, err := list.Due(tx, []int{0, 1}, c.now, c.limit, nil)
			require.Equal(t, []int64{alarm.Never, c.next}, nexts)
			return err
		}))
	}
}

// FuzzEntries: whatever a key and a value have, reading an entry ends and names its other one or says
// why not.
func FuzzEntries(f *testing.F) {
	m := Timer{Name: Name{"f", "a"}, Partition: feed.Partitions - 1, Due: 9, Context: []byte("{}")}
	f.Add(list.timeKey(&m)[len("time"):], append(make([]byte, nonceSize), "\x01{}"...))
	f.Add(list.nameKey(m.Name)[len("name"):], m.named())
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, e := range []*Entry{list.ByTime(key, value), list.ByName(key, value)} {
			require.Equal(t, e.err == nil && !e.piece, e.Other != nil)
		}
	})
}
