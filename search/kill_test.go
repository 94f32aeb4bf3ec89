package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/storagetest"
)

// mortal is a store whose process dies in a commit: nothing works any more, until it is revived.
type mortal struct {
	kv.Store
	left atomic.Int64 // commits until it dies; 0: it lives
	// after says that the last commit happens and nobody is told.
	after bool
	dead  atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if m.dead.Load() {
		return kv.Versionstamp{}, errDead
	}
	if m.left.Load() == 0 || m.left.Add(-1) != 0 {
		return m.Store.Update(ctx, fn)
	}
	var stamp kv.Versionstamp
	if m.after {
		if s, err := m.Store.Update(ctx, fn); err != nil {
			return s, err
		}
	}
	m.dead.Store(true)
	return stamp, errDead
}

func (m *mortal) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.View(ctx, fn)
}

// killAfter lets the process die in a commit, the n-th from now.
func (m *mortal) killAfter(n int, after bool) {
	m.after = after
	m.left.Store(int64(n))
}

// revive tells whether the process had died.
func (m *mortal) revive() bool {
	m.left.Store(0)
	return m.dead.Swap(false)
}

// outlive checks what a process has left that may have died, and tells whether it had.
func (b *bench) outlive(t *testing.T, process *mortal, check func()) (killed bool) {
	killed = process.revive()
	b.restart()
	check()
	b.indexes.running.Wait()
	b.checkStored(t)
	return killed
}

// TestKills: a process that dies in any commit of a build, of a flush, of a merge or of a segment
// that is made directly, before or after it took place, leaves an index that another process goes
// on with, and nothing beside it.
func TestKills(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		process := &mortal{Store: engine}
		b := newBench(t, process, storage.CreateOptions{})
		b.dead = true
		b.restart()
		b.put(t, "_design/d", design)
		defs := []*Definition{b.lookup(t, segment.Clouseau, "c"), b.lookup(t, segment.Nouveau, "n")}
		m := newModel()
		first := &modelDoc{id: "first", words: vocabulary, place: "red"}
		b.put(t, first.id, first.body())
		m.docs[first.id] = first
		rng := rand.New(rand.NewPCG(3, 4))
		kills := 0
		for round, step := 0, 1; round < rounds; round, step = round+1, step+1 {
			changes := 1 + rng.IntN(10)
			if rng.IntN(3) == 0 {
				changes = 50
			}
			for range changes {
				m.change(t, b, rng)
			}
			process.killAfter(step, rng.IntN(2) == 0)
			for _, def := range defs {
				_ = b.indexes.Update(context.Background(), b.db, def)
			}
			b.indexes.Close()
			killed := b.outlive(t, process, func() {
				for _, def := range defs {
					m.check(t, b, def, rng, false)
				}
			})
			if t.Failed() {
				t.Fatalf("round %d, killed in commit %d", round, step)
			}
			if killed {
				kills++
			} else {
				step = 0
			}
		}
		if kills < rounds/2 {
			t.Errorf("%d kills in %d rounds", kills, rounds)
		}
	})
}

// TestWritesWhileBuilding: documents that change again and again while segments are made of them
// are in the index once, as they are in the end, whichever of three processes builds, and purged
// ones are not.
func TestWritesWhileBuilding(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		b := newBench(t, engine, storage.CreateOptions{})
		b.put(t, "_design/d", design)
		def := b.lookup(t, segment.Nouveau, "n")
		processes := []*bench{b, b.beside(t), b.beside(t)}
		body := func(n int) string {
			return fmt.Sprintf(`{"nouveau":[["text","body","all n%d",{}],["double","n",%d,{}]]}`, n, n)
		}
		const docs = 60
		for i := range docs {
			b.put(t, fmt.Sprintf("d%02d", i), body(0))
		}
		var writers, builders sync.WaitGroup
		done := make(chan struct{})
		for _, p := range processes {
			builders.Go(func() {
				for {
					if err := p.indexes.Update(context.Background(), p.db, def); err != nil {
						t.Errorf("build: %v", err)
						return
					}
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		for w, p := range processes {
			writers.Go(func() {
				for n := range 40 {
					id := fmt.Sprintf("d%02d", (n*7)%20*3+w)
					if n%10 == 9 {
						p.purge(t, id)
					}
					p.put(t, id, body(n+1))
				}
			})
		}
		writers.Wait()
		close(done)
		builders.Wait()
		for _, p := range processes {
			got, err := p.try(def, "body:all")
			must(t, err)
			if want := fmt.Sprint(docs, " "); len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("found %s", got)
			}
			p.indexes.running.Wait()
		}
		b.checkStored(t)
	})
}
