package views

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Several processes on one store, as tests have them: each has its own Store, queue of jobs, place
// among the processes and Views, and its own way to the store, on which it can be held up or cut
// off.

// way is a process's way to the store.
type way struct {
	kv.Store
	mu     sync.Mutex
	held   chan struct{} // closed when it goes on; nil: it is not held up
	killed atomic.Bool
}

// hold has all that the process asks of the store from now on wait for the function that it
// returns.
func (w *way) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.held = held
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = nil
		close(held)
	}
}

// pass waits while the process is held up, and fails once it is killed.
func (w *way) pass() error {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held != nil {
		<-held
	}
	if w.killed.Load() {
		return kv.ErrClosed
	}
	return nil
}

func (w *way) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.Store.View(ctx, fn)
}

func (w *way) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if err := w.pass(); err != nil {
		return kv.Versionstamp{}, err
	}
	return w.Store.Update(ctx, func(tx kv.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return w.pass()
	})
}

func (w *way) Watch(ctx context.Context, key, seen []byte) error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.Store.Watch(ctx, key, seen)
}

// watched is the emitter of a process: it tells of each document that is mapped.
type watched struct {
	emitter
	mapped func(id string)
}

func (w watched) Compile(Definition) (Mapper, error) { return w, nil }

func (w watched) Map(doc *docread.Document, emit func(key, value []byte)) error {
	w.mapped(doc.ID)
	return w.emitter.Map(doc, emit)
}

// process is one of the processes on a store.
type process struct {
	*bench
	way     *way
	jobs    *jobs.Queue
	leave   func()
	mapped  atomic.Int64
	hook    atomic.Pointer[func(n int64)] // told of each document that it maps; may be nil
	stopped bool
}

const (
	// pieceDocuments of a database of these tests are cut into some pieces; a block of the feed's
	// counts has 512.
	pieceDocuments = 4200
	processLease   = 4 * time.Second
)

// newProcess opens a process over a store, which the test closes after it.
func newProcess(t testing.TB, store kv.Store, version string) *process {
	t.Helper()
	ctx := context.Background()
	p := &process{way: &way{Store: store}}
	log := slog.New(slog.DiscardHandler)
	members := nodes.New(nodes.Options{
		KV: p.way, Prefix: keyspace.NodesPrefix(), Lease: processLease, Log: log, Info: nodes.Info{Version: version},
	})
	present, leave := context.WithCancel(ctx)
	var staying sync.WaitGroup
	staying.Go(func() { members.Run(present) })
	p.leave = func() { leave(); staying.Wait() }
	_, _, err := members.Live(ctx)
	must(t, err)
	s, err := storage.Open(ctx, storage.Options{KV: p.way, Manual: true})
	must(t, err)
	p.jobs, err = jobs.Open(ctx, jobs.Options{
		KV: p.way, Prefix: keyspace.JobsPrefix(), Lease: 10 * processLease, Nodes: members, Log: log,
	})
	must(t, err)
	language := watched{mapped: func(string) {
		n := p.mapped.Add(1)
		if hook := p.hook.Load(); hook != nil {
			(*hook)(n)
		}
	}}
	begin := p.way.hold() // no job runs before the store has its hooks
	v, err := Open(Options{
		Store: s, KV: p.way, Jobs: p.jobs, Nodes: members, Languages: map[string]Language{"emitter": language},
		pieceChanges: 500, largeUpdate: 20, Workers: 2,
	})
	must(t, err)
	s.SetHooks(storage.Hooks{Indexer: v})
	begin()
	p.bench = &bench{s, v, s.DB("db")}
	return p
}

// stop ends a process as one ends that is told to, or has been killed.
func (p *process) stop(t testing.TB) {
	if p.stopped {
		return
	}
	p.stopped = true
	must(t, p.jobs.Close())
	p.leave()
	must(t, p.views.Close())
	must(t, p.store.Close())
}

// kill cuts a process off, whatever it is doing.
func (p *process) kill() { p.way.killed.Store(true) }

// onMap has a function called for each document that the process maps from now on, with its number.
func (p *process) onMap(hook func(n int64)) { p.hook.Store(&hook) }

// openProcesses opens some processes over a store with a database of pieceDocuments documents, and
// waits until they know of each other.
func openProcesses(t testing.TB, store kv.Store, n int) []*process {
	t.Helper()
	all := make([]*process, n)
	for i := range all {
		all[i] = newProcess(t, store, "")
	}
	awaitProcesses(t, all...)
	must(t, all[0].store.Create(t.Context(), "db", storage.CreateOptions{}))
	for from := 0; from < pieceDocuments; from += 100 {
		docs := make([]*compat.Document, 100)
		for i := range docs {
			body := fmt.Sprintf(`{"emit":[[%d,1],["x",%d]]}`, from+i, i)
			docs[i] = newDoc(t, fmt.Sprintf("doc%06d", from+i), "", body)
		}
		_, err := all[0].db.Update(t.Context(), docs, storage.UpdateOptions{})
		must(t, err)
	}
	return all
}

// awaitProcesses waits until all processes know that all are there.
func awaitProcesses(t testing.TB, all ...*process) {
	t.Helper()
	for _, p := range all {
		for len(p.views.opts.Nodes.Known()) < len(all) {
			must(t, p.views.opts.Nodes.Refresh(t.Context()))
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func stopAll(t testing.TB, all []*process) {
	for _, p := range all {
		p.stop(t)
	}
}

// meet has each of some processes wait at the first document that it maps until all are there: so
// all have pieces.
func meet(all ...*process) {
	there := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(len(all)))
	for _, p := range all {
		p.onMap(func(n int64) {
			if n == 1 && left.Add(-1) == 0 {
				close(there)
			}
			<-there
		})
	}
}
