package eventing

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// firedStore is a store whose commits of batches of timers call a function first.
type firedStore struct {
	kv.Store
	hold func()
}

func (s *firedStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return s.Store.Update(ctx, func(tx kv.Tx) error {
		seen := &firedTx{Tx: tx}
		err := fn(seen)
		if err == nil && seen.fires {
			s.hold()
		}
		return err
	})
}

// firedTx is a transaction that tells whether it reads a timer by its time, which is to fire it.
type firedTx struct {
	kv.Tx
	fires bool
}

func (tx *firedTx) Get(key []byte) ([]byte, error) {
	tx.fires = tx.fires || bytes.HasPrefix(key, spaceOf(1).sub(tagDue))
	return tx.Tx.Get(key)
}

// dueTogether is how many timers one event makes that are due at the same time: more than a batch
// has.
const dueTogether = 3 * batchItems

// newFiring is a node with a function whose timers are all due at once, while the first batch of
// them is held: hold is called when callbacks of the second one run.
func newFiring(t *testing.T, callback string, hold func(n *node)) *node {
	t.Helper()
	var n *node
	var held atomic.Bool
	calls := func() int64 { return n.js.Stats().Calls["events"].Count }
	n = newNode(t, &firedStore{memkv.New(), func() {
		if !held.CompareAndSwap(false, true) {
			return
		}
		before := calls()
		for end := time.Now().Add(20 * time.Second); calls() == before && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		assert.Greater(t, calls(), before, "no callbacks ran while the first batch was held")
		hold(n)
	}}, 0)
	n.create("src", "dst")
	n.define("f", fmt.Sprintf(`
function OnUpdate(doc, meta) {
	for (let i = 0; i < %d; i++) createTimer(fire, new Date(doc.due), "t" + i, {i: i});
}
function fire(context) { %s }`, dueTogether, callback), "", "+dst=dst")
	n.deploy("f")
	n.put("src", "x", fmt.Sprintf(`{"due":%d}`, time.Now().Add(2*time.Second).UnixMilli()))
	return n
}

// TestTimersRunWhileABatchIsStored: the callbacks of a batch of timers run before the batch before
// it is committed, and each timer fires once.
func TestTimersRunWhileABatchIsStored(t *testing.T) {
	n := newFiring(t, `const key = "t" + context.i; dst[key] = {n: (dst[key] ? dst[key].n : 0) + 1};`, func(*node) {})
	n.eventually(func() bool { return n.count("dst") == dueTogether }, "not all have fired")
	for i := range dueTogether {
		require.Equal(t, `{"n":1}`, n.get("dst", fmt.Sprint("t", i)))
	}
	n.eventually(func() bool { return n.stat("f", "timer_callback_success") == dueTogether }, "not all are counted")
	require.Zero(t, n.stat("f", "conflicts"))
	require.Empty(t, n.checked())
}

// TestTimersOverOnesThatRunAgain: when a batch of timers has to run again, the one that has run
// over it sees what it does then.
func TestTimersOverOnesThatRunAgain(t *testing.T) {
	n := newFiring(t, `
	const late = dst["mode"] !== undefined;
	if (late && context.i === 0) dst["key"] = {};
	dst["t" + context.i] = {late: late, key: dst["key"] !== undefined};`,
		func(n *node) { n.put("dst", "mode", `{}`) })
	n.eventually(func() bool { return n.count("dst") == dueTogether+2 }, "not all have fired")
	for i := range dueTogether {
		require.Equal(t, `{"late":true,"key":true}`, n.get("dst", fmt.Sprint("t", i)))
	}
	require.Positive(t, n.stat("f", "conflicts"))
	require.Empty(t, n.checked())
}

// TestTimersChangedWhileTheyRun: a callback cancels a timer and replaces another one whose
// callbacks have run already, in the batch behind it. The one does not fire, the other one once,
// with what it was given last.
func TestTimersChangedWhileTheyRun(t *testing.T) {
	n := newFiring(t, fmt.Sprintf(`
	const last = %d;
	if (context.i === 0) {
		dst["cancelled"] = {was: cancelTimer(fire, "t" + (last - 1))};
		createTimer(fire, new Date(), "t" + last, {i: last, again: true});
	}
	const key = "t" + context.i;
	dst[key] = {n: (dst[key] ? dst[key].n : 0) + 1, again: context.again === true};`, 2*batchItems-1), func(*node) {})
	// One less, and "cancelled".
	n.eventually(func() bool { return n.count("dst") == dueTogether }, "not all have fired")
	n.becomes("dst", fmt.Sprint("t", 2*batchItems-1), `{"n":1,"again":true}`)
	require.Equal(t, `{"was":true}`, n.get("dst", "cancelled"))
	require.Empty(t, n.get("dst", fmt.Sprint("t", 2*batchItems-2)))
	n.eventually(func() bool { return n.stat("f", "timer_callback_success") == dueTogether-1 }, "not all are counted")
	require.Empty(t, n.checked())
}
