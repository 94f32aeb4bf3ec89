package js

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// Builds of many databases leave one worker to calls that somebody waits for, and so do tenants that have used workers for long.
func TestHeavyCallsLeaveAWorker(t *testing.T) {
	p := fakePool(t, 3)
	ctx := t.Context()
	first, second := <-waitFor(p, Background(ctx), "a"), <-waitFor(p, Background(ctx), "b")
	require.True(t, first.heavy && second.heavy)
	waiting := waitFor(p, Background(ctx), "c")
	light := <-waitFor(p, ctx, "a")
	require.False(t, light.heavy)
	light.since = light.since.Add(-2 * heavyUse) // it took long
	p.release(light)
	again := waitFor(p, ctx, "a")
	other := <-waitFor(p, ctx, "z")
	select {
	case <-waiting:
		t.Error("builds took the last worker")
	case <-again:
		t.Error("a tenant that has used workers for long took the last worker")
	default:
	}
	p.release(other)
	p.release(first)
	p.release(<-waiting)
	p.release(<-again)
	p.release(second)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Zero(t, p.heavy)
	require.Empty(t, p.held)
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
	source := "function(doc){ if (typeof n === 'undefined') n = 0; n++; var t = Date.now(); while (Date.now() - t < 100); emit(n, 1); }"
	var wg sync.WaitGroup
	wg.Go(func() {
		results, _, err := p.Map(context.Background(), NewMapProgram("slow", []string{source}, nil), docs)
		require.NoError(t, err)
		require.Len(t, results, len(docs))
		begun := 0
		for _, r := range results {
			if string(r[0].Rows[0].Key) == "1" {
				begun++
			}
		}
		require.Greater(t, begun, 2, "crossings")
	})
	require.Eventually(t, func() bool { return p.Stats().Running > 0 }, time.Minute, time.Millisecond)
	for range 3 { // gets the only worker in between
		require.NoError(t, p.CheckMap(context.Background(), "quick", "function(doc){}"))
	}
	wg.Wait()
}

// A document that is nested too deeply for JavaScript has no rows and passes no filter; the others do not suffer.
func TestDeepDocuments(t *testing.T) {
	p := newTestPool(t, Options{})
	deep := deepDocument(maxDepth + 10)
	results, _, err := p.Map(t.Context(), NewMapProgram("db", []string{"function(doc){ emit(doc._id, 1) }"}, nil), [][]byte{[]byte(`{"_id":"a"}`), deep, []byte(`{"_id":"b"}`)})
	require.NoError(t, err)
	require.Len(t, results[0][0].Rows, 1)
	require.Len(t, results[2][0].Rows, 1)
	require.Empty(t, results[1][0].Rows)
	require.Equal(t, "InternalError: too much recursion with doc._id deep", results[1][0].Err)

	d := p.Design("db", []byte(`{"_id":"_design/d","filters":{"f":"function(){ return true }"},"validate_doc_update":"function(){}"}`))
	passes, err := d.Filter(t.Context(), []string{"filters", "f"}, [][]byte{[]byte(`{"_id":"a"}`), deep, []byte(`{"_id":"b"}`)}, []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, passes)
	verdicts, err := p.Validate(t.Context(), &Validation{Designs: []*Design{d}, User: []byte(`{}`), Security: []byte(`{}`), Docs: []ValidatedDoc{
		{New: []byte(`{"_id":"a"}`)}, {New: deep}, {New: []byte(`{"_id":"b"}`)},
	}})
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
