package js

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// waitFor asks for a worker in a goroutine.
func waitFor(p *Pool, ctx context.Context, tenant string) <-chan grant {
	got := make(chan grant, 1)
	go func() {
		if g, err := p.acquire(ctx, tenant, digest{}); err == nil {
			got <- g
		}
	}()
	return got
}

// fakePool is a pool that believes to have processes that are idle.
func fakePool(t *testing.T, workers int) *Pool {
	p := NewPool(Options{Workers: workers})
	p.mu.Lock()
	for range workers {
		p.idle = append(p.idle, &process{since: time.Now()})
	}
	p.total = workers
	p.mu.Unlock()
	t.Cleanup(func() { // nobody ends processes that are none
		p.mu.Lock()
		p.idle = nil
		p.mu.Unlock()
		p.Close()
	})
	return p
}

// waits reports whether a call still waits for its worker.
func waits(got <-chan grant) bool {
	select {
	case <-got:
		return false
	default:
		return true
	}
}

// queued waits until n calls wait.
func queued(t *testing.T, p *Pool, n int) {
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == n
	}, time.Minute, time.Millisecond)
}

// Builds of many databases leave two workers to calls that somebody waits for, and tenants that
// have used workers for long one of them.
func TestHeavyCallsLeaveAWorker(t *testing.T) {
	p := fakePool(t, 4)
	ctx := t.Context()
	first, second := <-waitFor(p, Background(ctx), "a"), <-waitFor(p, Background(ctx), "b")
	require.True(t, first.building && second.building)
	building := waitFor(p, Background(ctx), "c")
	queued(t, p, 1)
	long := <-waitFor(p, ctx, "busy")
	require.False(t, long.heavy)
	long.since = long.since.Add(-2 * heavyUse) // it took long
	p.release(long)
	long = <-waitFor(p, ctx, "busy")
	require.True(t, long.heavy && !long.building)
	again := waitFor(p, ctx, "busy")
	queued(t, p, 2)
	other := <-waitFor(p, ctx, "z") // and there is one more for whoever has used none
	require.True(t, waits(building), "builds took what is left to calls that somebody waits for")
	require.True(t, waits(again), "a tenant that has used workers for long took the last worker")
	for _, g := range []grant{other, first, second, long} {
		p.release(g)
	}
	p.release(<-building)
	p.release(<-again)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Zero(t, p.heavy)
	require.Zero(t, p.building)
	require.Empty(t, p.held)
}

// However many databases build without end, a call that somebody waits for gets a worker at once.
func TestBuildsOfManyDatabases(t *testing.T) {
	for _, workers := range []int{3, 4, 9} {
		p := fakePool(t, workers)
		var held []grant
		builds := make(chan grant)
		const tenants = 20
		for i := range tenants {
			got := waitFor(p, Background(t.Context()), "builder"+string(rune('a'+i)))
			go func() { builds <- <-got }()
		}
		for range workers - 2 {
			held = append(held, <-builds)
		}
		queued(t, p, tenants-workers+2)
		for range 100 {
			p.release(<-waitFor(p, t.Context(), "innocent"))
		}
		for range tenants - len(held) { // each of them comes to its turn
			p.release(held[0])
			select {
			case g := <-builds:
				held = append(held[1:], g)
			case <-time.After(time.Minute):
				t.Fatal("a build waits for ever")
			}
		}
		for _, g := range held {
			p.release(g)
		}
	}
}

// Of tenants that have used workers for long the one comes first that has used them least, however
// long the others have waited.
func TestLeastUseComesFirst(t *testing.T) {
	p := fakePool(t, 2)
	p.mu.Lock()
	now := time.Now()
	p.used["slow"], p.used["busy"] = use{60 * heavyUse, now}, use{2 * heavyUse, now}
	p.mu.Unlock()
	running := <-waitFor(p, t.Context(), "busy")
	slow := waitFor(p, t.Context(), "slow")
	queued(t, p, 1)
	busy := waitFor(p, t.Context(), "busy")
	queued(t, p, 2)
	p.release(running)
	g := <-busy
	require.True(t, waits(slow))
	p.release(g)
	p.release(<-slow)
}

// Who has used workers a little does not wait for all who have used none yet.
func TestLittleUseWaitsItsTurn(t *testing.T) {
	p := fakePool(t, 1)
	p.mu.Lock()
	p.used["little"] = use{heavyUse / 2, time.Now()}
	p.mu.Unlock()
	running := <-waitFor(p, t.Context(), "other")
	little := waitFor(p, t.Context(), "little")
	queued(t, p, 1)
	fresh := waitFor(p, t.Context(), "fresh")
	queued(t, p, 2)
	p.release(running)
	g := <-little
	require.True(t, waits(fresh))
	p.release(g)
	p.release(<-fresh)
}

// What a tenant has used is forgotten by and by.
func TestUseDecays(t *testing.T) {
	now := time.Now()
	u := use{time: 4 * heavyUse, period: now}
	require.Equal(t, 4*heavyUse, u.decayed(now.Add(usePeriod-1)).time)
	require.Equal(t, heavyUse, u.decayed(now.Add(2*usePeriod)).time)
	require.Zero(t, u.decayed(now.Add(time.Hour)).time)
}

// A worker maps for one caller half a second at a time; the caller gets all documents all the same.
func TestSlowMapsCrossOften(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	docs := make([][]byte, 20)
	for i := range docs {
		docs[i] = []byte(`{"_id":"a"}`)
	}
	source := "function(doc){ var t = Date.now(); while (Date.now() - t < 100); emit(t, 1); }"
	var wg sync.WaitGroup
	wg.Go(func() {
		require.Len(t, mapAll(t, p, NewMapProgram("slow", []string{source}, nil), docs), len(docs))
		require.Greater(t, p.Stats().Calls["map"].Count, int64(2), "crossings")
	})
	require.Eventually(t, func() bool { return p.Stats().Running > 0 }, time.Minute, time.Millisecond)
	for range 3 { // gets the only worker in between
		require.NoError(t, p.CheckMap(context.Background(), "quick", "function(doc){}"))
	}
	wg.Wait()
}

// A document that is nested too deeply for JavaScript has no rows and passes no filter; the others
// do not suffer.
func TestDeepDocuments(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	deep := deepDocument(maxDepth + 10)
	results, err := p.Map(
		t.Context(),
		NewMapProgram("db", []string{"function(doc){ emit(doc._id, 1) }"}, nil),
		[][]byte{[]byte(`{"_id":"a"}`), deep, []byte(`{"_id":"b"}`)},
	)
	require.NoError(t, err)
	require.Len(t, results[0][0].Rows, 1)
	require.Len(t, results[2][0].Rows, 1)
	require.Empty(t, results[1][0].Rows)
	require.Equal(t, "InternalError: too much recursion with doc._id deep", results[1][0].Err)

	d := p.Design(
		"db",
		[]byte(`{"_id":"_design/d","filters":{"f":"function(){ return true }"},"validate_doc_update":"function(){}"}`),
	)
	passes, err := d.Filter(
		t.Context(),
		[]string{"filters", "f"},
		[][]byte{[]byte(`{"_id":"a"}`), deep, []byte(`{"_id":"b"}`)},
		[]byte(`{}`),
	)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, passes)
	verdicts, err := p.Validate(
		t.Context(),
		&Validation{Designs: []*Design{d}, User: []byte(`{}`), Security: []byte(`{}`), Docs: []ValidatedDoc{
			{New: []byte(`{"_id":"a"}`)}, {New: deep}, {New: []byte(`{"_id":"b"}`)},
		}},
	)
	require.NoError(t, err)
	require.NoError(t, verdicts[0])
	require.ErrorContains(t, verdicts[1], "too much recursion")
	require.NoError(t, verdicts[2])
}

func deepDocument(depth int) []byte {
	b := []byte(`{"_id":"deep","a":`)
	for range depth {
		b = append(b, '[')
	}
	for range depth {
		b = append(b, ']')
	}
	return append(b, '}')
}

// TestCountedRows: documents that were mapped and what came of them are counted, those of search
// are not.
func TestCountedRows(t *testing.T) {
	kvtest.Long(t)
	p := NewPool(Options{})
	t.Cleanup(p.Close)
	docs := [][]byte{[]byte(`{"_id":"a"}`), []byte(`{"_id":"b"}`)}
	twice := "function (doc) { emit(1); emit(2); }"
	_, err := p.Map(t.Context(), NewMapProgram("db", []string{twice, "function (doc) { emit(doc._id); }"}, nil), docs)
	require.NoError(t, err)
	_, err = p.Map(t.Context(), NewIndexProgram("db", ClouseauIndex, `function (doc) { index("a", 1); }`), docs)
	require.NoError(t, err)
	require.Equal(t, [2]int64{2, 6}, [2]int64{p.Stats().Mapped, p.Stats().Emitted})
}
