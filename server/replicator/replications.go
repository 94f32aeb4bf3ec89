package replicator

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/databases"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/server/localpeer"
	"github.com/settee-db/settee/storage/jobs"
)

// Replications is the server's part in running replications.
type Replications struct {
	env       *call.Env
	jobs      *jobs.Queue
	port      func() string // that the server listens on, "" before it does
	scheduler *replication.Scheduler
	current   atomic.Pointer[replication.Settings]
	ctx       context.Context // the life of what runs beside requests
	stop      context.CancelFunc
	follower  sync.WaitGroup
}

// followerJob is the type, and the id, of the job that follows the documents of replicator databases. There is one on a
// store, so of several processes one runs the documents' replications; when it dies another one goes on.
const followerJob = "replicator"

// New makes the scheduler; documents are not looked at before start. port is what the server listens on, "" before it
// does.
func New(env *call.Env, queue *jobs.Queue, port func() string) *Replications {
	r := &Replications{env: env, jobs: queue, port: port}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.ConfigChanged()
	r.scheduler = replication.NewScheduler(replication.SchedulerOptions{
		Store: env.Store, Settings: r.Settings, Connect: r.connect, Log: env.Log,
	})
	return r
}

// ConfigChanged reads the settings again.
func (r *Replications) ConfigChanged() { r.current.Store(replicatorSettings(r.env)) }

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
			docs.Principal{Name: spec.User.Name, Roles: spec.User.Roles})
	}
	return replication.NewHTTPPeer(e, &spec.Options, set)
}

// Start begins to run the replications of documents, here or on another process of the same store.
func (r *Replications) Start() error {
	queue := r.jobs
	if queue == nil {
		r.follower.Go(func() { r.scheduler.Follow(r.ctx) })
		return nil
	}
	follow := func(ctx context.Context, _ *jobs.Run) ([]byte, error) {
		r.scheduler.Follow(ctx)
		<-ctx.Done() // the job is not done when this process stops: the queue passes it on
		return nil, context.Cause(ctx)
	}
	err := queue.Handle(jobs.Type{Name: followerJob, Workers: 1, Run: follow})
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

// Tasks are the replications that run.
func (r *Replications) Tasks() []replication.Task { return r.scheduler.Tasks(r.ctx) }
