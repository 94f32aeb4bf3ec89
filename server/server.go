package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/js"
)

// NodeName is the name of the only node unless Options say another; clients see it in shard maps and below /_node.
const NodeName = "couchdb@127.0.0.1"

var nodePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+@[A-Za-z0-9._:-]+$`)

// Options are what a Server works with.
type Options struct {
	Store  *storage.Store
	Views  *views.Views
	Fields *fieldindex.Indexes // indexes over all fields
	JS     *js.Pool            // runs functions of design documents, nil: none can be run
	Config *config.Config
	Log    *slog.Logger
	Node   string // name of the node, NodeName if empty
	Web    string // directory of the web interface, none if empty or missing
	// Jobs is the queue whose running jobs _active_tasks shows, nil without one.
	Jobs *jobs.Queue
	// Memory is how many bytes the process may take in all; bodies of requests share half of it, those of answers that clients do not
	// take an eighth. 0: they have no bound together.
	Memory int64
	// Metrics are what _prometheus shows besides the server's own.
	Metrics []prometheus.Collector
}

// Server answers CouchDB's HTTP protocol over a store. Its methods are safe for concurrent use.
type Server struct {
	store    *storage.Store
	jobs     *jobs.Queue
	views    *views.Views
	fields   *fieldindex.Indexes
	js       *js.Pool
	config   *config.Config
	log      *slog.Logger
	node     string
	web      *os.Root // the web interface, nil without one
	settings atomic.Pointer[settings]
	bodies   *bodyBudget
	routes   *node
	handle   Handler
	calls    sync.Pool
	verifier *auth.Verifier
	users    *userDirectory
	secretMu sync.Mutex // while the cookie secret is made
	stats    *stats
	metrics  *prometheus.Registry
	health   *health
	outgoing *outgoing
	// metricsPort serves the additional port of Prometheus.
	metricsPort *http.Server
	dates       dateCache
	// indexLists are the databases' Mango indexes as they were parsed.
	indexLists   indexCache
	reshard      reshardState
	started      time.Time
	echo         *echo.Echo
	replications *replications
	stopping     chan struct{}
	stopOnce     sync.Once
}

// New prepares a server; Serve starts it.
func New(o Options) (*Server, error) {
	o.Log = slog.New(limitedLog{o.Log.Handler()})
	stats := newStats()
	verifier := auth.NewVerifier(stats.hashed)
	users, err := newUserDirectory(o.Store, verifier, stats, o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{
		store: o.Store, views: o.Views, fields: o.Fields, js: o.JS, jobs: o.Jobs, config: o.Config, log: o.Log, verifier: verifier, users: users, stats: stats, started: time.Now(),
		bodies: newBodyBudget(o.Memory), outgoing: newOutgoing(o.Memory),
		routes: newRouter(routes), handle: compose(dispatch), stopping: make(chan struct{}),
	}
	if s.node = o.Node; s.node == "" {
		s.node = NodeName
	}
	if !nodePattern.MatchString(s.node) {
		return nil, fmt.Errorf("bad name of a node: %q", s.node)
	}
	if s.web, err = openWeb(o.Web); err != nil {
		return nil, fmt.Errorf("web interface: %w", err)
	}
	if s.metrics, err = newMetrics(s, o.Metrics); err != nil {
		return nil, err
	}
	s.health = &health{store: o.Store, log: o.Log}
	s.metricsPort = s.newMetricsServer()
	s.calls.New = func() any { return new(Call) }
	s.settings.Store(readSettings(o.Config, nil))
	s.replications = newReplications(s)
	o.Config.Subscribe(func() {
		s.settings.Store(readSettings(o.Config, s.settings.Load()))
		users.configChanged()
		s.replications.configChanged()
	})
	users.running.Go(func() { users.watch(func() *authSettings { return s.settings.Load().auth }) })
	s.echo = s.newEcho()
	return s, s.replications.start()
}

func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Paths follow CouchDB's rules, which echo's router does not know: the table in routes.go is asked before it.
	e.Pre(func(echo.HandlerFunc) echo.HandlerFunc { return s.serve })
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.log.Error("unanswered", "error", err) }
	wire.Configure(e.Server)
	for _, server := range []*http.Server{e.Server, e.TLSServer} {
		server.ReadHeaderTimeout = time.Minute
		server.IdleTimeout = 10 * time.Minute
		server.DisableGeneralOptionsHandler = true
	}
	return e
}

// Stopping is closed when the server is about to stop: feeds end their answers then.
func (s *Server) Stopping() <-chan struct{} { return s.stopping }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Serve answers connections of l until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	s.echo.Listener = wire.Listen(l)
	if err := s.echo.Server.Serve(s.echo.Listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown ends feeds at once, lets other requests finish until ctx ends, and stops listening.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	s.replications.close()
	err := errors.Join(s.echo.Shutdown(ctx), s.metricsPort.Shutdown(ctx))
	s.users.close()
	return err
}

// serve runs one request through the chain.
func (s *Server) serve(ec echo.Context) error {
	c := s.calls.Get().(*Call)
	r := ec.Request()
	conn := wire.FromContext(r.Context())
	conn.Begin()
	*c = Call{
		srv: s, set: s.settings.Load(), echo: ec, r: r, w: ec.Response(), conn: conn,
		body: newRequestBody(r, s.bodies),
	}
	body := c.body
	defer body.share.release() // also where the answer is broken off by a panic
	err := s.handle(c)
	c.finish()
	if c.json != nil {
		c.json.Release()
	}
	*c = Call{} // the pool keeps no request alive
	s.calls.Put(c)
	return err
}

// uuid is the identity of the server: the configured one, else the store's.
func (s *Server) uuid() string {
	if id, ok := s.config.Get("couchdb", "uuid"); ok {
		return id
	}
	id := s.store.UUID()
	return hex.EncodeToString(id[:])
}
