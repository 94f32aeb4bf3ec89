package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
)

// Options configure Open.
type Options struct {
	KV kv.Store
	// Prefix is of all keys of the queue: storage.JobsPrefix.
	Prefix []byte
	// Lease is how long a job stays with a worker that gives no sign of life; 0 means 30 seconds.
	// All queues on a store should have the same.
	Lease time.Duration
	// Exclusive says that no other queue runs jobs of this store: whatever runs when the queue is
	// opened was held by a dead process and is queued again at once, and heartbeats only tell how
	// long a run has lasted.
	Exclusive bool
	// Owner names this process in Job.Owner.
	Owner string
	// Nodes are the processes on the store: what those ran that are gone is queued again at once.
	// nil: leases tell.
	Nodes *nodes.Members
	// Held says that no job is run before Start, whatever Handle is told.
	Held bool
	// Log is told of failures; nil for nobody.
	Log *slog.Logger
	// Tracer begins a trace for each run of a type that does not stay.
	Tracer *tracing.Tracer

	now func() time.Time // of tests with clocks that differ: what is stored
}

// Queue adds, runs and lists jobs. It is safe for concurrent use.
type Queue struct {
	keys keys
	kv   kv.Store
	// How long a run stays its worker's without a heartbeat.
	lease time.Duration
	// This process has the store to itself: runs without a worker are over at once.
	exclusive bool
	// Names this process in records.
	owner   string
	nodes   *nodes.Members // nil: unknown
	log     *slog.Logger
	tracer  *tracing.Tracer
	now     func() time.Time // for what others read
	metrics metrics

	ready  chan struct{}   // closed when jobs can be taken
	begun  chan struct{}   // closed by start
	start  func()          // more than one call does nothing
	ctx    context.Context // ends with ErrClosed
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	types  map[string]*Type // that are handled
	closed bool
	tasks  sync.WaitGroup
}

// retryEvery is the pause after the store has failed.
const retryEvery = time.Second

// Open makes a queue ready for use. It runs nothing before Handle.
func Open(ctx context.Context, o Options) (*Queue, error) {
	q := &Queue{
		keys: keys(o.Prefix), kv: o.KV, lease: o.Lease, exclusive: o.Exclusive, owner: o.Owner, nodes: o.Nodes,
		log: o.Log, tracer: o.Tracer, now: o.now, types: make(map[string]*Type), metrics: newMetrics(),
	}
	if q.lease <= 0 {
		q.lease = 30 * time.Second
	}
	if q.now == nil {
		q.now = time.Now
	}
	if q.log == nil {
		q.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if q.exclusive {
		if err = q.requeueAll(ctx); err != nil && !errors.Is(err, kv.ErrFull) {
			return nil, err
		}
	}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
	q.ready, q.begun = make(chan struct{}), make(chan struct{})
	q.start = sync.OnceFunc(func() { close(q.begun) })
	if !o.Held {
		q.start()
	}
	if err != nil {
		q.log.Warn("jobs: all jobs wait for space")
		q.tasks.Go(q.requeueLater)
	} else {
		close(q.ready)
	}
	if !q.exclusive {
		q.tasks.Go((&sweeper{queue: q, seen: make(map[string]sighting)}).work)
	}
	if !q.exclusive && q.nodes != nil {
		q.tasks.Go((&heir{q, make(map[mark]nodes.ID)}).work)
	}
	return q, nil
}

// Start lets the jobs run of a queue that was opened Held.
func (q *Queue) Start() { q.start() }

// Handle begins to run the jobs of a type. The error is ErrClosed after Close; a type can be
// handled once.
func (q *Queue) Handle(t Type) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, handled := q.types[t.Name]
	switch {
	case q.closed:
		return ErrClosed
	case handled:
		return fmt.Errorf("jobs: type %q is handled already", t.Name)
	}
	t.Workers = max(t.Workers, 1)
	if t.Backoff == nil {
		t.Backoff = backoff
	}
	q.types[t.Name] = &t
	q.tasks.Go(func() { q.dispatch(&t) })
	return nil
}

// Close tells the running handlers to end and waits for them. Their jobs wait again, for the next
// process.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cancel(ErrClosed)
	q.tasks.Wait()
	return nil
}

// sleep pauses; false if the queue is closing.
func (q *Queue) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.ctx.Done():
		return false
	}
}
