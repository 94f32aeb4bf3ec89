package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/config"
)

// drainTime is how long requests may go on after the signal to stop.
const drainTime = 15 * time.Second

// lookupTime is how long a start waits for the address of a name to listen on.
const lookupTime = 10 * time.Second

type serveOptions struct {
	appOptions
	bind, listen, advertise string
	port                    int
	drain                   time.Duration
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

// serve runs until ctx ends or a listener fails: then feeds end, requests in flight finish, and the store is closed.
func serve(ctx context.Context, o serveOptions, logs *logs) error {
	shareProcessors()
	a, err := openApp(ctx, o.appOptions, logs.log)
	if err != nil {
		return err
	}
	logs.follow(a.config)
	defer logs.close()
	copies := offerCopies(a.kv, a.dataDir, logs.log)
	l := listeners{app: a, o: o, log: logs.log, failed: make(chan error, maxListeners)}
	if err = l.start(ctx); err == nil {
		a.startJavaScript(logs.log)
		select {
		case err = <-l.failed:
		case <-ctx.Done():
			logs.log.Info("stopping", "drain", o.drain)
			err = l.drain()
		}
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err = errors.Join(err, a.server.Shutdown(drain))
	l.running.Wait()
	copies.close()
	return errors.Join(err, a.close())
}

// listeners are the ports of a server. They run until its Shutdown.
type listeners struct {
	*app
	o       serveOptions
	log     *slog.Logger
	failed  chan error // of each that ended
	running sync.WaitGroup
}

// maxListeners are HTTP, HTTPS, and the ports of the metrics and of event functions.
const maxListeners = 4

// start opens all that are configured. Where one cannot be opened, others may run already.
func (l *listeners) start(ctx context.Context) error {
	listener, err := listen(ctx, l.o.address(l.config))
	if err != nil {
		return mend(l.config, "[chttpd] bind_address and port, or --listen, --bind, --port", err)
	}
	if err := errors.Join(l.startTLS(ctx), l.startMetrics(ctx), l.startFunctions(ctx)); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := l.showAddress(listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	l.nodes.Advertise(cmp.Or(l.o.advertise, advertised(listener.Addr())))
	l.serve(listener, l.server.Serve, "engine", l.o.engine, "data", l.o.dataDir)
	return nil
}

// showAddress has the configuration say where the server listens if flags have chosen that, in memory only.
func (l *listeners) showAddress(address net.Addr) error {
	if l.o.listen == "" && l.o.bind == "" && l.o.port == 0 {
		return nil
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return err
	}
	_, bindErr := l.config.Set("chttpd", "bind_address", host, false)
	_, portErr := l.config.Set("chttpd", "port", port, false)
	return errors.Join(bindErr, portErr)
}

// drain leaves load balancers the time to turn away.
func (l *listeners) drain() error {
	if l.o.drain <= 0 {
		return nil
	}
	l.server.Drain()
	select {
	case err := <-l.failed:
		return err
	case <-time.After(l.o.drain):
		return nil
	}
}

// advertised is the URL of an address that the server listens on, with the machine's name for all addresses.
func advertised(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// serve has the connections of a port answered.
func (l *listeners) serve(listener net.Listener, answer func(net.Listener) error, about ...any) {
	l.log.Info("listening", append([]any{"address", listener.Addr().String()}, about...)...)
	l.running.Go(func() { l.failed <- answer(listener) })
}

// startTLS starts HTTPS where ssl/enable asks for it.
func (l *listeners) startTLS(ctx context.Context) error {
	if !l.config.Bool("ssl", "enable") {
		return nil
	}
	t, err := server.TLSConfig(l.config)
	if err != nil {
		return mend(l.config, "[ssl] enable and the files it needs", err)
	}
	host, _, err := net.SplitHostPort(l.o.address(l.config))
	if err != nil {
		return err
	}
	listener, err := listen(ctx, net.JoinHostPort(host, l.config.String("ssl", "port")))
	if err != nil {
		return mend(l.config, "[ssl] port", err)
	}
	l.serve(listener, func(listener net.Listener) error { return l.server.ServeTLS(listener, t) }, "tls", true)
	return nil
}

// startMetrics starts the additional port of Prometheus where prometheus/additional_port asks for it.
func (l *listeners) startMetrics(ctx context.Context) error {
	if !l.config.Bool("prometheus", "additional_port") {
		return nil
	}
	host := l.config.String("prometheus", "bind_address")
	if host == "any" {
		host = ""
	}
	listener, err := listen(ctx, net.JoinHostPort(host, l.config.String("prometheus", "port")))
	if err != nil {
		return mend(l.config, "[prometheus] bind_address and port", err)
	}
	l.serve(listener, l.server.ServeMetrics, "metrics", true)
	return nil
}

// startFunctions starts the additional port of event functions where eventing/port has a number.
func (l *listeners) startFunctions(ctx context.Context) error {
	port := l.config.String("eventing", "port")
	if port == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(l.o.address(l.config))
	if err != nil {
		return err
	}
	listener, err := listen(ctx, net.JoinHostPort(host, port))
	if err != nil {
		return mend(l.config, "[eventing] port", err)
	}
	l.serve(listener, l.server.ServeFunctions, "functions", true)
	return nil
}

// listen opens a port, which has to be a number: an empty one would be any. An address of IPv4 is only that, as in
// CouchDB; "" and :: are all addresses of both. Servers of names have lookupTime to answer.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("%q is no port, a number from 0 to 65535 is expected", port)
	}
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4" // of which 0.0.0.0 would also be all addresses of IPv6
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	var l net.ListenConfig
	return l.Listen(ctx, network, address)
}

// mend adds to what keeps the server from starting which settings do, and where those made over HTTP can be changed
// while it does not run.
func mend(c *config.Config, settings string, err error) error {
	if file := c.File(); file != "" {
		return fmt.Errorf("%s: %w; what was set over HTTP can be changed in %s", settings, err, file)
	}
	return fmt.Errorf("%s: %w", settings, err)
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
