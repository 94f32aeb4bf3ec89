package eventing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

// modelCode notes for each document the generations of the revisions that it was called for, counts
// the calls for all documents with the same last digit, and sets a timer for each call, whose
// callback counts.
const modelCode = `
function note(meta) {
	var key = "log:" + meta.id, was = dst[key] || {seen: []};
	var generation = parseInt(meta.rev);
	was.seen.push(generation);
	dst[key] = was;
	var group = "group:" + meta.id.slice(-1), calls = dst[group] || {n: 0};
	dst[group] = {n: calls.n + 1};
	createTimer(fire, new Date(Date.now() + generation % 40), meta.id + ":" + generation, {ref: meta.id + ":" + generation});
}
function OnUpdate(doc, meta) { note(meta); dst["copy:" + meta.id] = {v: doc.v}; }
function OnDelete(meta, options) { note(meta); delete dst["copy:" + meta.id]; }
function fire(context) {
	var key = "timer:" + context.ref, was = dst[key] || {n: 0};
	dst[key] = {n: was.n + 1};
}`

// mortal is a store that a process has open until it dies: whatever it does then fails.
type mortal struct {
	kv.Store
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.View(ctx, fn)
}

func (m *mortal) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return m.Store.Update(ctx, func(tx kv.Tx) error {
		if m.dead.Load() {
			return errDead
		}
		return fn(tx)
	})
}

func (m *mortal) Watch(ctx context.Context, key, seen []byte) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Watch(ctx, key, seen)
}

// TestModel: random writes and deletions, while the function is paused, resumed with another number
// of workers, and moves between processes that end or die. In the end its effects are those of a
// naive model: every document was seen in its last state, its states in their order and none twice;
// every timer has fired once.
func TestModel(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, store kv.Store) {
		const lease = 500 * time.Millisecond
		store = held(store, func() error {
			time.Sleep(rand.N(10 * time.Millisecond)) // so that batches run over ones that are being stored
			return nil
		})
		keeper := newNode(t, store, lease) // one that stays, for the test itself
		keeper.create("src", "dst")
		keeper.define("f", modelCode, "", "+dst=dst")
		keeper.deploy("f")
		ctx, cancel := context.WithTimeout(t.Context(), shorter(6*time.Second, 3*time.Second))
		defer cancel()
		var all sync.WaitGroup
		for w := range 3 {
			all.Go(func() { writeRandomly(ctx, keeper, rand.New(rand.NewPCG(uint64(w), 1))) })
		}
		all.Go(func() { changeRandomly(ctx, keeper, rand.New(rand.NewPCG(7, 1))) })
		all.Go(func() { liveRandomly(ctx, t, store, lease, rand.New(rand.NewPCG(8, 1))) })
		all.Wait()
		state := keeper.state("f")
		if state == definition.Paused {
			keeper.deploy("f")
		}
		keeper.eventually(func() bool { return modelHolds(keeper) == nil },
			fmt.Sprint("the model: ", modelHolds(keeper)))
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, modelHolds(keeper))
		keeper.close()
		require.NoError(t, store.Close())
	})
}

func shorter(full, short time.Duration) time.Duration {
	if testing.Short() {
		return short
	}
	return full
}

func (n *node) state(name string) definition.State {
	r, err := n.engine.Registry().Get(context.Background(), refOf(name))
	require.NoError(n.t, err)
	return r.State
}

func writeRandomly(ctx context.Context, n *node, random *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprint("doc-", random.IntN(40))
		switch random.IntN(10) {
		case 0, 1:
			if n.get("src", id) != "" {
				n.put("src", id, "")
			}
		default:
			n.put("src", id, fmt.Sprintf(`{"v":%d}`, i))
		}
		time.Sleep(time.Duration(random.IntN(5)) * time.Millisecond)
	}
}

// changeRandomly pauses and resumes the function.
func changeRandomly(ctx context.Context, n *node, random *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(200+random.IntN(500)) * time.Millisecond)
		if n.pause("f") != definition.Paused {
			continue
		}
		r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
		require.NoError(n.t, err)
		f := r.Draft.Clone()
		f.Settings.WorkerCount = 1 + random.Int64N(4)
		_, err = n.engine.Registry().Put(context.Background(), f, r)
		if !errors.Is(err, registry.ErrChanged) {
			require.NoError(n.t, err)
		}
		n.deploy("f")
	}
}

// liveRandomly opens other processes on the store, which end after a while, or die.
func liveRandomly(ctx context.Context, t *testing.T, store kv.Store, lease time.Duration, random *rand.Rand) {
	for ctx.Err() == nil {
		m := &mortal{Store: store}
		n := newNode(t, m, lease)
		time.Sleep(time.Duration(100+random.IntN(700)) * time.Millisecond)
		if random.IntN(2) == 0 {
			m.dead.Store(true)
		}
		n.close()
	}
}

// modelHolds compares what the function has done with what it should have done.
func modelHolds(n *node) error {
	type seen struct{ Seen []int64 }
	want := map[string]int64{} // the generation of each document's winner
	copies := map[string]string{}
	feed := n.store.DB("src").Feed()
	_, err := feed.Changes(context.Background(), storage.ChangesOptions{Limit: -1, IncludeDocs: true},
		func(ch *storage.Change) error {
			want[ch.ID] = ch.Revs[0].Pos
			if !ch.Deleted {
				copies["copy:"+ch.ID] = string(ch.Doc.Body)
			}
			return nil
		})
	if err != nil {
		return err
	}
	calls := map[string]int{}
	for id, generation := range want {
		var log seen
		if err := json.Unmarshal([]byte(n.get("dst", "log:"+id)), &log); err != nil {
			return fmt.Errorf("%s was not seen: %w", id, err)
		}
		calls["group:"+id[len(id)-1:]] += len(log.Seen)
		if last := log.Seen[len(log.Seen)-1]; last != generation {
			return fmt.Errorf("%s was seen last at %d, it is at %d", id, last, generation)
		}
		if !slices.IsSorted(log.Seen) || len(slices.Compact(slices.Clone(log.Seen))) != len(log.Seen) {
			return fmt.Errorf("%s was seen out of order, or twice: %d", id, log.Seen)
		}
		if got := n.get("dst", "copy:"+id); got != copies["copy:"+id] {
			return fmt.Errorf("the copy of %s is %s, want %s", id, got, copies["copy:"+id])
		}
		for _, generation := range log.Seen {
			key := fmt.Sprintf("timer:%s:%d", id, generation)
			if got := n.get("dst", key); got != `{"n":1}` {
				return fmt.Errorf("%s is %s", key, got)
			}
		}
	}
	for group, count := range calls {
		if got := n.get("dst", group); got != fmt.Sprintf(`{"n":%d}`, count) {
			return fmt.Errorf("%s is %s after %d calls", group, got, count)
		}
	}
	return nil
}
