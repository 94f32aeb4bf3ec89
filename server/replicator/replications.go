package replicator

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/databases"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/server/localpeer"
	"github.com/settee-db/settee/storage/jobs"
)

// Options are what replications need of the server.
type Options struct {
	Env  *call.Env
	Jobs *jobs.Queue   // nil without
	Port func() string // that the server listens on, "" before it does
	// Nodes are the other nodes, Members all of them; nil where there is no other one.
	Nodes   *forward.Nodes
	Members *nodes.Members
}

// Replications is the server's part in running replications.
type Replications struct {
	env       *call.Env
	jobs      *jobs.Queue
	port      func() string // that the server listens on, "" before it does
	nodes     *forward.Nodes
	shared    *sharing // nil without jobs
	scheduler *replication.Scheduler
	current   atomic.Pointer[replication.Settings]
	ctx       context.Context // the life of what runs beside requests
	stop      context.CancelFunc
	follower  sync.WaitGroup
}

// followerJob is the type, and the id, of the job that follows the documents of replicator
// databases where one process has the store.
const followerJob = "replicator"

// New makes the scheduler; documents are not looked at before start.
func New(o Options) *Replications {
	r := &Replications{env: o.Env, jobs: o.Jobs, port: o.Port, nodes: o.Nodes}
	r.ctx, r.stop = context.WithCancel(context.Background())
	scheduler := replication.SchedulerOptions{
		Store: o.Env.Store, Settings: r.Settings, Connect: r.connect, Log: o.Env.Log,
	}
	if o.Jobs != nil {
		r.shared = &sharing{members: o.Members, jobs: o.Jobs}
		scheduler.Sharing = r.shared
	}
	r.ConfigChanged()
	r.scheduler = replication.NewScheduler(scheduler)
	return r
}

// ConfigChanged reads the settings again.
func (r *Replications) ConfigChanged() {
	set := replicatorSettings(r.env)
	set.Shared = r.severalNodes()
	r.current.Store(set)
}

// severalNodes reports whether there may be other nodes.
func (r *Replications) severalNodes() bool {
	return r.shared != nil && r.shared.members != nil && !r.shared.members.Alone()
}

// Settings are those in force.
func (r *Replications) Settings() *replication.Settings { return r.current.Load() }

// connect makes the peer of an endpoint: storage itself where it is one of this server's databases.
func (r *Replications) connect(
	e *replication.Endpoint,
	spec *replication.Spec,
	set *replication.Settings,
) replication.Peer {
	if e.IsLocal {
		peers := localpeer.Options{
			Docs: r.env.Docs,
			Create: func(ctx context.Context, name string, query compat.Query) error {
				return databases.Create(ctx, r.env, r.env.Settings(), name, query)
			},
		}
		return localpeer.New(peers, e.Local, e.DisplayURL(),
			principal.Principal{Name: spec.User.Name, Roles: spec.User.Roles})
	}
	return replication.NewHTTPPeer(e, &spec.Options, set)
}

// Start begins to run the replications of documents: of several nodes each runs what falls to it.
func (r *Replications) Start() error {
	queue := r.jobs
	if queue != nil {
		if err := queue.Handle(jobs.Type{Name: jobType, Pauses: true, Stays: true}); err != nil {
			return err
		}
	}
	if queue == nil || r.severalNodes() {
		r.follower.Go(func() { r.scheduler.Follow(r.ctx) })
		return nil
	}
	follow := func(ctx context.Context, _ *jobs.Run) ([]byte, error) {
		r.scheduler.Follow(ctx)
		<-ctx.Done() // the job is not done when this process stops: the queue passes it on
		return nil, context.Cause(ctx)
	}
	err := queue.Handle(jobs.Type{Name: followerJob, Workers: 1, Run: follow, Stays: true})
	if err == nil {
		_, err = queue.Add(r.ctx, jobs.Spec{Type: followerJob, ID: followerJob})
	}
	return err
}

// Close stops all replications; they write their checkpoints.
func (r *Replications) Close() {
	r.stop()
	r.scheduler.Close()
	r.follower.Wait()
}

// Crashing are the replications of this node that wait after failures.
func (r *Replications) Crashing() []replication.Crash { return r.scheduler.Crashing() }

// Tasks are the replications that run.
func (r *Replications) Tasks() []replication.Task { return r.scheduler.Tasks(r.ctx) }
