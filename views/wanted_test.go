package views

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Documents of these tests; smallUpdate makes a job of a build over more of them.
const fewDocuments, manyDocuments = 30, smallUpdate + 100

// newSlowBench is a store whose design document _design/slow has a map function that does not end
// on the document `at`. The bound of a function's time is far away.
func newSlowBench(t *testing.T, asJob bool) (*bench, *js.Pool) {
	var b *bench
	n := fewDocuments
	if asJob {
		b, n = newJobBench(t), manyDocuments
	} else {
		b = newBench(t, memkv.New(), storage.CreateOptions{})
	}
	pool := js.NewPool(js.Options{Timeout: time.Hour})
	t.Cleanup(pool.Close)
	b.views.opts.JS = pool
	b.many(t, n)
	b.put(t, "_design/slow", slowDesign("for (;;);"))
	return b, pool
}

func slowDesign(doing string) string {
	return fmt.Sprintf(
		`{"views":{"v":{"map":"function(doc) { if (doc._id === 'doc000020') { %s } emit(doc._id, 1); }"}}}`,
		doing,
	)
}

// asked begins a query of _design/slow and waits until a worker has its build.
func asked(t *testing.T, b *bench, pool *js.Pool) <-chan error {
	done := make(chan error, 1)
	go func() { done <- b.tryQuery("slow", "v", "", discard{}) }()
	for busy := 0; busy == 0; time.Sleep(time.Millisecond) {
		s := pool.Stats()
		busy = s.Running - s.Idle
	}
	return done
}

// free waits until no worker is busy, and sees that they work for others.
func free(t *testing.T, pool *js.Pool) {
	for busy := 1; busy > 0; time.Sleep(time.Millisecond) {
		s := pool.Stats()
		busy = s.Running - s.Idle
	}
	must(t, pool.CheckMap(t.Context(), "other", "function(doc) {}"))
}

// TestBuildEndsWithItsDesignDocument: nobody waits for a map function whose design document is
// deleted, and its worker is free.
func TestBuildEndsWithItsDesignDocument(t *testing.T) {
	for _, asJob := range []bool{false, true} {
		b, pool := newSlowBench(t, asJob)
		done := asked(t, b, pool)
		b.put(t, "_design/slow", "")
		if err := <-done; !errors.Is(err, compat.KindNotFound) {
			t.Errorf("as a job %v: %v", asJob, err)
		}
		free(t, pool)
		if asJob { // nothing is left of it that runs
			running, err := b.views.opts.Jobs.List(t.Context(), jobType, "", 10)
			must(t, err)
			if len(running) != 1 || len(running[0].Error) > 0 {
				t.Errorf("jobs %+v", running)
			}
		}
	}
}

// TestBuildEndsWithItsDatabase, also if there is another one of its name at once.
func TestBuildEndsWithItsDatabase(t *testing.T) {
	for _, again := range []bool{false, true} {
		b, pool := newSlowBench(t, again)
		done := asked(t, b, pool)
		must(t, b.store.Delete(t.Context(), "db"))
		if again {
			must(t, b.store.Create(t.Context(), "db", storage.CreateOptions{}))
			b.put(t, "_design/slow", slowDesign("for (;;);"))
		}
		if err := <-done; !errors.Is(err, compat.ErrNoDatabase) && !(again && errors.Is(err, compat.KindNotFound)) {
			t.Errorf("created anew %v: %v", again, err)
		}
		free(t, pool)
	}
}

// TestBuildGoesOnForAnotherDesignDocument with the same views; what is put in the place of the
// first one has its own.
func TestBuildGoesOnForAnotherDesignDocument(t *testing.T) {
	b, pool := newSlowBench(t, false)
	slow := slowDesign("var t = Date.now(); while (Date.now() - t < 1500);") // three looks
	b.put(t, "_design/slow", slow)
	b.put(t, "_design/copy", slow)
	done := asked(t, b, pool)
	b.put(t, "_design/slow", "")
	must(t, <-done)
	want(t, "rows", len(b.query(t, "copy", "v", "update=false").rows), fewDocuments)
}

// TestQueryFollowsItsDesignDocument: who waits for a build whose design document changes gets what
// it says now.
func TestQueryFollowsItsDesignDocument(t *testing.T) {
	b, pool := newSlowBench(t, false)
	done := asked(t, b, pool)
	b.put(t, "_design/slow", slowDesign("return;"))
	must(t, <-done)
	want(t, "rows", len(b.query(t, "slow", "v", "update=false").rows), fewDocuments-1)
	free(t, pool)
}

// TestWatchEndsWithItsContext: a caller that goes away is no reason to tell others that the design
// document is gone.
func TestWatchEndsWithItsContext(t *testing.T) {
	b, _ := newSlowBench(t, false)
	d, uuid, err := b.views.openDesign(t.Context(), b.db, "_design/slow")
	must(t, err)
	build := &builder{v: b.views, db: b.db, uuid: uuid, design: d}
	outer, end := context.WithCancel(t.Context())
	ctx, stop := build.whileWanted(outer)
	defer stop()
	end()
	<-ctx.Done()
	if err := unwanted(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
		t.Errorf("ended by its caller: %v", err)
	}
}
