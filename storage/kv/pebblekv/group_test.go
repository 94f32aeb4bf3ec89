package pebblekv

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// blindOp is one write of TestGroupOrder.
type blindOp struct {
	kind  int // 0 set, 1 clear, 2 clear range, 3.. atomic operations
	key   string
	value []byte
}

func (o blindOp) apply(tx kv.Tx) {
	switch o.kind {
	case 0:
		tx.Set([]byte(o.key), o.value)
	case 1:
		tx.Clear([]byte(o.key))
	case 2:
		tx.ClearRange([]byte(o.key), append([]byte(o.key), 0xfe))
	default:
		tx.Atomic(kv.AtomicOp(o.kind-2), []byte(o.key), o.value)
	}
}

func (o blindOp) model(rows map[string][]byte) {
	switch o.kind {
	case 0:
		rows[o.key] = o.value
	case 1:
		delete(rows, o.key)
	case 2:
		for key := range rows {
			if key >= o.key && key < o.key+"\xfe" {
				delete(rows, key)
			}
		}
	default:
		if v := txn.Eval(kv.AtomicOp(o.kind-2), rows[o.key], o.value); v != nil {
			rows[o.key] = v
		} else {
			delete(rows, o.key)
		}
	}
}

// TestGroupOrder: many transactions that do not read write the same few keys in every way at once.
// The result is that of running them one after another in the order of their versionstamps,
// whatever groups they met in.
func TestGroupOrder(t *testing.T) {
	type committed struct {
		stamp kv.Versionstamp
		ops   []blindOp
	}
	for _, group := range []int{1, 3, 4096} {
		s, err := Open(t.TempDir(), Options{Log: silent, MaxGroup: group})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var all []committed
		var writers sync.WaitGroup
		for range 32 {
			writers.Go(func() {
				for range 60 {
					ops := randomOps()
					stamp := mustUpdate(t, s, func(tx kv.Tx) error {
						for _, o := range ops {
							o.apply(tx)
						}
						return nil
					})
					mu.Lock()
					all = append(all, committed{stamp, ops})
					mu.Unlock()
				}
			})
		}
		writers.Wait()
		slices.SortFunc(all, func(a, b committed) int { return bytes.Compare(a.stamp[:], b.stamp[:]) })
		want := map[string][]byte{}
		for i, c := range all {
			if i > 0 && c.stamp == all[i-1].stamp {
				t.Errorf("versionstamp %x twice", c.stamp)
			}
			for _, o := range c.ops {
				o.model(want)
			}
		}
		compareRows(t, s, want)
		m := s.Metrics()
		if m.GroupSize.Sum != uint64(len(all)) || m.GroupSize.Max > uint64(group) {
			t.Errorf("metrics %+v", m)
		}
		if group > 1 && m.Postponed == 0 {
			t.Error("no transaction was postponed: the test tests nothing")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func randomOps() (ops []blindOp) {
	for range 1 + rand.IntN(3) {
		o := blindOp{
			kind:  rand.IntN(9),
			key:   fmt.Sprintf("k%d", rand.IntN(6)),
			value: []byte{byte(rand.IntN(4)), byte(rand.IntN(4))},
		}
		if rand.IntN(2) == 0 {
			o.kind = 3 // additions meet additions
		}
		ops = append(ops, o)
	}
	return ops
}

func compareRows(t *testing.T, s kv.Store, want map[string][]byte) {
	t.Helper()
	got := map[string][]byte{}
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte("\xff"), kv.RangeOptions{})
		for it.Next() {
			got[string(it.Key())] = bytes.Clone(it.Value())
		}
		return it.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestFolding: additions to one key by many transactions at once become few writes, and none is
// lost.
func TestFolding(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers, each = 64, 50
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				mustUpdate(t, s, func(tx kv.Tx) error {
					tx.Atomic(kv.Add, []byte("n"), []byte{1, 0, 0, 0})
					return nil
				})
			}
		})
	}
	all.Wait()
	expectKey(t, s, "n", string([]byte{writers * each & 0xff, writers * each >> 8, 0, 0}))
	m := s.Metrics()
	if m.GroupSize.Count == m.GroupSize.Sum || m.CounterMisses > 1 || m.CounterHits < m.GroupSize.Count-1 {
		t.Errorf("metrics %+v", m)
	}
}

// TestFoldingForgets: after a group with very many counters few are remembered, in little room.
func TestFoldingForgets(t *testing.T) {
	f := newFolder(nil, newConflictSet(maphash.MakeSeed(), 1))
	for i := range 10 * maxCounters {
		c := &counter{key: fmt.Sprint(i), open: true}
		f.counters[c.key] = c
		f.open = append(f.open, c)
	}
	if err := f.close(nil, 2); err != nil {
		t.Fatal(err)
	}
	if len(f.counters) != maxCounters/2 || cap(f.open) > maxCounters {
		t.Errorf("%d counters are remembered, with room for %d in a group", len(f.counters), cap(f.open))
	}
}

// TestNoStarvation: a slow transaction that conflicts with a stream of quick ones gets through.
func TestNoStarvation(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stop atomic.Bool
	var quick sync.WaitGroup
	for range 16 {
		quick.Go(func() {
			for !stop.Load() {
				mustUpdate(t, s, func(tx kv.Tx) error {
					if _, err := tx.Get([]byte("hot")); err != nil {
						return err
					}
					tx.Set([]byte("hot"), nil)
					return nil
				})
			}
		})
	}
	runs := 0
	for range 20 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			runs++
			_, err := tx.Get([]byte("hot"))
			tx.Set([]byte("hot"), []byte("slow"))
			return err
		})
	}
	stop.Store(true)
	quick.Wait()
	t.Logf("%d runs for 20 commits, %d conflicts", runs, s.Metrics().Conflicts)
	if runs > 20*40 {
		t.Errorf("%d runs for 20 commits", runs)
	}
}

// TestSlowTransaction: one whose function takes much longer than a group gets through as well, and
// one that cannot, since it waits for another commit, does not stop the store.
func TestSlowTransaction(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent, fs: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var stop atomic.Bool
	var quick sync.WaitGroup
	for range 4 {
		quick.Go(func() {
			for !stop.Load() {
				mustUpdate(t, s, func(tx kv.Tx) error { tx.Set([]byte("hot"), nil); return nil })
			}
		})
	}
	slow := func(during func()) (runs int) {
		mustUpdate(t, s, func(tx kv.Tx) error {
			runs++
			_, err := tx.Get([]byte("hot"))
			during()
			tx.Set([]byte("hot"), []byte("slow"))
			return err
		})
		return runs
	}
	if runs := slow(func() { time.Sleep(20 * time.Millisecond) }); runs > starvingAfter+1 {
		t.Errorf("ran %d times", runs)
	}
	stop.Store(true)
	quick.Wait()
	runs := 0
	slow(func() {
		if runs++; runs <= starvingAfter+1 {
			mustUpdate(t, s, func(tx kv.Tx) error { tx.Set([]byte("hot"), []byte("nested")); return nil })
		}
	})
	if runs != starvingAfter+2 {
		t.Errorf("ran %d times", runs)
	}
	expectKey(t, s, "hot", "slow")
}

// TestQueue: those that run again go first, and a group is bounded in number and bytes.
func TestQueue(t *testing.T) {
	q := newQueue()
	var ids = map[*request]int{}
	for i := range 10 {
		r := &request{size: 10, retried: i%3 == 2}
		ids[r] = i
		q.put(r)
	}
	take := func(count, size int) (order []int) {
		taken, _ := q.take(nil, count, size, false)
		for _, r := range taken {
			order = append(order, ids[r])
		}
		return order
	}
	for i, want := range [][]int{{2, 5}, {8, 0, 1}, {3}, {4, 6, 7, 9}, nil} {
		limits := [][2]int{{2, 1000}, {100, 25}, {100, 1}, {100, 1000}, {100, 1000}}[i]
		if got := take(limits[0], limits[1]); slices.Compare(got, want) != 0 || cmp.Compare(len(got), len(want)) != 0 {
			t.Errorf("take %d: %v, want %v", i, got, want)
		}
	}
	q.close()
	if _, open := q.take(nil, 1, 1, true); open {
		t.Error("closed and empty, but open")
	}
}
