package admin

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/views"
)

// Options are what the handlers for the server and its node need besides call.Env.
type Options struct {
	Env          *call.Env
	Views        *views.Views    // whose builds _active_tasks shows, nil without
	Search       *search.Indexes // the same of full-text indexes
	Nodes        *forward.Nodes  // that have the store open
	Jobs         *jobs.Queue     // whose running jobs _active_tasks shows, nil without
	JS           *js.Pool        // nil without
	Verifier     *principal.Verifier
	Replications func() []replication.Task  // that run
	Crashing     func() []replication.Crash // those that wait after failures
	// Functions are the event functions that somebody has to know of; nil without.
	Functions func(context.Context) ([]FunctionTask, error)
	Build     string                 // what was built; GET / shows it as git_sha
	Web       string                 // directory of the web interface, none if empty or missing
	Cluster   Cluster                // what the store's cluster says of itself, nil without
	Metrics   []prometheus.Collector // that _prometheus shows besides CouchDB's and the process's own
	NoRoom    func() bool            // whether clients may not write for want of space; nil: they may
}

// Cluster is what the store's cluster says of itself: as metrics, and as JSON. Each asks it.
type Cluster interface {
	prometheus.Collector
	JSON() []byte
}

// Handlers serve the server and its node.
type Handlers struct {
	env          *call.Env
	views        *views.Views
	search       *search.Indexes
	nodes        *forward.Nodes
	jobs         *jobs.Queue
	js           *js.Pool
	verifier     *principal.Verifier
	replications func() []replication.Task
	functions    func(context.Context) ([]FunctionTask, error)
	build        string
	web          *os.Root // nil without a web interface
	cluster      Cluster  // nil without
	crashing     func() []replication.Crash
	noRoom       func() bool
	samples      *sampler
	metrics      *prometheus.Registry
	health       *health
	started      time.Time
	// Guards reload: several changes of the files become one reading.
	reloadMu sync.Mutex
	reload   *time.Timer // reads the ini files again, nil before there was one
}

// New opens the web interface and registers the metrics.
func New(o Options) (*Handlers, error) {
	h := &Handlers{
		env: o.Env, views: o.Views, search: o.Search, nodes: o.Nodes, jobs: o.Jobs, js: o.JS, verifier: o.Verifier,
		replications: o.Replications, functions: o.Functions, build: o.Build, cluster: o.Cluster, started: time.Now(),
		crashing: o.Crashing, noRoom: o.NoRoom, health: &health{store: o.Env.Store, log: o.Env.Log},
	}
	var err error
	if h.web, err = openWeb(o.Web); err != nil {
		return nil, fmt.Errorf("web interface: %w", err)
	}
	if h.metrics, err = h.newMetrics(o.Metrics); err != nil {
		return nil, err
	}
	h.samples = newSampler(readNumbers(h, o.Metrics), &o.Env.Stats.Answered)
	go h.samples.run(o.Env.Stopping())
	h.ConfigChanged()
	return h, nil
}
