package eventing

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// inUse is how many bytes objects and stacks have, and how many goroutines there are.
func inUse() (bytes int64, goroutines int) {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}

// TestFunctionsRest: of many functions of which ten have work ten have workers, readers and programs;
// each of the others has a goroutine and a few kilobytes, and begins when there is something to do, not when
// it is deployed.
func TestFunctionsRest(t *testing.T) {
	functions := shorterCount(1000, 300)
	sources := functions / 10
	var bytes int64
	var goroutines int
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{}) // which has its keys elsewhere
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	n := newNode(t, store, 0)
	n.create("dst")
	n.engine.restAfter = 50 * time.Millisecond
	for i := range sources {
		n.create(fmt.Sprintf("src%d", i))
	}
	ctx := t.Context()
	deploy := func(i int) {
		f := &definition.Function{
			Name: fmt.Sprintf("f%d", i), Scope: definition.Global, Settings: definition.DefaultSettings(),
			Code: `function OnUpdate(doc, meta) { dst[meta.id + ':` + fmt.Sprint(i) + `'] = doc; }`,
		}
		f.Bindings.SourceBucket = fmt.Sprintf("src%d", i%sources)
		f.Bindings.SourceScope, f.Bindings.SourceCollection = "_default", "_default"
		f.Bindings.Buckets = []definition.DatabaseBinding{{
			Alias: "dst", BucketName: "dst", ScopeName: "_default", CollectionName: "_default",
			Access: definition.ReadWrite,
		}}
		r, err := n.engine.Registry().Put(ctx, f, nil)
		require.NoError(t, err)
		_, err = n.engine.Registry().Deploy(ctx, r, registry.Principal{Name: admin.Name, Roles: admin.Roles}, nil)
		require.NoError(t, err)
	}
	rest := func(all int) {
		n.eventually(func() bool { return n.engine.resting.Load() == int64(all) }, "not all rest")
	}
	first := sources // with what there is once for all, and for each source
	for i := range functions {
		if i == first {
			rest(first)
			bytes, goroutines = inUse()
		}
		deploy(i)
	}
	rest(functions)
	began := func() (workers int64) {
		n.engine.mu.Lock()
		defer n.engine.mu.Unlock()
		for _, s := range n.engine.stats {
			workers += s.now().Counts[workersStarted]
		}
		return workers
	}
	once := began()
	require.Zero(t, once, "workers of functions that had no event")
	bytesNow, goroutinesNow := inUse()
	more := functions - first
	t.Logf("%d bytes and %.2f goroutines for each", (bytesNow-bytes)/int64(more),
		float64(goroutinesNow-goroutines)/float64(more))
	require.Less(t, goroutinesNow-goroutines, more+10)
	require.Less(t, (bytesNow-bytes)/int64(more), int64(32<<10))

	n.put("src7", "a", `{"n":1}`)
	n.eventually(func() bool { return n.count("dst") == int64(functions/sources) }, "not all have handled the event")
	require.EqualValues(t, functions/sources, began()-once)
	rest(functions)
	n.put("src7", "a", `{"n":2}`)
	n.becomes("dst", "a:7", `{"n":2}`)
	require.Equal(t, definition.Paused, n.pause("f7"))
	require.Equal(t, definition.Undeployed, n.undeploy(fmt.Sprint("f", 7+sources)))
	n.put("src7", "b", `{}`)
	n.becomes("dst", fmt.Sprint("b:", 7+2*sources), `{}`)
	require.Empty(t, n.get("dst", "b:7"))
	require.Equal(t, definition.Deployed, n.deploy("f7"))
	n.becomes("dst", "b:7", `{}`)
}

// TestRestingTimers: a function that rests fires its timers, and sees that a document has expired.
func TestRestingTimers(t *testing.T) {
	n := newAlone(t, "src", "dst")
	n.engine.restAfter = 10 * time.Millisecond
	n.define("f", `
function Fire(context) { dst[context] = {}; }
function OnUpdate(doc, meta) { createTimer(Fire, new Date(Date.now() + doc.after), meta.id, meta.id); }`, "", "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{"after":700}`)
	n.eventually(func() bool { return n.stat("f", "timer_create_counter") == 1 }, "no timer")
	n.eventually(func() bool { return n.engine.resting.Load() == 1 }, "it does not rest")
	n.becomes("dst", "1", `{}`)
	require.NoError(t, n.store.Delete(t.Context(), "src"))
	n.eventually(func() bool {
		r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
		require.NoError(t, err)
		return r.State == definition.Undeployed
	}, "a function without a source")
}

// countedStore counts the transactions that write something of event functions or of jobs, but for what
// has been counted of functions: that, and signs of life, are stored by the clock.
type countedStore struct {
	kv.Store
	updates *atomic.Int64
}

// Update implements kv.Store.
func (s countedStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	steps := false
	stamp, err := s.Store.Update(ctx, func(tx kv.Tx) error {
		steps = false
		return fn(countedTx{tx, &steps})
	})
	if err == nil && steps {
		s.updates.Add(1)
	}
	return stamp, err
}

// countedTx notes whether a transaction of a countedStore writes what counts.
type countedTx struct {
	kv.Tx
	steps *bool
}

func (x countedTx) note(key []byte) {
	if rest, ok := bytes.CutPrefix(key, tuple.AppendInt(keyspace.EventingPrefix(), rootInstances)); ok {
		_, rest, _ = tuple.ReadInt(rest)
		if tag, _, _ := tuple.ReadInt(rest); tag == tagStats {
			return
		}
	}
	if bytes.HasPrefix(key, keyspace.EventingPrefix()) || bytes.HasPrefix(key, keyspace.JobsPrefix()) {
		*x.steps = true
	}
}

// Set implements kv.Tx.
func (x countedTx) Set(key, value []byte) { x.note(key); x.Tx.Set(key, value) }

// Clear implements kv.Tx.
func (x countedTx) Clear(key []byte) { x.note(key); x.Tx.Clear(key) }

// ClearRange implements kv.Tx.
func (x countedTx) ClearRange(begin, end []byte) { x.note(begin); x.Tx.ClearRange(begin, end) }

// Atomic implements kv.Tx.
func (x countedTx) Atomic(op kv.AtomicOp, key, param []byte) {
	x.note(key)
	x.Tx.Atomic(op, key, param)
}

// SetVersionstampedKey implements kv.Tx.
func (x countedTx) SetVersionstampedKey(key []byte, offset int, value []byte) {
	x.note(key)
	x.Tx.SetVersionstampedKey(key, offset, value)
}

// SetVersionstampedValue implements kv.Tx.
func (x countedTx) SetVersionstampedValue(key, value []byte, offset int) {
	x.note(key)
	x.Tx.SetVersionstampedValue(key, value, offset)
}

// TestDeployingIsFewSteps: to deploy a function takes so many transactions and no more, however many
// functions there are and however large its code is.
func TestDeployingIsFewSteps(t *testing.T) {
	var updates atomic.Int64
	n := newNode(t, countedStore{memkv.New(), &updates}, 0)
	n.create("src", "dst")
	n.engine.restAfter = 10 * time.Millisecond
	// The request, its job that is queued, taken and forgotten, the end of the state, and the share.
	const most = 6
	functions := shorterCount(200, 30)
	deploy := func(i int, code string) int64 {
		name := fmt.Sprintf("f%d", i)
		n.define(name, code, "", "+dst=dst")
		n.eventually(func() bool { return n.engine.resting.Load() == int64(i) }, "not all rest")
		before := updates.Load()
		require.Equal(t, definition.Deployed, n.deploy(name))
		n.eventually(func() bool { return n.engine.resting.Load() == int64(i)+1 }, "it does not rest")
		return updates.Load() - before
	}
	steps := make([]int64, functions)
	for i := range steps {
		steps[i] = deploy(i, `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`)
	}
	// A job that takes long has its lease prolonged, which is a step more on a machine that is busy, and
	// a job may be forgotten when the next function has begun to be deployed.
	for _, some := range [][]int64{steps[:functions/2], steps[functions/2:]} {
		require.LessOrEqual(t, slices.Min(some), int64(most))
	}
	t.Logf("%d steps for %d functions", updates.Load(), functions)
	if testing.Short() { // where a megabyte takes long to compile
		return
	}
	large := int64(math.MaxInt64)
	for i := range 3 {
		if large > most {
			large = deploy(functions+i, largeCode())
		}
	}
	require.LessOrEqual(t, large, int64(most))
}

// largeCode is a handler with a megabyte of functions before it.
func largeCode() string {
	line := "function f%d(a) { return a + " + strings.Repeat("1 + ", 1000) + "1; }\n"
	var code strings.Builder
	for i := 0; code.Len() < 1<<20-8<<10; i++ {
		fmt.Fprintf(&code, line, i)
	}
	code.WriteString(`function OnUpdate(doc, meta) { dst[meta.id] = {n: f0(1)}; }`)
	return code.String()
}

// TestLargeCode: code of a megabyte is deployed like any other.
func TestLargeCode(t *testing.T) {
	kvtest.Long(t)
	n := newAlone(t, "src", "dst")
	n.define("f", largeCode(), "", "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{}`)
	n.becomes("dst", "1", `{"n":1002}`)
}
