package call

import (
	"context"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/tracing"
)

// NodeName is the name of the only node unless another one is given; clients see it in shard maps
// and below /_node.
const NodeName = "couchdb@127.0.0.1"

// Env is what all handlers of a server share. What only one resource needs belongs to its package.
type Env struct {
	Store   *storage.Store
	Docs    *documents.Store // the store as principals see it
	Config  *config.Config
	Log     *slog.Logger
	Stats   *stats.Stats
	Node    string        // name of the node
	Running *atomic.Int64 // requests under way
	// Tracer has a span for each request; nil: nobody.
	Tracer *tracing.Tracer

	// Current waits until this process has the settings that all processes on the store share; nil:
	// no other process has it open.
	Current func(context.Context) error

	Unavailable atomic.Int64 // requests that the store did not answer, or not fast enough
	Draining    atomic.Bool  // load balancers are told to send nothing more

	// Identify are the ways to identify a user, by the names that auth.Settings has for them. One
	// sets Call.User and returns true, leaves the request to the next one (false), or ends it.
	Identify map[string]func(*Call) (bool, error)

	settings atomic.Pointer[Settings]
	Bodies   *memory.Budget // of requests
	Answers  *memory.Budget
	Sorting  *memory.Budget // of queries
	Gate     *memory.Gate
	Routes   *Router
	enter    func(*Call, Handler) error
	calls    sync.Pool
	dates    dateCache
	stopping chan struct{}
	stopOnce sync.Once
}

// Open completes an Env whose exported fields are set, but for Docs and Identify: it reads the
// settings. bytes is the memory of the process, which bodies of requests, what answers hold and
// what queries sort share parts of; 0: they have no bound together.
func (e *Env) Open(bytes int64) {
	e.Gate, e.stopping = memory.NewGate(bytes), make(chan struct{})
	e.Bodies, e.Answers = memory.NewBodies(bytes, e.Gate), memory.NewAnswers(bytes, e.Gate)
	e.Sorting = memory.NewSorting(bytes, e.Gate)
	e.calls.New = func() any { return new(Call) }
	e.settings.Store(readSettings(e.Config, nil))
}

// Route sets the rows of all routes, and what lets requests in between being counted and their
// limits.
func (e *Env) Route(routes []Route, enter func(*Call, Handler) error) {
	e.Routes, e.enter = NewRouter(routes), enter
}

// Settings are those in force now. A request sees those of its begin: Call.Settings.
func (e *Env) Settings() *Settings { return e.settings.Load() }

// ReadSettings takes a changed configuration over.
func (e *Env) ReadSettings() { e.settings.Store(readSettings(e.Config, e.settings.Load())) }

// Stopping is closed when the server is about to stop: feeds end their answers then.
func (e *Env) Stopping() <-chan struct{} { return e.stopping }

// Stop closes Stopping.
func (e *Env) Stop() { e.stopOnce.Do(func() { close(e.stopping) }) }

// UUID is the identity of the server: the configured one, else the store's.
func (e *Env) UUID() string {
	if id, ok := e.Config.Get("couchdb", "uuid"); ok {
		return id
	}
	id := e.Store.UUID()
	return hex.EncodeToString(id[:])
}

// Serve runs one request through the chain.
func (e *Env) Serve(ec echo.Context) error {
	e.Running.Add(1)
	defer e.Running.Add(-1)
	c := e.calls.Get().(*Call) // an empty one
	c.set(e, ec.Request(), ec.Response())
	c.conn.Begin()
	defer c.Outgoing.end()
	defer c.in.abandon() // also where the answer is broken off by a panic
	err := c.handle()
	c.finish()
	c.DropJSON()
	*c = Call{} // the pool keeps no request alive
	e.calls.Put(c)
	return err
}
