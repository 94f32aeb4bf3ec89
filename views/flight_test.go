package views

import (
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// waiting is a language whose map function waits, the first time, until it may go on.
type waiting struct {
	once        *sync.Once
	begun, goOn chan struct{}
}

func (w waiting) Compile(Definition) (Mapper, error) { return w, nil }

func (w waiting) Map(doc *storage.Document, emit func(key, value []byte)) error {
	w.once.Do(func() {
		close(w.begun)
		<-w.goOn
	})
	return emitter{}.Map(doc, emit)
}

// TestFailureOfAnEarlierState: a build fails with a row that a _stats refuses. A query that begins after the document
// was mended, while that build runs, does not fail with it.
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

// waiters is how many queries wait for builds.
func (v *Views) waiters() (n int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range v.flights {
		n += f.waiting.Load()
	}
	return n
}
