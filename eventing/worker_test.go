package eventing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// heldStore is a store whose commits of workers' batches call a function first, which may hold them
// or make them fail.
type heldStore struct {
	kv.Store
	hold func() error
}

func (s *heldStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return s.Store.Update(ctx, func(tx kv.Tx) error {
		seen := &batchTx{Tx: tx}
		if err := fn(seen); err != nil {
			return err
		}
		if seen.moves {
			return s.hold()
		}
		return nil
	})
}

// partitionKeys begin the keys of the partitions of the first instances.
var partitionKeys = func() (prefixes [][]byte) {
	for instance := range int64(64) {
		prefixes = append(prefixes, spaceOf(instance).sub(tagPartition))
	}
	return prefixes
}()

// batchTx is a transaction that tells whether it moves partitions: whether it is that of a batch of
// events.
type batchTx struct {
	kv.Tx
	moves bool
}

func (tx *batchTx) Set(key, value []byte) {
	for _, prefix := range partitionKeys {
		tx.moves = tx.moves || bytes.HasPrefix(key, prefix)
	}
	tx.Tx.Set(key, value)
}

func held(store kv.Store, hold func() error) *heldStore { return &heldStore{store, hold} }

// newHeld is a node whose batches wait for hold before they commit.
func newHeld(t *testing.T, hold func(n *node) error) *node {
	t.Helper()
	var n *node
	n = newNode(t, held(memkv.New(), func() error { return hold(n) }), 0)
	n.create("src", "dst")
	return n
}

func (n *node) putSome(from, to int) {
	n.t.Helper()
	for i := from; i < to; i++ {
		n.put("src", fmt.Sprint("doc-", i), fmt.Sprintf(`{"i":%d}`, i))
	}
}

// handledMeanwhile writes the documents from 1 on, and reports whether handlers run for any of them
// before it returns.
func (n *node) handledMeanwhile(to int) bool {
	calls := func() int64 { return n.js.Stats().Calls["events"].Count }
	before := calls()
	n.putSome(1, to)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if calls() > before {
			return true
		}
	}
	return false
}

// slowly holds batches for some milliseconds.
func slowly(*node) error {
	time.Sleep(5 * time.Millisecond)
	return nil
}

// TestHandlersRunWhileABatchIsStored: the handlers of a batch run before the batch before it is
// committed.
func TestHandlersRunWhileABatchIsStored(t *testing.T) {
	var held, ran atomic.Bool
	n := newHeld(t, func(n *node) error {
		if held.CompareAndSwap(false, true) {
			ran.Store(n.handledMeanwhile(150))
		}
		return nil
	})
	n.putSome(0, 1)
	n.define("f", `function OnUpdate(doc, meta) { dst[meta.id] = {i: doc.i, was: dst[meta.id]}; }`, "", "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.count("dst") == 150 }, "150 documents")
	require.True(t, ran.Load(), "no handlers ran while the first batch was held")
	require.Equal(t, `{"i":149}`, n.get("dst", "doc-149"))
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 150 }, "150 events are accounted for")
	require.Zero(t, n.stat("f", "conflicts"))
}

// TestBatchesSeeTheOneBefore: what handlers read, ask of timers and find in queries is as the
// events before have left it, though their batch is on its way to the store.
func TestBatchesSeeTheOneBefore(t *testing.T) {
	n := newHeld(t, slowly)
	n.putSome(0, 1000)
	n.define("f", `
function OnUpdate(doc, meta) {
	var c = dst["count"] || {n: 0};
	if (cancelTimer(later, "last") !== (c.n > 0)) dst["wrong timer:" + c.n] = {};
	createTimer(later, new Date(Date.now() + 3600000), "last", {});
	if (c.n % 10 === 0) {
		var found = 0, n = c.n;
		for (var row of SELECT n FROM dst WHERE n = $n) found++;
		if (found !== (n > 0 ? 1 : 0)) dst["wrong query:" + c.n] = {};
	}
	dst["count"] = {n: c.n + 1};
}
function later() {}`, "", "+dst=dst")
	n.deploy("f")
	n.becomes("dst", "count", `{"n":1000}`)
	require.EqualValues(t, 1, n.count("dst"), "a handler has seen what was not so")
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 1000 }, "1000 events")
}

// TestWorkersThatOverlapCountExactly: workers whose batches conflict with each other, each running
// ahead of itself, lose no count.
func TestWorkersThatOverlapCountExactly(t *testing.T) {
	n := newHeld(t, slowly)
	n.putSome(0, 600)
	n.define("f", `function OnUpdate(doc, meta) { var c = dst["count"] || {n: 0}; dst["count"] = {n: c.n + 1}; }`,
		`{"worker_count":3}`, "+dst=dst")
	n.deploy("f")
	n.becomes("dst", "count", `{"n":600}`)
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 600 }, "600 events")
}

// TestBatchOverOneThatRunsAgain: when a batch has to run again and does something else then, the
// one that has run over it sees that.
func TestBatchOverOneThatRunsAgain(t *testing.T) {
	var held atomic.Bool
	n := newHeld(t, func(n *node) error {
		if held.CompareAndSwap(false, true) {
			assert.True(n.t, n.handledMeanwhile(150))
			n.put("dst", "mode", `{"late":true}`)
		}
		return nil
	})
	n.putSome(0, 1)
	n.define("f", `
function OnUpdate(doc, meta) {
	var late = dst["mode"] !== undefined;
	if (late && doc.i === 0) dst["key"] = {};
	dst[meta.id] = {late: late, key: dst["key"] !== undefined};
}`, "", "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.count("dst") == 152 }, "152 documents")
	for i := range 150 {
		require.Equal(t, `{"late":true,"key":true}`, n.get("dst", fmt.Sprint("doc-", i)))
	}
	require.Positive(t, n.stat("f", "conflicts"))
}

// TestBatchOverOneThatFails: when a batch cannot be stored, the one that has run over it has no
// effect; both are done when the function goes on.
func TestBatchOverOneThatFails(t *testing.T) {
	var held atomic.Bool
	broken := errors.New("the store is broken")
	n := newHeld(t, func(n *node) error {
		if held.CompareAndSwap(false, true) {
			assert.True(n.t, n.handledMeanwhile(150))
			assert.Zero(n.t, n.count("dst"))
			return broken
		}
		return nil
	})
	n.putSome(0, 1)
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1}; }`, "", "+dst=dst")
	n.deploy("f")
	n.eventually(func() bool { return n.count("dst") == 150 }, "150 documents")
	for i := range 150 {
		require.Equal(t, `{"n":1}`, n.get("dst", fmt.Sprint("doc-", i)))
	}
	require.Contains(t, n.log("f"), broken.Error())
	n.eventually(func() bool { return n.stat("f", "on_update_success") == 150 }, "150 events are accounted for")
}

// TestPauseWhileBatchesOverlap: a function that is paused while one batch is stored and another one
// has run over it stops behind both, and goes on there.
func TestPauseWhileBatchesOverlap(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	n := newHeld(t, func(n *node) error {
		if first.CompareAndSwap(false, true) {
			assert.True(n.t, n.handledMeanwhile(150))
			close(held)
			<-release
		}
		return nil
	})
	n.putSome(0, 1)
	n.define("f", `
function OnUpdate(doc, meta) { dst[meta.id] = {n: (dst[meta.id] ? dst[meta.id].n : 0) + 1}; }`, "", "+dst=dst")
	n.deploy("f")
	<-held
	go func() {
		time.Sleep(20 * time.Millisecond) // the pause is on its way
		close(release)
	}()
	require.Equal(t, definition.Paused, n.pause("f"))
	done := n.count("dst")
	require.Equal(t, done, n.stat("f", "on_update_success"))
	require.Equal(t, definition.Deployed, n.deploy("f"))
	n.eventually(func() bool { return n.count("dst") == 150 }, "150 documents")
	for i := range 150 {
		require.Equal(t, `{"n":1}`, n.get("dst", fmt.Sprint("doc-", i)))
	}
}
