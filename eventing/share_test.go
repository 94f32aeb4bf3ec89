package eventing

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// countCode counts in a document for each how often it was seen, and once more an instant later, by
// a timer.
const countCode = `
function count(key) { dst[key] = {n: (dst[key] || {n: 0}).n + 1}; }
function OnUpdate(doc, meta) {
	count(meta.id);
	createTimer(later, new Date(Date.now() + 5), meta.id, meta.id);
}
function later(id) { count("timer:" + id); }`

// ownersNow is how many partitions of f each process has; the zero ID is of those that nobody has.
func (n *node) ownersNow() map[nodes.ID]int {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(n.t, err)
	owners, _, err := ownersOf(context.Background(), n.kv, spaceOf(r.Instance))
	require.NoError(n.t, err)
	counts := make(map[nodes.ID]int)
	for _, id := range owners {
		counts[id]++
	}
	return counts
}

// owned is how many partitions of f the process has.
func (n *node) owned() int { return n.ownersNow()[n.engine.members.Self()] }

// counts is what the process has counted of f.
func (n *node) counts() map[string]int64 {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf("f"))
	require.NoError(n.t, err)
	return n.engine.statsOf(r).now().Counts
}

// backlog is what is told of events of a function that are not processed yet.
func (n *node) backlog(name string) int64 {
	n.t.Helper()
	r, err := n.engine.Registry().Get(context.Background(), refOf(name))
	require.NoError(n.t, err)
	s, err := n.engine.Stats(context.Background(), r, definition.Usual)
	require.NoError(n.t, err)
	return s.Backlog
}

// counted waits until each of so many documents was counted, and its timer has fired, and looks
// that it was once.
func (n *node) counted(documents int) {
	n.t.Helper()
	n.eventually(func() bool { return n.count("dst") == 2*int64(documents) },
		fmt.Sprintf("%d documents were not counted", documents))
	feed := n.store.DB("dst").Feed()
	_, err := feed.Changes(context.Background(), storage.ChangesOptions{Limit: -1, IncludeDocs: true},
		func(ch *storage.Change) error {
			if string(ch.Doc.Body) != `{"n":1}` {
				n.t.Errorf("%s: %s", ch.ID, ch.Doc.Body)
			}
			return nil
		})
	require.NoError(n.t, err)
}

// TestNodesShareAFunction: each of three processes has a third of the partitions and does what is
// in them, timers too, each effect once; all of it goes on when two of them end.
func TestNodesShareAFunction(t *testing.T) {
	store := memkv.New()
	const lease = time.Hour // nobody is taken for dead: who ends gives up what it has
	list := []*node{newNode(t, store, lease), newNode(t, store, lease), newNode(t, store, lease)}
	list[0].create("src", "dst")
	list[0].define("f", countCode, `{"worker_count":2}`, "+dst=dst")
	list[1].deploy("f")
	list[2].eventually(func() bool {
		return list[0].owned() >= 21 && list[1].owned() >= 21 && list[2].owned() >= 21
	}, "the partitions are not shared")
	for i := range 300 {
		list[i%3].put("src", fmt.Sprint("a", i), `{}`)
	}
	list[0].counted(300)
	var events, timers int64
	list[0].eventually(func() bool { // what is done is counted after its effects are there
		events, timers = 0, 0
		for _, n := range list {
			c := n.counts()
			events += c[updatesDone]
			timers += c[timersDone]
		}
		return events >= 300 && timers >= 300
	}, "not all that was done is counted")
	for _, n := range list {
		require.Positive(t, n.counts()[updatesDone], "a process does nothing")
		require.Positive(t, n.counts()[timersDone])
	}
	require.EqualValues(t, 300, events)
	require.EqualValues(t, 300, timers)
	for _, n := range list {
		n.eventually(func() bool { return n.stat("f", updatesDone) == 300 && n.stat("f", timersDone) == 300 },
			"a process does not tell what all have done")
		n.eventually(func() bool { return n.backlog("f") == 0 }, "there is a backlog of what is done")
	}
	require.Empty(t, list[0].checked())
	list[0].close()
	list[1].eventually(func() bool { return list[1].stat("f", updatesDone) == 300 }, "what was counted is gone with it")
	list[1].eventually(func() bool { return list[1].owned() == 32 && list[2].owned() == 32 }, "a third is nobody's")
	list[2].close()
	for i := range 100 {
		list[1].put("src", fmt.Sprint("b", i), `{}`)
	}
	list[1].counted(400)
	require.Equal(t, partitions, list[1].owned())
	require.Equal(t, definition.Undeployed, list[1].undeploy("f"))
}

// TestBacklogOfNobody: what no process reads is told as backlog, by any process: that of a paused
// function, of processes that have died, and of a process that has begun and has read nothing yet.
func TestBacklogOfNobody(t *testing.T) {
	store := memkv.New()
	const lease = time.Hour // nobody is taken for dead
	n := newNode(t, store, lease)
	n.create("src", "dst")
	n.define("f", countCode, `{}`, "+dst=dst")
	n.deploy("f")
	n.put("src", "first", `{}`)
	n.counted(1)
	n.eventually(func() bool { return n.backlog("f") == 0 }, "there is a backlog of what is done")
	require.Equal(t, definition.Paused, n.pause("f"))
	require.Zero(t, n.backlog("f"), "a pause makes a backlog")
	for i := range 7 {
		n.put("src", fmt.Sprint("paused", i), `{}`)
	}
	require.EqualValues(t, 7, n.backlog("f"))
	n.deploy("f")
	n.counted(8)
	n.eventually(func() bool { return n.backlog("f") == 0 }, "there is a backlog of what is done")

	leave := n.leave
	n.leave = func() {} // it is still among the members, as for its lease after a kill
	n.die()
	defer leave()
	other := newNode(t, store, lease)
	for i := range 5 {
		other.put("src", fmt.Sprint("dead", i), `{}`)
	}
	require.GreaterOrEqual(t, other.backlog("f"), int64(5))
	require.LessOrEqual(t, other.backlog("f"), int64(5+8), "more than all documents")
}

// TestStatisticsStay: what a process has counted until it ended is told by the others, up to the
// last event.
func TestStatisticsStay(t *testing.T) {
	store := memkv.New()
	const lease = time.Hour
	first, second := newNode(t, store, lease), newNode(t, store, lease)
	first.create("src", "dst")
	first.define("f", countCode, "", "+dst=dst")
	first.deploy("f")
	shared := func() bool { return first.owned() == 32 && second.owned() == 32 }
	first.eventually(shared, "the partitions are not shared")
	for i := range 100 {
		first.put("src", fmt.Sprint(i), `{}`)
	}
	first.counted(100)
	first.close()
	second.eventually(func() bool {
		return second.stat("f", updatesDone) == 100 && second.stat("f", timersDone) == 100
	}, "what the other process has counted last is gone with it")
}

// TestHandOver: processes come and end while documents are written; events and timers go from one
// to the other between two batches, none is lost, none is done twice.
func TestHandOver(t *testing.T) {
	store := memkv.New()
	const lease = time.Hour
	keeper := newNode(t, store, lease)
	keeper.create("src", "dst")
	keeper.define("f", countCode, "", "+dst=dst")
	keeper.deploy("f")
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	written := 0
	writing.Go(func() {
		for ; ctx.Err() == nil; written++ {
			keeper.put("src", fmt.Sprint(written), `{}`)
			time.Sleep(2 * time.Millisecond) // no more than any machine counts
		}
	})
	for range 4 {
		guest := newNode(t, store, lease)
		guest.eventually(func() bool {
			return guest.owned() == partitions/2 && guest.counts()[updatesDone] > 0
		}, "the guest does nothing")
		guest.close()
		keeper.eventually(func() bool { return keeper.owned() == partitions }, "the keeper did not take all back")
	}
	stop()
	writing.Wait()
	keeper.counted(written)
	require.Empty(t, keeper.checked())
}

// TestNodeDies: the partitions and timers of a process that dies are others' as soon as it was not
// seen for a lease; if it lives all the same it can do nothing with them any more.
func TestNodeDies(t *testing.T) {
	store := memkv.New()
	const lease = 2 * time.Second
	keeper := newNode(t, store, lease)
	keeper.create("src", "dst")
	keeper.define("f", countCode, "", "+dst=dst")
	keeper.deploy("f")
	m := &mortal{Store: store}
	victim := newNode(t, m, lease)
	victim.eventually(func() bool { return victim.owned() == partitions/2 }, "the partitions are not shared")
	for i := range 50 {
		keeper.put("src", fmt.Sprint("a", i), `{}`)
	}
	m.dead.Store(true)
	for i := range 50 {
		keeper.put("src", fmt.Sprint("b", i), `{}`)
	}
	keeper.counted(100)
	keeper.eventually(func() bool { return keeper.owned() == partitions }, "the dead still has partitions")
	m.dead.Store(false) // it was not dead, but could not be seen
	keeper.eventually(func() bool { return victim.owned() == partitions/2 }, "the late one has no share again")
	for i := range 50 {
		keeper.put("src", fmt.Sprint("c", i), `{}`)
	}
	keeper.counted(150)
	victim.close()
}

// TestZombie: a batch whose partition has become that of another process, which lives, while its
// handlers ran, leaves nothing.
func TestZombie(t *testing.T) {
	n := newNode(t, memkv.New(), time.Hour)
	n.create("src", "dst")
	n.define("f", `
function OnUpdate(doc, meta) {
	for (var end = Date.now() + 3000; Date.now() < end;);
	dst[meta.id] = {};
}`, "", "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.owned() == partitions }, "the function does not run")
	n.put("src", "a", `{}`)
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	s, other := spaceOf(r.Instance), nodes.ID{1}
	n.eventually(func() bool { return n.js.Stats().Running > n.js.Stats().Idle }, "no handler runs")
	_, err = n.kv.Update(t.Context(), func(tx kv.Tx) error {
		tx.Set(tuple.AppendBytes(keyspace.NodesPrefix(), other[:]), append(make([]byte, 24), "{}"...))
		tx.Set(s.owner(feed.PartitionOf("a")), other[:])
		tx.Atomic(kv.Add, s.ownersChanged(), oneMore)
		return nil
	})
	require.NoError(t, err)
	// The rest is divided anew when the batch has come to its end.
	n.eventually(func() bool { return n.owned() == partitions/2 }, "the share is as it was")
	require.Empty(t, n.get("dst", "a"))
}

// TestResetOfAllNodes: counters are reset in all processes.
func TestResetOfAllNodes(t *testing.T) {
	store := memkv.New()
	a, b := newNode(t, store, time.Hour), newNode(t, store, time.Hour)
	a.create("src", "dst")
	a.define("f", countCode, "", "+dst=dst")
	a.deploy("f")
	a.eventually(func() bool { return a.owned() == partitions/2 && b.owned() == partitions/2 }, "not shared")
	for i := range 50 {
		a.put("src", fmt.Sprint(i), `{}`)
	}
	a.counted(50)
	for _, n := range []*node{a, b} {
		n.eventually(func() bool { return n.stat("f", updatesDone) == 50 }, "not all is told")
	}
	r, err := a.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	require.NoError(t, a.engine.ResetStats(t.Context(), r))
	for _, n := range []*node{b, a} {
		n.eventually(func() bool { return n.stat("f", updatesDone) == 0 }, "a process has not reset")
	}
	a.put("src", "x", `{}`)
	for _, n := range []*node{b, a} {
		n.eventually(func() bool { return n.stat("f", updatesDone) == 1 }, "the next one is not counted")
	}
}

// TestCountersSurviveAKill: what a process has counted that was alone on its store, and that has had
// no chance to leave it, is told by the next one.
func TestCountersSurviveAKill(t *testing.T) {
	store := memkv.New()
	killed := newNode(t, store, 0)
	killed.create("src", "dst")
	killed.define("f", countCode, "", "+dst=dst")
	killed.deploy("f")
	for i := range 20 {
		killed.put("src", fmt.Sprint(i), `{}`)
	}
	killed.counted(20)
	next := newNode(t, store, 0)
	next.eventually(func() bool { return next.stat("f", updatesDone) == 20 && next.stat("f", timersDone) == 20 },
		"what was counted is gone with the process")
}

// TestResetOfOneNode: a process that is alone resets what it has stored as well, and loses nothing
// that it counts after that.
func TestResetOfOneNode(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.define("f", countCode, "", "+dst=dst")
	n.deploy("f")
	r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	n.put("src", "a", `{}`)
	n.counted(1)
	n.eventually(func() bool { return n.stat("f", timersDone) == 1 }, "the timer is not counted")
	n.engine.shareStatsOnce(t.Context())
	require.NoError(t, n.engine.ResetStats(t.Context(), r))
	require.Zero(t, n.stat("f", updatesDone))
	n.put("src", "b", `{}`)
	n.eventually(func() bool { return n.stat("f", updatesDone) == 1 }, "the next one is not counted")
	n.engine.shareStatsOnce(t.Context())
	require.EqualValues(t, 1, n.stat("f", updatesDone))
}
