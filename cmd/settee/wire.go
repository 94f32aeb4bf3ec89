package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/cluster/format"
	"github.com/settee-db/settee/cluster/logins"
	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/cluster/settings"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/js/confine"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/shadow"
	"github.com/settee-db/settee/server/warm"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/lastuse"
	"github.com/settee-db/settee/storage/room"
	"github.com/settee-db/settee/tracing"
	"github.com/settee-db/settee/tracing/otlp"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// This file is the only place that composes the packages.

// systemDatabases exist from the first start.
var systemDatabases = []string{"_users", "_replicator", "_global_changes"}

// app is a composed server.
type app struct {
	engine    kv.Store // below kv
	kv        kv.Store
	store     *storage.Store
	jobs      *jobs.Queue
	js        *js.Pool
	handlers  *js.Pool // of event functions
	debuggers *js.Pool // of their debug sessions
	eventing  *eventing.Engine
	views     *views.Views
	allFields *allfields.Indexes
	search    *search.Indexes
	warmer    *warm.Warmer
	uses      *lastuse.Uses
	config    *config.Config
	server    *server.Server
	nodes     *nodes.Members
	settings  *settings.Settings
	logins    *logins.Log  // nil where the store has one process
	requests  atomic.Int64 // under way
	dataDir   string
	traces    *otlp.Exporter // nil where no collector is named
	pacer     *pacer         // nil where the engine has no cache of its own

	present      context.Context    // as long as the process is one of nodes
	leave        context.CancelFunc // ends present
	staying      sync.WaitGroup
	starting     sync.WaitGroup // of a first worker
	stopStarting context.CancelFunc
}

// appOptions are what the command line chooses.
type appOptions struct {
	engine, dataDir, limits string
	dataChosen              bool // dataDir was given, so it wins over couchdb/database_dir
	webDir                  string
	shadow                  string // URL of a server that is asked the same, "" for none
	configFiles             []string
	overrideFiles           []string
	node                    string         // its name, "" for what the environment says
	memory                  int64          // the collector's limit in bytes, 0 if there is none; of servers
	program                 format.Program // that a test has it be; zero: this one
}

// formats are those of the store that the program knows.
func (o appOptions) formats() format.Program { return cmp.Or(o.program, format.This) }

// openApp opens the store and puts the server on top of it. The caller closes the app.
func openApp(ctx context.Context, o appOptions, log *slog.Logger) (*app, error) {
	a := &app{}
	var err error
	if a.config, err = loadConfig(&o); err != nil {
		return nil, err
	}
	if err = makeDataDir(a.config, o); err != nil {
		return nil, err
	}
	a.dataDir = o.dataDir
	o.memory = limitMemory(a.config)
	if a.kv, err = openEngine(o, log); err != nil {
		return nil, err
	}
	a.engine = a.kv
	if cache, ok := a.engine.(interface{ HeapBlocks() int64 }); ok {
		a.pacer = paceCollector(cache.HeapBlocks)
	}
	if sharedEngines[o.engine] {
		a.kv = format.Guarded(tellSlow(a.kv, log), keyspace.HeadKey(), o.formats())
	}
	if a.traces, err = openTracing(a.config, o.node, log); err != nil {
		a.pacer.end()
		return nil, errors.Join(err, a.kv.Close())
	}
	if a.traces != nil {
		a.kv = wrapkv.Traced(a.kv)
	}
	if a.store, err = storage.Open(ctx, storage.Options{KV: a.kv, Program: o.formats()}); err != nil {
		a.pacer.end()
		a.traces.Close()
		return nil, errors.Join(err, a.kv.Close())
	}
	if sharedEngines[o.engine] {
		if err = settle(ctx, a.kv, a.engine, a.store, log); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	if err = a.openNodes(ctx, o, log); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err = prepareAdmin(a.config, os.Stderr); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.jobs, err = openJobs(ctx, a.kv, a.nodes, a.tracer(), o, log); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.js, err = openJavaScript(a.config, o.memory, log); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.views, err = views.Open(views.Options{
		Store: a.store, KV: a.kv, Jobs: a.jobs, JS: a.js, WorkerMemory: a.js.Memory(), Log: log,
		Memory: o.memory, MaxRows: mostRows(o.memory),
		Nodes:       a.sharing(o),
		Languages:   map[string]views.Language{mango.Language: mango.Views{}},
		ReduceLimit: func() reduce.Limit { return reduceLimit(a.config, log) },
		NoRoom:      a.fuller("interactive_view_indexing_threshold"),
		MaxKey:      a.viewSetting("key_size_limit"),
		MaxKeys:     a.viewSetting("keys_size_limit"),
		MaxValue:    a.viewSetting("value_size_limit"),
		BatchSize:   func() int { return a.viewSetting("batch_size") },
		Levels:      levels.Config{Levels: a.viewSetting("level_count"), Fan: a.viewSetting("level_fan")},
	}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.allFields, err = allfields.New(allfields.Options{
		Store: a.store, Jobs: a.jobs, Split: mango.SplitField, Limits: a.kv.Limits(), Log: log,
		Batch: func() int { return int(a.config.Int("mango", "all_fields_batch_size", allfields.DefaultBatch)) },
	}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.search = search.New(search.Options{
		Store: a.store, KV: a.kv, JS: a.js, Jobs: a.jobs, Log: log, Memory: o.memory, WorkerMemory: a.js.Memory(),
		Languages: map[string]search.Language{mango.Language: mango.Texts{}},
	})
	if err = a.search.Start(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.warmer = warm.New(warm.Options{
		Store: a.store, Views: a.views, Search: a.search, Jobs: a.jobs, Config: a.config, Log: log,
		NoRoom: a.fuller("background_view_indexing_threshold"),
	})
	a.views.OnDesignChanged(a.warmer.DesignChanged)
	a.uses = lastuse.New(lastuse.Options{Store: a.store, Log: log})
	id := a.store.UUID()
	a.config.AddStock("couchdb", "uuid", hex.EncodeToString(id[:]))
	// before the system databases, whose creation is written to _global_changes meanwhile
	a.store.SetHooks(storage.Hooks{
		MaxPartitionSize: func() int64 { return a.config.Int("couchdb", "max_partition_size", 0) },
		TimesFrom:        func() int64 { return a.config.Int("couchdb", "time_seq_min_time", 0) },
		History:          server.History(a.config),
		Validator:        documents.NewValidator(a.config, a.views, a.js),
		Indexer:          indexers.Join(a.views, a.allFields, a.search, a.uses),
		IndexUsed:        a.uses.Note,
		Tag:              a.databaseTags(o.engine),
		Updated:          a.warmer.Changed,
		Room:             roomForWrites(o.memory),
	})
	a.jobs.Start() // unfinished work of the last process reads and writes with the hooks
	if err = a.warmer.Start(); err == nil {
		err = unlessFull(prepareDatabases(ctx, a.store, a.config.String("chttpd_auth", "authentication_db")), log)
	}
	if err == nil {
		err = unlessFull(a.allFields.Start(ctx), log)
	}
	if err == nil {
		err = a.openEventing(log)
	}
	var beside *shadow.Shadow
	if err == nil {
		beside, err = openShadow(o.shadow, log)
	}
	if err == nil {
		a.server, err = server.New(server.Options{
			Shadow: beside, Tracer: a.tracer(),
			Functions: a.eventing.Registry(), FunctionEngine: a.eventing,
			Uses:  a.uses,
			Store: a.store, JS: a.js, Views: a.views, AllFields: a.allFields, Search: a.search, Jobs: a.jobs,
			Config: a.config, Log: log,
			Node: o.node, Nodes: a.nodes,
			Build: buildVersion(), Web: o.webDir, Metrics: a.collectors(),
			Cluster: a.cluster(),
			Current: a.current(), NoRoom: a.fuller("interactive_database_writes_threshold"),
			Logins: a.logins, Running: &a.requests, Memory: o.memory, Descriptors: openFiles(),
		})
	}
	if err == nil && a.logins != nil {
		a.staying.Go(func() { a.logins.Run(a.present) })
	}
	if err == nil {
		err = unlessFull(a.eventing.Start(a.server.Docs(), a.server.Roles, a.server.Removals()), log)
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// openShadow begins to mirror requests to the server at a URL, if there is one.
func openShadow(text string, log *slog.Logger) (*shadow.Shadow, error) {
	if text == "" {
		return nil, nil
	}
	u, err := shadow.Parse(text)
	if err != nil {
		return nil, err
	}
	return shadow.New(u, log), nil
}

// fuller tells whether more of the file system that the store is on is used than a threshold of
// [disk_monitor] allows; never, where the engine has none.
func (a *app) fuller(threshold string) func() bool {
	disk, ok := a.engine.(interface{ DiskUsed() (int64, bool) })
	return func() bool {
		most := a.config.DiskThreshold(threshold)
		if !ok || most >= 100 {
			return false
		}
		used, known := disk.DiskUsed()
		return known && used > most
	}
}

// makeDataDir makes the data directory where there is none.
func makeDataDir(c *config.Config, o appOptions) error {
	err := os.MkdirAll(o.dataDir, 0o750)
	if err != nil && !o.dataChosen {
		return mend(c, "[couchdb] database_dir, or --data", err)
	}
	return err
}

// prepareDatabases makes what every server has from the first start on. Other processes may be
// doing the same on the same store.
func prepareDatabases(ctx context.Context, s *storage.Store, users string) error {
	for _, name := range systemDatabases {
		exists, err := s.DB(name).Exists(ctx)
		if err == nil && !exists {
			err = s.Create(ctx, name, storage.CreateOptions{Q: 2, N: 1})
		}
		if err != nil && !errors.Is(err, compat.KindFileExists) {
			return fmt.Errorf("database %s: %w", name, err)
		}
	}
	return documents.EnsureAuthDesign(ctx, s.DB(users))
}

// unlessFull passes over what a full store refuses at the start: a server on it reads, and can make
// room.
func unlessFull(err error, log *slog.Logger) error {
	if errors.Is(err, kv.ErrFull) {
		log.Warn("not everything could be prepared", "error", err)
		return nil
	}
	return err
}

// sharedEngines are the engines with which several processes can have one store open.
var sharedEngines = map[string]bool{"fdb": true}

// sharing lists the other processes that may have the same store open; nil where the engine is for
// one process.
func (a *app) sharing(o appOptions) *nodes.Members {
	if sharedEngines[o.engine] {
		return a.nodes
	}
	return nil
}

// databaseTags gives the marks of transactions on databases, for engines that may heed them.
func (a *app) databaseTags(engine string) func(database string) string {
	if !sharedEngines[engine] {
		return nil
	}
	return func(database string) string {
		if a.config.String("settee", "transaction_tags") != "database" {
			return ""
		}
		return "db:" + database
	}
}

// viewSetting is a number of the section couch_views, 0 for none.
func (a *app) viewSetting(key string) int {
	return int(max(0, min(a.config.Int("couch_views", key, 0), 1<<31-1)))
}

// wholeFloat is a number as Erlang reads it: with a point between digits (config:get_float).
var wholeFloat = regexp.MustCompile(`^[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?$`)

// reduceLimit reads which results of reduce functions are too large. A ratio that is no number with
// a point is the default; any other reduce_limit than false and log is true.
func reduceLimit(c *config.Config, log *slog.Logger) reduce.Limit {
	mode := c.String("query_server_config", "reduce_limit")
	limit := reduce.Limit{
		On: mode != "false" && mode != "log", Log: mode == "log", Ratio: reduce.DefaultLimit.Ratio,
		Threshold: int(c.Int("query_server_config", "reduce_limit_threshold", math.MaxInt32)),
		Warn:      func(message string) { log.Warn("reduce overflow", "message", message) },
	}
	if text := c.String("query_server_config", "reduce_limit_ratio"); wholeFloat.MatchString(text) {
		limit.Ratio, _ = strconv.ParseFloat(text, 64) // beyond the doubles: infinite, which is what is meant
	}
	return limit
}

// roomForWrites gives each request its share of the memory for indexing large documents. Nobody is
// a user of it as others are, who may have all of it.
func roomForWrites(bytes int64) func(context.Context) room.Share {
	writes := memory.NewWrites(bytes)
	return func(ctx context.Context) room.Share { return memory.NewShare(writes, "user "+documents.WriterOf(ctx)) }
}

// openJobs opens the queue, held: no job runs before all handlers are registered.
func openJobs(
	ctx context.Context,
	store kv.Store,
	members *nodes.Members,
	tracer *tracing.Tracer,
	o appOptions,
	log *slog.Logger,
) (*jobs.Queue, error) {
	return jobs.Open(ctx, jobs.Options{
		KV: store, Prefix: keyspace.JobsPrefix(), Exclusive: !sharedEngines[o.engine], Owner: o.node, Nodes: members,
		Held: true, Log: log, Tracer: tracer,
	})
}

// nodeLease is how long a process on a shared store counts as there without a sign of life: so long
// it keeps its jobs, its replications and its partitions of event functions, and so long a change
// of the configuration waits for it. What a dead process did goes on elsewhere within five seconds.
const nodeLease = 4 * time.Second

// openNodes makes the process one of those that have the store open, and the configuration theirs
// together.
func (a *app) openNodes(ctx context.Context, o appOptions, log *slog.Logger) error {
	options := nodes.Options{
		KV: a.kv, Prefix: keyspace.NodesPrefix(), Log: log,
		Info: nodes.Info{Name: o.node, Version: buildVersion(), Started: time.Now().UTC(), Format: o.formats().Newest},
		Load: a.requests.Load,
	}
	if !sharedEngines[o.engine] {
		a.nodes = nodes.New(options)
		return nil
	}
	options.Lease = nodeLease
	a.nodes = nodes.New(options)
	var err error
	a.settings, err = settings.Open(ctx, settings.Options{
		KV: a.kv, Prefix: keyspace.SettingsPrefix(), Nodes: a.nodes, Config: a.config, Log: log,
	})
	if err != nil {
		return err
	}
	a.present, a.leave = context.WithCancel(context.Background())
	a.staying.Go(func() { a.nodes.Run(a.present) })
	a.staying.Go(func() { a.settings.Run(a.present) })
	a.logins = logins.New(logins.Options{KV: a.kv, Prefix: keyspace.LoginsPrefix(), Log: log})
	return nil
}

// current waits for what other processes have set; nil where there are none.
func (a *app) current() func(context.Context) error {
	if a.settings == nil {
		return nil
	}
	return a.settings.Current
}

// openJavaScript makes the worker processes for functions of design documents, on a server with so
// many bytes of memory; their time follows the configuration.
func openJavaScript(c *config.Config, bytes int64, log *slog.Logger) (*js.Pool, error) {
	timeout := func() time.Duration {
		return time.Duration(c.Int("couchdb", "os_process_timeout", 0)) * time.Millisecond
	}
	o, err := workerOptions(c)
	if err != nil {
		return nil, err
	}
	o.Timeout, o.MaxRows, o.MaxResult = timeout(), mostRows(bytes), mostResult(bytes)
	o.Confined = func(holds string) { sayConfined(log, runtime.GOOS, holds) }
	o.Log = func(tenant, text string) { log.Info("function says", "database", tenant, "text", text) }
	pool := js.NewPool(o)
	c.Subscribe(func() { pool.SetTimeout(timeout()) })
	return pool, nil
}

// sayConfined tells what confines JavaScript workers; that nothing can where the system is not
// Linux is a warning.
func sayConfined(log *slog.Logger, system, holds string) {
	if system == "linux" {
		log.Info("JavaScript workers are confined", "by", holds)
		return
	}
	log.Warn("JavaScript workers are not confined: only Linux has what it takes", "system", system)
}

// workerOptions are what all workers have in common.
func workerOptions(c *config.Config) (o js.Options, err error) {
	o.Confinement, err = confine.ParseLevel(c.String("query_server_config", "os_process_confinement"))
	if err != nil {
		return o, mend(c, "[query_server_config] os_process_confinement", err)
	}
	if o.User, o.Group, err = parseUser(c.String("query_server_config", "os_process_user")); err != nil {
		return o, mend(c, "[query_server_config] os_process_user", err)
	}
	allowed := allowance(c.String("settee", "memory"))
	o.Memory = workerMemory(c.String("query_server_config", "os_process_memory"), allowed)
	o.Workers = workerCount(c.Int("query_server_config", "os_process_limit", 0), o.Memory, allowed)
	return o, nil
}

// openEventing makes the engine of event functions, with workers of its own: half as many as those
// of design documents, unless the configuration says how many.
func (a *app) openEventing(log *slog.Logger) error {
	o, err := workerOptions(a.config)
	if err != nil {
		return err
	}
	o.Workers = max(1, o.Workers/2)
	if n := a.config.Int("eventing", "worker_processes", 0); n > 0 {
		o.Workers = int(min(n, 1000))
	}
	o.Log = func(tenant, text string) { log.Info("event function says", "function", tenant, "text", text) }
	networks, err := replication.ParseGuard(
		a.config.String("eventing", "curl_allowed_networks"), a.config.String("eventing", "curl_denied_networks"))
	if err != nil {
		return mend(a.config, "[eventing] curl_allowed_networks and curl_denied_networks", err)
	}
	a.handlers = js.NewPool(o)
	o.Workers, o.PerTenant, o.Memory = debug.Most, 1, min(o.Memory, 128<<20)
	a.debuggers = js.NewPool(o)
	a.eventing = eventing.New(eventing.Options{
		KV: a.kv, Store: a.store, Views: a.views, AllFields: a.allFields, Jobs: a.jobs, JS: a.handlers, Log: log,
		Debuggers: a.debuggers, Nodes: a.nodes, Connects: networks.Allows,
		Tracer: a.tracer(),
	})
	return nil
}

// startJavaScript has a worker started, so that the first function called finds one, and the log
// tells what confines it. It ends again if no function is called. close waits for the start, which
// it ends.
func (a *app) startJavaScript(log *slog.Logger) {
	var ctx context.Context
	ctx, a.stopStarting = context.WithCancel(context.Background())
	a.starting.Go(func() {
		if err := a.js.CheckMap(ctx, "", "function () {}"); err != nil && ctx.Err() == nil {
			log.Warn("JavaScript did not start", "error", err)
		}
	})
}

// parseUser reads two numbers, user:group, neither of which is root's.
func parseUser(text string) (user, group int, err error) {
	if n, _ := fmt.Sscanf(text, "%d:%d", &user, &group); n != 2 || fmt.Sprintf("%d:%d", user, group) != text ||
		user <= 0 ||
		group <= 0 {
		return 0, 0, fmt.Errorf("%q: a user and a group other than root are expected, as 65534:65534", text)
	}
	return user, group, nil
}

// collectors are the parts that have numbers for Prometheus.
func (a *app) collectors() []prometheus.Collector {
	list := []prometheus.Collector{a.store, a.jobs, a.js}
	if a.traces != nil {
		list = append(list, a.traces)
	}
	if engine, ok := a.engine.(prometheus.Collector); ok {
		list = append(list, engine)
	}
	if a.handlers != nil {
		list = append(list, functionWorkers(a.handlers)...)
	}
	return list
}

// functionWorkers are the numbers of the workers of event functions, apart from those of design
// documents, whose pool has its own names.
func functionWorkers(pool *js.Pool) []prometheus.Collector {
	gauge := func(state string, of func(js.Stats) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "settee_function_workers", Help: "worker processes of event functions that live",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(of(pool.Stats())) })
	}
	return []prometheus.Collector{
		gauge("idle", func(s js.Stats) int { return s.Idle }),
		gauge("busy", func(s js.Stats) int { return s.Running - s.Idle }),
	}
}

// cluster is what the engine's cluster says of itself; nil if it has none.
func (a *app) cluster() admin.Cluster {
	if engine, ok := a.engine.(statusTeller); ok {
		return clusterStatus{engine}
	}
	return nil
}

// close stops everything that uses the store, then closes the store. Jobs go first: their handlers
// work with the rest.
func (a *app) close() error {
	var err error
	if a.stopStarting != nil {
		a.stopStarting()
		a.starting.Wait()
	}
	if a.warmer != nil {
		a.warmer.Close()
	}
	if a.jobs != nil {
		err = a.jobs.Close()
	}
	if a.eventing != nil {
		a.eventing.Close()
	}
	if a.views != nil {
		err = errors.Join(err, a.views.Close())
	}
	if a.search != nil {
		a.search.Close()
	}
	if a.uses != nil {
		a.uses.Close()
	}
	for _, pool := range []*js.Pool{a.js, a.handlers, a.debuggers} {
		if pool != nil {
			pool.Close()
		}
	}
	if a.leave != nil {
		a.leave()
		a.staying.Wait()
	}
	a.pacer.end()
	a.traces.Close()
	return errors.Join(err, a.store.Close(), a.kv.Close())
}
