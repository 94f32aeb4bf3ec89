package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/js"
	"github.com/settee-db/settee/views/levels"
)

// This file is the only place that composes the packages.

// systemDatabases exist from the first start.
var systemDatabases = []string{"_users", "_replicator", "_global_changes"}

// app is a composed server.
type app struct {
	kv     kv.Store
	store  *storage.Store
	jobs   *jobs.Queue
	js     *js.Pool
	views  *views.Views
	fields *fieldindex.Indexes
	warmer *server.Warmer
	config *config.Config
	server *server.Server
}

// appOptions are what the command line chooses.
type appOptions struct {
	engine, dataDir, limits string
	dataChosen              bool // dataDir was given, so it wins over couchdb/database_dir
	webDir                  string
	configFiles             []string
}

// openApp opens the store and puts the server on top of it. The caller closes the app.
func openApp(ctx context.Context, o appOptions, log *slog.Logger) (*app, error) {
	a := &app{}
	var err error
	if a.config, err = loadConfig(&o); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(o.dataDir, 0o750); err != nil {
		return nil, err
	}
	if err = prepareAdmin(a.config, os.Stderr); err != nil {
		return nil, err
	}
	if a.kv, err = openEngine(o); err != nil {
		return nil, err
	}
	if a.store, err = storage.Open(ctx, storage.Options{KV: a.kv}); err != nil {
		return nil, errors.Join(err, a.kv.Close())
	}
	if a.jobs, err = openJobs(ctx, a.kv, o.engine, log); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.js = openJavaScript(a.config, log)
	if a.views, err = views.Open(views.Options{
		Store: a.store, KV: a.kv, Jobs: a.jobs, JS: a.js, DesignChanged: func(tx *storage.Tx) error { return a.warmer.DesignChanged(tx) },
		Languages:   map[string]views.Language{mango.Language: mango.Views{}},
		ReduceLimit: func() string { return a.config.String("query_server_config", "reduce_limit") },
		MaxKey:      a.viewSetting("key_size_limit"), MaxKeys: a.viewSetting("keys_size_limit"), MaxValue: a.viewSetting("value_size_limit"),
		BatchSize: func() int { return a.viewSetting("batch_size") },
		Levels:    levels.Config{Levels: a.viewSetting("level_count"), Fan: a.viewSetting("level_fan")},
	}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if a.fields, err = fieldindex.New(fieldindex.Options{
		Store: a.store, Jobs: a.jobs, Split: mango.SplitField, Limits: a.kv.Limits(), Log: log,
		Batch: func() int { return int(a.config.Int("mango", "all_fields_batch_size", fieldindex.DefaultBatch)) },
	}); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.warmer = server.NewWarmer(server.WarmerOptions{Store: a.store, Views: a.views, Jobs: a.jobs, Config: a.config, Log: log})
	id := a.store.UUID()
	a.config.AddStock("couchdb", "uuid", hex.EncodeToString(id[:]))
	a.store.SetHooks(storage.Hooks{ // before the system databases, whose creation is written to _global_changes meanwhile
		MaxPartitionSize: func() int64 { return a.config.Int("couchdb", "max_partition_size", 0) },
		Validator:        server.NewValidator(a.config, a.views, a.js),
		Indexer:          storage.Indexers(a.views, a.fields),
		Updated:          a.warmer.Changed,
	})
	if err = a.warmer.Start(); err == nil {
		err = prepareDatabases(ctx, a.store, a.config.String("chttpd_auth", "authentication_db"))
	}
	if err == nil {
		err = a.fields.Start(ctx)
	}
	if err == nil {
		a.server, err = server.New(server.Options{
			Store: a.store, JS: a.js, Views: a.views, Fields: a.fields, Jobs: a.jobs, Config: a.config, Log: log, Node: nodeName(), Web: o.webDir, Metrics: a.collectors(), Memory: limitMemory(a.config),
		})
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// prepareDatabases makes what every server has from the first start on. Other processes may be doing the same on the same store.
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
	return server.EnsureAuthDesign(ctx, s.DB(users))
}

// sharedEngines are those whose store other processes may have open at the same time.
var sharedEngines = map[string]bool{"fdb": true}

// viewSetting is a number of the section couch_views, 0 for none.
func (a *app) viewSetting(key string) int {
	return int(max(0, min(a.config.Int("couch_views", key, 0), 1<<31-1)))
}

func openJobs(ctx context.Context, store kv.Store, engine string, log *slog.Logger) (*jobs.Queue, error) {
	return jobs.Open(ctx, jobs.Options{
		KV: store, Prefix: storage.JobsPrefix(), Exclusive: !sharedEngines[engine], Owner: nodeName(), Log: log,
	})
}

// openJavaScript makes the worker processes for functions of design documents; their time follows the configuration.
func openJavaScript(c *config.Config, log *slog.Logger) *js.Pool {
	timeout := func() time.Duration {
		return time.Duration(c.Int("couchdb", "os_process_timeout", 0)) * time.Millisecond
	}
	pool := js.NewPool(js.Options{
		Workers: int(c.Int("query_server_config", "os_process_limit", 0)),
		Memory:  c.Int("query_server_config", "os_process_memory", 0),
		Timeout: timeout(),
		Log:     func(tenant, text string) { log.Info("function says", "database", tenant, "text", text) },
	})
	c.Subscribe(func() { pool.SetTimeout(timeout()) })
	go func() { // the first function called finds a worker; it ends again if none is
		if err := pool.CheckMap(context.Background(), "", "function () {}"); err != nil {
			log.Debug("JavaScript did not start", "error", err)
		}
	}()
	return pool
}

// collectors are the parts that have numbers for Prometheus.
func (a *app) collectors() []prometheus.Collector {
	list := []prometheus.Collector{a.store, a.jobs, a.js}
	if engine, ok := a.kv.(prometheus.Collector); ok {
		list = append(list, engine)
	}
	return list
}

// close ends what works on the store, then the store. Jobs go first: their handlers work with the rest.
func (a *app) close() error {
	var err error
	if a.warmer != nil {
		a.warmer.Close()
	}
	if a.jobs != nil {
		err = a.jobs.Close()
	}
	if a.views != nil {
		err = errors.Join(err, a.views.Close())
	}
	if a.js != nil {
		a.js.Close()
	}
	return errors.Join(err, a.store.Close(), a.kv.Close())
}
