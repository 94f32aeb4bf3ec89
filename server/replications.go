package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/storage/jobs"
)

// replications is the server's part in running replications.
type replications struct {
	srv       *Server
	scheduler *replication.Scheduler
	current   atomic.Pointer[replication.Settings]
	ctx       context.Context
	stop      context.CancelFunc
	follower  sync.WaitGroup
}

// followerJob is the type, and the id, of the job that follows the documents of replicator databases. There is one on a
// store, so of several processes one runs the documents' replications; when it dies another one goes on.
const followerJob = "replicator"

// newReplications makes the scheduler; documents are not looked at before start.
func newReplications(s *Server) *replications {
	r := &replications{srv: s}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.configChanged()
	r.scheduler = replication.NewScheduler(replication.SchedulerOptions{
		Store: s.store, Settings: r.settings, Connect: r.connect, Log: s.log,
	})
	return r
}

func (r *replications) configChanged() { r.current.Store(r.srv.replicatorSettings()) }

func (r *replications) settings() *replication.Settings { return r.current.Load() }

// connect makes the peer of an endpoint: storage itself where it is one of this server's databases.
func (r *replications) connect(e *replication.Endpoint, spec *replication.Spec, set *replication.Settings) replication.Peer {
	if e.IsLocal {
		return &localPeer{srv: r.srv, name: e.Local, uri: e.DisplayURL(), user: Principal{Name: spec.User.Name, Roles: spec.User.Roles}}
	}
	return replication.NewHTTPPeer(e, &spec.Options, set)
}

// start begins to run the replications of documents, here or on another process of the same store.
func (r *replications) start() error {
	queue := r.srv.jobs
	if queue == nil {
		r.follower.Go(func() { r.scheduler.Follow(r.ctx) })
		return nil
	}
	err := queue.Handle(jobs.Type{Name: followerJob, Workers: 1, Run: func(ctx context.Context, _ *jobs.Run) ([]byte, error) {
		r.scheduler.Follow(ctx)
		<-ctx.Done() // the job is not done when this process stops: the queue passes it on
		return nil, context.Cause(ctx)
	}})
	if err == nil {
		_, err = queue.Add(r.ctx, jobs.Spec{Type: followerJob, ID: followerJob})
	}
	return err
}

// close stops all replications; they write their checkpoints.
func (r *replications) close() {
	r.stop()
	r.scheduler.Close()
	r.follower.Wait()
}

// tasks are the running replications for _active_tasks.
func (r *replications) tasks() []task {
	var out []task
	for _, t := range r.scheduler.Tasks(r.ctx) {
		shown := task{node: r.srv.node, pid: t.PID, members: t.Members}
		shown.setTimes(t.Began, t.Updated)
		out = append(out, shown)
	}
	return out
}
