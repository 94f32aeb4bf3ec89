package views

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// closedMemory is a docread.Memory that notes what it is asked for, and lets nobody go on before open is
// closed.
type closedMemory struct {
	open <-chan struct{}
	mu   sync.Mutex
	held []int
}

func (w *closedMemory) Hold(_ context.Context, bytes int) error {
	<-w.open
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, bytes)
	return nil
}

// TestDesignIsParsedOnce: twenty first queries of a view read and parse its large design document
// once, and what that takes is held before; so does each request that lists all of them.
func TestDesignIsParsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, memkv.New(), storage.CreateOptions{})
		body := `{"more":[` + strings.Repeat(`0,`, 100_000) + `0],` +
			designBody("emitter", `{"n":{"map":"a"}}`)[1:]
		b.put(t, "_design/d", body)
		takes := len(body) + int(ejson.TapeSize([]byte(body)))
		open := make(chan struct{})
		memory := &closedMemory{open: open}
		db := b.db.Within(memory)
		var queries sync.WaitGroup
		for range 20 {
			queries.Go(func() {
				w, err := b.views.View(t.Context(), db, "_design/d", "n")
				if err != nil || w.design.has(Signature{}) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(open)
		queries.Wait()
		parsed := func() (n int) {
			for _, held := range memory.held {
				if held >= takes {
					n++
				}
			}
			return n
		}
		want(t, "parsed", parsed(), 1)
		want(t, "reads", len(memory.held), 2) // before the text is read, and before it is parsed
		must(t, b.views.Cleanup(t.Context(), db))
		want(t, "parsed by the clean-up", parsed(), 2)
	})
}
