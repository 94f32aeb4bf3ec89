package eventing

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	rtdebug "runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/sweeper"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
	"github.com/settee-db/settee/views"
)

// jobType is that of the jobs which lead functions from state to state; the id names the function.
const jobType = "eventing"

// maxLed is how many functions one process leads to another state at a time: OnDeploy may take a
// minute.
const maxLed = 256

// Options are what an Engine works with.
type Options struct {
	KV        kv.Store
	Store     *storage.Store
	Views     *views.Views       // for queries
	AllFields *allfields.Indexes // for queries
	Jobs      *jobs.Queue
	JS        *js.Pool // of its own: handlers never wait for functions of design documents, nor these for them
	// Debuggers has the workers of debug sessions, debug.Most of them; nil: JS has.
	Debuggers *js.Pool
	Log       *slog.Logger
	Tracer    *tracing.Tracer  // of batches of events and deliveries; nil: there is none
	Now       func() time.Time // nil: time.Now; handlers see it, too
	// Nodes are the processes that have the store open; nil: there is no other one.
	Nodes *nodes.Members
	// StreamMemory is how many bytes of streams all functions together may have in memory, beyond
	// what each always may have (leastChunk). 0: a thirty-second of the limit of the heap, from 8
	// to 64 MB.
	StreamMemory int64
	// HandlerMemory is how many bytes handlers hold together: what they read, write and are
	// answered. 0: handlerMemory.
	HandlerMemory int64
	// Connects says which addresses functions may make requests to.
	Connects func(netip.Addr) bool
	// Answer answers requests of functions in place of other servers; binding is the name of the
	// URL. Nil: they are made.
	Answer func(binding string, r *http.Request) (*http.Response, error)
}

// Engine runs the deployed functions of a store: each process that has the store open has a share
// of the partitions of each function. It is safe for concurrent use.
type Engine struct {
	console
	o        Options
	docs     *documents.Store
	rights   Rights // nil: owners have the roles that they had when they deployed
	registry *registry.Registry
	members  *nodes.Members
	// catalogue and statements are what queries need again and again.
	catalogue  mango.Catalogue
	statements *cache.Cache[string, *n1ql.Statement]
	ctx        context.Context // the Engine's life
	cancel     context.CancelFunc
	watching   sync.WaitGroup
	places     chan struct{} // an element for each chunk that takes part in Options.StreamMemory
	streams    *feed.Streams
	debugging  *debug.Sessions
	memory     *memory.Budget // of Options.HandlerMemory
	logs       *applog.Logs
	restAfter  time.Duration // restAfter, but for tests
	retryAfter time.Duration // leastRetry, but for tests
	deliverIn  time.Duration // deliveryTime, but for tests
	resting    atomic.Int64  // functions that rest
	posted     atomic.Uint32 // messages that handlers have published, to give them an order
	rehearsed  bool          // by a Rehearsal: nobody waits for the machine's clock
	// looked is closed when the list of functions was looked at once: no work begins before, since
	// what it writes is marked according to that list (isSource).
	looked chan struct{}

	mu      sync.Mutex
	asked   map[definition.Ref]uint64 // versions of records for which there is a job
	records map[definition.Ref]*registry.Record
	sources map[string]int // how many functions are deployed on a database
	running map[definition.Ref]*running
	stats   map[int64]*Statistics // by instance
}

// running is a function that this process runs. Engine.mu guards it.
type running struct {
	version uint64 // of the record
	cancel  context.CancelCauseFunc
	f       *function // nil: it is prepared
}

// errChanged ends the run of a function whose record has changed; it begins anew with the new one.
var errChanged = errors.New("eventing: the function has changed")

// New makes an Engine, with the registry of its functions. Start begins its work.
func New(o Options) *Engine {
	e := &Engine{
		o: o, asked: make(map[definition.Ref]uint64), records: make(map[definition.Ref]*registry.Record),
		sources: make(map[string]int), running: make(map[definition.Ref]*running),
		stats: make(map[int64]*Statistics), looked: make(chan struct{}),
		debugging: debug.NewSessions(), restAfter: restAfter, retryAfter: leastRetry, deliverIn: deliveryTime,
	}
	e.console = console{e}
	e.logs = applog.New(o.KV, e.now)
	most := o.StreamMemory
	if most <= 0 {
		most = min(max(rtdebug.SetMemoryLimit(-1)/32, 8<<20), 64<<20)
	}
	e.streams = feed.New(int(most / keptShare))
	e.places = make(chan struct{}, max((most-most/keptShare)/feed.SegmentBytes, 1))
	e.memory = memory.NewHandlers(cmp.Or(o.HandlerMemory, handlerMemory()))
	e.statements = cache.NewSized(cachedStatements, func(text string, _ *n1ql.Statement) int {
		return statementSize * (len(text) + 10)
	})
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.registry = registry.New(o.KV, registry.Hooks{
		Deploy: e.deploy, Paused: afterPause, Undeployed: afterUndeploy, Deleted: afterDelete,
	})
	if e.members = o.Nodes; e.members == nil {
		e.members = nodes.New(nodes.Options{KV: o.KV})
	}
	return e
}

// Registry is the functions of the store.
func (e *Engine) Registry() *registry.Registry { return e.registry }

func (e *Engine) now() time.Time {
	if e.o.Now != nil {
		return e.o.Now()
	}
	return time.Now()
}

// Start begins to run functions, which see documents as their owners do, with the rights that these
// have then, and to delete and purge documents whose time has come. It is called once, before the
// registry is used.
func (e *Engine) Start(documents *documents.Store, rights Rights, purges sweeper.Purges) error {
	e.docs, e.rights = documents, rights
	err := e.o.Jobs.Handle(jobs.Type{Name: jobType, Workers: maxLed, Run: e.runJob, Backoff: backoff, Stays: true})
	if err == nil {
		err = sweeperOf(e, purges).Start(e.ctx)
	}
	e.watching.Go(e.watch)
	e.watching.Go(func() { e.logs.KeepWriting(e.ctx, e.o.Log) })
	e.watching.Go(e.shareStats)
	return err
}

// sweeperOf is what removes documents whose time has come from the store.
func sweeperOf(e *Engine, purges sweeper.Purges) *sweeper.Sweeper {
	return &sweeper.Sweeper{
		KV: e.o.KV, Store: e.o.Store, Jobs: e.o.Jobs, Now: e.now, Ready: e.awaitList, IsSource: e.isSource,
		Purges: purges, Backoff: backoff,
	}
}

// backoff is how long a job waits after so many failures.
func backoff(failures int) time.Duration { return pause(failures, time.Second, time.Minute) }

// Close ends the watch over the registry and the functions that run. The queue of jobs is closed
// before, and the process leaves Options.Nodes after.
func (e *Engine) Close() {
	e.cancel()
	e.watching.Wait()
	e.leaveStats()
}

// deploy is the registry's hook for a new instance: where it begins is decided in the transaction
// of the request.
func (e *Engine) deploy(tx kv.Tx, r *registry.Record) error {
	f := r.Running()
	err := begin(e.ctx, tx, r.Instance, sourceOf(e.docs, f), f.Settings.Boundary)
	if errors.Is(err, compat.KindNoDatabase) {
		return definition.Errorf(definition.CodeBucketMissing, "Bucket: %s does not exist", f.Bindings.SourceBucket)
	}
	return err
}

// sourceOf is the source of a function, as the server itself sees it.
func sourceOf(docs *documents.Store, f *definition.Function) *storage.DB {
	admin := principal.Principal{Roles: []string{"_admin"}}
	return docs.Database(f.Bindings.SourceBucket, admin, documents.Origin{}).Bare()
}

// afterPause is the registry's hook for an instance that has stopped.
func afterPause(tx kv.Tx, r *registry.Record) error {
	freeAll(tx, r.Instance)
	return nil
}

// afterUndeploy is the registry's hook for an instance that ends.
func afterUndeploy(tx kv.Tx, r *registry.Record) error {
	clearInstance(tx, r.Instance)
	return nil
}

// afterDelete is the registry's hook for a function that is deleted: its log goes with it.
func afterDelete(tx kv.Tx, r *registry.Record) error {
	tx.ClearRange(below(applog.Key(r.Ref())))
	return nil
}

// watch follows the registry: it sees that a job is there for every function that is on its way to
// another state, runs those that are deployed, and ends the runs of those that have changed.
func (e *Engine) watch() {
	looked := sync.OnceFunc(func() { close(e.looked) })
	defer looked()
	for wait := 1; e.ctx.Err() == nil; wait++ {
		all, changes, err := e.registry.List(e.ctx)
		if err == nil { // first, so that a session catches what a function begins with
			err = followDebugging(e.ctx, e)
		}
		looked() // if it failed, too: what can be done without the list goes on
		if err == nil {
			err = e.follow(all)
		}
		if err == nil {
			wait = 0
			e.members.Saw(nodes.Functions, changes)
			err = e.registry.Watch(e.ctx, changes)
		}
		if err != nil && e.ctx.Err() == nil {
			e.o.Log.Warn("eventing: the list of functions could not be followed", "error", err)
			_ = sleep(e.ctx, pause(wait, 100*time.Millisecond, 10*time.Second))
		}
	}
}

// follow does what a new list of all functions asks for.
func (e *Engine) follow(all []*registry.Record) error {
	for _, r := range e.adopt(all) {
		if _, err := e.o.Jobs.Add(e.ctx, jobs.Spec{Type: jobType, ID: jobID(r.Ref()), Again: true}); err != nil {
			return err
		}
		e.mu.Lock()
		e.asked[r.Ref()] = r.Version
		e.mu.Unlock()
	}
	return nil
}

// adopt makes a new list the one that is known, begins and ends what runs by it, and gives the
// functions that need a job.
func (e *Engine) adopt(all []*registry.Record) (wanted []*registry.Record) {
	records, sources, instances := make(map[definition.Ref]*registry.Record), make(map[string]int), make(map[int64]bool)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range all {
		ref := r.Ref()
		records[ref], instances[r.Instance] = r, true
		if r.State != definition.Undeployed {
			sources[r.Running().Bindings.SourceBucket]++
		}
		if !r.State.Settled() && e.asked[ref] != r.Version {
			wanted = append(wanted, r)
		}
		if r.State == definition.Deployed && e.running[ref] == nil && e.ctx.Err() == nil {
			running := &running{cancel: func(error) {}}
			e.running[ref] = running
			e.watching.Go(func() { e.run(ref, running) })
		}
	}
	for ref, r := range e.records {
		if !instances[r.Instance] {
			delete(e.stats, r.Instance)
		}
		if records[ref] == nil {
			delete(e.asked, ref)
		}
	}
	e.records, e.sources = records, sources
	e.debugging.Keep(func(ref definition.Ref) int64 {
		if r := records[ref]; r != nil && r.State != definition.Undeployed && r.State != definition.Undeploying {
			return r.Instance
		}
		return 0
	})
	for ref, run := range e.running {
		if r := records[ref]; r == nil || r.Version != run.version {
			run.cancel(errChanged)
		}
	}
	return wanted
}

// awaitList waits until the list of functions was looked at once.
func (e *Engine) awaitList(ctx context.Context) error {
	select {
	case <-e.looked:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isSource reports whether a function is deployed on a database: what is written there by functions
// is marked.
func (e *Engine) isSource(database string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sources[database] > 0
}
