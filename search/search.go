package search

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// Options configure New.
type Options struct {
	Store *storage.Store
	// KV is the store below Store.
	KV kv.Store
	// JS runs index functions; nil: indexes cannot be built.
	JS JavaScript
	// Jobs is the queue in which large builds and merges of segments run, once Start was called;
	// nil: the caller that wants an index builds it, and the one that wrote a segment merges it.
	Jobs *jobs.Queue
	// Languages are those besides JavaScript, by the `language` of design documents.
	Languages map[string]Language
	// Log receives failures of maintenance; nil: they are not logged.
	Log *slog.Logger
	// Memory is how many bytes the process may take in all; what is remembered of indexes takes a
	// ninth of it, up to 256 MB. 0: that. A build that has much to index takes about another
	// twelfth.
	Memory int64
	// WorkerMemory is how many bytes a worker of JavaScript may take, 0 where that is not known.
	WorkerMemory int64

	flushEntries int64         // see defaultFlushEntries; 0 for that, tests have fewer
	directDocs   int           // see mostDirect, likewise
	claimTime    time.Duration // see defaultClaimTime, likewise
	frequent     int32         // see leastFrequent, likewise
}

// JavaScript runs user code; *js.Pool does, in worker processes. It is safe for concurrent use.
// tenant is the database, for fairness.
type JavaScript interface {
	CheckMap(ctx context.Context, tenant, source string) error
	Map(ctx context.Context, program *js.MapProgram, docs [][]byte) ([]js.DocResult, error)
}

var _ JavaScript = (*js.Pool)(nil)

// Indexes are the search indexes of all databases of a store. It is safe for concurrent use;
// several Indexes, in several processes, may work on one store.
type Indexes struct {
	opts     Options
	states   *states
	blocks   *blockCache
	frequent *frequentCache
	programs *cache.Cache[signature, *program] // of interactive indexes
	// Why documents cannot be indexed whose function ended its worker, so that the next build does
	// not run it again.
	killed   *cache.Cache[killedKey, string]
	tried    *cache.Cache[flightKey, struct{}] // whose documents need not be tried again
	flushing chan struct{}                     // has one for each flush that runs, of flushesAtOnce
	// What builds may hold in batches together.
	room *room

	ctx     context.Context // of builds; it ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	flights map[flightKey]*flight
	merging map[stateKey]bool
	closed  bool
}

// New makes the Indexes of a store. It has to be one of the store's Indexers (storage.Hooks), to
// know of purges and to write interactive indexes.
func New(o Options) *Indexes {
	if o.flushEntries == 0 {
		o.flushEntries = defaultFlushEntries
	}
	if o.directDocs == 0 {
		o.directDocs = mostDirect
	}
	if o.claimTime == 0 {
		o.claimTime = defaultClaimTime
	}
	if o.frequent == 0 {
		o.frequent = leastFrequent
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Memory <= 0 || o.Memory > plentyOfMemory {
		o.Memory = plentyOfMemory
	}
	// The ninth: half for logs in memory (states), a quarter each for blocks and for frequent
	// words.
	x := &Indexes{opts: o, states: newStates(int(o.Memory / 18)), blocks: newBlockCache(int(o.Memory / 36)),
		frequent: newFrequentCache(int(o.Memory/36), o.frequent),
		programs: cache.NewSized(keptPrograms, func(_ signature, p *program) int { return p.bytes }),
		killed:   cache.New[killedKey, string](keptKilled),
		tried:    cache.New[flightKey, struct{}](keptTried),
		flushing: make(chan struct{}, flushesAtOnce), room: newRoom(o.Memory),
		flights: map[flightKey]*flight{}, merging: map[stateKey]bool{}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x
}

// Start lets large builds and merges be jobs of the queue, if there is one.
func (x *Indexes) Start() (err error) {
	if x.opts.Jobs == nil {
		return nil
	}
	for _, name := range []string{buildJob, mergeJob} {
		err = errors.Join(err, x.opts.Jobs.Handle(jobs.Type{Name: name, Pauses: true}))
	}
	return err
}

// flushesAtOnce is how many logs are flushed at a time: each is in memory, see logMemory.
const flushesAtOnce = 2

// plentyOfMemory is the memory from which on caches are not larger.
const plentyOfMemory = 18 * (128 << 20)

// Close ends running builds and waits for them. What they have committed stays.
func (x *Indexes) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.cancel()
	x.running.Wait()
}

// Forget empties the caches of what was read. It may be called at any time.
func (x *Indexes) Forget() {
	x.states.forget()
	x.blocks.Purge()
	x.frequent.Purge()
}

var errClosed = compat.NewError(compat.KindServiceUnavailable, "The indexes are shut down.")

// commonBuilds is how many builds there are at most that do not have to be content with smaller
// segments, and leastDirect how small those are at least, in bytes of memory.
const commonBuilds, leastDirect = 4, 256 << 10

// directBytes is about how many bytes of documents become a segment directly; as many again are
// collected meanwhile. All builds that run together have no more than a sixth of the memory for
// both.
func (x *Indexes) directBytes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return int(max(x.opts.Memory/12/int64(max(len(x.flights), commonBuilds)), leastDirect))
}

// workers is how many batches of a build are on their way at a time.
func workers() int { return max(1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))) }

// transactionBudget is about how many bytes one transaction of a build takes.
func (o *Options) transactionBudget() int {
	if limit := o.KV.Limits().TransactionSize; limit > 0 {
		return limit / 3
	}
	return 4 << 20
}
