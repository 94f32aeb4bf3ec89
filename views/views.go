package views

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// Options configure Open.
type Options struct {
	Store *storage.Store
	// KV is the store below Store.
	KV kv.Store
	// Jobs takes large builds; nil: they run like small ones, in this process. It has to be closed
	// before the Views.
	Jobs *jobs.Queue
	// Nodes are the processes on the store, which share the large first builds (with Jobs); nil:
	// this one has it to itself.
	Nodes *nodes.Members
	// JS runs JavaScript; nil: design documents in JavaScript fail as CouchDB's unknown languages
	// do.
	JS JavaScript
	// WorkerMemory is how many bytes a worker of JavaScript may take, 0 where that is not known.
	WorkerMemory int64
	// Memory is the bytes of the process, of which builds share a part; 0: it has no bound. MaxRows
	// is the bytes of rows that JavaScript gives back for a document.
	Memory, MaxRows int64
	// Languages are those besides JavaScript, by the `language` of design documents. Indexes of the
	// language "query" are always interactive.
	Languages map[string]Language

	// MaxKey and MaxValue are bytes of an emitted key and value as JSON, MaxKeys those of all keys
	// of a document. A document beyond has no rows and an entry in the index's errors. 0 is no
	// limit, unless the store has one for keys and values: then it is 8 KB, 64 KB and 64 KB.
	MaxKey, MaxValue, MaxKeys int
	// BatchSize is the greatest number of changes that a transaction of a build takes; nil or below
	// 1: 2000. It may change at any time.
	BatchSize func() int
	// Levels is the shape of what is kept above the rows of new indexes; a member that is 0 or not
	// possible: levels.DefaultConfig's.
	Levels levels.Config
	// ReduceLimit says which results of reduce functions are too large; nil: reduce.DefaultLimit.
	// It may change at any time.
	ReduceLimit func() reduce.Limit
	// NoRoom tells that no index is brought up to date for a query; nil: each is.
	NoRoom func() bool
	// Log is told of documents that could not be tried again; nil: none.
	Log *slog.Logger
	// Workers is how many batches are mapped at the same time; 0 means one for each processor.
	Workers int

	largeUpdate  int64            // see defaultLargeUpdate; 0 for that, tests have fewer
	pieceChanges int64            // see defaultPieceChanges, likewise
	now          func() time.Time // time.Now; tests have one by which nothing takes time
}

// Views are the indexes of all databases of a store. It is safe for concurrent use; several Views,
// in several processes, may work on one store.
type Views struct {
	opts   Options
	limits limits

	designs    *cache.Cache[designKey, *design]
	programs   *cache.Cache[Signature, *program] // of interactive indexes
	aggregates *aggregates
	flights    *flights
	builds     *memory.Builds
	tried      *cache.Cache[indexKey, struct{}] // whose documents need not be tried again

	designChangedHook func(tx *storage.Tx) error // may be nil
}

const (
	// cachedDesigns is of how many indexes something small is kept.
	cachedDesigns = 1000
	// cachedBytes is how many bytes of parsed design documents are kept, and of programs: some
	// thousand usual ones, or the last one that is larger.
	cachedBytes = 16 << 20
)

// Open makes the Views of a store. It has to become the store's Indexer (storage.Hooks) before
// documents are written.
func Open(o Options) (*Views, error) {
	o.largeUpdate = cmp.Or(o.largeUpdate, defaultLargeUpdate)
	o.pieceChanges = cmp.Or(o.pieceChanges, defaultPieceChanges)
	if o.now == nil {
		o.now = time.Now
	}
	v := &Views{opts: o, builds: memory.NewBuilds(o.Memory, batchMemory(o.MaxRows))}
	v.limits = limits{key: o.MaxKey, value: o.MaxValue, keys: o.MaxKeys}
	if engine := o.KV.Limits(); engine.KeySize > 0 || engine.ValueSize > 0 {
		v.limits.lower(8<<10, 64<<10, 64<<10)
		v.limits.rowKey, v.limits.stored = engine.KeySize-keyOverhead, engine.ValueSize
	}
	v.designs = cache.NewSized(cachedBytes, func(_ designKey, d *design) int { return d.bytes })
	v.programs = cache.NewSized(cachedBytes, func(_ Signature, p *program) int { return p.size() })
	v.aggregates = &aggregates{opts: &v.opts, made: cache.New[string, *levels.Index](cachedDesigns)}
	v.tried = cache.New[indexKey, struct{}](10 * cachedDesigns)
	v.flights = newFlights(v)
	return v, v.handleJobs()
}

// ForgetParsed empties the caches of design documents, which are then read again. It may be called
// at any time.
func (v *Views) ForgetParsed() {
	v.designs.Purge()
	v.programs.Purge()
}

// OnDesignChanged has a function called in every transaction that changes a design document. It is
// for whoever looks after the indexes of these Views, and is told once, before documents are
// written.
func (v *Views) OnDesignChanged(fn func(tx *storage.Tx) error) { v.designChangedHook = fn }

// Close ends running builds and waits for them. What they have committed stays.
func (v *Views) Close() error {
	v.flights.close()
	return nil
}

// limits are the greatest sizes in bytes of what a document may emit; 0 is no limit.
type limits struct {
	key, value, keys int // of JSON texts: a key, a value, all keys together
	rowKey, stored   int // of a row key and of a value in the store
}

// keyOverhead is what a key of the store has besides a row key.
const keyOverhead = 64

func (l *limits) lower(key, value, keys int) {
	for _, p := range [...]struct{ have, most *int }{{&l.key, &key}, {&l.value, &value}, {&l.keys, &keys}} {
		if *p.have <= 0 || *p.have > *p.most {
			*p.have = *p.most
		}
	}
}

// batchSize is how many changes a transaction of a build takes at most.
func (o *Options) batchSize() int {
	if o.BatchSize != nil {
		if n := o.BatchSize(); n > 0 {
			return n
		}
	}
	return largeBatch
}

// firstBatch is how many changes a build begins with.
func (o *Options) firstBatch() int { return max(firstBatch, min(firstWide, o.together())) }

// workers is how many batches are on their way at a time.
func (o *Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

// together is how many reads are best asked for at once; see kv.Limits.
func (o *Options) together() int { return o.KV.Limits().Together }

// transactionBudget is about how many bytes of rows one transaction takes. Without a limit of the
// store it is small for the sake of others: a transaction that takes long may get a turn in which
// nobody else commits.
func (o *Options) transactionBudget() int {
	if limit := o.KV.Limits().TransactionSize; limit > 0 {
		return limit / 3
	}
	return 8 << 20
}
