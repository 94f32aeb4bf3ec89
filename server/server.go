package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/cluster/logins"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/designs"
	"github.com/settee-db/settee/server/find"
	"github.com/settee-db/settee/server/forward"
	"github.com/settee-db/settee/server/fulltext"
	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/logging"
	"github.com/settee-db/settee/server/queries"
	"github.com/settee-db/settee/server/replicator"
	"github.com/settee-db/settee/server/session"
	"github.com/settee-db/settee/server/shadow"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/server/users"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/lastuse"
	"github.com/settee-db/settee/tracing"
	"github.com/settee-db/settee/views"
)

const (
	// NodeName is the name of the only node unless Options say another.
	NodeName = call.NodeName
	// Version is the CouchDB release this server answers as.
	Version = call.Version
)

var nodePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+@[A-Za-z0-9._:-]+$`)

// Options are what a Server works with.
type Options struct {
	Store     *storage.Store
	Views     *views.Views
	AllFields *allfields.Indexes // indexes over all fields
	Search    *search.Indexes    // full-text indexes, nil: there are none
	Uses      *lastuse.Uses      // when queries used indexes last, nil: that is not kept
	JS        *js.Pool           // runs functions of design documents, nil: none can be run
	Config    *config.Config
	Log       *slog.Logger
	Node      string // name of the node, NodeName if empty
	// Nodes are those that have the store open; nil: there is no other one.
	Nodes *nodes.Members
	Build string // the version of what was built; GET / shows it as git_sha
	Web   string // directory of the web interface, none if empty or missing
	// Jobs is the queue whose running jobs _active_tasks shows, nil without one.
	Jobs *jobs.Queue
	// Functions are the event functions of the store, FunctionEngine runs them. Without an engine
	// the server has none.
	Functions      *registry.Registry
	FunctionEngine functions.Engine
	// Current returns when Config has what other processes have set; nil: there are none.
	Current func(context.Context) error
	// Logins tell other processes of failed logins; nil: there are none.
	Logins *logins.Log
	// NoRoom tells that so much of the disk is used that clients may not write; nil: they may.
	NoRoom func() bool
	// Running is where the requests that are under way are counted, feeds that wait among them;
	// nil: nowhere.
	Running *atomic.Int64
	// Memory is how many bytes the process may take in all; bodies of requests share half of it,
	// those of answers that clients do not take an eighth. 0: they have no bound together.
	Memory int64
	// Descriptors is how many files the process may have open; connections leave some of them to
	// the store. 0: unknown.
	Descriptors int64
	// Cluster is what the store's cluster says of itself, for _system and _prometheus; nil: it has
	// none.
	Cluster admin.Cluster
	// Tracer has spans of requests and replications; nil: nobody.
	Tracer *tracing.Tracer
	// Shadow gets what clients ask, too; nil: there is none. The server closes it.
	Shadow *shadow.Shadow
	// Metrics are what _prometheus shows besides the server's own.
	Metrics []prometheus.Collector
}

// Server answers CouchDB's HTTP protocol over a store. Its methods are safe for concurrent use.
type Server struct {
	env          *call.Env
	users        *users.Directory
	replications *replicator.Replications
	admin        *admin.Handlers
	sessions     *session.Handlers
	echo         *echo.Echo
	address      atomic.Pointer[net.Addr] // that Serve was called for last, nil before
	// connections are those of all listeners.
	connections *connections
	shadow      *shadow.Shadow
	// metricsPort serves the additional port of Prometheus.
	metricsPort *http.Server
	// functionsPort serves the additional port of event functions.
	functionsPort *http.Server
}

// New prepares a server; Serve starts it.
func New(o Options) (*Server, error) {
	if o.Node = cmp.Or(o.Node, NodeName); !nodePattern.MatchString(o.Node) {
		return nil, fmt.Errorf("bad name of a node: %q", o.Node)
	}
	env := &call.Env{
		Store: o.Store, Config: o.Config, Stats: stats.New(), Node: o.Node,
		Tracer: o.Tracer, Running: cmp.Or(o.Running, new(atomic.Int64)), Current: o.Current,
	}
	env.Log = slog.New(logging.Limited{Handler: logging.Counted{Handler: o.Log.Handler(), Count: env.Stats.Logged}})
	env.Open(o.Memory)
	verifier := principal.NewVerifier(env.Stats.Hashed)
	if o.Logins != nil {
		rules := func() principal.LockoutRules { return env.Settings().Auth.Rules.Lockout }
		verifier.Tell(func(failure [sha256.Size]byte) { o.Logins.Tell(failure) })
		o.Logins.Follow(func(f logins.Failure) { verifier.FailedElsewhere(f, rules()) },
			func() time.Duration { return rules().Lifetime })
	}
	directory, err := users.New(o.Store, verifier, env.Stats, env.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{env: env, users: directory, shadow: o.Shadow}
	if o.Shadow != nil {
		o.Metrics = append(o.Metrics, o.Shadow)
	}
	s.connections = newConnections(func() int {
		return maxConnections(env.Settings().MaxConnections, o.Memory, o.Descriptors)
	}, env.Log)
	others := forward.New(o.Nodes)
	s.replications = replicator.New(replicator.Options{
		Env: env, Jobs: o.Jobs, Port: s.port, Nodes: others, Members: o.Nodes,
	})
	s.admin, err = admin.New(admin.Options{
		Env: env, Views: o.Views, Search: o.Search, Nodes: others, Jobs: o.Jobs, JS: o.JS, Verifier: verifier,
		Replications: s.replications.Tasks, Crashing: s.replications.Crashing,
		NoRoom: o.NoRoom, Functions: functionTasks(o.Functions, o.FunctionEngine),
		Build: o.Build, Web: o.Web, Cluster: o.Cluster,
		Metrics: append([]prometheus.Collector{s.connections, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "settee_store_unavailable_total", Help: "Requests that the store did not answer, or too slowly.",
		}, func() float64 { return float64(env.Unavailable.Load()) })}, o.Metrics...),
	})
	if err != nil {
		return nil, err
	}
	s.metricsPort = s.newMetricsServer()
	env.Docs = documents.New(documents.Options{
		Store: o.Store, Designs: o.Views, JS: o.JS, Log: env.Log, Verifier: verifier,
		Rules: func() *documents.Rules { return &env.Settings().Rules },
		CheckReplication: func(body ejson.Value) error {
			return replication.CheckDocument(body, s.replications.Settings())
		},
		NoRoom:       o.NoRoom,
		UsersChanged: directory.Forget, Read: env.Stats.Read, Written: env.Stats.Written,
		Evaluated: env.Stats.Evaluated, Rejected: env.Stats.Rejected,
	})
	sessions := session.New(verifier, directory)
	s.sessions = sessions
	env.Identify = sessions.Identify()
	mango := find.New(find.Options{Views: o.Views, AllFields: o.AllFields, Search: o.Search, Uses: o.Uses})
	rows := routes(s.admin, sessions, s.replications, queries.New(o.Views, mango.AppendInfo), designs.New(o.Views),
		mango, fulltext.New(o.Search))
	if o.FunctionEngine != nil {
		rows = append(rows, functions.New(o.Functions, o.FunctionEngine, others).Routes()...)
	}
	env.Route(rows, s.connections.enterRequest)
	forget := func(last bool) {
		o.Store.ForgetParsed()
		if last {
			o.Store.ForgetBlocks()
		}
		mango.ForgetParsed()
		if o.Views != nil {
			o.Views.ForgetParsed()
		}
		if o.Search != nil {
			o.Search.Forget()
		}
	}
	for _, b := range []*memory.Budget{env.Bodies, env.Answers, env.Sorting} {
		if b != nil {
			b.Forget = forget
		}
	}
	o.Config.Subscribe(func() {
		env.ReadSettings()
		s.admin.ConfigChanged()
		directory.ConfigChanged()
		s.replications.ConfigChanged()
	})
	directory.Start(func() *auth.Settings { return env.Settings().Auth })
	s.echo = s.newEcho()
	s.functionsPort = s.newFunctionsServer()
	return s, s.replications.Start()
}

// port is what the server listens on, "" before it does.
func (s *Server) port() string {
	if address := s.address.Load(); address != nil {
		if _, port, err := net.SplitHostPort((*address).String()); err == nil {
			return port
		}
	}
	return ""
}

// headTimeout is how long the head of a request may take, and a handshake of TLS.
const headTimeout = time.Minute

// newEcho is the listener: echo accepts connections and ends them, and hands every request to the
// route table. Both of its servers, with TLS and without, have the same limits.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Paths follow CouchDB's rules, which echo's router does not know: the route table is asked
	// before it.
	serve := s.env.Serve
	if s.shadow != nil {
		serve = s.shadow.Around(serve)
	}
	e.Pre(func(echo.HandlerFunc) echo.HandlerFunc { return serve })
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.env.Log.Error("unanswered", "error", err) }
	s.configure(e.Server)
	s.configure(e.TLSServer)
	return e
}

// configure gives a server of net/http the limits of all that take requests.
func (s *Server) configure(server *http.Server) {
	wire.Configure(server)
	s.connections.follow(server)
	server.ReadHeaderTimeout = headTimeout
	server.MaxHeaderBytes = call.MaxHead
	server.IdleTimeout = 10 * time.Minute
	server.DisableGeneralOptionsHandler = true
	server.ErrorLog = log.New(logging.ConnectionLog{Log: s.env.Log}, "", 0)
}

// functionTasks gives those of the event functions that were paused for a reason, or have messages that
// are not delivered. engine may be nil: nobody has published anything then.
func functionTasks(
	all *registry.Registry, engine functions.Engine,
) func(context.Context) ([]admin.FunctionTask, error) {
	if all == nil {
		return nil
	}
	return func(ctx context.Context) (tasks []admin.FunctionTask, err error) {
		list, _, err := all.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			t := admin.FunctionTask{Function: r.Ref().String(), State: string(r.State), Since: r.Changed}
			if r.State == definition.Paused {
				t.Reason = r.Reason
			}
			if engine != nil {
				sizes, err := engine.Outbox(ctx, r)
				if err != nil {
					return nil, err
				}
				t.Outbox, t.DeadLetters, t.OutboxBytes = sizes.Waiting, sizes.DeadLetters, sizes.Bytes
			}
			if t.Reason != "" || t.Outbox+t.DeadLetters > 0 {
				tasks = append(tasks, t)
			}
		}
		return tasks, nil
	}
}

// Docs are the documents as principals see them, for what works beside requests.
func (s *Server) Docs() *documents.Store { return s.env.Docs }

// Roles are those that a user has now, on this server; known is false for one who is not there.
func (s *Server) Roles(ctx context.Context, name string) (roles []string, known bool, err error) {
	return s.sessions.Roles(ctx, s.env.Settings().Auth, name)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Serve answers connections of l until Shutdown, or until l is closed: then the error is
// net.ErrClosed, and those that there are go on.
func (s *Server) Serve(l net.Listener) error {
	address := l.Addr()
	s.address.Store(&address)
	err := s.echo.Server.Serve(wire.Listen(s.connections.listen(l, fullAnswer)))
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Drain has /_up tell load balancers to send nothing more; all else is answered as before until
// Shutdown.
func (s *Server) Drain() { s.env.Draining.Store(true) }

// Shutdown ends feeds at once, lets other requests finish until ctx ends, and stops listening.
func (s *Server) Shutdown(ctx context.Context) error {
	s.env.Stop()
	s.replications.Close()
	err := errors.Join(s.echo.Shutdown(ctx), s.metricsPort.Shutdown(ctx), s.functionsPort.Shutdown(ctx))
	s.users.Close()
	if s.shadow != nil {
		s.shadow.Close()
	}
	return err
}
