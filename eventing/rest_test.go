package eventing

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
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
	const functions, sources = 300, 30
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
	rest := func(all int64) {
		n.eventually(func() bool { return n.engine.resting.Load() == all }, "not all rest")
	}
	const first = 50 // with what there is once for all
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
	n.eventually(func() bool { return n.count("dst") == functions/sources }, "not all have handled the event")
	require.EqualValues(t, functions/sources, began()-once)
	rest(functions)
	n.put("src7", "a", `{"n":2}`)
	n.becomes("dst", "a:7", `{"n":2}`)
	require.Equal(t, definition.Paused, n.pause("f7"))
	require.Equal(t, definition.Undeployed, n.undeploy("f37"))
	n.put("src7", "b", `{}`)
	n.becomes("dst", "b:67", `{}`)
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

// countedStore counts the transactions that write.
type countedStore struct {
	kv.Store
	updates *atomic.Int64
}

// Update implements kv.Store.
func (s countedStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

// TestDeployingIsFewSteps: to store and to deploy a function takes so many transactions and no more,
// however many functions there are, and no call of JavaScript where there is no OnDeploy.
func TestDeployingIsFewSteps(t *testing.T) {
	var updates atomic.Int64
	n := newNode(t, countedStore{memkv.New(), &updates}, 0)
	n.create("src", "dst")
	n.engine.restAfter = 10 * time.Millisecond
	const functions, last = 30, 10
	least := int64(math.MaxInt64) // of the last ones: every two seconds what is counted of functions is stored
	for i := range functions {
		name := fmt.Sprintf("f%d", i)
		n.define(name, `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`, "", "+dst=dst")
		n.eventually(func() bool { return n.engine.resting.Load() == int64(i) }, "not all rest")
		before := updates.Load()
		require.Equal(t, definition.Deployed, n.deploy(name))
		n.eventually(func() bool { return n.engine.resting.Load() == int64(i)+1 }, "it does not rest")
		if i >= functions-last {
			least = min(least, updates.Load()-before)
		}
	}
	// The request, its job that is queued, taken and forgotten, the end of the state, and the share.
	require.LessOrEqual(t, least, int64(6))
}

// TestLargeCode: code of a megabyte is deployed like any other.
func TestLargeCode(t *testing.T) {
	kvtest.Long(t)
	n := newAlone(t, "src", "dst")
	line := "function f%d(a) { return a + " + strings.Repeat("1 + ", 1000) + "1; }\n"
	var code strings.Builder
	for i := 0; code.Len() < 1<<20-8<<10; i++ {
		fmt.Fprintf(&code, line, i)
	}
	code.WriteString(`function OnUpdate(doc, meta) { dst[meta.id] = {n: f0(1)}; }`)
	n.define("f", code.String(), "", "+dst=dst")
	n.deploy("f")
	n.put("src", "1", `{}`)
	n.becomes("dst", "1", `{"n":1002}`)
}
