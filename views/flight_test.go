package views

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views/progress"
)

// waiting is a language whose map function waits, the first time, until it may go on.
type waiting struct {
	once        *sync.Once
	begun, goOn chan struct{}
}

func (w waiting) Compile(Definition) (Mapper, error) { return w, nil }

func (w waiting) Map(doc *docread.Document, emit func(key, value []byte)) error {
	w.once.Do(func() {
		close(w.begun)
		<-w.goOn
	})
	return emitter{}.Map(doc, emit)
}

// TestFailureOfAnEarlierState: a build fails with a row that a _stats refuses. A query that begins
// after the document was mended, while that build runs, does not fail with it.
func TestFailureOfAnEarlierState(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	w := waiting{new(sync.Once), make(chan struct{}), make(chan struct{})}
	b.views.opts.Languages["waiting"] = w
	b.put(t, "a", `{"emit":[[1,"x"]]}`)
	b.put(t, "_design/d", designBody("waiting", `{"v":{"map":"m","reduce":"_stats"}}`))
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- b.tryQuery("d", "v", "", discard{}) }()
	<-w.begun
	b.put(t, "a", `{"emit":[[1,1]]}`)
	go func() { second <- b.tryQuery("d", "v", "", discard{}) }()
	for b.views.waiters() < 2 {
		time.Sleep(time.Millisecond)
	}
	close(w.goOn)
	if err := <-first; err == nil {
		t.Error("the first query does not fail: the test shows nothing")
	}
	must(t, <-second)
}

// TestFailuresOfOtherBuilds: of a build that had begun before, one that failed with a state before
// the query's is not the query's failure. Others are: one with its own state, and a store that does
// not answer, which is not asked again.
func TestFailuresOfOtherBuilds(t *testing.T) {
	b := newBench(t, memkv.New(), storage.CreateOptions{})
	b.put(t, "a", `{"emit":[[1,1]]}`)
	b.put(t, "_design/d", designBody("emitter", `{"v":{"map":"m"}}`))
	d, uuid, err := b.views.openDesign(t.Context(), b.db, "_design/d")
	must(t, err)
	last, err := b.db.Feed().Last(t.Context())
	must(t, err)
	bad := compat.Named(compat.KindUnknown, "invalid_value", "x")
	for _, c := range []struct {
		what      string
		failure   error
		reached   storage.Seq
		takenOver bool
	}{
		{"an earlier state", bad, storage.Seq{}, false},
		{"the query's own state", bad, last.Seq, true},
		{"the store", kv.ErrUnavailable, storage.Seq{}, true},
	} {
		f := &flight{done: make(chan struct{}), task: progress.New("db", d.id), err: c.failure, reached: c.reached}
		key := flightKey{uuid, d.signature}
		b.views.flights.mu.Lock()
		b.views.flights.byKey[key] = f
		b.views.flights.mu.Unlock()
		updated := make(chan error, 1)
		go func() { updated <- b.views.Update(t.Context(), b.db, "_design/d") }()
		for b.views.waiters() < 1 {
			time.Sleep(time.Millisecond)
		}
		b.views.flights.mu.Lock()
		delete(b.views.flights.byKey, key)
		b.views.flights.mu.Unlock()
		close(f.done)
		if err := <-updated; c.takenOver && !errors.Is(err, c.failure) || !c.takenOver && err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// waiters is how many queries wait for builds.
func (v *Views) waiters() (n int64) {
	v.flights.mu.Lock()
	defer v.flights.mu.Unlock()
	for _, f := range v.flights.byKey {
		n += f.waiting.Load()
	}
	return n
}
