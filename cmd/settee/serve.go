package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/config"
)

// drainTime is how long requests may go on after the signal to stop.
const drainTime = 15 * time.Second

type serveOptions struct {
	appOptions
	bind, listen string
	port         int
}

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
			return serve(ctx, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.bind, "bind", "", "address to listen on (default: chttpd/bind_address, 127.0.0.1)")
	f.IntVar(&o.port, "port", 0, "port to listen on (default: chttpd/port, 5984)")
	f.StringVar(&o.listen, "listen", "", "address and port in one, host:port")
	addStoreFlags(cmd, &o.appOptions)
	f.StringVar(&o.webDir, "fauxton-dir", os.Getenv("COUCHDB_FAUXTON_DOCROOT"),
		"directory of the web interface served at /_utils (default: COUCHDB_FAUXTON_DOCROOT)")
	f.StringSliceVar(
		&o.configFiles,
		"config",
		nil,
		"ini files and directories of them, later ones win; changes are written to the last file (default: COUCHDB_INI_FILES, else local.ini in the data directory)",
	)
	return cmd
}

// addStoreFlags adds the flags that name a store.
func addStoreFlags(cmd *cobra.Command, o *appOptions) {
	cmd.Flags().StringVar(&o.dataDir, "data", "./data", "data directory")
	cmd.Flags().StringVar(&o.engine, "engine", "pebble", "storage engine: "+strings.Join(engineNames(), ", "))
	cmd.Flags().StringVar(&o.limits, "limits", "", "hold the engine to another one's limits: fdb")
}

// serve runs until ctx ends: then feeds end, requests in flight finish, and the store is closed.
func serve(ctx context.Context, o serveOptions) error {
	logs := newLogs()
	log := logs.log
	slog.SetDefault(log) // only here: for what knows no logger, as package log
	a, err := openApp(ctx, o.appOptions, log)
	if err != nil {
		return err
	}
	if err := logs.follow(a.config); err != nil {
		return closeAfter(a, err)
	}
	defer logs.close()
	listener, err := net.Listen("tcp", o.address(a.config))
	if err != nil {
		return closeAfter(a, err)
	}
	failed := make(chan error, 3)
	if err := errors.Join(serveTLS(a, o, failed, log), serveMetrics(a, failed, log)); err != nil {
		return closeAfter(a, errors.Join(err, listener.Close()))
	}
	log.Info("listening", "address", listener.Addr().String(), "engine", o.engine, "data", o.dataDir)
	a.startJavaScript(log)
	go func() { failed <- a.server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		log.Info("stopping")
		drain, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		err = a.server.Shutdown(drain)
	}
	return closeAfter(a, err)
}

// serveTLS starts HTTPS where ssl/enable asks for it.
func serveTLS(a *app, o serveOptions, failed chan<- error, log *slog.Logger) error {
	if !a.config.Bool("ssl", "enable") {
		return nil
	}
	t, err := server.TLSConfig(a.config)
	if err != nil {
		return fmt.Errorf("ssl: %w", err)
	}
	host, _, err := net.SplitHostPort(o.address(a.config))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, a.config.String("ssl", "port")))
	if err != nil {
		return err
	}
	log.Info("listening", "address", listener.Addr().String(), "tls", true)
	go func() { failed <- a.server.ServeTLS(listener, t) }()
	return nil
}

// serveMetrics starts the additional port of Prometheus where prometheus/additional_port asks for it.
func serveMetrics(a *app, failed chan<- error, log *slog.Logger) error {
	if !a.config.Bool("prometheus", "additional_port") {
		return nil
	}
	host := a.config.String("prometheus", "bind_address")
	if host == "any" {
		host = ""
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, a.config.String("prometheus", "port")))
	if err != nil {
		return fmt.Errorf("prometheus: %w", err)
	}
	log.Info("listening", "address", listener.Addr().String(), "metrics", true)
	go func() { failed <- a.server.ServeMetrics(listener) }()
	return nil
}

func closeAfter(a *app, err error) error {
	if cerr := a.close(); err == nil {
		err = cerr
	}
	return err
}

func (o serveOptions) address(c *config.Config) string {
	if o.listen != "" {
		return o.listen
	}
	host, port := c.String("chttpd", "bind_address"), c.String("chttpd", "port")
	if o.bind != "" {
		host = o.bind
	}
	if o.port != 0 {
		port = strconv.Itoa(o.port)
	}
	if host == "any" {
		host = ""
	}
	return net.JoinHostPort(host, port)
}
