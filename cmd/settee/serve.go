package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// drainTime is how long requests may go on after the signal to stop.
const drainTime = 15 * time.Second

type serveOptions struct {
	appOptions
	bind, listen, advertise string
	port                    int
	drain                   time.Duration
}

// serveCommand is "settee serve". Defaults of flags are empty where a setting decides: a flag that
// is given wins over the ini files, and one that is not must not hide them.
func serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the databases in a data directory over HTTP",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o.dataChosen = cmd.Flags().Changed("data")
			o.node = cmp.Or(o.node, nodeName(o.engine))
			logs := newLogs(os.Stderr, o.node)
			slog.SetDefault(logs.log) // only here, for package log: clients of HTTP complain to it
			return serve(ctx, o, logs)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.bind, "bind", "", "address to listen on (default: chttpd/bind_address, 127.0.0.1)")
	f.IntVar(&o.port, "port", 0, "port to listen on (default: chttpd/port, 5984)")
	f.StringVar(&o.listen, "listen", "", "address and port in one, host:port")
	f.DurationVar(&o.drain, "drain", 0,
		"how long /_up answers 503 after the signal to stop, and all else is answered, before the port closes")
	addStoreFlags(cmd, &o.appOptions)
	f.StringVar(&o.shadow, "shadow", "",
		"URL of a CouchDB that is asked what clients ask here; other answers are logged and counted")
	f.StringVar(&o.webDir, "fauxton-dir", os.Getenv("COUCHDB_FAUXTON_DOCROOT"),
		"directory of the web interface served at /_utils (default: COUCHDB_FAUXTON_DOCROOT)")
	f.StringSliceVar(
		&o.configFiles,
		"config",
		nil,
		"ini files and directories of them, later ones win; changes are written to the last file (default: COUCHDB_INI_FILES, else local.ini in the data directory)",
	)
	f.StringSliceVar(&o.overrideFiles, "override", nil,
		"ini files and directories of them that go before what the nodes on a FoundationDB cluster share")
	f.StringVar(&o.advertise, "advertise", "",
		"URL at which other nodes on a FoundationDB cluster reach this one (default: the address it listens on)")
	f.StringVar(&o.node, "node", "",
		"name of the node, name@host (default: couchdb@ and NODENAME; on a FoundationDB cluster the machine's name)")
	return cmd
}

// addStoreFlags adds the flags that name a store.
func addStoreFlags(cmd *cobra.Command, o *appOptions) {
	cmd.Flags().StringVar(&o.dataDir, "data", "./data", "data directory")
	cmd.Flags().StringVar(&o.engine, "engine", "pebble", "storage engine: "+strings.Join(engineNames(), ", "))
	cmd.Flags().StringVar(&o.limits, "limits", "", "hold the engine to another one's limits: fdb")
}

// serve runs until ctx ends or a listener fails: then feeds end, requests in flight finish, and the
// store is closed.
func serve(ctx context.Context, o serveOptions, logs *logs) error {
	shareProcessors()
	a, err := openApp(ctx, o.appOptions, logs.log)
	if err != nil {
		return err
	}
	logs.follow(a.config)
	ignored := a.config.WithoutEffect()
	for _, name := range slices.Sorted(maps.Keys(ignored)) {
		logs.log.Warn("a setting has no effect", "setting", name, "here", ignored[name])
	}
	defer logs.close()
	copies := offerCopies(a.kv, a.dataDir, logs.log)
	l := newListeners(a, o, logs.log)
	if err = l.start(ctx); err == nil {
		a.startJavaScript(logs.log)
		select {
		case err = <-l.failed:
		case <-ctx.Done():
			logs.log.Info("stopping", "drain", o.drain)
			err = l.drain()
		}
	}
	l.stop()
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err = errors.Join(err, a.server.Shutdown(drain))
	l.running.Wait()
	copies.close()
	return errors.Join(err, a.close())
}
